package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/wexec/wexec/internal/tools/machine"
)

// report is a stored run of the benchmark.
type report struct {
	When    string   `json:"when"`
	Machine string   `json:"machine"`
	CPUs    int      `json:"cpus"`
	OS      string   `json:"os"`
	Arch    string   `json:"arch"`
	Go      string   `json:"go"`
	Wazero  string   `json:"wazero"`
	Extism  string   `json:"extism"`
	Load    string   `json:"load,omitempty"` // load averages at the end
	Figures []figure `json:"figures"`
}

func newReport(figures []figure) report {
	r := report{When: time.Now().UTC().Format("2006-01-02"), Machine: machine.Processor(), CPUs: runtime.NumCPU(), OS: runtime.GOOS,
		Arch: runtime.GOARCH, Go: runtime.Version(), Load: machine.Load(), Figures: figures}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			switch d.Path {
			case "github.com/tetratelabs/wazero":
				r.Wazero = d.Version
			case "github.com/extism/go-sdk":
				r.Extism = d.Version
			}
		}
	}
	return r
}

// read reads a stored report.
func read(path string) (report, error) {
	var r report
	data, err := os.ReadFile(path)
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(data, &r)
}

// write stores a report. With merge, other figures of an existing report are kept.
func (r report) write(path string, merge bool) error {
	if old, err := read(path); err == nil && merge {
		for _, f := range old.Figures {
			if !slices.ContainsFunc(r.Figures, func(g figure) bool { return g.Name == f.Name }) {
				r.Figures = append(r.Figures, f)
			}
		}
	}
	slices.SortStableFunc(r.Figures, func(a, b figure) int { return cmp.Compare(a.place(), b.place()) })
	out, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(out, '\n'), 0o644)
}

// order lists prefixes of figure names in the order of the table.
var order = []string{
	"fresh javascript", "fresh python", "the same from a warm pool, javascript", "the same from a warm pool, python",
	"wexec run, javascript", "wexec run, python", "wexec run, typescript, output cached", "wexec run, typescript",
	"fuel overhead, javascript", "fuel overhead, python", "tool call round trip, javascript", "tool call round trip, python",
	"1 MiB answer into an object, javascript", "1 MiB answer into an object, python", "JSON.stringify", "json.dumps",
	"commits job, 2 MB, javascript", "commits job, 2 MB, python",
	"private memory of an idle instance, javascript", "private memory of an idle instance, python",
	"runtime.GC", "worst overshoot", "1,000 runs", "result-cache", "package initialization",
	"POST /v1/runs", "the same from 32 clients", "32 clients of two servers",
	"empty session asleep, javascript", "empty session asleep, python",
	"a session wakes and runs 1+1, javascript", "a session wakes and runs 1+1, python",
	"a fork of 5 MB runs 1+1, javascript", "a fork of 5 MB runs 1+1, python",
	"private memory of a fork of 5 MB, javascript", "private memory of a fork of 5 MB, python",
	"session with 16 modules asleep", "a session with 16 modules wakes", "wexec serve with 10,000", "its data folder",
	"an answer of a run that goes on, javascript", "an answer of a run that goes on, python",
}

// place returns the position of a figure in the table.
func (f figure) place() int {
	for i, o := range order {
		if strings.HasPrefix(f.Name, o) {
			return i
		}
	}
	return len(order)
}

// The table in the document is between these lines.
const (
	tableBegins = "<!-- what follows is written by: go run ./internal/tools/bench -docs -->"
	tableEnds   = "<!-- what was written ends here -->"
)

// table formats the report for the document.
func (r report) table() string {
	var b strings.Builder
	over := 0
	for _, f := range r.Figures {
		if f.Ratio > 1 {
			over++
		}
	}
	fmt.Fprintf(&b, "Measured on %s: %s, %d processors, %s/%s, %s, wazero %s, Extism's go-sdk %s; load of the machine %s.",
		r.When, r.Machine, r.CPUs, r.OS, r.Arch, r.Go, r.Wazero, r.Extism, r.Load)
	switch over {
	case 0:
		b.WriteString(" Every line is within its budget.\n\n")
	case 1:
		b.WriteString(" **One line is over its budget.**\n\n")
	default:
		fmt.Fprintf(&b, " **%d lines are over their budget.**\n\n", over)
	}
	b.WriteString("| what | budget | measured | processor | floor | ratio |\n|---|---|---|---|---|---|\n")
	for _, f := range r.Figures {
		cell := func(v float64) string {
			if v == 0 {
				return ""
			}
			return number(v) + " " + f.Unit
		}
		ratio := fmt.Sprintf("%.2f", f.Ratio)
		if f.Ratio > 1 {
			ratio += ", over"
		}
		measured, budget := cell(f.Measured), cell(f.Budget)
		if f.Unit == "runs" {
			measured, budget, ratio = number(f.Measured)+" of 1,000", "none", ""
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", f.Name, budget, measured, cell(f.CPU), cell(f.Floor), ratio)
	}
	return b.String()
}

// document replaces the table in a document.
func document(doc []byte, r report) ([]byte, error) {
	before, rest, ok := bytes.Cut(doc, []byte(tableBegins))
	_, after, ok2 := bytes.Cut(rest, []byte(tableEnds))
	if !ok || !ok2 {
		return nil, fmt.Errorf("the document has no table marks: %s … %s", tableBegins, tableEnds)
	}
	return slices.Concat(before, []byte(tableBegins+"\n"+r.table()+tableEnds), after), nil
}
