package main

import (
	"fmt"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// hideReturns writes the top-level returns that esbuild rejected as assignments to a
// name that the program does not have: `return x` as `NAME=x`, and `return` as `NAME;`.
// Both have the length of the keyword, so that every place in the program stays.
func hideReturns(code string, rejected []api.Message) (hidden, name string, ok bool) {
	for i := 0; name == "" || strings.Contains(code, name); i++ {
		if i == 1000 {
			return "", "", false
		}
		name = fmt.Sprintf("r$%03d", i)
	}
	const keyword = "return"
	starts := []int{0}
	for at, c := range []byte(code) {
		if c == '\n' {
			starts = append(starts, at+1)
		}
	}
	out := []byte(code)
	for _, e := range rejected {
		l := e.Location
		if !isReturn(e) || l == nil || l.Line < 1 || l.Line > len(starts) {
			return "", "", false
		}
		at := starts[l.Line-1] + l.Column
		if at > len(code) || !strings.HasPrefix(code[at:], keyword) {
			return "", "", false
		}
		copy(out[at:], name+operator(code[at+len(keyword):]))
	}
	return string(out), name, true
}

// operator returns what follows the name instead of a return before rest.
func operator(rest string) string {
	for {
		rest = strings.TrimLeft(rest, " \t")
		comment, after, ok := strings.Cut(rest, "*/")
		if !ok || !strings.HasPrefix(comment, "/*") || strings.Contains(comment, "\n") {
			break
		}
		rest = after
	}
	switch {
	case rest == "", strings.ContainsRune("\r\n", rune(rest[0])), strings.HasPrefix(rest, "//"), strings.HasPrefix(rest, "/*"):
		return ";" // the next line is another statement
	case rest[0] == ';', rest[0] == '}':
		return " "
	}
	return "="
}

// showReturns is the reverse of hideReturns, for the output of esbuild. A line may end
// after a comment, so a value follows that is not used.
func showReturns(code, name string) string {
	return strings.NewReplacer(
		name+";", "return;",
		name+" = /", "return 0, /",
		name+" = ", "return   "[:len(name)+len(" = ")],
	).Replace(code)
}
