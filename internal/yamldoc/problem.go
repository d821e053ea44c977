package yamldoc

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/text"
)

// Problem is one thing that is wrong in a file.
type Problem struct {
	File         string
	Line, Column int // from 1; zero if the file as a whole is meant
	Message      string
	Hint         string
}

// String returns file:line:column, the message and the hint.
func (p Problem) String() string {
	s := p.File
	if p.Line > 0 {
		s = fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
	}
	s += ": " + p.Message
	if p.Hint != "" {
		s += " (" + p.Hint + ")"
	}
	return s
}

// Problems is everything that is wrong in a file, in the order of its lines.
type Problems []Problem

// Error returns the problems, one a line.
func (list Problems) Error() string {
	lines := make([]string, len(list))
	for i := range list {
		lines[i] = list[i].String()
	}
	return strings.Join(lines, "\n")
}

// maxProblems bounds the problems reported of one file.
const maxProblems = 100

// Reporter collects the problems of one file.
type Reporter struct {
	File     string
	problems Problems
}

// Add reports a problem. The hint may be empty.
func (r *Reporter) Add(pos Position, hint, format string, args ...any) {
	r.problems = append(r.problems, Problem{File: r.File, Line: pos.Line, Column: pos.Column, Message: fmt.Sprintf(format, args...), Hint: hint})
}

// AddError reports an error with its hint.
func (r *Reporter) AddError(pos Position, err error) { r.Add(pos, fault.HintOf(err), "%s", err) }

// Where returns file:line of a position.
func (r *Reporter) Where(pos Position) string { return fmt.Sprintf("%s:%d", r.File, pos.Line) }

// Err returns an error of the code that wraps [Problems], or nil if there are
// none. The hint of a single problem is the hint of the error; the hints of
// several are part of the message.
func (r *Reporter) Err(code fault.Code) error {
	if len(r.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(r.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), strings.Compare(a.Message, b.Message))
	})
	list := slices.Compact(r.problems)
	list = list[:min(len(list), maxProblems)]
	if len(list) == 1 {
		single := list[0]
		single.Hint = ""
		return &fault.Error{Code: code, Message: single.String(), Hint: list[0].Hint, Err: list}
	}
	return &fault.Error{Code: code, Message: list.Error(), Err: list}
}

// Suggest returns a hint with the word of the list that was probably meant, or
// else with the whole list unless it is long.
func Suggest(word string, list []string) string {
	if near := nearest(word, list); near != "" {
		return "did you mean " + near + "?"
	}
	if len(list) == 0 || len(list) > 24 {
		return ""
	}
	return "use one of " + strings.Join(list, ", ")
}

// nearest returns the word of a list that was probably meant, or "".
func nearest(word string, list []string) string {
	if near := catalogue.NearestOf(word, list); near != "" {
		return near
	}
	for _, w := range list {
		if len(word) > 3 && strings.HasPrefix(w, word) {
			return w
		}
	}
	return ""
}

// clip shortens a text for a message.
func clip(s string) string { return text.Clip(s, 60) }
