package tasks

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/store"
)

func plan(t testing.TB, p Plan) []byte {
	t.Helper()
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestWhatFollowsAnAttempt(t *testing.T) {
	now := time.Date(2026, 5, 4, 10, 20, 30, 0, time.UTC)
	retry := plan(t, Plan{Retry: Retry{Attempts: 3, Codes: []string{"upstream", "limit.busy"}}})
	hourly := plan(t, Plan{Schedule: &Schedule{Cron: "@hourly"}})
	hour := time.Date(2026, 5, 4, 11, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		plan    []byte
		attempt int64
		end     store.TaskEnd
		want    store.TaskStep
	}{
		"success":                 {retry, 1, store.TaskEnd{Status: "ok"}, store.TaskStep{State: store.TaskAccepted, Attempt: 1, Times: 1}},
		"a code of a class":       {retry, 1, store.TaskEnd{Status: "error", Code: fault.UpstreamUnavailable}, store.TaskStep{State: store.TaskQueued, Run: "next", Due: now.Add(10 * time.Second), Attempt: 2}},
		"a code":                  {retry, 2, store.TaskEnd{Status: "limit", Code: fault.LimitBusy}, store.TaskStep{State: store.TaskQueued, Run: "next", Due: now.Add(20 * time.Second), Attempt: 3}},
		"the last attempt":        {retry, 3, store.TaskEnd{Status: "error", Code: fault.UpstreamUnavailable}, store.TaskStep{State: store.TaskFailed, Attempt: 3, Times: 1}},
		"another code":            {retry, 1, store.TaskEnd{Status: "error", Code: fault.LimitMemory}, store.TaskStep{State: store.TaskFailed, Attempt: 1, Times: 1}},
		"cancelled":               {retry, 1, store.TaskEnd{Status: "error", Code: fault.UpstreamUnavailable, Cancelled: true}, store.TaskStep{State: store.TaskCancelled, Attempt: 1}},
		"a schedule":              {hourly, 2, store.TaskEnd{Status: "ok"}, store.TaskStep{State: store.TaskQueued, Run: "next", Due: hour, Attempt: 1, Times: 1}},
		"a schedule, failed":      {hourly, 3, store.TaskEnd{Status: "error", Code: fault.LimitMemory}, store.TaskStep{State: store.TaskQueued, Run: "next", Due: hour, Attempt: 1, Times: 1}},
		"a schedule, cancelled":   {hourly, 1, store.TaskEnd{Cancelled: true}, store.TaskStep{State: store.TaskCancelled, Attempt: 1}},
		"a revoked token":         {hourly, 1, store.TaskEnd{Status: "denied", Code: fault.DeniedToken}, store.TaskStep{State: store.TaskFailed, Attempt: 1, Times: 1}},
		"a changed workspace":     {hourly, 1, store.TaskEnd{Status: "ok", Review: true}, store.TaskStep{State: store.TaskReview, Attempt: 1, Times: 1}},
		"a plan that is not JSON": {[]byte("{"), 1, store.TaskEnd{Status: "error", Code: fault.LimitBusy}, store.TaskStep{State: store.TaskFailed, Attempt: 1, Times: 1}},
	} {
		c.end.At = now
		if got := After(store.Task{Plan: c.plan, Attempt: c.attempt}, c.end, "next", 1); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestPausesGrowToTheirCeiling(t *testing.T) {
	r := Retry{Delay: "1s", Factor: 3, Ceiling: "20s"}
	for attempt, want := range []time.Duration{time.Second, 3 * time.Second, 9 * time.Second, 20 * time.Second, 20 * time.Second} {
		least, most := r.pause(int64(attempt+1), 0), r.pause(int64(attempt+1), 1)
		if most != want || least != want/2 {
			t.Errorf("after attempt %d the pause is from %s to %s, want half of %s to all", attempt+1, least, most, want)
		}
	}
	if got := r.pause(1<<40, 1); got != 20*time.Second {
		t.Errorf("after very many attempts the pause is %s", got)
	}
}

func TestPlansThatAreRefused(t *testing.T) {
	for name, p := range map[string]Plan{
		"attempts":       {Retry: Retry{Attempts: 21}},
		"no attempts":    {Retry: Retry{Attempts: -1}},
		"delay":          {Retry: Retry{Delay: "-1s"}},
		"ceiling":        {Retry: Retry{Ceiling: "192h"}},
		"below delay":    {Retry: Retry{Delay: "1h", Ceiling: "1s"}},
		"no duration":    {Retry: Retry{Delay: "soon"}},
		"factor":         {Retry: Retry{Factor: 0.5}},
		"code":           {Retry: Retry{Codes: []string{"'; DROP TABLE"}}},
		"many codes":     {Retry: Retry{Codes: make([]string, 51)}},
		"no fields":      {Schedule: &Schedule{}},
		"six fields":     {Schedule: &Schedule{Cron: "0 * * * * *"}},
		"a minute":       {Schedule: &Schedule{Cron: "60 * * * *"}},
		"a name":         {Schedule: &Schedule{Cron: "0 0 * * noday"}},
		"a step":         {Schedule: &Schedule{Cron: "*/0 * * * *"}},
		"backwards":      {Schedule: &Schedule{Cron: "30-10 * * * *"}},
		"never":          {Schedule: &Schedule{Cron: "0 0 30 2 *"}},
		"a large number": {Schedule: &Schedule{Cron: "99999999999999999999 * * * *"}},
		"a giant":        {Schedule: &Schedule{Cron: strings.Repeat("1,", 1<<20) + "1 * * * *"}},
		"a zone":         {Schedule: &Schedule{Cron: "@daily", Zone: "../../etc/passwd"}},
		"this machine's": {Schedule: &Schedule{Cron: "@daily", Zone: "Local"}},
	} {
		began := time.Now()
		if err := p.Check(); !errors.Is(err, fault.UsageTask) || len(err.Error()) > 300 {
			t.Errorf("%s: %v", name, err)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%s: took %s", name, took)
		}
	}
}

func TestSchedules(t *testing.T) {
	for _, c := range []struct{ cron, zone, after, want string }{
		{"*/15 * * * *", "", "2026-05-04T10:20:30Z", "2026-05-04T10:30:00Z"},
		{"30 6 * * MON-FRI", "Europe/Berlin", "2026-05-08T12:00:00Z", "2026-05-11T04:30:00Z"},
		{"0 0 1 * *", "", "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"},
		{"0 0 29 feb *", "", "2026-05-04T00:00:00Z", "2028-02-29T00:00:00Z"},
		{"0 12 13 * 5", "", "2026-05-04T00:00:00Z", "2026-05-08T12:00:00Z"}, // the 13th or a Friday
		{"0 9 * * 7", "", "2026-05-04T00:00:00Z", "2026-05-10T09:00:00Z"},
		{"5/20 * * * *", "", "2026-05-04T10:26:00Z", "2026-05-04T10:45:00Z"},
		{"@yearly", "Asia/Kathmandu", "2026-05-04T00:00:00Z", "2026-12-31T18:15:00Z"},
		// 02:30 does not come on the day when clocks go forward, and comes twice when they go back.
		{"30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z"},
		{"30 2 * * *", "Europe/Berlin", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"},
		{"30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z"},
		{"30 2 * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"},
		{"30 * * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"},
		{"0 3 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z"},
		{"15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00Z", "2026-10-03T15:30:00Z"},
	} {
		after, err := time.Parse(time.RFC3339, c.after)
		if err != nil {
			t.Fatal(err)
		}
		got, err := (Schedule{c.cron, c.zone}).Next(after)
		if text := got.UTC().Format(time.RFC3339); err != nil || text != c.want {
			t.Errorf("%s %s after %s is %s, want %s: %v", c.cron, c.zone, c.after, text, c.want, err)
		}
	}
}

func FuzzSchedule(f *testing.F) {
	f.Add("30 6 * * MON-FRI", "Europe/Berlin", int64(0))
	f.Add("*/7,3-9/2 * 29 2 *", "", int64(1))
	f.Fuzz(func(t *testing.T, cron, zone string, at int64) {
		after := time.Unix(at%(1<<33), 0)
		next, err := Schedule{cron, zone}.Next(after)
		if err == nil && !next.After(after) {
			t.Errorf("%q after %s is %s", cron, after, next)
		}
		if err != nil && !errors.Is(err, fault.UsageTask) {
			t.Errorf("%q: %v", cron, err)
		}
	})
}
