package match

import (
	_ "embed"
	"strings"
	"sync"

	"github.com/wexec/wexec/privacy/internal/char"
)

// Label is the kind that a field name or the words in front of a colon name.
type Label struct {
	Kind Kind
	Weak bool // the value must also look like one of that kind
}

// lexicon has the words of labels.txt.
type lexicon struct {
	labels  map[string]Label   // whole names
	context map[string]Context // single words
}

//go:embed labels.txt
var labelWords string

// contexts are the headings of labels.txt that name no kind.
var contexts = map[string]Context{"order": AboutOrder, "version": AboutVersion, "message": AboutMessage, "routing": AboutRouting, "greeting": AboutGreeting}

// words returns the lexicon. It is built at the first use because most
// processes that link this package never search a text.
var words = sync.OnceValue(func() *lexicon {
	x := &lexicon{labels: make(map[string]Label, 600), context: make(map[string]Context, 600)}
	var label Label
	var bit Context
	about := false
	for line := range strings.Lines(labelWords) {
		switch line[0] {
		case '#':
		case '[':
			heading := strings.Trim(line, "[]\n")
			heading, about = strings.CutPrefix(heading, "about ")
			heading, label.Weak = strings.CutSuffix(heading, " weak")
			if label.Kind = Kind(heading); heading == "none" {
				label.Kind = ""
			}
			bit = contexts[heading] | contextOf(label.Kind)
		default:
			for w := range strings.FieldsSeq(line) {
				if !about {
					x.labels[w] = label
				}
				if bit != 0 {
					x.context[w] |= bit
				}
			}
		}
	}
	return x
})

// NamesPerson reports a sure label of a kind that records of persons have.
func (l Label) NamesPerson() bool {
	switch l.Kind {
	case Email, Phone, Name, Birthdate:
		return !l.Weak
	}
	return false
}

// PersonName reports a field name, in lower case and without punctuation, that
// hardly anything but the record of a person has.
func PersonName(name string) bool {
	l := words().labels[name]
	return l.NamesPerson() || l.Kind == SSN
}

// MaxLabel bounds the text in front of a value that is read as its label.
const MaxLabel = 48

// ReadLabel is the label in the name of a field, and the context in its words.
// The longest known run of words at the end of the name decides the label.
func ReadLabel(name []byte) (Label, Context) {
	x := words()
	var plain [MaxLabel]byte
	var starts [12]int
	n, count, context := 0, 0, Context(0)
	before := char.Other
	wordFrom := 0
	flush := func() {
		if n > wordFrom {
			context |= x.context[string(trimDigits(plain[wordFrom:n]))]
		}
		wordFrom = n
	}
	if len(name) > MaxLabel {
		name = name[len(name)-MaxLabel:]
	}
	for i, c := range name {
		class := char.ClassOf[c]
		switch class {
		case char.UpperCase, char.LowerCase, char.High, char.Digit:
			camel := class == char.UpperCase && (before == char.LowerCase || before == char.UpperCase && i+1 < len(name) && char.IsLower(name[i+1]))
			if before == char.Other || camel {
				flush()
				if count == len(starts) {
					copy(starts[:], starts[1:])
					count--
				}
				starts[count] = n
				count++
			}
			if class == char.UpperCase {
				c |= 0x20
			}
			plain[n] = c
			n++
			before = class
		default:
			before = char.Other
		}
	}
	flush()
	if count > 1 {
		context |= x.context[string(trimDigits(plain[:n]))]
	}
	for i := range count {
		if e, ok := x.labels[string(trimDigits(plain[starts[i]:n]))]; ok {
			if i == 0 && e.Kind != "" {
				context &^= AboutOrder // the "id" in "tax id" is not that of a thing
			}
			return e, context | contextOf(e.Kind)
		}
	}
	return Label{}, context
}

func trimDigits(b []byte) []byte {
	for len(b) > 1 && char.IsDigit(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}
