package main

import (
	"slices"
	"time"
)

// samples are the times of one line, each with its reference.
type samples struct {
	Its, Refs []time.Duration
}

func (s samples) and(more samples) samples {
	return samples{slices.Concat(s.Its, more.Its), slices.Concat(s.Refs, more.Refs)}
}

// quiet estimates the ratio on an idle machine. Load only adds time, so it compares
// the 5 % quantiles of both sides. It does not use the minimum, which an adjusted
// clock could falsify.
func (s samples) quiet() float64 { return ratio(s, 20) }

// typical returns the ratio of the lower quartiles.
func (s samples) typical() float64 { return ratio(s, 4) }

func ratio(s samples, part int) float64 {
	if len(s.Its) == 0 || len(s.Refs) == 0 {
		return 0
	}
	its, refs := slices.Sorted(slices.Values(s.Its)), slices.Sorted(slices.Values(s.Refs))
	return float64(its[len(its)/part]) / float64(max(refs[len(refs)/part], 1))
}

// median returns the median of the figures of all rounds.
func median(of []float64) float64 {
	if len(of) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(of))[len(of)/2]
}

// verdict measures until no line is slower or all rounds are used. The first turn
// measures the given lines; each later turn adds samples of the lines that seemed
// slower.
func verdict(turns []int, slower []string, round func(only []string) (map[string]samples, error), shown func(known map[string]samples) []string) ([]string, error) {
	known := map[string]samples{}
	for _, rounds := range turns {
		for range rounds {
			got, err := round(slower)
			if err != nil {
				return nil, err
			}
			for name, s := range got {
				known[name] = known[name].and(s)
			}
		}
		if slower = shown(known); len(slower) == 0 {
			return nil, nil
		}
	}
	return slower, nil
}
