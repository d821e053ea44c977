package main

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// A machine simulates the samples of a line with a given ratio to the reference.
type machine func(r *rand.Rand, round int, of float64) samples

// loaded adds load to one in every n samples, up to a factor.
func loaded(often, worst float64) machine {
	return func(r *rand.Rand, _ int, of float64) samples {
		var s samples
		took := func(of float64) time.Duration {
			of *= 1 + 0.05*r.Float64()
			if r.Float64() < often {
				of *= 1 + worst*r.Float64()
			}
			return time.Duration(of * float64(time.Millisecond))
		}
		for range 9 {
			s = s.and(samples{[]time.Duration{took(of)}, []time.Duration{took(1), took(1), took(1)}})
		}
		return s
	}
}

// byTurns alternates between machines.
func byTurns(all ...machine) machine {
	return func(r *rand.Rand, round int, of float64) samples { return all[round%len(all)](r, round, of) }
}

// only slows the line and not the reference, as a busy kernel does.
func only(worst float64) machine {
	return func(r *rand.Rand, round int, of float64) samples { return loaded(0, 0)(r, round, of*worst) }
}

// TestNoiseIsNotALossAndALossIsNotNoise runs the check a hundred times on each
// simulated machine.
func TestNoiseIsNotALossAndALossIsNotNoise(t *testing.T) {
	const was, tolerance = 3.0, 1.6
	longer := 0
	for name, m := range map[string]machine{
		"quiet":                     loaded(0, 0),
		"a neighbour now and then":  loaded(0.3, 5),
		"a neighbour most times":    loaded(0.8, 5),
		"stalls":                    loaded(0.1, 200),
		"every other round is slow": byTurns(loaded(0, 0), loaded(1, 8)),
		"a busy kernel, by turns":   byTurns(only(2), only(2), only(2), only(2), loaded(0.3, 5)),
	} {
		for seed := range uint64(100) {
			for _, loss := range []float64{1, 1.1, 1.75, 2.5} {
				r := rand.New(rand.NewPCG(seed, uint64(loss*100)))
				rounds := 0
				slower, err := verdict([]int{3, 4, 8}, nil, func(only []string) (map[string]samples, error) {
					rounds++
					got := map[string]samples{"lost": m(r, rounds, was*loss), "as before": m(r, rounds, was)}
					for name := range got {
						if len(only) > 0 && !slices.Contains(only, name) {
							delete(got, name)
						}
					}
					return got, nil
				}, func(known map[string]samples) []string {
					var slower []string
					for name, s := range known {
						if s.quiet() > was*tolerance {
							slower = append(slower, name)
						}
					}
					return slower
				})
				if err != nil {
					t.Fatal(err)
				}
				want := []string{"lost"}
				if loss < tolerance {
					want = nil
				}
				if !slices.Equal(slower, want) {
					t.Errorf("%s, seed %d, %.2fx: slower is %q after %d rounds", name, seed, loss, slower, rounds)
				}
				if loss < tolerance && rounds > 3 {
					longer++
				}
			}
		}
	}
	if longer < 100 {
		t.Errorf("only %d checks had to measure longer", longer)
	}
}
