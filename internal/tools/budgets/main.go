// Budgets detects performance regressions. It builds its measures from this tree
// and from a base commit, runs both in turns on this machine, and fails if a line of
// this tree is slower. Usage:
//
//	go run ./internal/tools/budgets            compare with the commit in base.txt
//	go run ./internal/tools/budgets -base REV  compare with another commit
//
// base.txt changes only when a release accepts new figures, so that small
// regressions add up to a failure. A busy machine must not cause a failure, and a
// regression beyond the tolerance must:
//
//   - Both sides alternate every 20 ms, so load affects them alike.
//   - The fastest 5 % of the samples of all rounds count, since load only adds time.
//   - Rounds are separate processes with GOMAXPROCS=1. Waking an idle processor
//     takes longer on a quiet machine than on a busy one.
//   - Lines that seem slower are measured up to five times longer, and samples are
//     combined. Only lines that stay slower fail.
//
// samples_test.go simulates this, and -slowed makes each line slower on a real
// machine:
//
//	go run ./internal/tools/budgets -slowed 1.5 -only 'cache hit|1,000 items, python'
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
)

func main() {
	if err := command(); err != nil {
		fmt.Fprintln(os.Stderr, "budgets:", err)
		os.Exit(1)
	}
}

const (
	folder = "internal/tools/budgets"
	// tolerance is the highest allowed ratio of this tree to the base.
	tolerance = 1.25
	// slicesPerRound is how often both sides measure each line in a round.
	slicesPerRound = 6
)

func command() error {
	base := flag.String("base", "", "compare with this commit instead of the one in base.txt")
	serving := flag.Bool("serve", false, "measure the lines that standard input names")
	only := flag.String("only", "", "measure only these lines, separated by |")
	slowed := flag.Float64("slowed", 1, "slow down each line of this tree by this factor, to test the check")
	one := flag.String("one", "", "run 1+1 in this language and exit, to measure the start of a process")
	flag.Parse()
	switch {
	case *one != "":
		return oneLiner(*one)
	case *serving:
		return serve(os.Stdin, os.Stdout, *slowed)
	}
	return check(*base, lines(*only), *slowed)
}

// lines splits names; nil means all lines.
func lines(names string) []string {
	if names == "" {
		return nil
	}
	return strings.Split(names, "|")
}

// check compares this tree with the base and fails if a line stays slower. Without
// the base in the history of the clone there is nothing to compare with.
func check(base string, only []string, slowed float64) (err error) {
	stored := base == ""
	if stored {
		data, err := os.ReadFile(filepath.FromSlash(folder + "/base.txt"))
		if err != nil {
			return err
		}
		base = strings.TrimSpace(string(data))
	}
	name, err := git("rev-parse", "--short", "--verify", base+"^{commit}")
	if err != nil && stored {
		fmt.Printf("not compared: this clone does not have the base commit %s; run git fetch --unshallow\n", base)
		return nil
	}
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "wexec-budgets-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	before, now, err := build(name, work)
	if err != nil {
		return err
	}
	if _, err := round(before, now, only, 1, 1); err != nil { // warms both caches
		return err
	}
	slower, err := verdict([]int{3, 4, 8}, only, func(only []string) (map[string]pair, error) {
		return round(before, now, only, slicesPerRound, slowed)
	}, func(known map[string]pair) { show(known, name) })
	if err != nil || len(slower) == 0 {
		return err
	}
	return fmt.Errorf("slower than %s by more than %.2fx: %q", name, tolerance, slower)
}

// build builds the measures of this tree against this tree and against a commit.
func build(commit, work string) (before, now string, err error) {
	tree := filepath.Join(work, "tree")
	if _, err := git("worktree", "add", "--detach", "--force", tree, commit); err != nil {
		return "", "", err
	}
	defer func() {
		_, gone := git("worktree", "remove", "--force", tree)
		err = errors.Join(err, gone)
	}()
	theirs := filepath.Join(tree, filepath.FromSlash(folder))
	if err := os.RemoveAll(theirs); err != nil {
		return "", "", err
	}
	if err := os.CopyFS(theirs, os.DirFS(filepath.FromSlash(folder))); err != nil {
		return "", "", err
	}
	before, now = filepath.Join(work, "before"), filepath.Join(work, "now")
	for dir, to := range map[string]string{tree: before, ".": now} {
		cmd := exec.Command("go", "build", "-trimpath", "-o", to, "./"+folder)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", "", fmt.Errorf("build the measures in %s: %w\n%s", dir, err, out)
		}
	}
	return before, now, nil
}

func git(args ...string) (string, error) {
	out, err := exec.Command("git", args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, out)
	}
	return strings.TrimSpace(string(out)), nil
}

// A side is a process that measures.
type side struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *json.Decoder
}

func start(bin string, slowed float64) (*side, error) {
	cmd := exec.Command(bin, "-serve", "-slowed", fmt.Sprint(slowed))
	cmd.Stderr, cmd.Env = os.Stderr, append(os.Environ(), "GOMAXPROCS=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &side{cmd, in, json.NewDecoder(out)}, cmd.Start()
}

// slice measures one line.
func (s *side) slice(line string) (samples, error) {
	var got samples
	if _, err := fmt.Fprintln(s.in, line); err != nil {
		return nil, err
	}
	return got, s.out.Decode(&got)
}

func (s *side) close() error { return errors.Join(s.in.Close(), s.cmd.Wait()) }

// round measures all or the named lines on both sides in turns, in new processes.
func round(before, now string, only []string, count int, slowed float64) (got map[string]pair, err error) {
	was, err := start(before, 1)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, was.close()) }()
	is, err := start(now, slowed)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, is.close()) }()
	got = map[string]pair{}
	for _, m := range measures {
		if len(only) > 0 && !slices.Contains(only, m.name) {
			continue
		}
		for i := range count + 1 {
			a, err := was.slice(m.name)
			if err != nil {
				return nil, err
			}
			b, err := is.slice(m.name)
			if err != nil {
				return nil, err
			}
			if i > 0 { // the first slice warms up
				got[m.name] = got[m.name].and(pair{a, b})
			}
		}
	}
	return got, nil
}

// show prints both sides of all lines.
func show(known map[string]pair, base string) {
	w := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "what\t%s\tnow\tnow/then\t\n", base)
	for _, m := range measures {
		p, ok := known[m.name]
		if !ok {
			continue
		}
		mark := ""
		if p.ratio() > tolerance {
			mark = " seems slower"
		}
		fmt.Fprintf(w, "%s\t%v\t%v\t%.2f\t%s\n", m.name, p.was.quiet(), p.is.quiet(), p.ratio(), mark)
	}
	_ = w.Flush() // to standard output
}
