package approvals

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/internal/text"
)

// Room is how much of a question is shown, in characters.
type Room struct {
	Text     int // of the message and of the goal
	Argument int // of one argument
	All      int // of all arguments; those that the rule names come first

	// Question and Record name the place where all of a question is, with %s for its
	// id, and for its run: a command, where there is a command line.
	Question, Record string
}

// Rooms of the ways to ask.
var (
	OnTerminal = Room{Text: 400, Argument: 400, All: 1600, Question: questionPlace, Record: recordPlace}
	InForm     = Room{Text: 200, Argument: 200, All: 800, Question: questionPlace, Record: recordPlace}
)

const (
	questionPlace = "question %s on the approvals socket"
	recordPlace   = "the audit record of run %s"
)

// Lines returns what a question asks as lines for a person: the message of the
// rule, one line for each argument, the rule, and the goal that the program
// gives. Arguments that the rule depends on come first, then short ones. All
// characters are visible. What is cut has its length and its digest, and the
// last line says where the rest is.
func Lines(q hostfns.Question, room Room) []string {
	v := view{room: room}
	var lines []string
	if q.Message != "" {
		lines = append(lines, v.fit("", q.Message, room.Text))
	}
	lines = append(lines, v.arguments(q.Args, q.Decisive)...)
	if q.Rule != "" {
		lines = append(lines, "rule "+text.Visible(q.Rule))
	}
	if q.Intent != "" {
		lines = append(lines, v.fit("the goal that the program gives", q.Intent, room.Text))
	}
	if v.cut {
		lines = append(lines, whereToRead(&q, room))
	}
	return lines
}

// whereToRead says how to see all arguments.
func whereToRead(q *hostfns.Question, room Room) string {
	switch {
	case slices.Contains(q.Via, Socket):
		return fmt.Sprintf("to read all of it: "+room.Question, text.Visible(q.ID))
	case q.Recorded:
		return fmt.Sprintf("to read all of it: "+room.Record, text.Visible(q.Run))
	}
	return "the rest is not recorded: set  audit: {inputs: full}  in the policy"
}

// view builds the lines of one question.
type view struct {
	room Room
	cut  bool // something is not shown
}

// argument is one argument of a call.
type argument struct {
	name, value string // as JSON
	rank        int    // of those that come first
}

func (v *view) arguments(args json.RawMessage, decisive []string) []string {
	var all map[string]json.RawMessage
	if json.Unmarshal(args, &all) != nil {
		return []string{v.fit("arguments", string(args), v.room.Argument)}
	}
	if len(all) == 0 {
		return []string{"without arguments"}
	}
	list := make([]argument, 0, len(all))
	for name, value := range all {
		rank := slices.Index(decisive, name)
		if rank < 0 {
			rank = len(decisive)
		}
		list = append(list, argument{name, canonical(value), rank})
	}
	slices.SortFunc(list, func(a, b argument) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(len(a.value), len(b.value)), strings.Compare(a.name, b.name))
	})
	lines := []string{"arguments:"}
	left := v.room.All
	for i, a := range list {
		line := "  " + v.fit(v.nameOf(a), a.value, v.room.Argument)
		if left -= utf8.RuneCountInString(line); left < 0 && i > 0 {
			return append(lines, "  "+v.others(list[i:]))
		}
		lines = append(lines, line)
	}
	return lines
}

// canonical returns a value in the one way in which JSON is written here. Very
// long ones stay as the program wrote them.
func canonical(value json.RawMessage) string {
	const most = 64 << 10
	dec := json.NewDecoder(bytes.NewReader(value))
	dec.UseNumber()
	var v any
	if len(value) > most || dec.Decode(&v) != nil {
		return string(value)
	}
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return string(value)
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// nameOf returns the name of an argument, quoted unless it is a plain word.
func (v *view) nameOf(a argument) string {
	const most = 60
	for _, c := range a.name {
		if !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '_' && c != '-' {
			quoted, _ := json.Marshal(a.name)
			return v.fit("", string(quoted), most)
		}
	}
	return v.fit("", a.name, most)
}

// others sums up arguments that are not shown.
func (v *view) others(list []argument) string {
	v.cut = true
	size, sum := 0, sha256.New()
	for _, a := range list {
		size += utf8.RuneCountInString(a.name) + utf8.RuneCountInString(a.value)
		fmt.Fprintf(sum, "%s: %s\n", a.name, a.value)
	}
	return fmt.Sprintf("[cut: %d more arguments, %d characters, sha256 %.6x]", len(list), size, sum.Sum(nil))
}

// fit returns a named text in at most n visible characters: its start and its
// end. The length and the digest of what is cut come first, where the text
// cannot imitate them.
func (v *view) fit(name, s string, n int) string {
	out := ""
	if size := utf8.RuneCountInString(s); size <= n {
		out = visible(s)
	}
	if out == "" && s != "" || utf8.RuneCountInString(out) > n {
		v.cut = true
		name = strings.TrimSpace(fmt.Sprintf("%s [cut: %d characters, sha256 %.6x]", name, utf8.RuneCountInString(s), sha256.Sum256([]byte(s))))
		head, tail := visible(text.Prefix(s, 4*n)), visible(ending(s, 4*n))
		out = prefixRunes(head, n-n/3) + " … " + suffixRunes(tail, n/3)
	}
	if name == "" {
		return out
	}
	return name + ": " + out
}

// visible returns a text with every character visible. Many spaces, which could
// push what follows to another line, are counted.
func visible(s string) string {
	const most = 3
	s = text.Visible(s)
	var out strings.Builder
	for s != "" {
		rest := strings.TrimLeft(s, " ")
		if n := len(s) - len(rest); n > most {
			fmt.Fprintf(&out, `\u{20}×%d`, n)
		} else {
			out.WriteString(s[:n])
		}
		next := strings.IndexByte(rest, ' ')
		if next < 0 {
			next = len(rest)
		}
		out.WriteString(rest[:next])
		s = rest[next:]
	}
	return out.String()
}

// ending returns the end of s with at most n bytes, at the start of a character.
func ending(s string, n int) string {
	at := max(len(s)-n, 0)
	for at < len(s) && !utf8.RuneStart(s[at]) {
		at++
	}
	return s[at:]
}

func prefixRunes(s string, n int) string {
	for at := range s {
		if n--; n < 0 {
			return s[:at]
		}
	}
	return s
}

func suffixRunes(s string, n int) string {
	return s[len(prefixRunes(s, utf8.RuneCountInString(s)-n)):]
}
