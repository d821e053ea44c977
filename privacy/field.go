package privacy

import "strings"

// field is where a value stands in a document, and what that says about it.
type field struct {
	shown   string   // customers[].email
	path    []string // plain names, without lists
	says    evidence
	context uint32
	person  bool // it belongs to the record of a person
	asked   bool // whether it holds such records was looked at:
	holds   bool
	column  bool // of a table in a text, which may be none
	never   bool
	always  bool
	mode    Mode // "": the run's

	members []member // names below it, in the order in which they were first seen
	items   *field   // what its lists hold
	at      int      // its place among the members of what it stands in
}

// maxPath bounds the path of a field.
const (
	maxPath  = 64
	maxShown = 200
)

// persons are names of records that describe a person.
var persons = " user users customer customers contact contacts employee employees person people patient patients member members owner author assignee reporter lead leads candidate candidates client clients guest guests student students recipient sender attendee attendees participant participants " +
	"driver passenger passengers tenant applicant applicants subscriber profile holder beneficiary kunde kunden mitarbeiter personen empleado empleados cliente clientes utilisateur utilisateurs salarié dipendente dipendenti manager agent doctor teacher buyer seller signer creator requester staff team "

// child is the field of a name below f.
func (d *Detector) child(f *field, name []byte, person bool) *field {
	says, context := d.lexicon.labelled(name)
	plain := plainName(string(name))
	c := &field{says: says, context: context, person: person}
	if f != nil {
		c.never, c.always, c.mode = f.never, f.always, f.mode
		c.path = f.path
		c.shown = f.shown
		c.person = person || isPerson(f)
	}
	if len(c.path) < maxPath {
		c.path = append(c.path[:len(c.path):len(c.path)], plain)
	}
	shown := string(name)
	if len(shown) > 40 || strings.ContainsAny(shown, "@\n\r\t\"") || countDigits(shown) > 4 {
		shown = "*"
	}
	switch {
	case len(c.shown)+len(shown) > maxShown:
	case c.shown == "":
		c.shown = shown
	default:
		c.shown += "." + shown
	}
	d.settleField(c)
	return c
}

// item is the field of the items of a list below f.
func (d *Detector) item(f *field) *field {
	if f == nil {
		return &field{shown: "[]"}
	}
	c := *f
	c.members, c.items = nil, nil
	if len(c.shown) < maxShown {
		c.shown += "[]"
	}
	return &c
}

func (d *Detector) settleField(f *field) {
	for _, g := range d.never {
		if g.match(f.path) {
			f.never = true
		}
	}
	for _, g := range d.always {
		if g.match(f.path) {
			f.always = true
		}
	}
	for _, m := range d.modes {
		if m.match(f.path) {
			f.mode = m.mode
		}
	}
}

func isPerson(f *field) bool {
	if len(f.path) == 0 {
		return f.person
	}
	return f.person || strings.Contains(persons, " "+f.path[len(f.path)-1]+" ")
}

func countDigits(s string) int {
	n := 0
	for i := range len(s) {
		if isDigit(s[i]) {
			n++
		}
	}
	return n
}
