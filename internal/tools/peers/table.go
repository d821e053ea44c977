package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/wexec/wexec/internal/tools/peers/drive"
)

// cell is one figure of the table, or the reason why it is missing.
type cell struct {
	value  float64
	known  bool
	why    string
	out    string
	values int
}

// table has a cell for each peer and job.
type table struct {
	cells       map[string]map[string]cell // by peer, by job
	versions    map[string]string
	machine     string
	day         string
	rounds      int
	slow, quick float64 // fixed loop
	notes       []string
	note        string
}

func tabulate(all []record) table {
	t := table{cells: map[string]map[string]cell{}, versions: map[string]string{}, quick: all[0].Spin}
	values := map[[2]string][]float64{}
	rounds := map[int]bool{}
	for _, r := range all {
		if t.cells[r.Peer] == nil {
			t.cells[r.Peer] = map[string]cell{}
		}
		key := [2]string{r.Peer, r.Name}
		values[key] = append(values[key], r.Values...)
		c := t.cells[r.Peer][r.Name]
		if r.Error != "" {
			c.why = r.Error
		} else {
			c.out = r.Out
		}
		t.cells[r.Peer][r.Name] = c
		t.versions[r.Peer], t.machine, t.day = r.Versions, r.Machine, r.When.Format("2 January 2006")
		t.slow, t.quick = max(t.slow, r.Spin), min(t.quick, r.Spin)
		rounds[r.Round] = true
	}
	t.rounds = len(rounds)
	for key, v := range values {
		if len(v) == 0 {
			continue
		}
		c := t.cells[key[0]][key[1]]
		c.value, c.known, c.values = median(v), true, len(v)
		for _, j := range jobs {
			if j.name == key[1] && j.per > 0 {
				c.value /= j.per
			}
		}
		t.cells[key[0]][key[1]] = c
	}
	t.agree()
	return t
}

// agree removes the figures of programs with a different value than the majority.
func (t *table) agree() {
	for _, j := range jobs {
		if j.kind == "probe" || j.kind == "rate" {
			continue
		}
		count := map[string]int{}
		for _, c := range t.cells {
			if c[j.name].known {
				count[c[j.name].out]++
			}
		}
		want := j.want
		for out, n := range count {
			if j.want == "" && n > count[want] {
				want = out
			}
		}
		for _, p := range peers {
			c := t.cells[p.key()][j.name]
			if c.known && c.out != want {
				t.notes = append(t.notes, fmt.Sprintf("%s, %s: the program returned `%.60s`, want `%.60s`", p.name, j.title, c.out, want))
				t.cells[p.key()][j.name] = cell{why: "wrong value"}
			}
		}
	}
}

func median(v []float64) float64 {
	v = slices.Clone(v)
	slices.Sort(v)
	if len(v)%2 == 0 {
		return (v[len(v)/2-1] + v[len(v)/2]) / 2
	}
	return v[len(v)/2]
}

// shown formats a number with three digits.
func shown(v float64) string {
	switch {
	case v >= 1000:
		s := fmt.Sprintf("%.0f", v)
		return s[:len(s)-3] + "," + s[len(s)-3:]
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

func (c cell) String() string {
	switch {
	case c.known:
		return shown(c.value)
	case c.why != "":
		return "fails"
	}
	return "–"
}

var titles = map[string]string{js: "JavaScript", py: "Python"}

// record is the measurement of one step of one peer in one round.
type record struct {
	Peer     string    `json:"peer"` // name/language
	Round    int       `json:"round"`
	When     time.Time `json:"when"`
	Spin     float64   `json:"spin_ms"` // time of a fixed loop, to show the speed of the machine
	Machine  string    `json:"machine"`
	Versions string    `json:"version"`
	drive.Taken
}
