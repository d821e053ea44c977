// Command budgets holds the speed of this tree against what it was. Every
// figure is a ratio to a piece of plain Go that is measured beside it, so that
// the speed of the machine cancels out.
//
//	go run ./tests/budgets            against the stored baseline.json, in half a minute
//	go run ./tests/budgets -write     store what is measured as the baseline
//	go run ./tests/budgets -base REV  against another commit: both are built, and take turns
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
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

const stored = "tests/budgets/baseline.json"

func command() error {
	write := flag.Bool("write", false, "store what is measured as the baseline")
	base := flag.String("base", "", "compare with this commit")
	rounds := flag.Int("rounds", 5, "how often each commit takes its turn, with -base")
	tolerance := flag.Float64("tolerance", 1.1, "by how much a median may be above the other commit's, with -base")
	once := flag.Bool("once", false, "print the ratios of one round as JSON")
	one := flag.String("one", "", "run 1+1 in this language and end: the start of a process")
	flag.Parse()
	switch {
	case *one != "":
		return oneLiner(*one)
	case *once:
		got, err := take()
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(got)
	case *base != "":
		return compare(*base, *rounds, *tolerance)
	case *write:
		return store()
	}
	return check()
}

// several takes the median of several rounds, each in a process of its own.
func several(bin string, rounds int) (map[string]float64, error) {
	all := map[string][]float64{}
	for range rounds {
		got, err := round(bin)
		if err != nil {
			return nil, err
		}
		for name, v := range got {
			all[name] = append(all[name], v)
		}
	}
	return medians(all), nil
}

func round(bin string) (map[string]float64, error) {
	cmd := exec.Command(bin, "-once")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("measure: %w", err)
	}
	var got map[string]float64
	return got, json.Unmarshal(out, &got)
}

func medians(all map[string][]float64) map[string]float64 {
	out := map[string]float64{}
	for name, v := range all {
		slices.Sort(v)
		out[name] = v[len(v)/2]
	}
	return out
}

func store() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	got, err := several(self, 7)
	if err != nil {
		return err
	}
	out, err := json.MarshalIndent(baseline{time.Now().UTC().Format(time.DateOnly),
		fmt.Sprintf("%s/%s, %d processors, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version()), 1.6, got}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.FromSlash(stored), append(out, '\n'), 0o644)
}

// check measures a few rounds and fails where a ratio is above the baseline's
// by more than its tolerance. What seems slower is measured once more, with
// more rounds: a neighbour's work is gone by then, a real loss is not.
func check() error {
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
	for _, rounds := range []int{3, 7} {
		now, err := several(self, rounds)
		if err != nil {
			return err
		}
		slower := show(was.Ratios, now, was.Tolerance, "stored "+was.Date)
		if len(slower) == 0 {
			return nil
		}
		if rounds == 7 {
			return fmt.Errorf("slower than the baseline by more than %.2fx: %q; go run ./tests/budgets -write stores a new one where that is meant", was.Tolerance, slower)
		}
	}
	return nil
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
