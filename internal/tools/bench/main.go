// Command bench measures what wexec promises about its speed and prints one
// table: budget, measured, ratio. With -json it also writes the figures to a
// file, with -merge into one that is there, and with -docs it writes the table
// of docs/understand/performance.md from docs/understand/performance.json and measures nothing.
//
//	go run ./internal/tools/bench [-json FILE [-merge]] [-only WORD] [-runs N] [-wexec FILE] [-raw FOLDER]
//	go run ./internal/tools/bench -docs
//	go run ./internal/tools/bench -interpreters [-json FILE]
//
// With -interpreters it compares the guests with the machine's own Node and
// CPython instead, on the same programs in turns.
//
// Times are medians on the machine it runs on; whatever else runs there counts
// too. The column cpu is the processor time of the same work, all goroutines
// and processes of it, which others on the machine change less.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// figure is one line of the table.
type figure struct {
	Name     string  `json:"name"`
	Unit     string  `json:"unit"`
	Budget   float64 `json:"budget"`
	Measured float64 `json:"measured"`
	Ratio    float64 `json:"ratio"`           // measured over budget: above 1 it does not hold
	CPU      float64 `json:"cpu,omitempty"`   // processor time of the same, where it says more on a busy machine
	Floor    float64 `json:"floor,omitempty"` // what the machine takes for the least of it
	Note     string  `json:"note,omitempty"`
}

// measure takes one or more figures.
type measure struct {
	name string
	take func(b *bench) ([]figure, error)
}

// bench is what the measures share.
type bench struct {
	ctx   context.Context
	runs  int
	cache string
	wexec string // the command; empty: it is built when it is first needed
	raw   string // where the guests lie as their recipes built them; may be empty
	work  string
}

func main() {
	if err := command(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func command() error {
	file := flag.String("json", "", "write the figures to this file")
	only := flag.String("only", "", "take only measures whose name has this word")
	runs := flag.Int("runs", 200, "repeats of what is short")
	wexec := flag.String("wexec", "", "the command to measure; it is built where none is given")
	beside := flag.Bool("interpreters", false, "compare the guests with Node and CPython instead")
	merge := flag.Bool("merge", false, "keep the figures of the file that are not taken now")
	raw := flag.String("raw", "", "the folder of the guests as their recipes built them, for the overhead of fuel")
	docs := flag.Bool("docs", false, "write the table of docs/understand/performance.md from docs/understand/performance.json")
	flag.Parse()
	if *docs {
		return writeDocument()
	}
	work, err := os.MkdirTemp("", "wexec-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	b := &bench{ctx: context.Background(), runs: max(*runs, 5), cache: work + "/cache", wexec: *wexec, raw: *raw, work: work}
	if *beside {
		all, err := interpreters(b)
		if err != nil {
			return err
		}
		showComparisons(all)
		return write(*file, "interpreters", all)
	}
	var all []figure
	for _, m := range measures() {
		if !strings.Contains(m.name, *only) {
			continue
		}
		fmt.Fprintf(os.Stderr, "bench: %s\n", m.name)
		got, err := m.take(b)
		if err != nil {
			fmt.Fprintf(os.Stderr, "bench: %s: %v\n", m.name, err)
		}
		all = append(all, got...)
	}
	budgets := promises()
	for i := range all {
		budget, ok := budgets[all[i].Name]
		if !ok {
			return fmt.Errorf("nothing is promised of %q", all[i].Name)
		}
		all[i].Budget = budget
		all[i].Ratio = all[i].Measured / all[i].Budget
	}
	show(all)
	if *file == "" {
		return nil
	}
	return newReport(all).write(*file, *merge)
}

// writeDocument puts the stored figures into the document.
func writeDocument() error {
	r, err := read("docs/understand/performance.json")
	if err != nil {
		return err
	}
	doc, err := os.ReadFile("docs/understand/performance.md")
	if err != nil {
		return err
	}
	if doc, err = document(doc, r); err != nil {
		return err
	}
	return os.WriteFile("docs/understand/performance.md", doc, 0o644)
}

// write keeps what was measured, and on what machine, in a file.
func write(file, name string, all any) error {
	if file == "" {
		return nil
	}
	out, err := json.MarshalIndent(map[string]any{
		"when": time.Now().UTC().Format(time.RFC3339), "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH,
		"cpus": runtime.NumCPU(), name: all,
	}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(out, '\n'), 0o644)
}

func show(all []figure) {
	w := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "what\tbudget\tmeasured\tcpu\tratio\t")
	for _, f := range all {
		mark := ""
		if f.Ratio > 1 {
			mark = " over"
		}
		cpu := ""
		if f.CPU > 0 {
			cpu = number(f.CPU)
		}
		fmt.Fprintf(w, "%s\t%s %s\t%s %s\t%s\t%.2f\t%s\n", f.Name, number(f.Budget), f.Unit, number(f.Measured), f.Unit, cpu, f.Ratio, mark)
	}
	w.Flush()
}

func number(v float64) string {
	if v >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// took is how long something took: on the wall, and of the processors.
type took struct{ wall, cpu time.Duration }

func (t took) less(o took) took { return took{t.wall - o.wall, t.cpu - o.cpu} }

// of is the figure of what took so long, in the unit of per, each of n parts.
func (t took) of(name, unit string, per time.Duration, n float64) figure {
	return figure{Name: name, Unit: unit,
		Measured: float64(t.wall) / float64(per) / n, CPU: float64(t.cpu) / float64(per) / n}
}

// median is the middle of what f takes over n repeats, and the mean of its
// processor time.
func median(n int, f func() error) (took, error) {
	times := make([]time.Duration, 0, n)
	before := processorTime()
	for range n {
		begun := time.Now()
		if err := f(); err != nil {
			return took{}, err
		}
		times = append(times, time.Since(begun))
	}
	cpu := (processorTime() - before) / time.Duration(n)
	slices.Sort(times)
	return took{times[n/2], cpu}, nil
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
