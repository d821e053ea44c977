package catalogue

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/wexec/wexec/internal/jsonschema"
)

// stop holds words that say nothing about a tool.
var stop = map[string]bool{
	"a": true, "an": true, "and": true, "are": true, "as": true, "at": true, "be": true, "by": true, "can": true,
	"do": true, "does": true, "for": true, "from": true, "given": true, "how": true, "i": true, "if": true,
	"in": true, "into": true, "is": true, "it": true, "its": true, "me": true, "my": true, "of": true, "on": true,
	"or": true, "our": true, "please": true, "so": true, "some": true, "that": true, "the": true, "their": true,
	"them": true, "then": true, "there": true, "these": true, "this": true, "to": true, "tool": true, "us": true,
	"use": true, "using": true, "want": true, "was": true, "we": true, "were": true, "which": true, "will": true,
	"with": true, "you": true, "your": true, "need": true, "would": true, "like": true, "all": true, "any": true,
	"what": true, "who": true,
}

// alike holds groups of words, stemmed, that people use for one another when
// they speak of tools.
var alike = sync.OnceValue(func() map[string][]string {
	return groupsOf(`
	creat add new make insert open register generat put append book
	list fetch get show enumerat retriev read view display load brows see look
	search find query lookup locat grep match filter
	delet remov drop destroy eras purg trash clear
	updat edit modify chang patch set alter revis
	send post deliver publish submit dispatch notify tell announc
	write sav stor put
	write creat updat append
	remember add observ stor
	several multipl many batch bulk
	slow perform speed
	tomorrow later schedul
	giv assign
	done status state transition
	execut evaluat run
	dark colour color theme
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
	messag chat slack dm
	channel room
	issu ticket bug task story card
	user person people member account contact customer
	customer client contact crm lead
	crm hubspot salesforc contact
	db databas sql
	row record entry line
	column field schema
	calendar meet event appointment schedul invit
	time clock hour zone
	memory knowledg remember recall graph
	picture imag photo screenshot
	url link web page site websit
	invoic bill receipt
	pay charg payment
	commit revision
	author contributor
	deploy releas rollout ship
	log trac output
	exception error crash
	metric stat statistic measur usag
	mov renam transfer relocat transition drag
	copy duplicat clon
	comment reply respond answer not
	assign owner
	access permission shar
	label tag category
	attach attachment
	translat languag
	summar summary digest
	subscrib watch follow audienc
	newsletter subscrib audienc campaign
	weather forecast temperatur rain snow sun
	direction rout way
	coordinat geocod latitud longitud
	amount total sum
	money currency dollar euro pound usd eur
	price quot cost
	stock shar symbol
	stock inventory
	spend spent cost
	environment env variabl stag
	secret password credential key
	pod container kubernet
	vm instanc machin server
	s3 bucket object aw
	lambda function
	warehous bigquery
	sms text phon twilio
	voic speech audio
	light lamp devic switch
	holiday leav vacation away absent
	employ staff people
	think reason thought
	echo repeat ping
	wiki confluenc page
	sheet spreadsheet cell excel row
	graph chart plot draw
	history past
	pipelin build ci job
	test check
	googl search web
	alert monitor alarm
	silenc mut
	call recording transcript
	todo task
	member team
	small resiz
	vulnerability security
	diff uncommit
	column describ schema
	rat review
`)
})

// verbs are the words that say what is done, stemmed.
var verbs = sync.OnceValue(func() map[string]bool {
	return setOf(`creat add make insert open register generat file list fetch get show retriev read view display load
	brows search find query lookup locat filter delet remov drop eras clear updat edit modify chang patch set send post publish
	submit notify write sav stor put download export pull upload import push attach run execut start launch invok trigger stop
	cancel kill clos resolv finish complet mov renam copy comment reply answer assign shar translat convert build deploy scal
	approv merg look turn switch give take build book plan draw mark tell`)
})

// orders are nouns that, as the first word, ask to do something with what they
// name.
var orders = map[string][]string{
	"email": {"send", "post"}, "mail": {"send", "post"}, "text": {"send", "post"}, "message": {"send", "post"}, "tweet": {"post", "send"},
	"comment": {"add", "create", "post"}, "remember": {"add", "create", "store"},
}

// phrases are words that mean something else together, with what they mean.
var phrases = map[string][]string{
	"get rid of":      {"delet"},
	"file a":          {"creat", "open"},
	"rid of":          {"delet"},
	"kick off":        {"run", "trigger", "rerun"},
	"tick off":        {"complet"},
	"look up":         {"search", "find"},
	"roll back":       {"undo", "rollback", "revert"},
	"turn off":        {"stop", "off"},
	"turn on":         {"on", "start"},
	"switch on":       {"on"},
	"switch off":      {"off"},
	"write down":      {"log", "not"},
	"thumbs up":       {"reaction", "react"},
	"take off":        {"remov"},
	"off the list":    {"unsubscrib"},
	"take her off":    {"unsubscrib", "remov"},
	"take him off":    {"unsubscrib", "remov"},
	"take them off":   {"unsubscrib", "remov"},
	"sign up":         {"register", "subscrib"},
	"put aside":       {"stash"},
	"pull request":    {"pull"},
	"merge request":   {"merg"},
	"on call":         {"call", "oncall"},
	"on holiday":      {"leav", "away"},
	"day off":         {"leav"},
	"days off":        {"leav"},
	"who edited":      {"history", "version"},
	"who changed":     {"blam", "history"},
	"what was said":   {"history", "messag"},
	"how do i get":    {"direction"},
	"how to get":      {"direction"},
	"how much did":    {"cost", "spent"},
	"text my":         {"sms"},
	"text me":         {"sms"},
	"give access":     {"shar", "permission"},
	"what do we know": {"open", "search", "read"},
	"find out":        {"get"},
	"set up":          {"creat"},
	"clean up":        {"prun", "delet"},
	"log in":          {"login"},
	"shut down":       {"stop"},
	"spin up":         {"start", "creat"},
	"check out":       {"checkout"},
	"web page":        {"page", "web"},
	"voice memo":      {"audio", "speech"},
}

// phrase finds the longest phrase at the beginning of some words, and how many
// of them it takes.
func phrase(words []string) (int, []string) {
	for n := min(4, len(words)); n > 1; n-- {
		if means, ok := phrases[strings.Join(words[:n], " ")]; ok {
			stems := make([]string, len(means))
			for i, m := range means {
				stems[i] = stem(m)
			}
			return n, stems
		}
	}
	return 0, nil
}

// groupsOf reads a group of words a line.
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

func setOf(text string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(text) {
		out[stem(w)] = true
	}
	return out
}

// synonyms lists the words that may stand for a stemmed word.
func synonyms(w string) []string { return alike()[w] }

// suffixes that English puts on a word, longest first, with what is left.
var suffixes = []struct{ from, to string }{
	{"ations", "at"}, {"ation", "at"}, {"ements", "e"}, {"ement", "e"}, {"ingly", ""}, {"edly", ""},
	{"iness", "y"}, {"ions", ""}, {"ies", "y"}, {"ied", "y"}, {"ing", ""}, {"ion", ""}, {"ers", ""},
	{"est", ""}, {"es", ""}, {"ed", ""}, {"er", ""}, {"ly", ""}, {"s", ""}, {"e", ""},
}

// stem cuts a word to what its forms have in common. It is cruder than Porter's
// and only has to agree with itself.
func stem(w string) string {
	if len(w) < 4 {
		if len(w) == 3 && w[2] == 's' && w[1] != 's' {
			return w[:2] // prs
		}
		return w
	}
	if strings.HasSuffix(w, "ss") || strings.HasSuffix(w, "us") {
		return w
	}
	for _, s := range suffixes {
		base, ok := strings.CutSuffix(w, s.from)
		if !ok || len(base) < 3 {
			continue
		}
		w = base + s.to
		break
	}
	if n := len(w); n > 3 && w[n-1] == w[n-2] && !strings.ContainsRune("aeiouls", rune(w[n-1])) {
		w = w[:n-1] // stopp, shipp
	}
	return strings.TrimSuffix(w, "e")
}

// argumentWords returns the words in the names of properties and in enums, three
// levels deep.
func argumentWords(schema json.RawMessage) []string {
	doc, _ := jsonschema.Parse(schema)
	if doc == nil {
		return nil
	}
	var out []string
	var walk func(n *jsonschema.Schema, depth int)
	walk = func(n *jsonschema.Schema, depth int) {
		if n == nil || depth > 3 || len(out) > 400 {
			return
		}
		for _, name := range n.Names {
			out = append(out, Words(name)...)
			walk(n.Properties[name], depth+1)
		}
		for _, v := range n.Enum[:min(len(n.Enum), 20)] {
			if s, ok := v.(string); ok {
				out = append(out, Words(s)...)
			}
		}
		walk(n.Items, depth+1)
	}
	walk(doc.Root, 0)
	return out
}

// Summary cuts a text to its first sentences, at most n bytes, and marks a
// sentence it had to cut with an ellipsis.
func Summary(text string, n int) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= n {
		return text
	}
	cut := text[:n]
	for !utf8.ValidString(cut) {
		cut = cut[:len(cut)-1]
	}
	for _, end := range []string{". ", "! ", "? ", "; "} {
		if i := strings.LastIndex(cut, end); i >= n/3 {
			return strings.TrimRight(cut[:i+1], ";")
		}
	}
	if i := strings.LastIndexByte(cut, ' '); i > n/2 {
		cut = cut[:i]
	}
	return strings.TrimRight(cut, " ,:") + "…"
}
