package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/text"
)

// Fault is one thing that is wrong in a file.
type Fault struct {
	File         string
	Line, Column int // from 1; zero where the file as a whole is meant
	Message      string
	Hint         string
}

// String is file:line:column and the message.
func (f Fault) String() string {
	s := f.File
	if f.Line > 0 {
		s = fmt.Sprintf("%s:%d:%d", f.File, f.Line, f.Column)
	}
	s += ": " + f.Message
	if f.Hint != "" {
		s += " (" + f.Hint + ")"
	}
	return s
}

// Faults is everything that is wrong in a file, in the order of its lines. It
// is the cause of the error that [Parse] returns.
type Faults []Fault

// Error lists the faults, one a line.
func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i := range f {
		lines[i] = f[i].String()
	}
	return strings.Join(lines, "\n")
}

// maxFaults bounds what is told of one file.
const maxFaults = 100

// reporter gathers the faults of one file.
type reporter struct {
	file   string
	faults Faults
}

func (r *reporter) add(pos position, hint, format string, args ...any) {
	r.faults = append(r.faults, Fault{File: r.file, Line: pos.line, Column: pos.column, Message: fmt.Sprintf(format, args...), Hint: hint})
}

// fail reports an error of a reader of words, with its hint.
func (r *reporter) fail(pos position, err error) {
	r.add(pos, fault.HintOf(err), "%s", err)
}

func (r *reporter) err() error {
	if len(r.faults) == 0 {
		return nil
	}
	slices.SortStableFunc(r.faults, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), strings.Compare(a.Message, b.Message))
	})
	list := slices.Compact(r.faults)
	if len(list) > maxFaults {
		list = list[:maxFaults]
	}
	return &fault.Error{Code: fault.UsagePolicy, Message: list.Error(), Err: list}
}

// meant is a hint with the nearest right word, or the whole list where none is
// near.
func meant(word string, list []string) string {
	if near := catalogue.NearestOf(word, list); near != "" {
		return "did you mean " + near + "?"
	}
	for _, w := range list {
		if len(word) > 3 && strings.HasPrefix(w, word) {
			return "did you mean " + w + "?"
		}
	}
	if len(list) == 0 || len(list) > 24 {
		return ""
	}
	return "one of " + strings.Join(list, ", ")
}

// clip shortens a text for a message.
func clip(s string) string { return text.Clip(s, 60) }
