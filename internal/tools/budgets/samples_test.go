package main

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// A machine simulates the samples of a slice.
type machine func(r *rand.Rand, round int, of float64) samples

// loaded adds load to one in every n samples, up to a factor.
func loaded(often, worst float64) machine {
	return func(r *rand.Rand, _ int, of float64) samples {
		var s samples
		for range 9 {
			took := of * (1 + 0.05*r.Float64())
			if r.Float64() < often {
				took *= 1 + worst*r.Float64()
			}
			s = append(s, time.Duration(took*float64(time.Millisecond)))
		}
		return s
	}
}

// byTurns alternates between machines.
func byTurns(all ...machine) machine {
	return func(r *rand.Rand, round int, of float64) samples { return all[round%len(all)](r, round, of) }
}

// slow makes everything slower, as a busy neighbor or a lower clock does.
func slow(factor float64) machine {
	return func(r *rand.Rand, round int, of float64) samples { return loaded(0, 0)(r, round, of*factor) }
}

// TestNoiseIsNotALossAndALossIsNotNoise runs the check a hundred times on each
// simulated machine.
func TestNoiseIsNotALossAndALossIsNotNoise(t *testing.T) {
	const base = 3.0
	for name, m := range map[string]machine{
		"quiet":                     loaded(0, 0),
		"load now and then":         loaded(0.3, 5),
		"load most times":           loaded(0.8, 5),
		"stalls":                    loaded(0.1, 200),
		"every other round is slow": byTurns(loaded(0, 0), loaded(1, 8)),
		"slow rounds by turns":      byTurns(slow(2), slow(3), slow(1.5), slow(2), loaded(0.3, 5)),
	} {
		for seed := range uint64(100) {
			for _, loss := range []float64{1, 1.1, 1.5, 2.5} {
				r := rand.New(rand.NewPCG(seed, uint64(loss*100)))
				rounds := 0
				slower, err := verdict([]int{3, 4, 8}, nil, func(only []string) (map[string]pair, error) {
					rounds++
					got := map[string]pair{}
					for name, loss := range map[string]float64{"lost": loss, "as before": 1} {
						for range slicesPerRound {
							if len(only) == 0 || slices.Contains(only, name) {
								got[name] = got[name].and(pair{m(r, rounds, base), m(r, rounds, base*loss)})
							}
						}
					}
					return got, nil
				}, func(map[string]pair) {})
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
			}
		}
	}
}
