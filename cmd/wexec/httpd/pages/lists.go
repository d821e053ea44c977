package pages

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/service"
	"github.com/wexec/wexec/store"
)

// Lengths of lists.
const (
	shortList = 10
	longList  = 50
)

// now shows what waits for people, what runs, what failed, and today's sums.
func (p *Pages) now(v *view) error {
	ctx := v.r.Context()
	data := struct {
		Waiting         []service.Approval
		More            bool
		Running, Failed []*service.Run
		Figures         []figure
	}{}
	waiting, next, err := p.Service.Approvals(ctx, v.who, store.ApprovalFilter{State: store.AnswerWaiting, Limit: shortList})
	if err != nil {
		return err
	}
	data.Waiting, data.More = waiting, next != ""
	for _, state := range []store.State{store.StateRunning, store.StateWaiting, store.StateParked, store.StateQueued} {
		runs, _, err := p.Service.List(ctx, v.who, store.Filter{State: state, Limit: shortList})
		if err != nil {
			return err
		}
		data.Running = append(data.Running, runs...)
	}
	for _, status := range []engine.Status{engine.StatusError, engine.StatusDenied, engine.StatusLimit} {
		runs, _, err := p.Service.List(ctx, v.who, store.Filter{Status: string(status), Limit: shortList})
		if err != nil {
			return err
		}
		data.Failed = append(data.Failed, runs...)
	}
	newest(data.Failed)
	data.Failed = data.Failed[:min(len(data.Failed), shortList)]
	data.Figures = figuresOf(p.usage.get(ctx, v.who.Tenant))
	return p.show(v, "now", page{Title: "Now", At: "/", Live: "/live", Data: data})
}

// runs lists the runs that the filters select.
func (p *Pages) runs(v *view) error {
	q := v.r.URL.Query()
	f := store.Filter{State: store.State(q.Get("state")), Status: q.Get("status"), Actor: q.Get("actor"), Language: q.Get("language"),
		Skill: q.Get("skill"), Tool: q.Get("tool"), Words: q.Get("q"), Before: q.Get("cursor"), Limit: longList}
	for name, to := range map[string]*time.Time{"since": &f.Since, "until": &f.Until} {
		if q.Get(name) == "" {
			continue
		}
		at, err := time.Parse(time.DateOnly, q.Get(name))
		if err != nil {
			return fault.New(fault.UsageFlag, "%s: must be a day, such as 2026-05-01", name)
		}
		*to = at
	}
	if !f.Until.IsZero() {
		f.Until = f.Until.AddDate(0, 0, 1) // the day counts as well
	}
	runs, next, err := p.Service.List(v.r.Context(), v.who, f)
	if err != nil {
		return err
	}
	data := struct {
		Runs     []*service.Run
		Q        url.Values
		Next     string
		Filtered bool
		Statuses []string
		States   []string
		Langs    []string
	}{Runs: runs, Q: q, Statuses: []string{"ok", "error", "denied", "limit"}, States: []string{"queued", "running", "waiting", "parked", "done"},
		Langs: []string{"javascript", "typescript", "python"}}
	for name := range q {
		data.Filtered = data.Filtered || name != "cursor" && q.Get(name) != ""
	}
	if next != "" {
		q := v.r.URL.Query()
		q.Set("cursor", next)
		data.Next = "/runs?" + q.Encode()
	}
	live := "/live"
	if f.Before != "" {
		live = "" // older pages do not change
	}
	return p.show(v, "runs", page{Title: "Runs", At: "/runs", Live: live, Data: data})
}

// sessions lists the sessions of the person's actor.
func (p *Pages) sessions(v *view) error {
	all, err := p.Service.Sessions(v.r.Context(), v.who)
	if err != nil {
		return err
	}
	more := len(all) > maxRows
	return p.show(v, "sessions", page{Title: "Sessions", At: "/sessions", Data: struct {
		Sessions []engine.SessionInfo
		More     bool
	}{all[:min(len(all), maxRows)], more}})
}

// maxRows bounds tables that have no pages.
const maxRows = 500

// used shows what runs used, by day, actor, tool, model or skill.
func (p *Pages) used(v *view) error {
	by := cmp.Or(v.r.URL.Query().Get("by"), "day")
	kind, column := "run", store.ByDay
	switch by {
	case "day":
	case "actor":
		column = store.ByActor
	case "tool", "model", "skill":
		kind, column = by, store.ByName
	default:
		return fault.New(fault.UsageFlag, "by: must be day, actor, tool, model or skill")
	}
	since := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -29)
	sums, err := p.Service.Store().Usage(v.r.Context(), v.who.Tenant, kind, column, since, time.Time{})
	if err != nil {
		return err
	}
	var total store.Use
	for _, s := range sums {
		total.Count, total.Failed, total.Fuel = total.Count+s.Count, total.Failed+s.Failed, total.Fuel+s.Fuel
		total.Tokens, total.Money, total.Time = total.Tokens+s.Tokens, total.Money+s.Money, total.Time+s.Time
	}
	data := struct {
		By    string
		Ways  []string
		Sums  []store.Sum
		More  bool
		Total store.Use
		Days  []figure
	}{By: by, Ways: []string{"day", "actor", "tool", "model", "skill"}, Sums: sums[:min(len(sums), maxRows)], More: len(sums) > maxRows, Total: total}
	if by == "day" {
		days := dayUses(sums)
		data.Days = []figure{{Name: "runs", Days: bars(days, "runs", func(n int64) string { return number(n) }, func(u store.Use) int64 { return u.Count })}}
	}
	return p.show(v, "usage", page{Title: "Usage", At: "/usage", Data: data})
}

// audit verifies the audit log when a person asks for it.
func (p *Pages) audit(v *view) error {
	data := auditData{}
	if v.r.URL.Query().Get("verify") != "" {
		var err error
		if data, err = p.verify(v); err != nil {
			return err
		}
	}
	return p.show(v, "audit", page{Title: "Audit", At: "/audit", Data: data})
}

// verify verifies the audit log.
func (p *Pages) verify(v *view) (data auditData, err error) {
	here, kept, err := p.Service.VerifyAudit(v.r.Context(), v.who)
	if err != nil {
		return data, err
	}
	data.Verified, data.OK, data.Records, data.Segments = true, here.OK(), here.Records, len(here.Segments)
	for _, problem := range here.Problems {
		data.Problems = append(data.Problems, problem.String())
	}
	for _, chain := range kept {
		data.OK = data.OK && chain.OK()
		data.Chains, data.Kept = data.Chains+1, data.Kept+chain.Records
		for _, problem := range chain.Problems {
			data.Problems = append(data.Problems, problem.String())
		}
	}
	data.More = len(data.Problems) > maxRows
	data.Problems = data.Problems[:min(len(data.Problems), maxRows)]
	return data, nil
}

// auditData is what the page of the audit shows.
type auditData struct {
	Verified, OK, More              bool
	Records, Segments, Chains, Kept int
	Problems                        []string
}

// newest sorts runs, the newest first.
func newest(runs []*service.Run) {
	slices.SortFunc(runs, func(a, b *service.Run) int { return strings.Compare(b.RunID, a.RunID) })
}
