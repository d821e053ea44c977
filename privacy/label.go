package privacy

import (
	"bytes"
	"sync"
)

// evidence is what a name of a field or a word in front of a value says about
// it.
type evidence struct {
	kind Kind
	weak bool // the value must also look like one
}

// lexicon holds the words the detectors know.
type lexicon struct {
	labels  map[string]evidence // plain names of fields
	context map[string]uint32   // single words
	names   map[string]uint8
	streets map[string]uint8
}

// words builds the lexicon at its first use, since most processes that link
// this package never look for anything.
var words = sync.OnceValue(func() *lexicon {
	x := &lexicon{labels: make(map[string]evidence, 600), context: make(map[string]uint32, 600)}
	for _, row := range labelWords {
		for _, w := range row.words {
			x.labels[w] = evidence{row.kind, row.weak}
			if row.kind != "" {
				x.context[w] |= bitOf(row.kind)
			}
		}
	}
	for _, row := range contextWords {
		for _, w := range row.words {
			x.context[w] |= row.bit
		}
	}
	x.names = nameWords()
	x.streets = streetWords()
	return x
})

// Bits of context: a kind each, and what speaks against.
const (
	saysEmail uint32 = 1 << iota
	saysPhone
	saysSSN
	saysCard
	saysIBAN
	saysAccount
	saysIP
	saysMAC
	saysAddress
	saysName
	saysBirth
	saysPassport
	saysLicence
	saysNational
	saysVAT
	saysSecret
	saysOrder    // a number of something that is no person
	saysVersion  // a version or a time
	saysMessage  // Message-ID and the like
	saysRouting  // routing number, sort code
	saysDear     // a greeting
	saysNameWord // the word Name itself, with a capital
)

func bitOf(k Kind) uint32 {
	switch k {
	case Email:
		return saysEmail
	case Phone:
		return saysPhone
	case SSN:
		return saysSSN
	case Card:
		return saysCard
	case IBAN:
		return saysIBAN
	case Account:
		return saysAccount
	case IP:
		return saysIP
	case MAC:
		return saysMAC
	case Address:
		return saysAddress
	case Name:
		return saysName
	case Birthdate:
		return saysBirth
	case Passport:
		return saysPassport
	case Licence:
		return saysLicence
	case NationalID:
		return saysNational
	case VAT:
		return saysVAT
	case Secret:
		return saysSecret
	}
	return 0
}

// maxLabel bounds the text in front of a value that is read as its label.
const maxLabel = 48

// labelled is what the name of a field says, and the context in its words. The
// longest run of words at the end of the name that is known decides.
func (x *lexicon) labelled(name []byte) (evidence, uint32) {
	var plain [maxLabel]byte
	var starts [12]int
	n, words, context := 0, 0, uint32(0)
	before := other
	wordFrom := 0
	flush := func() {
		if n > wordFrom {
			context |= x.context[string(trimDigits(plain[wordFrom:n]))]
		}
		wordFrom = n
	}
	if len(name) > maxLabel {
		name = name[len(name)-maxLabel:]
	}
	for i, c := range name {
		k := class[c]
		switch k {
		case upper, lower, high, digit:
			camel := k == upper && (before == lower || before == upper && i+1 < len(name) && isLower(name[i+1]))
			if before == other || camel {
				flush()
				if words == len(starts) {
					copy(starts[:], starts[1:])
					words--
				}
				starts[words] = n
				words++
			}
			if k == upper {
				c |= 0x20
			}
			plain[n] = c
			n++
			before = k
		default:
			before = other
		}
	}
	flush()
	if words > 1 {
		context |= x.context[string(trimDigits(plain[:n]))]
	}
	for i := range words {
		if e, ok := x.labels[string(trimDigits(plain[starts[i]:n]))]; ok {
			if i == 0 && e.kind != "" {
				context &^= saysOrder // the "id" of a tax id names no thing
			}
			return e, context | bitOf(e.kind)
		}
	}
	return evidence{}, context
}

func trimDigits(b []byte) []byte {
	for len(b) > 1 && isDigit(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

// label looks at the name in front of a colon or an equals sign, and where it
// names a kind, at the value behind.
func (s *scanner) label(i int) {
	t := s.t
	if i < s.paired || i+1 >= len(t) || i == 0 {
		return
	}
	end := i
	for end > 0 && end > i-3 && (t[end-1] == ' ' || t[end-1] == '"' || t[end-1] == '\'' || t[end-1] == '\\' || t[end-1] == '*' || t[end-1] == '`') {
		end--
	}
	if end == 0 || !isWord(t[end-1]) && t[end-1] != ')' && t[end-1] != '.' {
		return
	}
	quoted := end < i && t[end] != ' '
	start := end
	limit := max(0, end-maxLabel)
back:
	for start > limit {
		switch c := t[start-1]; {
		case isWord(c), c == '-', c == '.', c == '/', c == '(', c == ')', c == '#':
		case c == ' ' && !quoted && start-2 >= 0 && t[start-2] != ' ' && t[start-2] != ':' && t[start-2] != '=':
		case c == '\'' && !quoted && start-2 >= 0 && isWord(t[start-2]) && isWord(t[start]):
		default:
			break back
		}
		start--
	}
	e, context := s.d.lexicon.labelled(t[start:end])
	if e.kind == "" || !s.d.wants(e.kind) {
		return
	}
	if e.kind == Name && string(t[start:end]) == "Name" {
		context |= saysNameWord
	}
	from, to := s.valueAfter(i, e.kind)
	if from < to {
		s.value(e, context, from, to, t[i] == '=')
	}
}

// maxValue bounds a value that is judged by its label.
const maxValue = 300

// valueAfter is the stretch behind a label that can be its value.
func (s *scanner) valueAfter(i int, kind Kind) (from, to int) {
	t := s.t
	sign := t[i]
	from = i + 1
	for from < len(t) && from < i+16 && (t[from] == ' ' || t[from] == '=' || t[from] == '>' || t[from] == '*' || t[from] == '\t') {
		from++
	}
	escapes := 0
	for from < len(t) && t[from] == '\\' && escapes < 4 {
		from++
		escapes++
	}
	if from >= len(t) {
		return 0, 0
	}
	limit := min(len(t), from+maxValue)
	if q := t[from]; q == '"' || q == '\'' || q == '`' {
		from++
		for to = from; to < limit && t[to] != q && t[to] != '\n'; to++ {
			if t[to] == '\\' && escapes == 0 && to+1 < limit {
				to++
			}
		}
		to = min(to, limit)
		for escapes > 0 && to > from && t[to-1] == '\\' {
			to--
		}
		return from, to
	}
	for to = from; to < limit; to++ {
		c := t[to]
		if c == '\n' || c == '\r' || c == '\t' || c == '|' || c == '"' || c == '`' || c == '}' || c == ']' || c == '<' {
			break
		}
		if kind == Secret {
			if c == ' ' && isScheme(t[from:to]) {
				continue // Bearer and the like stand in front of the secret
			}
			if c == ' ' || c == ',' && to+1 < len(t) && t[to+1] == ' ' {
				break
			}
			continue
		}
		if c == ';' || c == '&' && sign == '=' || c == '{' || c == '\'' && to > from && !isWord(t[to-1]) {
			break
		}
		if c == ',' && kind != Address && kind != Birthdate && kind != Name {
			break
		}
		if c == ' ' {
			if to+1 < len(t) && t[to+1] == ' ' {
				break
			}
			if sign == '=' && s.assigned(to+1) {
				break
			}
		}
	}
	for to > from && t[to-1] == ' ' {
		to--
	}
	return from, to
}

func isScheme(w []byte) bool {
	switch string(w) {
	case "Bearer", "bearer", "Basic", "basic", "Token", "token", "ApiKey":
		return true
	}
	return false
}

// assigned reports that a name and an equals sign follow: the next pair of a
// log line.
func (s *scanner) assigned(i int) bool {
	for j := i; j < len(s.t) && j < i+40; j++ {
		if s.t[j] == '=' {
			return j > i
		}
		if !isWord(s.t[j]) && s.t[j] != '.' && s.t[j] != '-' {
			return false
		}
	}
	return false
}

// maxContext bounds how far in front of a value context is looked for.
const maxContext = 40

// before is the context in the words in front of a place, on its line.
func (s *scanner) before(i int) uint32 {
	t := s.t
	var bits uint32
	if s.f != nil {
		bits = s.f.context
	}
	limit := max(0, i-maxContext)
	broken := false // a clause ended: what it was about speaks no more against a value
	for seen := 0; i > limit && seen < 6; {
		c := t[i-1]
		if c == '\n' {
			break
		}
		if !isWord(c) {
			if c == '(' || c == ')' || c == ';' || c == ',' || c == '|' {
				broken = true
			}
			i--
			continue
		}
		end := i
		for i > limit && isWord(t[i-1]) {
			i--
		}
		if i == limit && i > 0 && isWord(t[i-1]) {
			break
		}
		if end+1 < len(t) && t[end] == '.' && t[end+1] == ' ' && end-i > 3 {
			broken = true
		}
		_, b := s.d.lexicon.labelled(t[i:end])
		if broken || seen > 2 {
			b &^= saysOrder | saysVersion | saysBirth
		}
		bits |= b
		seen++
	}
	return bits
}

// after is what the two words behind a value say: 4222222222222 visa card.
func (s *scanner) after(i int) uint32 {
	var bits uint32
	for n := 0; n < 2 && i+1 < len(s.t) && s.t[i] == ' ' && isLetter(s.t[i+1]); n++ {
		end := s.wordEnd(i + 1)
		if end-i > 20 {
			break
		}
		_, b := s.d.lexicon.labelled(s.t[i+1 : end])
		bits |= b
		i = end
	}
	return bits
}

// maxLineLabel bounds how far back the label of a line is looked for.
const maxLineLabel = 300

// lineLabel is what the label at the start of a line says.
func (s *scanner) lineLabel(i int) uint32 {
	from := max(0, i-maxLineLabel)
	if n := bytes.LastIndexByte(s.t[from:i], '\n'); n >= 0 {
		from += n + 1
	}
	n := bytes.IndexByte(s.t[from:i], ':')
	if n < 2 || n > 24 {
		return 0
	}
	_, context := s.d.lexicon.labelled(s.t[from : from+n])
	return context
}
