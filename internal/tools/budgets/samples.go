package main

import (
	"maps"
	"slices"
	"time"
)

// samples are the times of one line.
type samples []time.Duration

// quiet estimates the time on an idle machine: the 5 % quantile, since load only
// adds time. It does not use the minimum, which an adjusted clock could falsify.
func (s samples) quiet() time.Duration {
	if len(s) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(s))[len(s)/20]
}

// A pair has the samples of one line for the base and for this tree.
type pair struct{ was, is samples }

func (p pair) and(more pair) pair {
	return pair{slices.Concat(p.was, more.was), slices.Concat(p.is, more.is)}
}

func (p pair) ratio() float64 { return float64(p.is.quiet()) / float64(max(p.was.quiet(), 1)) }

// verdict measures until no line is slower or all rounds are used, and returns the
// lines that stay slower. The first turn measures the given lines; each later turn
// adds samples of the lines that seemed slower.
func verdict(turns []int, only []string, round func(only []string) (map[string]pair, error), show func(known map[string]pair)) ([]string, error) {
	known := map[string]pair{}
	for _, rounds := range turns {
		for range rounds {
			got, err := round(only)
			if err != nil {
				return nil, err
			}
			for name, p := range got {
				known[name] = known[name].and(p)
			}
		}
		show(known)
		only = nil
		for _, name := range slices.Sorted(maps.Keys(known)) {
			if known[name].ratio() > tolerance {
				only = append(only, name)
			}
		}
		if len(only) == 0 {
			return nil, nil
		}
	}
	return only, nil
}
