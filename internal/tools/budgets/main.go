// Budgets detects performance regressions. Every figure is a ratio to a reference
// in plain Go that is measured at the same time, which cancels out the speed of
// the machine. Usage:
//
//	go run ./internal/tools/budgets            compare with baseline.json, in half a minute
//	go run ./internal/tools/budgets -write     store the figures in baseline.json
//	go run ./internal/tools/budgets -base REV  compare with another commit, in turns
//
// A busy machine must not cause a failure, and a regression beyond the tolerance
// must:
//
//   - The reference runs next to each sample for the same time, so load affects
//     both.
//   - The fastest 5 % of the samples of all rounds count, since load only adds time.
//   - Rounds are separate processes with GOMAXPROCS=1. Waking an idle processor
//     takes longer on a quiet machine than on a busy one.
//   - Lines that seem slower are measured up to five times longer, and samples are
//     combined. Only lines that stay slower fail.
//
// samples_test.go simulates this, and -slowed makes each line slower on a real
// machine:
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

// baseline has the stored ratios to the reference, and the factor by which a ratio
// may grow.
type baseline struct {
	Date      string             `json:"date"`
	Machine   string             `json:"machine"`
	Tolerance float64            `json:"tolerance"`
	Ratios    map[string]float64 `json:"ratios"`
}

const stored = "internal/tools/budgets/baseline.json"

func command() error {
	write := flag.Bool("write", false, "store the figures in baseline.json")
	base := flag.String("base", "", "compare with this commit")
	rounds := flag.Int("rounds", 5, "rounds per commit with -base, and in all with -write")
	tolerance := flag.Float64("tolerance", 1.1, "highest allowed ratio of the medians, with -base")
	once := flag.Bool("once", false, "print the samples of one round as JSON")
	only := flag.String("only", "", "measure only these lines, separated by |")
	slowed := flag.Float64("slowed", 1, "slow down each line by this factor, to test the check")
	one := flag.String("one", "", "run 1+1 in this language and exit, to measure the start of a process")
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

// lines splits names; nil means all lines.
func lines(names string) []string {
	if names == "" {
		return nil
	}
	return strings.Split(names, "|")
}

// round measures all or some lines in a separate process.
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

// check measures rounds and fails if a ratio stays above the baseline by more than
// the tolerance.
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
	return fmt.Errorf("slower than the baseline by more than %.2fx: %q; go run ./internal/tools/budgets -write stores a new baseline", was.Tolerance, slower)
}

// show prints both sides and returns the names of slower lines.
func show(was, now map[string]float64, tolerance float64, left string) []string {
	var slower []string
	w := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "what, as a ratio to plain Go\t%s\tnow\tnow/then\t\n", left)
	for _, m := range measures {
		a, b := was[m.name], now[m.name]
		mark := ""
		switch {
		case a == 0 || b == 0:
			mark = " missing on one side"
		case b/a > tolerance:
			slower = append(slower, m.name)
			mark = " slower"
		}
		fmt.Fprintf(w, "%s\t%.3g\t%.3g\t%.2f\t%s\n", m.name, a, b, b/a, mark)
	}
	_ = w.Flush() // to standard output
	return slower
}
