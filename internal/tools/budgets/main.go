// Command budgets holds the speed of this tree against what it was. Every
// figure is a ratio to a piece of plain Go that is measured beside it, so that
// the speed of the machine cancels out.
//
//	go run ./internal/tools/budgets            against the stored baseline.json, in half a minute
//	go run ./internal/tools/budgets -write     store what is measured as the baseline
//	go run ./internal/tools/budgets -base REV  against another commit: both are built, and take turns
//
// A busy machine must not turn it red, and a loss of the tolerance must:
//
//   - Beside each sample of a line the reference is measured for as long, so that
//     a slow minute slows both, and so does a neighbour that is always there.
//   - Of each side the fastest twentieth counts, over all rounds: what else the
//     machine does only adds time.
//   - Rounds are processes of their own, one after the other, with one processor
//     for Go: waking an idle one takes longer on a quiet machine than on a busy
//     one, and would show up as a loss on the quiet one.
//   - What seems slower is measured longer, up to five times as long, and the new
//     samples are added to the old. Only what is slower in all of them fails.
//
// How this holds is shown by samples_test.go, and on a real machine by -slowed,
// which makes each line take that many times as long:
//
//	go run ./internal/tools/budgets -slowed 1.75 -only 'cache hit|1,000 items, python'
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"
)

func main() {
	if err := command(); err != nil {
		fmt.Fprintln(os.Stderr, "budgets:", err)
		os.Exit(1)
	}
}

// baseline is what is stored: ratios to the reference, and by how much one may
// grow before it counts as slower.
type baseline struct {
	Date      string             `json:"date"`
	Machine   string             `json:"machine"`
	Tolerance float64            `json:"tolerance"`
	Ratios    map[string]float64 `json:"ratios"`
}

const stored = "internal/tools/budgets/baseline.json"

func command() error {
	write := flag.Bool("write", false, "store what is measured as the baseline")
	base := flag.String("base", "", "compare with this commit")
	rounds := flag.Int("rounds", 5, "how often each commit takes its turn, with -base; how often -write measures")
	tolerance := flag.Float64("tolerance", 1.1, "by how much a median may be above the other commit's, with -base")
	once := flag.Bool("once", false, "print the samples of one round as JSON")
	only := flag.String("only", "", "measure the lines with these names alone, with a | between two")
	slowed := flag.Float64("slowed", 1, "make each line take so many times as long, to see that it is noticed")
	one := flag.String("one", "", "run 1+1 in this language and end: the start of a process")
	flag.Parse()
	switch {
	case *one != "":
		return oneLiner(*one)
	case *once:
		got, err := take(lines(*only), *slowed)
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(got)
	case *base != "":
		return compare(*base, *rounds, *tolerance)
	case *write:
		return store(*rounds)
	}
	return check(lines(*only), *slowed)
}

// lines are the names that were asked for; none are all of them.
func lines(names string) []string {
	if names == "" {
		return nil
	}
	return strings.Split(names, "|")
}

// round measures every line, or some, in a process of its own.
func round(bin string, only []string, slowed float64) (map[string]samples, error) {
	cmd := exec.Command(bin, "-once", "-only", strings.Join(only, "|"), "-slowed", fmt.Sprint(slowed))
	cmd.Stderr, cmd.Env = os.Stderr, append(os.Environ(), "GOMAXPROCS=1")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("measure: %w", err)
	}
	var got map[string]samples
	return got, json.Unmarshal(out, &got)
}

func store(rounds int) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	known := map[string]samples{}
	for range rounds {
		got, err := round(self, nil, 1)
		if err != nil {
			return err
		}
		for name, s := range got {
			known[name] = known[name].and(s)
		}
	}
	ratios := map[string]float64{}
	for name, s := range known {
		ratios[name] = s.quiet()
	}
	out, err := json.MarshalIndent(baseline{time.Now().UTC().Format(time.DateOnly),
		fmt.Sprintf("%s/%s, %d processors, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version()), 1.6, ratios}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.FromSlash(stored), append(out, '\n'), 0o644)
}

// check measures a few rounds and fails where a ratio stays above the
// baseline's by more than its tolerance.
func check(only []string, slowed float64) error {
	data, err := os.ReadFile(filepath.FromSlash(stored))
	if err != nil {
		return err
	}
	var was baseline
	if err := json.Unmarshal(data, &was); err != nil {
		return fmt.Errorf("%s: %w", stored, err)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	slower, err := verdict([]int{3, 4, 8}, only, func(only []string) (map[string]samples, error) { return round(self, only, slowed) },
		func(known map[string]samples) []string {
			now := map[string]float64{}
			for name, s := range known {
				now[name] = s.quiet()
			}
			slower := show(was.Ratios, now, was.Tolerance, "stored "+was.Date)
			if len(slower) > 0 {
				fmt.Printf("%d lines seem slower\n", len(slower))
			}
			return slower
		})
	if err != nil || len(slower) == 0 {
		return err
	}
	return fmt.Errorf("slower than the baseline by more than %.2fx: %q; go run ./internal/tools/budgets -write stores a new one where that is meant", was.Tolerance, slower)
}

// show prints both sides and gives the names of what is slower.
func show(was, now map[string]float64, tolerance float64, left string) []string {
	var slower []string
	w := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "what, as a ratio to plain Go\t%s\tnow\tnow/then\t\n", left)
	for _, m := range measures {
		a, b := was[m.name], now[m.name]
		mark := ""
		switch {
		case a == 0 || b == 0:
			mark = " not on both sides"
		case b/a > tolerance:
			slower = append(slower, m.name)
			mark = " slower"
		}
		fmt.Fprintf(w, "%s\t%.3g\t%.3g\t%.2f\t%s\n", m.name, a, b, b/a, mark)
	}
	_ = w.Flush() // to standard output
	return slower
}
