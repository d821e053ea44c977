package store

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// waiting returns the questions of a tenant that wait.
func waiting(t testing.TB, s *Store, tenant string) []Approval {
	t.Helper()
	all, _, err := s.Approvals(t.Context(), tenant, ApprovalFilter{})
	check(t, err)
	return all
}

func ids(all []Approval) (out []string) {
	for _, a := range all {
		out = append(out, a.ID)
	}
	return out
}

func TestApprovalsAreListedByState(t *testing.T) {
	both(t, func(t *testing.T, s *Store, c *clock) {
		l := started(t, s, Run{Tenant: "a", ID: "r"})
		for i := range 6 {
			check(t, s.Ask(t.Context(), l, Approval{ID: fmt.Sprint("q", 9-i), Expires: c.now().Add(time.Minute)}, Event{Type: "approval"}))
			c.pass(time.Second)
		}
		for id, d := range map[string]Decision{"q9": {Answer: AnswerApproved, Actor: "ada", Via: "api", Always: true}, "q8": {Answer: AnswerDenied, Actor: "bob", Via: "mcp", Reason: "no"}} {
			a, err := s.Decide(t.Context(), "a", id, d)
			check(t, err)
			if want := (Decision{a.State, a.Actor, a.Via, a.Reason, a.Always}); want != d || !a.Answered.Equal(c.now()) {
				t.Errorf("%+v, want %+v", a, d)
			}
		}
		if a := must(s.Withdraw(t.Context(), l, "q7"))(t); a.State != AnswerExpired {
			t.Errorf("%+v", a)
		}
		if a := must(s.Withdraw(t.Context(), l, "q9"))(t); a.State != AnswerApproved {
			t.Errorf("an answer was withdrawn: %+v", a)
		}
		for state, want := range map[Answer][]string{"": {"q6", "q5", "q4"}, AnswerWaiting: {"q6", "q5", "q4"}, AnswerApproved: {"q9"}, AnswerDenied: {"q8"}, AnswerExpired: {"q7"}} {
			var got []string
			for after, more := "", true; more; {
				var page []Approval
				page, more, _ = s.Approvals(t.Context(), "a", ApprovalFilter{State: state, Run: "r", After: after, Limit: 2})
				if got = append(got, ids(page)...); more {
					after = page[len(page)-1].ID
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s", state, diff)
			}
		}
		c.pass(57500 * time.Millisecond) // q6 expires; the lease of the run has too
		check(t, s.ExpireApprovals(t.Context()))
		expired, _, err := s.Approvals(t.Context(), "a", ApprovalFilter{State: AnswerExpired})
		check(t, err)
		if diff := cmp.Diff([]string{"q7", "q6"}, ids(expired)); diff != "" {
			t.Error(diff)
		}
		_, err = s.Withdraw(t.Context(), l, "q5")
		if err != ErrLost {
			t.Errorf("a process without the lease withdrew a question: %v", err)
		}
	})
}

func TestNoticesAreToldInOrder(t *testing.T) {
	both(t, func(t *testing.T, s *Store, c *clock) {
		l := started(t, s, Run{Tenant: "a", ID: "r"})
		ask := func(id string) {
			check(t, s.Ask(t.Context(), l, Approval{ID: id, Expires: c.now().Add(10 * time.Second), Notify: true}, Event{Type: "approval"}))
		}
		ask("q1")
		check(t, s.Ask(t.Context(), l, Approval{ID: "quiet", Expires: c.now().Add(time.Hour)}, Event{Type: "approval"}))
		_ = must(s.Decide(t.Context(), "a", "quiet", Decision{Answer: AnswerDenied}))(t)
		_ = must(s.Decide(t.Context(), "a", "q1", Decision{Answer: AnswerApproved}))(t)
		ask("q2")
		check(t, s.End(t.Context(), l, Outcome{Status: "ok"}))
		claim := func(owner string) (Lease, bool) {
			t.Helper()
			n, ok, err := s.Claim(t.Context(), KindNotice, owner)
			check(t, err)
			return n, ok
		}
		var told []string
		held, ok := claim("one")
		if _, again := claim("two"); !ok || again {
			t.Fatal("not one process tells the notices of a tenant")
		}
		first, _, err := s.NextNotice(t.Context(), held)
		check(t, err)
		check(t, s.Retry(t.Context(), held, first, c.now().Add(time.Second)))
		if _, early := claim("two"); early {
			t.Error("a notice is tried again before its time")
		}
		c.pass(time.Second)
		held, _ = claim("two")
		_, _, err = s.NextNotice(t.Context(), Lease{Tenant: held.Tenant, ID: held.ID, Owner: "one", Fence: held.Fence - 1})
		if err != ErrLost {
			t.Errorf("a process without the lease reads notices: %v", err)
		}
		for {
			n, ok, err := s.NextNotice(t.Context(), held)
			check(t, err)
			if !ok {
				break
			}
			if len(told) == 0 && (n.ID != first.ID || n.Attempts != 1) {
				t.Errorf("%+v, before %+v", n, first)
			}
			told = append(told, fmt.Sprint(n.Number, n.Type, n.Approval.ID))
			check(t, s.Told(t.Context(), held, n))
			if held, ok = claim("two"); !ok {
				t.Fatal("the notices that are left are not in the queue")
			}
		}
		want := []string{"1approval.askedq1", "2approval.answeredq1", "3approval.askedq2", "4approval.expiredq2"}
		if diff := cmp.Diff(want, told); diff != "" {
			t.Error(diff)
		}
		if _, more := claim("two"); more {
			t.Error("there is work without notices")
		}
	})
}

// Notices that are added while others are told are all told.
func TestNoNoticeIsLeftWithoutWork(t *testing.T) {
	both(t, func(t *testing.T, s *Store, c *clock) {
		l := started(t, s, Run{Tenant: "a", ID: "r"})
		const notices = 40
		var all sync.WaitGroup
		for i := range notices {
			all.Go(func() {
				a := Approval{ID: fmt.Sprint("q", i), Expires: c.now().Add(time.Hour), Notify: true}
				if err := s.Ask(t.Context(), l, a, Event{Type: "approval"}); err != nil {
					t.Error(err)
				}
			})
		}
		told := make(chan int64, notices)
		for worker := range 3 {
			all.Go(func() {
				for len(told) < notices && t.Context().Err() == nil {
					held, ok, err := s.Claim(t.Context(), KindNotice, fmt.Sprint("w", worker))
					if ok && err == nil {
						var n Notice
						if n, ok, err = s.NextNotice(t.Context(), held); ok && err == nil {
							told <- n.Number // before another process can have the lease
							err = s.Told(t.Context(), held, n)
						}
					}
					if err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
		close(told)
		next := int64(1)
		for n := range told {
			if n != next {
				t.Fatalf("notice %d was told as number %d", n, next)
			}
			next++
		}
		if r := must(s.Check(t.Context()))(t); len(r.Faults) != 0 || r.Rows["notices"] != 0 {
			t.Errorf("%+v", r)
		}
	})
}
