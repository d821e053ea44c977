package engine

import (
	"context"
	"slices"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/hostfns"
)

// close records the end, and counts what the whole run used.
func (j *job) close(ctx context.Context) {
	if j.fault != nil || j.guestErr != nil {
		j.res.Error = j.failure()
		j.res.Value = nil
	}
	j.res.Status = statusOf(j.res.Error)
	u := &j.res.Usage
	u.WallMS = time.Since(j.res.Started).Milliseconds()
	u.ResultSize = int64(len(j.res.Value) + len(j.res.Stdout) + len(j.res.Stderr))
	end := audit.End{
		Status: string(j.res.Status), Cache: j.res.Cache,
		Value: audit.Blob(j.res.Value), Stdout: []byte(j.res.Stdout), Stderr: []byte(j.res.Stderr),
		Usage: audit.Usage{Fuel: u.Fuel, MemoryPeak: u.MemoryPeak, WallMS: u.WallMS, GuestMS: u.GuestMS, Output: u.ResultSize},
	}
	if e := j.res.Error; e != nil {
		end.Code, end.Message, end.Exit = string(e.Code), e.Message, e.Exit
	}
	if j.run != nil && j.run.witness != nil {
		end.World = j.run.witness.record()
	}
	sum, err := j.tools.Close(ctx, end)
	if err != nil && j.res.Error == nil {
		// Without a record of its end nothing of the run may be shown.
		j.res.Value, j.res.Stdout, j.res.Stderr = nil, "", ""
		j.fault = faultOf(err)
	}
	if j.rec != nil {
		if f := j.compare(sum.Order); f != nil {
			j.res.Value = nil
			_, _ = j.res.unlike(f)
		}
	}
	j.count(sum)
	if err == nil {
		j.keep(sum.Cacheable)
	}
	if j.land != nil {
		j.land()
	}
	if j.table == j.e.table {
		j.e.cache.knowCatalogue(j.table)
	}
	j.leaveSession()
}

// count puts what the host functions counted into the result.
func (j *job) count(s hostfns.Summary) {
	res, u := j.res, &j.res.Usage
	res.Calls = slices.Grow(res.Calls, len(s.Calls))
	for _, c := range s.Calls {
		res.Calls = append(res.Calls, callOf(c))
	}
	if len(s.Found) > 0 {
		res.Privacy = &Privacy{Mode: s.Mode, Counts: s.Found}
	}
	res.Provenance.Tools, res.Provenance.AuditHead = s.Tools, s.AuditHead
	if res.Value != nil {
		res.Provenance.Value = digest(res.Value)
	}
	u.ToolCalls, u.ToolBytes = s.ToolCalls, s.ToolBytes
	u.TokensInTools = j.inTools
	u.TokensOut = tokens(res.Value) + tokens([]byte(res.Stdout)) + tokens([]byte(res.Stderr))
	if s.ToolCalls > 0 && u.TokensInTools > 0 {
		saved := max(0, 1-float64(u.TokensOut)/float64(u.TokensInTools))
		u.ContextSavings = &saved
	}
	for _, w := range s.Warnings {
		j.e.log.Warn(w, "run", res.RunID)
	}
}

func callOf(c hostfns.CallInfo) Call {
	return Call{Tool: c.Tool, Decision: c.Decision, Rule: c.Rule, MS: c.Time.Milliseconds(), Bytes: c.Bytes, OK: c.OK, Code: c.Code}
}
