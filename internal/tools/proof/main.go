// Proof runs a long test and, if it passes, writes its output to
// docs/understand/proof.md with the date, the machine and the versions:
//
//	go run ./internal/tools/proof -of soak -keep 'runs|after' -- go test -run TestSoak ./engine
//
// The page keeps the lines that match the pattern.
package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/wexec/wexec/internal/tools/machine"
)

func main() {
	of := flag.String("of", "", "the section of the page to write")
	keep := flag.String("keep", ".", "pattern of the output lines to keep")
	page := flag.String("page", "docs/understand/proof.md", "the page")
	flag.Parse()
	if err := record(*of, *keep, *page, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "proof:", err)
		os.Exit(1)
	}
}

func record(of, keep, page string, command []string) error {
	pattern, err := regexp.Compile(keep)
	if err != nil {
		return err
	}
	before, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	if _, err := section(before, of, ""); err != nil {
		return err // check this before running for hours
	}
	if len(command) == 0 {
		return fmt.Errorf("no command after --")
	}
	var said bytes.Buffer
	begun := time.Now()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = io.MultiWriter(os.Stdout, &said), os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s failed, %s is unchanged: %w", of, page, err)
	}
	lines, err := kept(&said, pattern)
	if err != nil {
		return err
	}
	after, err := section(before, of, text(begun, time.Since(begun), lines))
	if err != nil {
		return err
	}
	return os.WriteFile(page, after, 0o644)
}

// around matches colors and the position that a test prints before its message.
var around = regexp.MustCompile("\x1b\\[[0-9;]*m|^ +[a-z_]+_test\\.go:[0-9]+: ")

// kept returns the matching lines without colors and positions.
func kept(said io.Reader, pattern *regexp.Regexp) ([]string, error) {
	var out []string
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		line := strings.TrimRight(around.ReplaceAllString(lines.Text(), ""), " \t")
		if pattern.MatchString(line) {
			out = append(out, line)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no output line matches %s", pattern)
	}
	return out, nil
}

// text formats a section.
func text(begun time.Time, took time.Duration, lines []string) string {
	version := "unknown"
	if out, err := exec.Command("git", "describe", "--tags", "--always").Output(); err == nil {
		version = strings.TrimSpace(string(out))
	}
	return fmt.Sprintf("%s, after %s, wexec %s: %s; load of the machine %s.\n\n```text\n%s\n```\n", begun.UTC().Format("2006-01-02"),
		took.Round(time.Second), version, machine.Describe(), machine.Load(), strings.Join(lines, "\n"))
}

// section replaces the text of a section of the page.
func section(page []byte, of, text string) ([]byte, error) {
	begins := []byte("<!-- what follows is written by: make " + of + " -->\n")
	ends := []byte("<!-- what make " + of + " wrote ends here -->")
	before, rest, found := bytes.Cut(page, begins)
	_, after, closed := bytes.Cut(rest, ends)
	if !found || !closed {
		return nil, fmt.Errorf("the page has no marks for %q: %s…%s", of, begins, ends)
	}
	return slices.Concat(before, begins, []byte(text), ends, after), nil
}
