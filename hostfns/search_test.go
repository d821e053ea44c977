package hostfns

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/policy"
)

// sense is a Ranker of a test.
type sense struct {
	near    func(tools []catalogue.Tool) (map[string]float64, error)
	asked   int
	longest int // bytes of a question
}

func (s *sense) Near(_ context.Context, tools []catalogue.Tool, question string) (func() map[string]float64, error) {
	s.asked++
	s.longest = max(s.longest, len(question))
	near, err := s.near(tools)
	if err != nil {
		return nil, err
	}
	return func() map[string]float64 { return near }, nil
}

func searching(t *testing.T, s Ranker) (*Table, *catalogue.Catalogue) {
	t.Helper()
	var tools []catalogue.Tool
	for i := range 60 {
		tools = append(tools, catalogue.Tool{Server: "garage", Name: fmt.Sprintf("count_part_%d", i), Description: "Count parts on a shelf"})
	}
	tools = append(tools, catalogue.Tool{Server: "garage", Name: "lease_vehicle"}, catalogue.Tool{Server: "garage", Name: "drive"})
	table, err := NewTable(mustPolicy(t, allowAll), audit.None(), &fakeProvider{tools: tools})
	if err != nil {
		t.Fatal(err)
	}
	table.With(Options{Ranker: s})
	c, errs := table.Catalogue(t.Context())
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return table, c
}

func named(f catalogue.Found) string {
	var all []string
	for _, e := range f.Tools {
		all = append(all, e.Name)
	}
	return strings.Join(all, " ")
}

func TestALongQueryIsCutBeforeItIsRanked(t *testing.T) {
	s := &sense{near: func([]catalogue.Tool) (map[string]float64, error) { return nil, nil }}
	table, c := searching(t, s)
	if f, err := table.Search(t.Context(), c, catalogue.Query{Text: strings.Repeat("drive ", 1<<20)}, nil); len(f.Tools) == 0 {
		t.Errorf("nothing was found by words: %v", err)
	}
	if s.asked != 1 || s.longest == 0 || s.longest > 8<<10 {
		t.Errorf("asked %d times with up to %d bytes", s.asked, s.longest)
	}
}

func TestASearchCombinesMeaningAndWords(t *testing.T) {
	s := &sense{near: func(tools []catalogue.Tool) (map[string]float64, error) {
		near := map[string]float64{}
		for i, tool := range tools {
			near[tool.ID()] = 0.2 + float64(i%7)/1000
		}
		near["garage.lease_vehicle"] = 0.6
		return near, nil
	}}
	table, c := searching(t, s)
	ask := func(text string, limit int) string {
		found, err := table.Search(t.Context(), c, catalogue.Query{Text: text, Limit: limit}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return named(found)
	}
	if got := ask("xylophone", 3); got != "garage.lease_vehicle" {
		t.Errorf("by meaning: %q", got)
	}
	if got := ask("drive", 2); got != "garage.drive garage.lease_vehicle" {
		t.Errorf("words come first where they are sure, then meaning: %q", got)
	}
	asked := s.asked
	if ask("", 100); s.asked != asked {
		t.Error("a list of everything needs no meaning")
	}
	s.near = func([]catalogue.Tool) (map[string]float64, error) { return nil, errors.New("down") }
	if got := ask("drive", 2); got != "garage.drive" {
		t.Errorf("without it: %q", got)
	}
	s.near = func(tools []catalogue.Tool) (map[string]float64, error) {
		near := map[string]float64{}
		for _, tool := range tools {
			near[tool.ID()] = 0.5
		}
		return near, nil
	}
	if got := ask("xylophone", 3); got != "" {
		t.Errorf("without an outlier nothing is found: %q", got)
	}
}

func TestDeterministicRunsSearchByWords(t *testing.T) {
	s := &sense{near: func([]catalogue.Tool) (map[string]float64, error) {
		return map[string]float64{"garage.lease_vehicle": 1, "garage.drive": 0}, nil
	}}
	table, _ := searching(t, s)
	for _, fixed := range []bool{true, false} {
		run := openRun(t, table, RunInfo{ID: fmt.Sprint(fixed), Start: audit.Start{Deterministic: fixed}})
		a, err := run.Call(context.Background(), "wexec:search", []byte(`{"query":"xylophone"}`))
		if err != nil {
			t.Fatal(err)
		}
		if found := strings.Contains(string(a.Data), "lease_vehicle"); found == fixed {
			t.Errorf("deterministic %v: %s", fixed, a.Data)
		}
	}
}

func TestSearchesOfARunTakeOneCore(t *testing.T) {
	var on, most, entered atomic.Int64
	table, _ := searching(t, nil)
	core := func(context.Context) (func(), error) {
		entered.Add(1)
		most.Store(max(most.Load(), on.Add(1)))
		time.Sleep(100 * time.Microsecond)
		return func() { on.Add(-1) }, nil
	}
	run := openRun(t, table, RunInfo{})
	var wg sync.WaitGroup
	for i := range 30 {
		wg.Go(func() {
			c, err := run.newCall([]string{"wexec:search", "wexec:describe", "wexec:names"}[i%3], []byte(`{"query":"drive","name":"garage.drive","server":"garage"}`))
			if err == nil {
				c.core = core
				_, err = run.backend.serve(run.ctx, c)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if most.Load() != 1 || entered.Load() < 30 || on.Load() != 0 {
		t.Errorf("%d times on a core, at most %d at once, %d at the end", entered.Load(), most.Load(), on.Load())
	}
}

func TestASearchWaitsForItsRankerWithoutACore(t *testing.T) {
	onCore := false
	s := &sense{}
	s.near = func([]catalogue.Tool) (map[string]float64, error) {
		if onCore {
			t.Error("the ranker is asked on a core")
		}
		return nil, nil
	}
	table, _ := searching(t, s)
	run := openRun(t, table, RunInfo{})
	c, err := run.newCall("wexec:search", []byte(`{"query":"drive"}`))
	if err != nil {
		t.Fatal(err)
	}
	c.core = func(context.Context) (func(), error) {
		onCore = true
		return func() { onCore = false }, nil
	}
	if _, err := run.backend.serve(run.ctx, c); err != nil || s.asked != 1 {
		t.Errorf("asked %d times: %v", s.asked, err)
	}
}

func TestASearchThatWaitsForACoreIsCancelled(t *testing.T) {
	table, _ := searching(t, nil)
	for _, end := range []error{errors.New("enough"), fault.New(fault.LimitTime, "too long")} {
		ctx, cancel := context.WithCancelCause(t.Context())
		run, err := table.Open(ctx, RunInfo{ID: "run"})
		if err != nil {
			t.Fatal(err)
		}
		c, err := run.newCall("wexec:search", []byte(`{"query":"drive"}`))
		if err != nil {
			t.Fatal(err)
		}
		c.core = func(ctx context.Context) (func(), error) {
			cancel(end)
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
		if _, err := run.backend.serve(run.ctx, c); !errors.Is(err, end) {
			t.Errorf("ended with %v, want %v", err, end)
		}
		if len(run.computing) > 0 {
			t.Error("the next search of the run would wait for ever")
		}
	}
}

func TestASearchIsChargedToItsRun(t *testing.T) {
	table, _ := searching(t, nil)
	spent := func() int64 {
		run := openRun(t, table, RunInfo{})
		a, err := run.Call(t.Context(), "wexec:search", []byte(`{"query":"count parts on a shelf","limit":1,"detail":"name"}`))
		if err != nil {
			t.Fatal(err)
		}
		return run.Summary().HostBytes - int64(len(a.Data))
	}
	if first, again := spent(), spent(); first < 60*3*8 || first != again {
		t.Errorf("a search over 62 tools costs %d bytes, and then %d", first, again)
	}
	run := openRun(t, table, RunInfo{Limits: policy.Limits{HostBytes: 500}})
	_, err := run.Call(t.Context(), "wexec:search", []byte(`{"query":"count parts on a shelf"}`))
	wantCode(t, err, fault.LimitHostBytes)
	if !errors.Is(run.Err(), fault.LimitHostBytes) {
		t.Errorf("the run goes on: %v", run.Err())
	}
}
