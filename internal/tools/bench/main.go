// Bench measures wexec against its performance budgets and prints a table.
// With -json it writes the figures to a file; -merge keeps other figures of that
// file. With -docs it measures nothing and writes the table in
// docs/understand/performance.md from docs/understand/performance.json. Usage:
//
//	go run ./internal/tools/bench [-json FILE [-merge]] [-only WORD] [-runs N] [-wexec FILE] [-raw FOLDER]
//	go run ./internal/tools/bench -docs
//	go run ./internal/tools/bench -interpreters [-json FILE]
//
// With -interpreters it compares the guests with the installed Node and CPython.
//
// Times are medians and depend on the load of the machine. The column cpu is
// processor time of all goroutines and processes, which depends less on the load.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"
)

func main() {
	if err := command(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func command() error {
	file := flag.String("json", "", "write the figures to this file")
	only := flag.String("only", "", "run only measures with this word in their name")
	runs := flag.Int("runs", 200, "repetitions of short measures")
	wexec := flag.String("wexec", "", "the command to measure (default: build it)")
	compare := flag.Bool("interpreters", false, "compare the guests with Node and CPython")
	merge := flag.Bool("merge", false, "keep figures of the file that are not measured now")
	raw := flag.String("raw", "", "folder with the guests as their recipes build them, to measure the overhead of fuel")
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
	if *compare {
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
			return fmt.Errorf("no budget for %q", all[i].Name)
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

// writeDocument writes the stored figures to the document.
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

// write stores the figures and the machine in a file.
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
