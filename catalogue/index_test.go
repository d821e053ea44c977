package catalogue

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wexec/wexec/internal/text"
	"github.com/wexec/wexec/internal/tools/timing"
)

// crowded returns tools whose descriptions have as many words as fit, all different
// and similar.
func crowded(n int) []Tool {
	r := rand.New(rand.NewPCG(1, 2))
	var out []Tool
	for i := range n {
		var b strings.Builder
		for b.Len() < 4<<10 {
			fmt.Fprintf(&b, "x%s ", strings.Map(func(rune) rune { return 'a' + r.Int32N(26) }, "aaaaaaaaaaaaaaa"))
		}
		out = append(out, Tool{Server: "hostile", Name: fmt.Sprintf("tool%d", i), Description: b.String()})
	}
	return out
}

// misspelledWords are similar to words of crowded tools.
var misspelledWords = strings.Repeat("xqwertyuiopasdfg xasdfghjklzxcvbn ", maxAsked/2)

func TestASearchEndsWithItsContext(t *testing.T) {
	ended, cancel := context.WithCancelCause(t.Context())
	because := errors.New("enough")
	cancel(because)
	c := New(crowded(50))
	if _, err := c.Search(ended, Query{Text: "hostile"}); err != because {
		t.Errorf("before the index is built: %v", err)
	}
	searched(t, c, Query{Text: "hostile"})
	for _, query := range []string{"", "hostile", misspelledWords} {
		if _, err := c.Search(ended, Query{Text: query, Detail: "full"}); err != because {
			t.Errorf("%.20q: %v", query, err)
		}
	}
}

func TestASearchThatIsCancelledEndsSoon(t *testing.T) {
	if testing.Short() {
		t.Skip("short: takes seconds")
	}
	timing.Within(t, 100*time.Millisecond, "ended after it was cancelled", func() time.Duration {
		c, least := New(crowded(3000)), time.Hour
		for range 2 { // while the index is built, and while words are compared
			ctx, cancel := context.WithCancel(t.Context())
			var at time.Time
			time.AfterFunc(5*time.Millisecond, func() { at = time.Now(); cancel() })
			_, err := c.Search(ctx, Query{Text: misspelledWords})
			if took := time.Since(at); err != nil {
				least = min(least, took)
			}
			searched(t, c, Query{Text: "hostile"})
		}
		return least
	})
}

func TestTheNextSearchContinuesAnIndex(t *testing.T) {
	c := New(crowded(200))
	for least := 0; least < 200; {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		_, err := c.Search(ctx, Query{Text: "hostile"})
		cancel()
		if err == nil {
			break
		}
		if n := len(c.parts[0].lengths); n < least {
			t.Fatalf("%d tools are indexed, %d were before", n, least)
		} else {
			least = n
		}
	}
	if found := searched(t, c, Query{Text: "tool7"}); len(found.Tools) == 0 || found.Tools[0].Name != "hostile.tool7" {
		t.Errorf("found %v", found)
	}
}

func TestASearchIsChargedForItsWork(t *testing.T) {
	cost := func(c *Catalogue, q Query) (sum int64) {
		q.Spend = func(n int64) error { sum += n; return nil }
		searched(t, c, q)
		return sum
	}
	few, manyTools, hostile := New(many(50)), New(many(1000)), New(crowded(100))
	for query, least := range map[string]int64{"invoice": 200 * postingCost, "create an invoice for a customer": 600 * postingCost, "": 1000 * keepCost} {
		if got := cost(manyTools, Query{Text: query}); got < least || got != cost(New(many(1000)), Query{Text: query}) || got < 10*cost(few, Query{Text: query}) {
			t.Errorf("%q costs %d, want at least %d and the same each time", query, got, least)
		}
	}
	if got := cost(hostile, Query{Text: misspelledWords}); got < maxAsked*min(maxTerms, 100*200)*termCost {
		t.Errorf("comparing with all words costs %d", got)
	}
	if plain, full := cost(few, Query{Text: "invoice"}), cost(few, Query{Text: "invoice", Detail: "full"}); full < plain+100 {
		t.Errorf("with declarations a search costs %d, without %d", full, plain)
	}
	enough := errors.New("enough")
	for _, query := range []string{"", "hostile", "invoice", misspelledWords} {
		for most := range int64(3) { // the first charge, the second, …
			n := int64(0)
			_, err := hostile.Search(t.Context(), Query{Text: query, Detail: "full", Spend: func(int64) error {
				if n++; n > most {
					return enough
				}
				return nil
			}})
			if err != enough && n > most {
				t.Errorf("%.20q: %v", query, err)
			}
			searched(t, hostile, Query{Text: query}) // finds the sums in order
		}
	}
}

func TestATreeIsCharged(t *testing.T) {
	enough, sum := errors.New("enough"), int64(0)
	c := shop()
	for name, least := range map[string]int64{"github/index.ts": 400, "github/__init__.pyi": 400, "github/list_commits.ts": 100, "README.md": 4 * categoryCost} {
		for _, spend := range []func(int64) error{func(n int64) error { sum += n; return nil }, func(int64) error { return enough }} {
			sum = 0
			f, err := c.Tree(spend).Open(name)
			switch {
			case sum == 0 && !errors.Is(err, enough):
				t.Errorf("%s: %v", name, err)
			case sum > 0 && (err != nil || sum < least):
				t.Errorf("%s costs %d, want %d: %v", name, sum, least, err)
			}
			if err == nil {
				_ = f.Close()
			}
		}
	}
}

func TestCataloguesOfTheSameToolsShareAnIndex(t *testing.T) {
	a, b := New(toolsNamed([2]string{"a", "x"}, [2]string{"a", "y"})), New(toolsNamed([2]string{"b", "x"}, [2]string{"b", "y"}))
	both := Join(a, b)
	if both.parts[0] != a.parts[0] || both.parts[1] != b.parts[0] {
		t.Error("the whole has its own index")
	}
	searched(t, both, Query{Text: "x"})
	view := both.Keep(func(t Tool) bool { return t.ID() != "b.y" })
	if view.parts[0] != a.parts[0] || view.parts[1] == b.parts[0] {
		t.Error("a view does not share the index of the server with all tools, or it shares the other one")
	}
	if found := searched(t, view, Query{Text: "y"}); found.Total != 1 || found.Tools[0].Name != "a.y" {
		t.Errorf("found %v", found)
	}
	if found := searched(t, both, Query{Text: "y", Server: "b"}); found.Total != 1 || found.Tools[0].Name != "b.y" {
		t.Errorf("found %v", found)
	}
}

func TestTheIndexOfAHostileServerIsBounded(t *testing.T) {
	tools := crowded(200)
	tools = append(tools, Tool{Server: "hostile", Name: "long", Description: strings.Repeat("y", 1<<20) + " needle"})
	for i := range 1000 {
		tools = append(tools, Tool{Server: "hostile", Name: fmt.Sprintf("z%d", i), InputSchema: []byte(`{"enum":["` + strings.Repeat("a b c ", 50) + `"]}`)})
	}
	held := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	c := New(tools)
	before := held()
	searched(t, c, Query{Text: "needle"})
	p := c.parts[0]
	if grew := held() - before; grew > 16<<20 {
		t.Errorf("the index takes %d bytes", grew)
	}
	if len(p.terms) > maxTerms || len(p.postings) > maxPostings || slices.ContainsFunc(p.terms, func(s string) bool { return len(s) > maxTerm }) {
		t.Errorf("%d words, %d postings", len(p.terms), len(p.postings))
	}
	if found := searched(t, c, Query{Text: strings.Repeat("y", 100)}); found.Total != 1 {
		t.Errorf("a long word found %d tools", found.Total)
	}
	for _, s := range p.terms {
		if text.Valid(s) != s {
			t.Errorf("%q is not valid UTF-8", s)
		}
	}
}

func TestASearchAllocatesTheSameForManyTools(t *testing.T) {
	of := func(n int) float64 {
		c := New(many(n))
		return testing.AllocsPerRun(20, func() { searched(t, c, Query{Text: "create an invoice for a customer", Detail: "name"}) })
	}
	if few, lots := of(500), of(5000); lots > 1.5*few+20 {
		t.Errorf("%.0f allocations for 500 tools, %.0f for 5,000", few, lots)
	}
}

func TestFiveThousandToolsAreSearchedInAMillisecond(t *testing.T) {
	c := New(many(5000))
	timing.Within(t, time.Millisecond, "a search", func() time.Duration {
		return timing.Of(func() { searched(t, c, Query{Text: "create an invoice for a customer"}) })
	})
}
