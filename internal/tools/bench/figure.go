package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// figure is one line of the table.
type figure struct {
	Name     string  `json:"name"`
	Unit     string  `json:"unit"`
	Budget   float64 `json:"budget"`
	Measured float64 `json:"measured"`
	Ratio    float64 `json:"ratio"`           // measured / budget; more than 1 misses the budget
	CPU      float64 `json:"cpu,omitempty"`   // processor time
	Floor    float64 `json:"floor,omitempty"` // see floor.go
	Note     string  `json:"note,omitempty"`
}

// measure produces one or more figures.
type measure struct {
	name string
	take func(b *bench) ([]figure, error)
}

// bench has the state that all measures share.
type bench struct {
	ctx   context.Context
	runs  int
	cache string
	wexec string // the command; built on first use if empty
	raw   string // folder with the guests as their recipes build them; may be empty
	work  string
}

func number(v float64) string {
	if v >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// took is a duration: wall time and processor time.
type took struct{ wall, cpu time.Duration }

func (t took) less(o took) took { return took{t.wall - o.wall, t.cpu - o.cpu} }

// of converts a duration of n operations to a figure in units of per.
func (t took) of(name, unit string, per time.Duration, n float64) figure {
	return figure{Name: name, Unit: unit,
		Measured: float64(t.wall) / float64(per) / n, CPU: float64(t.cpu) / float64(per) / n}
}

// median returns the median wall time of n calls of f, and the mean processor time.
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
