package detect

import (
	"maps"
	"slices"
	"strings"

	"github.com/wexec/wexec/privacy/internal/char"
	"github.com/wexec/wexec/privacy/internal/match"
)

// fieldRules are the globs of fields of a policy.
type fieldRules struct {
	never, always []fieldGlob
	modes         []modeGlob
}

type modeGlob struct {
	fieldGlob
	mode string
}

func newFieldRules(never, always []string, modes map[string]string) fieldRules {
	var r fieldRules
	for _, g := range never {
		r.never = append(r.never, newFieldGlob(g))
	}
	for _, g := range always {
		r.always = append(r.always, newFieldGlob(g))
	}
	for _, g := range slices.Sorted(maps.Keys(modes)) {
		r.modes = append(r.modes, modeGlob{newFieldGlob(g), modes[g]})
	}
	return r
}

// Bounds of the path of a field.
const (
	maxPath  = 64
	maxShown = 200
)

// child is the field of a name in an object or a column below parent, which may
// be nil. person: the object describes a person.
func (r *fieldRules) child(parent *match.Field, name []byte, person bool) match.Field {
	c := match.Field{Person: person}
	c.Label, c.Context = match.ReadLabel(name)
	if parent != nil {
		c.Never, c.Always, c.Mode = parent.Never, parent.Always, parent.Mode
		c.Path, c.Shown = parent.Path, parent.Shown
		c.Person = person || describesPerson(parent)
	}
	if len(c.Path) < maxPath {
		c.Path = append(c.Path[:len(c.Path):len(c.Path)], plainName(string(name)))
	}
	shown := string(name)
	if len(shown) > 40 || strings.ContainsAny(shown, "@\n\r\t\"") || char.CountDigits(shown) > 4 {
		shown = "*" // it may be personal data
	}
	switch {
	case len(c.Shown)+len(shown) > maxShown:
	case c.Shown == "":
		c.Shown = shown
	default:
		c.Shown += "." + shown
	}
	matches := func(g fieldGlob) bool { return g.match(c.Path) }
	c.Never = c.Never || slices.ContainsFunc(r.never, matches)
	c.Always = c.Always || slices.ContainsFunc(r.always, matches)
	for _, m := range r.modes {
		if m.match(c.Path) {
			c.Mode = m.mode
		}
	}
	return c
}

// item is the field of the items of a list.
func item(list *match.Field) match.Field {
	if list == nil {
		return match.Field{Shown: "[]"}
	}
	c := *list
	if len(c.Shown) < maxShown {
		c.Shown += "[]"
	}
	return c
}

// personFields are names of fields whose objects describe a person.
var personFields = char.Set(true, "user users customer customers contact contacts employee employees person people patient patients member members owner author assignee reporter lead leads candidate candidates client clients guest guests student students recipient sender attendee attendees participant participants "+
	"driver passenger passengers tenant applicant applicants subscriber profile holder beneficiary kunde kunden mitarbeiter personen empleado empleados cliente clientes utilisateur utilisateurs salarié dipendente dipendenti manager agent doctor teacher buyer seller signer creator requester staff team")

func describesPerson(f *match.Field) bool {
	return f.Person || len(f.Path) > 0 && personFields[f.Path[len(f.Path)-1]]
}

// glob is a pattern with * for any run of characters.
type glob struct{ parts []string }

func newGlob(s string) glob { return glob{strings.Split(s, "*")} }

// match searches each part once, from left to right: its time is at worst the
// product of the parts and the text.
func (g glob) match(s string) bool {
	first, rest := g.parts[0], g.parts[1:]
	if len(rest) == 0 {
		return s == first
	}
	s, ok := strings.CutPrefix(s, first)
	if !ok {
		return false
	}
	last := rest[len(rest)-1]
	for _, p := range rest[:len(rest)-1] {
		if _, s, ok = strings.Cut(s, p); !ok {
			return false
		}
	}
	return strings.HasSuffix(s, last)
}

// fieldGlob matches consecutive names in the path of a field. "contact" also
// decides about what is below contact.
type fieldGlob struct{ names []glob }

func newFieldGlob(s string) fieldGlob {
	var f fieldGlob
	for name := range strings.SplitSeq(s, ".") {
		f.names = append(f.names, newGlob(plainName(name)))
	}
	return f
}

func (f fieldGlob) match(path []string) bool {
	for from := 0; from+len(f.names) <= len(path); from++ {
		if slices.EqualFunc(f.names, path[from:from+len(f.names)], glob.match) {
			return true
		}
	}
	return false
}

// plainName is the name of a field in lower case and without the signs between
// its words.
func plainName(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("_- ./#:", r) {
			return -1
		}
		return r
	}, strings.ToLower(s))
}

// node is a field of a document with the fields below it. The records of a list
// share their nodes, so that each name is judged once.
type node struct {
	match.Field
	members []member // in the order in which they were first seen
	items   *node    // the items of its lists
	index   int      // among the members of its parent

	judged bool // whether its objects describe a person was judged:
	person bool
}

// member is a name in an object. The records of a list mostly have the same names
// in the same order: the next one is found without a search.
type member struct {
	name   string
	person bool
	node   *node
}

// field is the Field of a node, nil for no node.
func (n *node) field() *match.Field {
	if n == nil {
		return nil
	}
	return &n.Field
}
