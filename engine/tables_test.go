package engine

import (
	"context"
	"testing"
)

// TestTablesAreLearntAndGiveTheSameRun pins what internal/snapshot relies on
// in wazero: where the tables of instances are filled from what was learnt,
// programs take the same way through them as where wazero filled them.
func TestTablesAreLearntAndGiveTheSameRun(t *testing.T) {
	e := newReal(t, Config{Ready: -1})
	for language, code := range map[string]string{
		JavaScript: `[3,1,2].sort((a, b) => a - b).map(x => x.toString().padStart(3)).join() + JSON.stringify(new Map([[1, /a+/.exec("baa")]]).get(1)) + new Date(0).toISOString()`,
		Python:     `import json, re, datetime; [sorted([3,1,2]), json.dumps({"a": re.findall("a+", "baa")}), str(datetime.date(2026, 1, 1)), hash((1, 2.5))]`,
	} {
		var first *Result
		for n := range 5 {
			res, err := e.Run(context.Background(), Request{Language: language, Code: code, Deterministic: true, Cache: new(bool)})
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = res
			}
			if string(res.Value) != string(first.Value) || res.Usage.Fuel != first.Usage.Fuel {
				t.Errorf("%s, instance %d: %s with %d of fuel, the first gave %s with %d", language, n, res.Value, res.Usage.Fuel, first.Value, first.Usage.Fuel)
			}
		}
		g, err := e.guests.Get(context.Background(), language, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !g.Module.TablesLearned() && !e.config.Interpreter {
			t.Errorf("the tables of %s were not learnt: wazero's inside is not what internal/snapshot knows", language)
		}
	}
}

// TestARunAllocatesLittle holds the number of allocations of a run in a fresh
// sandbox, which does not depend on the machine.
func TestARunAllocatesLittle(t *testing.T) {
	if testing.Short() {
		t.Skip("short: measures for seconds")
	}
	e := newReal(t, Config{Ready: -1})
	for language, most := range map[string]float64{JavaScript: 270, Python: 275} {
		req := Request{Language: language, Code: "1+1"}
		for range 6 {
			if _, err := e.Run(context.Background(), req); err != nil {
				t.Fatal(err)
			}
		}
		got := testing.AllocsPerRun(20, func() { _, _ = e.Run(context.Background(), req) })
		if got > most {
			t.Errorf("a run of %s takes %.0f allocations, at most %.0f were expected", language, got, most)
		}
	}
}
