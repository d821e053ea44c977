// Package metrics counts what the runs of a server did, and writes the counts in the
// text format of Prometheus.
//
// The counts name languages, statuses and servers of tools, and never a tenant, an
// actor or a tool. The library of Prometheus and the exporter of OpenTelemetry are
// each larger than what is needed here by a megabyte and a registry.
package metrics

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
)

// Family is one metric.
type Family struct {
	Name, Kind, Help string
}

// The metrics, in the order in which they are written.
const (
	runs = iota
	seconds
	fuel
	calls
	saved
	cost
	queueLength
	queueAge
	sandboxes
	memory
	approvals
)

// Families returns all metrics.
func Families() []Family {
	return []Family{
		runs:        {"wexec_runs_total", "counter", "Runs that have ended, by language and status."},
		seconds:     {"wexec_run_seconds", "histogram", "Time of runs from start to end, with waiting."},
		fuel:        {"wexec_fuel_total", "counter", "Fuel that runs used."},
		calls:       {"wexec_tool_calls_total", "counter", "Tool calls, by server and outcome: ok, denied or error."},
		saved:       {"wexec_tokens_saved_total", "counter", "Tokens of tool answers that no model had to read."},
		cost:        {"wexec_cost_total", "counter", "Cost of runs by the prices of their models, by currency."},
		queueLength: {"wexec_queue_length", "gauge", "Runs that wait in the store for a process."},
		queueAge:    {"wexec_queue_age_seconds", "gauge", "How long the oldest of them has waited."},
		sandboxes:   {"wexec_sandboxes", "gauge", "Runs of this process, by state: queued, running or waiting for people."},
		memory:      {"wexec_sandbox_memory_bytes", "gauge", "Memory of the sandboxes of this process."},
		approvals:   {"wexec_approvals_waiting", "gauge", "Questions that wait for a person."},
	}
}

// maxServers bounds the servers that have a count of their calls. Further ones are
// counted together as "other".
const maxServers = 100

const other = "other"

// bounds are those of the histogram, in milliseconds.
var bounds = [...]int64{5, 25, 100, 500, 1_000, 5_000, 30_000, 120_000, 600_000}

// Set has the counts of a process. The zero value is empty. It is safe for concurrent
// use.
type Set struct {
	mu      sync.Mutex
	runs    map[[2]string]int64 // by language and status
	calls   map[[2]string]int64 // by server and outcome
	servers map[string]bool
	slots   [len(bounds) + 1]int64
	ms      int64
	fuel    int64
	saved   int64
	cost    map[string]float64 // by currency
}

// Ended counts a run that has ended.
func (s *Set) Ended(language string, r *engine.Result) {
	name, err := engine.Language(language)
	if err != nil {
		name = other
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.runs == nil {
		s.runs, s.calls, s.servers, s.cost = map[[2]string]int64{}, map[[2]string]int64{}, map[string]bool{}, map[string]float64{}
	}
	u := r.Usage
	s.runs[[2]string{name, string(r.Status)}]++
	i, _ := slices.BinarySearch(bounds[:], u.WallMS)
	s.slots[i]++
	s.ms += u.WallMS
	s.fuel += u.Fuel
	s.saved += max(0, u.TokensInTools-u.TokensOut)
	if c := u.Cost; c != nil {
		s.cost[c.Currency] += c.Models + c.Program
	}
	for _, c := range r.Calls {
		outcome := "ok"
		switch {
		case c.Code.Class() == fault.ClassDenied:
			outcome = "denied"
		case !c.OK:
			outcome = "error"
		}
		s.calls[[2]string{s.server(c), outcome}]++
	}
}

// server returns the name under which a call is counted. Before a call is decided, its
// tool is any text that a program wrote.
func (s *Set) server(c engine.Call) string {
	name, _, ok := strings.Cut(c.Tool, ".")
	switch {
	case strings.HasPrefix(c.Tool, "wexec:"):
		return "wexec"
	case c.Decision == "" || !ok:
		return other
	case !s.servers[name] && len(s.servers) >= maxServers:
		return other
	}
	s.servers[name] = true
	return name
}

// Now is what a server has at a moment.
type Now struct {
	Queue     int           // runs that wait in the store
	Oldest    time.Duration // how long the oldest of them has waited
	Sandboxes map[engine.RunState]int
	Memory    int64
	Approvals int // questions that wait
}

// Write writes all metrics.
func (s *Set) Write(w io.Writer, now Now) error {
	p := page{families: Families()}
	s.mu.Lock()
	p.counts(runs, s.runs, "language", "status")
	p.histogram(seconds, s.slots[:], s.ms)
	p.one(fuel, s.fuel)
	p.counts(calls, s.calls, "server", "outcome")
	p.one(saved, s.saved)
	p.head(cost)
	for _, currency := range slices.Sorted(maps.Keys(s.cost)) {
		p.sample("", label("currency", currency), number(s.cost[currency]))
	}
	s.mu.Unlock()
	p.one(queueLength, int64(now.Queue))
	p.head(queueAge)
	p.sample("", "", number(now.Oldest.Seconds()))
	p.head(sandboxes)
	for _, state := range []engine.RunState{engine.RunQueued, engine.RunRunning, engine.RunWaiting} {
		p.sample("", label("state", string(state)), strconv.Itoa(now.Sandboxes[state]))
	}
	p.one(memory, now.Memory)
	p.one(approvals, int64(now.Approvals))
	_, err := io.WriteString(w, p.text.String())
	return err
}

// page is the text of metrics.
type page struct {
	families []Family
	name     string // of the current family
	text     strings.Builder
}

// head begins a family.
func (p *page) head(i int) {
	f := p.families[i]
	p.name = f.Name
	fmt.Fprintf(&p.text, "# HELP %s %s\n# TYPE %s %s\n", f.Name, f.Help, f.Name, f.Kind)
}

func (p *page) sample(suffix, labels, value string) {
	if labels != "" {
		labels = "{" + labels + "}"
	}
	fmt.Fprintf(&p.text, "%s%s%s %s\n", p.name, suffix, labels, value)
}

// one writes a family with one number.
func (p *page) one(i int, n int64) {
	p.head(i)
	p.sample("", "", strconv.FormatInt(n, 10))
}

// counts writes a family with two labels.
func (p *page) counts(i int, all map[[2]string]int64, first, second string) {
	p.head(i)
	for _, key := range slices.SortedFunc(maps.Keys(all), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		p.sample("", label(first, key[0])+","+label(second, key[1]), strconv.FormatInt(all[key], 10))
	}
}

// histogram writes numbers of milliseconds as seconds.
func (p *page) histogram(i int, slots []int64, ms int64) {
	p.head(i)
	var sum int64
	for n, slot := range slots {
		sum += slot
		bound := "+Inf"
		if n < len(bounds) {
			bound = number(float64(bounds[n]) / 1000)
		}
		p.sample("_bucket", label("le", bound), strconv.FormatInt(sum, 10))
	}
	p.sample("_sum", "", number(float64(ms)/1000))
	p.sample("_count", "", strconv.FormatInt(sum, 10))
}

func number(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

func label(name, value string) string {
	return name + `="` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(value) + `"`
}
