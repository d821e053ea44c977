// Skips reads the output of go test -json, prints what go test prints, and counts
// the skipped tests. It fails if a test failed or if a skip is not expected:
//
//	go test -short -json ./... | go run ./internal/tools/skips -short
//
// A skip is expected if its message starts with "short: " and the tests ran with
// -short, or if a pattern in tests/skips.txt matches the test or the message. The count is added to the file in
// $SKIPS_TOTAL, if that is set.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

func main() {
	list := flag.String("list", "tests/skips.txt", "the `file` with expected skips")
	short := flag.Bool("short", false, "the tests ran with -short")
	flag.Parse()
	expected, err := readList(*list)
	if err == nil {
		r := &report{expected: expected, short: *short, out: os.Stdout}
		err = r.read(os.Stdin)
		if total := os.Getenv("SKIPS_TOTAL"); err == nil && total != "" {
			err = appendLine(total, fmt.Sprint(r.skipped))
		}
		if err == nil && r.failed() {
			os.Exit(1)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "skips:", err)
		os.Exit(1)
	}
}

// readList reads patterns of tests or messages, one per line, each followed by the
// reason. Lines that start with # are comments.
func readList(file string) ([]*regexp.Regexp, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var all []*regexp.Regexp
	for line := range strings.Lines(string(data)) {
		name, reason, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == "" || strings.HasPrefix(name, "#") {
			continue
		}
		if strings.TrimSpace(reason) == "" {
			return nil, fmt.Errorf("%s: %s has no reason", file, name)
		}
		re, err := regexp.Compile("^(?:" + name + ")$")
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, re)
	}
	return all, nil
}

func appendLine(file, line string) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, line)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// event is a line of go test -json; see go doc test2json.
type event struct {
	Action, Package, Test, Output string
}

type report struct {
	expected   []*regexp.Regexp
	short      bool
	out        io.Writer
	skipped    int
	unexpected []string
	broken     bool
	output     map[string][]string // by package and test
}

func (r *report) read(in io.Reader) error {
	r.output = map[string][]string{}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			fmt.Fprintln(r.out, lines.Text()) // go itself, before any test
			continue
		}
		r.add(e)
	}
	if err := lines.Err(); err != nil {
		return err
	}
	fmt.Fprintf(r.out, "%d tests skipped, %d of them unexpected\n", r.skipped, len(r.unexpected))
	for _, one := range r.unexpected {
		fmt.Fprintln(r.out, "unexpected skip:", one)
	}
	return nil
}

func (r *report) failed() bool { return r.broken || len(r.unexpected) > 0 }

func (r *report) add(e event) {
	key := e.Package + " " + e.Test
	switch e.Action {
	case "output", "build-output":
		if e.Test == "" {
			if e.Output != "PASS\n" {
				fmt.Fprint(r.out, e.Output)
			}
			return
		}
		r.output[key] = append(r.output[key], e.Output)
	case "fail", "build-fail":
		r.broken = true
		r.print(key)
		if e.Test == "" { // tests that have not ended, such as one that was killed
			for _, key := range slices.Sorted(maps.Keys(r.output)) {
				if strings.HasPrefix(key, e.Package+" ") {
					r.print(key)
				}
			}
		}
	case "skip":
		if e.Test != "" {
			r.skip(e, r.output[key])
		}
		delete(r.output, key)
	case "pass":
		delete(r.output, key)
	}
}

// print prints the output of a test and forgets it.
func (r *report) print(key string) {
	for _, line := range r.output[key] {
		fmt.Fprint(r.out, line)
	}
	delete(r.output, key)
}

var position = regexp.MustCompile(`^\s+\S+\.go:\d+: `)

func (r *report) skip(e event, output []string) {
	r.skipped++
	reason := ""
	for _, line := range output {
		if at := position.FindString(line); at != "" {
			reason = strings.TrimSpace(line[len(at):])
		}
	}
	if r.short && strings.HasPrefix(reason, "short: ") {
		return
	}
	for _, re := range r.expected {
		if re.MatchString(e.Test) || re.MatchString(reason) {
			return
		}
	}
	r.unexpected = append(r.unexpected, fmt.Sprintf("%s in %s: %s", e.Test, e.Package, reason))
}
