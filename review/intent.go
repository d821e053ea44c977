package review

import (
	"slices"
	"strings"
	"time"

	"github.com/wexec/wexec/catalogue"
)

// newFor is how long a tool is new.
const newFor = 5 * time.Minute

// New returns the tools that are new, sorted, of those that were first seen at a time.
func New(seen map[string]time.Time, now time.Time) []string {
	var out []string
	for id, at := range seen {
		if now.Sub(at) < newFor {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// reviewIntent compares what the program does with what it is for.
func (r *reviewer) reviewIntent() {
	words := catalogue.Words(r.Intent)
	if len(words) == 0 || !reads(words) {
		return
	}
	for _, u := range r.uses {
		if !u.writes || namesTool(words, u.tool) {
			continue
		}
		if u.destroys {
			u.program.find(ruleIntent, High, u.at.start, u.tool+" deletes, and the intent only reads")
		} else {
			u.program.find(ruleIntent, Medium, u.at.start, u.tool+" changes something, and the intent only reads")
		}
	}
}

// reads reports whether words ask for an answer and for no change.
func reads(words []string) bool {
	asks := slices.ContainsFunc(words, func(w string) bool {
		switch w {
		case "read", "list", "show", "count", "how", "what", "which", "who", "when", "where", "find", "get", "summarize", "summarise", "summary", "report", "analyze", "analyse", "compute", "calculate", "average", "total", "compare", "check", "look", "search", "fetch", "describe", "explain", "give", "tell":
			return true
		}
		return false
	})
	return asks && !slices.ContainsFunc(words, func(w string) bool {
		switch w {
		case "and":
			return false
		case "notify", "email", "mail", "message", "tell", "alert", "clean", "cleanup", "fix", "migrate", "label", "close", "reopen", "tag", "mark", "change", "make", "build", "generate", "record", "store", "log", "comment", "order", "reserve", "cancel":
			return true
		}
		return catalogue.NameWrites(w)
	})
}

// namesTool reports whether words name what a tool does.
func namesTool(words []string, id string) bool {
	for _, w := range catalogue.Words(id) {
		if catalogue.NameWrites(w) && slices.ContainsFunc(words, func(o string) bool {
			return len(w) > 3 && len(o) >= len(w)-1 && o[:len(w)-1] == w[:len(w)-1]
		}) {
			return true
		}
	}
	return false
}

// asksForPeople reports whether a call asks a database for data about people.
func (p *program) asksForPeople(n *node) bool {
	return p.asksFor(n, func(w string) bool {
		switch w {
		case "email", "emails", "phone", "phones", "birthdate", "patient", "patients", "addresses", "passport":
			return true
		}
		return sensitiveField(w)
	})
}

// sensitiveField reports whether a field is of personal data that nobody shows.
func sensitiveField(w string) bool {
	switch w {
	case "ssn", "salary", "salaries", "iban", "diagnosis", "diagnoses", "medication", "medications":
		return true
	}
	return false
}

// asksFor reports whether the query of a call, or the fields that it names, have a word.
func (p *program) asksFor(n *node, is func(word string) bool) bool {
	found := false
	p.entries(n, func(key string, e *node) {
		switch strings.ToLower(key) {
		case "sql", "soql", "query", "statement", "fields", "columns", "properties", "select", "resource", "resourcetype", "resource_type":
		default:
			return
		}
		for _, v := range p.resolve(e, nil) {
			for _, v := range append([]value{v}, v.items...)[:min(1+len(v.items), 64)] {
				if v.sort == constant && slices.ContainsFunc(catalogue.Words(v.text[:min(len(v.text), 1000)]), is) {
					found = true
				}
			}
		}
	})
	return found
}
