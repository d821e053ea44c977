package main

import (
	"slices"
	"time"
)

// samples are what one line took, each beside the reference.
type samples struct {
	Its, Refs []time.Duration
}

func (s samples) and(more samples) samples {
	return samples{slices.Concat(s.Its, more.Its), slices.Concat(s.Refs, more.Refs)}
}

// quiet is the ratio on a machine that does nothing else, read from one that
// may: work beside it only ever adds time, so what is left out is above. Each
// side keeps its own best moments, and the more samples there are, the surer
// both have had some. A twentieth, and not the very best, since a clock that is
// stepped or a sample cut short must not decide.
func (s samples) quiet() float64 { return ratio(s, 20) }

// typical is the ratio of the lower quartiles.
func (s samples) typical() float64 { return ratio(s, 4) }

func ratio(s samples, part int) float64 {
	if len(s.Its) == 0 || len(s.Refs) == 0 {
		return 0
	}
	its, refs := slices.Sorted(slices.Values(s.Its)), slices.Sorted(slices.Values(s.Refs))
	return float64(its[len(its)/part]) / float64(max(refs[len(refs)/part], 1))
}

// median is the middle one of the figures of some rounds.
func median(of []float64) float64 {
	if len(of) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(of))[len(of)/2]
}

// verdict measures until nothing is slower than it was, or all rounds are used
// up. The first turn has the lines that are given, or all; each other turn
// goes on with what seemed slower in the one before, and adds to what is known.
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
