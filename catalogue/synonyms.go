package catalogue

import (
	"slices"
	"strings"
	"sync"
)

// synonyms maps stems to those with a similar meaning in queries. Only general
// words are here: without them the search finds 12 fewer of 98 questions over
// tools that they were not chosen for.
var synonyms = sync.OnceValue(func() map[string][]string {
	return groupsOf(`
	creat add new make insert open register generat put append book
	list fetch get show enumerat retriev read view display load brows see look
	search find query lookup locat grep match filter
	delet remov drop destroy eras purg trash clear
	updat edit modify chang patch set alter revis
	send post deliver publish submit dispatch notify tell announc
	write sav stor put
	execut evaluat run
	download export fetch get
	upload import push attach put
	run execut start launch invok trigger call
	stop cancel abort kill terminat halt shutdown
	clos resolv finish complet done
	pr pull merg mr
	repo repository project
	directory folder dir
	file document doc object readm
	mail email gmail
	db databas sql
	calendar meet event appointment
	customer client contact
	channel room
	label tag category
	access permission shar
	price quot cost
	messag chat slack dm
	issu ticket bug task story card
	user person people member account contact customer
	row record entry line
	column field schema
	memory knowledg remember recall graph
	picture imag photo screenshot
	url link web page site websit
	commit revision
	mov renam transfer relocat transition drag
	comment reply respond answer not
	assign owner
	direction rout way
	coordinat geocod latitud longitud
	voic speech audio
	graph chart plot draw
`)
})

// groupsOf parses groups of words, one per line.
func groupsOf(text string) map[string][]string {
	out := map[string][]string{}
	for _, line := range strings.Split(text, "\n") {
		group := strings.Fields(line)
		for i, w := range group {
			group[i] = stem(w)
		}
		for _, w := range group {
			for _, other := range group {
				if other != w && !slices.Contains(out[w], other) {
					out[w] = append(out[w], other)
				}
			}
		}
	}
	return out
}
