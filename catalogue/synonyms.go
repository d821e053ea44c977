package catalogue

import (
	"slices"
	"strings"
	"sync"
)

// synonyms maps stems to those with a similar meaning in queries: words that people
// use, and words that tools are named with. Each line is a group. Of a line with
// ">", the words on the left mean those on the right, and not the reverse. Only
// words of general use are here: a line that serves one question is not.
var synonyms = sync.OnceValue(func() map[string][]string {
	return groupsOf(`
	creat add new make insert open register generat put append book start set
	list fetch get show enumerat retriev read view display load brows see look
	search find query lookup locat grep match filter look
	delet remov drop destroy eras purg trash clear discard archiv
	updat edit modify chang patch set alter revis replac rename
	send post deliver publish submit dispatch notify tell say announc writ
	writ sav stor put record
	execut evaluat run
	download export fetch get sav dump
	upload import push attach put load
	run execut start launch invok trigger call
	stop cancel abort kill terminat halt shutdown paus
	start resum begin
	clos resolv finish complet done settl
	reopen open
	enabl activat turn
	disabl deactivat turn
	mov renam transfer relocat transition drag
	copy duplicat clon fork
	assign owner
	approv accept confirm sign
	comment reply respond answer not remark respons
	link connect associat relat
	undo revert rollback reset restor
	watch follow subscrib monitor
	deploy publish releas ship rollout
	check verify validat test inspect
	compar diff chang differenc
	merg combin join
	schedul cron recurring
	switch checkout chang
	pres click tap button
	typ fill enter input
	choos select pick
	extract scrap pull content
	summary summariz overview

	pr pull merg mr
	repo repository project
	directory folder dir
	fil document doc object readm attachment
	content text body
	mail email gmail
	db databas sql
	calendar meet event appointment
	customer client contact buyer
	channel room
	label tag category
	access permission shar role
	pric quot cost amount
	messag chat slack dm conversation
	issu ticket bug task story card todo defect
	subtask checklist
	user person people member account contact customer
	person peopl user member somebody somon everyon everybody colleagu employe staff team
	author creator owner blam
	me my self current whoami
	compani organization org firm busines
	team group
	row record entry line item
	column field property attribut
	column section list
	item product good
	shop stor
	memory knowledg remember recall graph
	know knowledg memory
	fact observation
	pictur imag photo screenshot media snapshot
	url link web page site websit
	internet web onlin
	new web
	commit revision
	direction rout way driv travel
	coordinat geocod latitud longitud
	plac poi location address
	near nearby clos around
	height elevation high altitud
	distanc far
	voic speech audio
	graph chart plot draw diagram
	log histor activity audit trac
	recent lat last latest activity histor
	history log activity
	error failur fail exception problem crash fault
	slow performanc latency speed fast profil
	usag statistic stat metric analytic traffic
	storag disk spac
	spac siz
	disk > fil filesystem
	siz big larg long
	alert alarm notification warn
	incident outag
	process program command
	shell terminal command consol
	setting config configuration preferenc option
	secret password credential token
	login sign auth authenticat
	environment env production stag
	flag toggl featur
	schema structur typ
	cel field record valu
	invoic bill
	payment pay paid
	due deadlin dat
	leav vacation holiday absenc
	salary payroll wag
	profit los incom revenu
	tax vat
	stat statu progres
	stag statu
	result output respons
	tim hour dur
	copy version
	version releas
	build pipelin job workflow ci
	test spec
	articl paper
	dictionary translat
	color colour styl
	popup dialog alert
	model ai llm

	forget delet remov
	empti clear purg
	reject declin deny refus
	invit add
	ask query question
	order buy purchas bought
	sell product
	calculat comput
	count number total
	aggregat sum total group
	backup dump export snapshot
	simulat emulat
	drag mov
	hid archiv
	plan explain
	reserv book
	convert translat transform

	cod sourc function
	doc documentat guid manual help tutorial
	exampl sampl templat
	report analys summary research
	spreadsheet sheet workbook excel table
	video record movi screencast
	devic phon mobil viewport
	window viewport
	request network call
	heap memory
	css styl font
	restaurant hotel museum shop > plac poi local
	deal opportunity
	lead prospect contact
	engagement activity not call
	supplier vendor contact
	sold > order
	expens spend cost
	offer quot estimat proposal
	refund credit
	ledger journal account
	ow du receivabl payabl debt
	asset liability balanc
	stock inventory quantity
	variant option siz
	coupon discount voucher
	object fil blob
	bucket storag
	function lambda worker script
	script cod worker
	stor kv databas
	vector embed
	variabl env
	measur metric
	oncall shift rotation duty
	sourc datasourc
	crash issu event
	event issu
	annotat blam
	stag add
	dimension siz
	discuss comment thread
	thread post topic
	ai model
	member collaborator participant
	note comment
	activiti action event
	automation workflow
	custom properti
	url link deeplink
	machin resourc server host
	container pod
	output log
	mistak error valid

	who > user author member owner peopl assigne
	whos > user owner member
	whom > user member contact
	when > dat tim schedul
	wher > location path url referenc
	why > analyz explain debug diagnos
	which > list
	what > get list
	everyth > all read list
	`)
})

// groupsOf parses groups of words, one per line.
func groupsOf(text string) map[string][]string {
	out := map[string][]string{}
	for _, line := range strings.Split(text, "\n") {
		left, right, directed := strings.Cut(line, ">")
		asked, meant := stems(left), stems(right)
		if !directed {
			meant = asked
		}
		for _, w := range asked {
			for _, other := range meant {
				if other != w && !slices.Contains(out[w], other) {
					out[w] = append(out[w], other)
				}
			}
		}
	}
	return out
}

func stems(text string) []string {
	words := strings.Fields(text)
	for i, w := range words {
		words[i] = stem(w)
	}
	return words
}

// phrases are verbs of two words, and verbs that mean the same.
var phrases = sync.OnceValue(func() map[[2]string]string {
	out := map[[2]string]string{}
	for line := range strings.Lines(`
	how many count
	how much amount
	how big size
	how large size
	how long duration
	how far distance
	how high height
	look for search
	look up search
	search for search
	get rid delete
	throw away delete
	throw out delete
	take off remove
	take away remove
	take down delete
	take out remove
	put away archive
	put aside save
	put in insert
	put into insert
	tick off complete
	check off complete
	turn on enable
	turn off disable
	switch on enable
	switch off disable
	set up create
	shut down stop
	sign in login
	log in login
	log on login
	write down write
	note down write
	fill in fill
	fill out fill
	hand over assign
	give to assign
	bring back restore
	go back back
	roll back rollback
	start over reset
	sum up aggregate
	add up aggregate
	find out find
	carry out execute
	`) {
		if w := strings.Fields(line); len(w) == 3 {
			out[[2]string{w[0], w[1]}] = w[2]
		}
	}
	return out
})

// irregular has forms of verbs that have no regular ending.
var irregular = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(`
	begin began begun
	bring brought
	build built
	buy bought
	choose chose chosen
	do did done
	draw drew drawn
	drive drove driven
	find found
	forget forgot forgotten
	get got gotten
	give gave given
	hide hid hidden
	hold held
	keep kept
	know knew known
	leave left
	lose lost
	make made
	mean meant
	meet met
	pay paid
	run ran
	say said
	see saw seen
	sell sold
	send sent
	show shown
	speak spoke spoken
	spend spent
	take took taken
	tell told
	think thought
	write wrote written
	`) {
		words := strings.Fields(line)
		for _, w := range words {
			out[w] = words[0]
		}
	}
	return out
})
