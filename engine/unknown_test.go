package engine

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/policy"
)

// cutAtIntent returns the records of a run up to the first that announces a call.
func cutAtIntent(t *testing.T, records [][]byte) [][]byte {
	t.Helper()
	for n, r := range records {
		var record struct{ Intents []json.RawMessage }
		if err := json.Unmarshal(r, &record); err != nil {
			t.Fatal(err)
		}
		if len(record.Intents) > 0 {
			return slices.Clone(records[:n+1])
		}
	}
	t.Fatal("no record announces a call")
	return nil
}

// decider is a person who gives each question an answer, and has the questions.
type decider struct {
	yes   bool
	asked []hostfns.Question
}

func (a *decider) Ask(_ context.Context, q hostfns.Question) (hostfns.Reply, error) {
	a.asked = append(a.asked, q)
	return hostfns.Reply{Approved: a.yes, Always: true, By: "terminal", Reason: "because"}, nil
}

// TestThePolicySaysWhatBecomesOfACallWhoseOutcomeIsUnknown cuts the journal of a program
// after it announced a call, as the end of its process does, and goes on.
func TestThePolicySaysWhatBecomesOfACallWhoseOutcomeIsUnknown(t *testing.T) {
	e := newReal(t, Config{})
	for name, c := range map[string]struct {
		rule  string
		asker hostfns.Asker
		value string
		calls int // after going on
		asked int
	}{
		"nothing":            {rule: `allow: [x.write]`, asker: &decider{yes: true}, value: `"tool.unknown_outcome"`},
		"idempotent":         {rule: `allow: [{tool: x.write, idempotent: true}]`, asker: &decider{}, value: "2", calls: 1},
		"a person says yes":  {rule: `allow: [{tool: x.write, on_unknown: ask}]`, asker: &decider{yes: true}, value: "2", calls: 1, asked: 1},
		"a person says no":   {rule: `allow: [{tool: x.write, on_unknown: ask}]`, asker: &decider{}, value: `"tool.unknown_outcome"`, asked: 1},
		"both: a person":     {rule: `allow: [{tool: x.write, on_unknown: ask, idempotent: true}]`, asker: &decider{}, value: `"tool.unknown_outcome"`, asked: 1},
		"nobody to ask":      {rule: `allow: [{tool: x.write, on_unknown: ask}]`, value: `"tool.unknown_outcome"`},
		"an ask rule":        {rule: `ask: [{tool: x.write}]`, asker: &decider{yes: true}, value: `"tool.unknown_outcome"`},
		"an ask rule, too":   {rule: `ask: [{tool: x.write, on_unknown: ask}]`, asker: &decider{yes: true}, value: "2", calls: 1, asked: 1},
		"an approved repeat": {rule: `ask: [{tool: x.write, idempotent: true}]`, asker: &decider{yes: true}, value: "2", calls: 1, asked: 1},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := policy.Parse("p.yaml", []byte("version: 1\ntools: {"+c.rule+"}\npii: {mode: off}\n"))
			if err != nil {
				t.Fatal(err)
			}
			var s effects
			j := &memoryJournal{}
			req := Request{ID: "run-unknown", Language: JavaScript, Table: s.table(t, p), Journal: j, Asker: &decider{yes: true},
				Code: "return await tools.x.write({n: 1}).catch(e => e.code)"}
			res, err := e.Run(t.Context(), req)
			wantValue(t, res, err, "2")
			s.done = nil
			req.Journal, req.Records, req.Asker = &memoryJournal{}, cutAtIntent(t, j.records), c.asker
			res, err = e.Run(t.Context(), req)
			wantValue(t, res, err, c.value)
			asked := 0
			if a, ok := c.asker.(*decider); ok {
				asked = len(a.asked)
			}
			if s.total() != c.calls || asked != c.asked {
				t.Errorf("%d calls, want %d; %d questions, want %d", s.total(), c.calls, asked, c.asked)
			}
		})
	}
}

// TestAnUnknownOutcomeIsAskedAboutEachTime goes on with a run whose person had the call
// made again, and whose process died once more: the yes was for that one time. While it
// waits, the question stays the same.
func TestAnUnknownOutcomeIsAskedAboutEachTime(t *testing.T) {
	e := newReal(t, Config{})
	p, err := policy.Parse("p.yaml", []byte("version: 1\ntools: {allow: [{tool: x.write, on_unknown: ask}]}\npii: {mode: off}\napprovals: {remember: run}\n"))
	if err != nil {
		t.Fatal(err)
	}
	var s effects
	j := &memoryJournal{}
	req := Request{ID: "run-again", Language: JavaScript, Table: s.table(t, p), Journal: j, Code: "return await tools.x.write({n: 1})"}
	res, err := e.Run(t.Context(), req)
	wantValue(t, res, err, "2")
	records := cutAtIntent(t, j.records)
	var ids []string
	for range 2 {
		var open []Waiting
		for range 2 { // it parks while it waits
			j = &memoryJournal{records: slices.Clone(records)}
			req.Journal, req.Records, req.ParkAfter, req.Asker = j, records, 20*time.Millisecond, &askLater{}
			res, err = e.Run(t.Context(), req)
			if err != nil || res.Parked == nil || len(res.Waiting) != 1 || !strings.Contains(res.Waiting[0].Message, "not known") {
				t.Fatalf("%v, %+v", err, res)
			}
			if open != nil && open[0].ID != res.Waiting[0].ID {
				t.Errorf("the question %s became %s", open[0].ID, res.Waiting[0].ID)
			}
			open, records = res.Waiting, slices.Clone(j.records)
		}
		ids = append(ids, open[0].ID)
		req.Records, req.Asker = records, &decider{yes: true}
		res, err = e.Run(t.Context(), req)
		wantValue(t, res, err, "2")
		records = slices.Concat(records, cutAtIntent(t, j.records[len(records):]))
	}
	if ids[0] == ids[1] {
		t.Error("the answer to the first question is that to the second")
	}
}

// TestAnApprovalIsBoundToTheRuleThatAsks parks a run at a question and goes on with
// another policy. An answer counts as long as the rule is the same, wherever it is.
func TestAnApprovalIsBoundToTheRuleThatAsks(t *testing.T) {
	e := newReal(t, Config{})
	const before = "version: 1\ntools:\n  ask: [{tool: x.ask, message: pay}]\n  allow: [x.write]\npii: {mode: off}\n"
	parsed := func(text string) *policy.Policy {
		p, err := policy.Parse("p.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	var s effects
	j := &memoryJournal{}
	people := &askLater{answers: map[string]bool{}}
	req := Request{ID: "run-rule", Language: JavaScript, Table: s.table(t, parsed(before)), Journal: j, Asker: people, ParkAfter: 20 * time.Millisecond,
		Code: "const a = await tools.x.write({n: 1}).catch(e => e.code); return [a, await tools.x.ask({n: 2}).catch(e => e.code), await tools.x.write({n: 3}).catch(e => e.code)]"}
	res, err := e.Run(t.Context(), req)
	if err != nil || res.Parked == nil || len(res.Waiting) != 1 {
		t.Fatalf("%v, %+v", err, res)
	}
	question := res.Waiting[0].ID
	for name, c := range map[string]struct{ policy, want string }{
		"the same policy":             {before, "[2,4,6]"},
		"the lines moved":             {"# moved\n\n" + strings.Replace(before, "tools:\n", "tools:\n  deny: [y.z]\n\n", 1), "[2,4,6]"},
		"it is no longer asked about": {strings.Replace(before, "ask: [{tool: x.ask, message: pay}]\n  allow: [x.write]", "allow: [x.ask, x.write]", 1), "[2,4,6]"},
		"the rule is changed":         {strings.Replace(before, "message: pay", "message: pay now", 1), ""},
		"the call is denied":          {strings.Replace(before, "tools:\n", "tools:\n  deny: [x.ask]\n", 1), `[2,"denied.tool",6]`},
		"more is denied":              {strings.Replace(before, "tools:\n", "tools:\n  deny: [x.write]\n", 1), `[2,4,"denied.tool"]`},
	} {
		t.Run(name, func(t *testing.T) {
			var s effects
			people := &askLater{answers: map[string]bool{question: true}}
			req := req
			req.Table, req.Asker, req.Records, req.Journal = s.table(t, parsed(c.policy)), people, slices.Clone(j.records), &memoryJournal{}
			res, err := e.Run(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			if c.want == "" {
				if res.Parked == nil || len(res.Waiting) != 1 || res.Waiting[0].ID == question {
					t.Errorf("a changed rule does not ask again: %s, %+v", res.Value, res.Waiting)
				}
				return
			}
			if string(res.Value) != c.want {
				t.Errorf("%s, want %s", res.Value, c.want)
			}
		})
	}
}
