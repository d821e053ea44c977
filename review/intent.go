package review

import (
	"slices"
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
