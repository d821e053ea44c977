package service

import (
	"fmt"
	"testing"

	"github.com/wexec/wexec/config"
)

// share is the share of actors that have a feature of a tenant, in percent, and which
// they are.
func share(t *Tenant, name string) (percent float64, who map[string]bool) {
	const actors = 20_000
	who = map[string]bool{}
	for i := range actors {
		if actor := fmt.Sprint("actor-", i); t.Feature(name, actor) {
			who[actor] = true
		}
	}
	return 100 * float64(len(who)) / actors, who
}

func with(features map[string]int) *Tenant {
	return &Tenant{Name: "acme", settings: &config.Settings{Features: features}}
}

func TestAFeatureIsGivenToItsShareOfActors(t *testing.T) {
	for _, want := range []int{0, 1, 25, 50, 99, 100} {
		got, _ := share(with(map[string]int{"skills": want}), "skills")
		if off := got - float64(want); off > 1.5 || off < -1.5 || want%100 == 0 && off != 0 {
			t.Errorf("%d %% of the actors have it, not %d %%", int(got), want)
		}
	}
	if got, _ := share(with(map[string]int{"skills": 0}), "tasks"); got != 100 {
		t.Errorf("a feature that is not set is on for %.0f %%", got)
	}
}

func TestActorsKeepAFeatureWhenItsShareRises(t *testing.T) {
	_, few := share(with(map[string]int{"skills": 10}), "skills")
	_, more := share(with(map[string]int{"skills": 40}), "skills")
	for actor := range few {
		if !more[actor] {
			t.Fatalf("%s lost the feature", actor)
		}
	}
	_, again := share(with(map[string]int{"skills": 10}), "skills")
	for actor := range again {
		if !few[actor] {
			t.Fatalf("%s has the feature at times", actor)
		}
	}
	// the actors of another feature are others
	_, other := share(with(map[string]int{"tasks": 10}), "tasks")
	same := 0
	for actor := range other {
		if few[actor] {
			same++
		}
	}
	if same > len(few)/3 {
		t.Errorf("%d of %d actors have both features", same, len(few))
	}
}
