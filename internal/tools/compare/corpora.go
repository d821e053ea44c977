package main

import (
	"context"
	"errors"
	"os/exec"
	"regexp"
	"strings"
)

// corpus is a set of labelled examples in the tests.
type corpus struct {
	name  string
	lines []string // output of the test
	err   error
}

// checkCorpora runs the tests with labelled personal data and search queries.
func checkCorpora(ctx context.Context) []corpus {
	said := regexp.MustCompile(`^ +\S+_test\.go:\d+: ?(.*)$`)
	all := []corpus{{name: "personal data"}, {name: "finding tools"}}
	for i, args := range [][]string{
		{"test", "-count=1", "-v", "-run", "Corpus|Hard|FastEnough", "./tests/privacy"},
		{"test", "-count=1", "-v", "./tests/search"},
	} {
		out, err := exec.CommandContext(ctx, "go", args...).CombinedOutput()
		k := &all[i]
		if err != nil {
			k.err = errors.New("goals not reached; run go " + strings.Join(args, " "))
		}
		for line := range strings.Lines(string(out)) {
			if m := said.FindStringSubmatch(strings.TrimRight(line, "\n")); m != nil {
				k.lines = append(k.lines, m[1])
			}
		}
		if len(k.lines) == 0 {
			k.err = errors.Join(k.err, errors.New("it did not run: "+strings.TrimSpace(string(out))))
		}
	}
	return all
}

func corporaText(all []corpus) string {
	var b strings.Builder
	for _, k := range all {
		b.WriteString("\n" + k.name + "\n")
		for _, l := range k.lines {
			b.WriteString("  " + l + "\n")
		}
		if k.err != nil {
			b.WriteString("  " + k.err.Error() + "\n")
		}
	}
	return b.String()
}
