package store

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wexec/wexec/fault"
)

func TestTheFirstAnswerCounts(t *testing.T) {
	both(t, func(t *testing.T, s *Store, c *clock) {
		l := started(t, s, Run{Tenant: "a", ID: "r"})
		want := Approval{Tenant: "a", ID: "1", Run: "r", Tool: "mail.send", Digest: "d", Question: []byte(`{"to":"[EMAIL_1]"}`), State: AnswerWaiting,
			Asked: c.now(), Expires: c.now().Add(time.Hour)}
		for range 2 { // a run that was taken over asks again
			check(t, s.Ask(t.Context(), l, want, Event{Type: "approval"}))
		}
		check(t, s.Ask(t.Context(), l, Approval{ID: "2", Expires: c.now().Add(time.Minute)}, Event{Type: "approval"}))
		if diff := cmp.Diff(want, must(s.Approval(t.Context(), "a", "1"))(t)); diff != "" {
			t.Error(diff)
		}
		if all := waiting(t, s, "a"); len(all) != 2 || all[0].ID != "1" {
			t.Errorf("%+v", all)
		}
		answers := make([]error, 10)
		var all sync.WaitGroup
		for i := range answers {
			all.Go(func() {
				_, answers[i] = s.Decide(t.Context(), "a", "1", Decision{Answer: []Answer{AnswerApproved, AnswerDenied}[i%2], Actor: fmt.Sprint("person", i), Via: "page"})
			})
		}
		all.Wait()
		won := 0
		for _, err := range answers {
			if err == nil {
				won++
			} else if fault.CodeOf(err) != fault.UsageConflict {
				t.Error(err)
			}
		}
		if won != 1 {
			t.Errorf("%d answers counted", won)
		}
		c.pass(time.Minute)
		_, err := s.Decide(t.Context(), "a", "2", Decision{Answer: AnswerApproved, Actor: "p", Via: "page"})
		wantCode(t, err, fault.UsageConflict)
		if a := must(s.Approval(t.Context(), "a", "2"))(t); a.State != AnswerExpired {
			t.Errorf("%+v", a)
		}
		if all := waiting(t, s, "a"); len(all) != 0 {
			t.Errorf("%+v", all)
		}
		_, err = s.Decide(t.Context(), "b", "1", Decision{Answer: AnswerApproved, Actor: "p", Via: "page"})
		wantCode(t, err, fault.UsageRun)
		if events := must(s.Events(t.Context(), "a", "r", 0, 10))(t); len(events) != 2 {
			t.Errorf("%+v", events)
		}
	})
}

func TestAQuestionExpiresWithItsRun(t *testing.T) {
	both(t, func(t *testing.T, s *Store, c *clock) {
		l := started(t, s, Run{Tenant: "a", ID: "r"})
		for _, id := range []string{"1", "2"} {
			check(t, s.Ask(t.Context(), l, Approval{ID: id, Expires: c.now().Add(time.Hour)}, Event{Type: "approval"}))
		}
		must(s.Decide(t.Context(), "a", "1", Decision{Answer: AnswerApproved, Actor: "p", Via: "api"}))(t)
		check(t, s.End(t.Context(), l, Outcome{Status: "error"}))
		if all := waiting(t, s, "a"); len(all) != 0 {
			t.Errorf("questions of a run that has ended wait: %+v", all)
		}
		_, err := s.Decide(t.Context(), "a", "2", Decision{Answer: AnswerApproved, Actor: "p", Via: "api"})
		wantCode(t, err, fault.UsageConflict)
		for id, want := range map[string]Answer{"1": AnswerApproved, "2": AnswerExpired} {
			if a := must(s.Approval(t.Context(), "a", id))(t); a.State != want {
				t.Errorf("question %s is %s, want %s", id, a.State, want)
			}
		}
	})
}

func TestATokenIsKnownByItsHash(t *testing.T) {
	both(t, func(t *testing.T, s *Store, c *clock) {
		want := Token{Tenant: "a", ID: "1", Name: "ci\x00", Type: TypeAgent, Scopes: []Scope{ScopeRun, ScopeRead}, Tools: []string{"github.*"}, Expires: c.now().Add(time.Hour)}
		text := must(s.CreateToken(t.Context(), want))(t)
		if !strings.HasPrefix(text, "wx_") || len(text) < 40 {
			t.Errorf("%q", text)
		}
		want.Name, want.Created = "ci\uFFFD", c.now()
		if diff := cmp.Diff(want, must(s.Token(t.Context(), text))(t)); diff != "" {
			t.Error(diff)
		}
		want.Used = c.now()
		if diff := cmp.Diff([]Token{want}, must(s.Tokens(t.Context(), "a"))(t)); diff != "" {
			t.Error(diff)
		}
		for _, other := range []string{"", "wx_", text + "x", text[:len(text)-1], strings.ToUpper(text)} {
			_, err := s.Token(t.Context(), other)
			wantCode(t, err, fault.DeniedToken)
		}
		wantCode(t, s.Revoke(t.Context(), "b", "1"), fault.UsageToken)
		c.pass(time.Hour)
		_, err := s.Token(t.Context(), text)
		wantCode(t, err, fault.DeniedToken)
		second := must(s.CreateToken(t.Context(), Token{Tenant: "a", ID: "2", Name: "n", Type: TypePerson, Scopes: []Scope{ScopeAdmin}}))(t)
		check(t, s.Revoke(t.Context(), "a", "2"))
		_, err = s.Token(t.Context(), second)
		wantCode(t, err, fault.DeniedToken)
		for _, bad := range []Token{{}, {Tenant: "a", ID: "3", Name: "n", Type: "robot", Scopes: []Scope{ScopeRun}}, {Tenant: "a", ID: "3", Name: "n", Type: TypeAgent},
			{Tenant: "a", ID: "3", Name: "n", Type: TypeAgent, Scopes: []Scope{"run,admin"}}, {Tenant: "a", ID: "3", Name: "n", Type: TypeAgent, Scopes: []Scope{ScopeRun}, Tools: []string{"a,b"}}} {
			_, err := s.CreateToken(t.Context(), bad)
			wantCode(t, err, fault.UsageToken)
		}
	})
}

func TestAdminHasEveryScopeButReveal(t *testing.T) {
	for _, scope := range Scopes() {
		if got := (Token{Scopes: []Scope{ScopeAdmin}}).Has(scope); got != (scope != ScopeReveal) {
			t.Errorf("%s: %t", scope, got)
		}
		if (Token{Scopes: []Scope{ScopeRead}}).Has(scope) != (scope == ScopeRead) {
			t.Errorf("read has %s", scope)
		}
	}
}

func TestUsageIsSummed(t *testing.T) {
	both(t, func(t *testing.T, s *Store, c *clock) {
		for i := range 6 {
			l := started(t, s, Run{Tenant: []string{"a", "b"}[i/4], ID: fmt.Sprint(i), Actor: fmt.Sprint("bot", i%2)})
			check(t, s.End(t.Context(), l, Outcome{Status: "ok", Uses: []Use{
				{Kind: "run", Count: 1, Fuel: 1 << 40, Time: time.Second}, {Kind: "tool", Name: "x.y", Count: 2, Failed: 1}, {Kind: "model", Name: "m", Tokens: 10, Money: 7}}}))
			c.pass(8 * time.Hour)
		}
		sums := func(kind string, by By, since, until time.Time) string {
			var got []string
			for _, u := range must(s.Usage(t.Context(), "a", kind, by, since, until))(t) {
				got = append(got, fmt.Sprintf("%s:%d/%d/%d/%d/%d/%s", u.Key, u.Count, u.Failed, u.Fuel>>40, u.Tokens, u.Money, u.Time))
			}
			return strings.Join(got, " ")
		}
		day := time.Date(2026, 5, 2, 0, 0, 0, 0, time.UTC)
		for _, test := range [][2]string{
			{sums("run", ByDay, time.Time{}, time.Time{}), "2026-05-01:2/0/2/0/0/2s 2026-05-02:2/0/2/0/0/2s"},
			{sums("run", ByActor, day, time.Time{}), "bot0:1/0/1/0/0/1s bot1:1/0/1/0/0/1s"},
			{sums("tool", ByName, time.Time{}, day), "x.y:4/2/0/0/0/0s"},
			{sums("model", ByName, time.Time{}, time.Time{}), "m:0/0/0/40/28/0s"},
			{sums("skill", ByName, time.Time{}, time.Time{}), ""},
		} {
			if test[0] != test[1] {
				t.Errorf("%s, want %s", test[0], test[1])
			}
		}
		_, err := s.Usage(t.Context(), "a", "run", "tenant; --", time.Time{}, time.Time{})
		wantCode(t, err, fault.UsageStore)
	})
}

// filled has some of everything.
func filled(t testing.TB, s *Store, c *clock) {
	t.Helper()
	for i := range 20 {
		a := must(s.Accept(t.Context(), Run{Tenant: fmt.Sprint("t", i%3), ID: fmt.Sprint("r", i), Token: "t", Request: []byte{0, 255, byte(i)}}, "me",
			Idempotency{Key: fmt.Sprint(i), Keep: time.Hour}))(t)
		check(t, s.Append(t.Context(), a.Lease, Event{Type: "output", Data: []byte("\x00")}))
		check(t, s.Ask(t.Context(), a.Lease, Approval{ID: fmt.Sprint("a", i), Expires: c.now().Add(time.Hour)}, Event{Type: "approval"}))
		if i < 15 {
			check(t, s.End(t.Context(), a.Lease, Outcome{Status: "ok", Uses: []Use{{Kind: "run", Count: 1}}}))
		}
	}
	_ = must(s.CreateToken(t.Context(), Token{Tenant: "a", ID: "1", Name: "n", Type: TypeAgent, Scopes: []Scope{ScopeRun}}))(t)
}

func TestABackupIsRestoredInAnyStore(t *testing.T) {
	both(t, func(t *testing.T, s *Store, c *clock) {
		filled(t, s, c)
		file := filepath.Join(t.TempDir(), "backup.db")
		check(t, s.Backup(t.Context(), file))
		want := must(s.Check(t.Context()))(t)
		if len(want.Faults) != 0 || want.Rows["runs"] != 20 || want.Rows["events"] != 40 || want.Rows["queue"] != 5 {
			t.Errorf("%+v", want)
		}
		if files, _ := filepath.Glob(file + "*"); len(files) != 1 {
			t.Errorf("%q", files)
		}
		wantCode(t, s.Backup(t.Context(), file), fault.UsageFile)
		for name, address := range addresses(t) {
			other := open(t, address(t), Options{Now: c.now})
			check(t, other.Restore(t.Context(), file))
			if diff := cmp.Diff(want, must(other.Check(t.Context()))(t)); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
			if diff := cmp.Diff(must(s.Run(t.Context(), "t1", "r7"))(t), must(other.Run(t.Context(), "t1", "r7"))(t)); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
			wantCode(t, other.Restore(t.Context(), file), fault.UsageStore) // it is not empty
		}
		for name, text := range map[string]string{"text": strings.Repeat("no database", 100), "empty": ""} {
			wrong := filepath.Join(t.TempDir(), name)
			check(t, os.WriteFile(wrong, []byte(text), 0o600))
			if err := s.Restore(t.Context(), wrong); fault.CodeOf(err) != fault.UsageStore || !strings.Contains(err.Error(), wrong+" is not a backup") {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestPruneRemovesOldRunsWithWhatBelongsToThem(t *testing.T) {
	both(t, func(t *testing.T, s *Store, c *clock) {
		filled(t, s, c)
		c.pass(time.Hour)
		l := started(t, s, Run{Tenant: "t0", ID: "new"})
		check(t, s.End(t.Context(), l, Outcome{Status: "ok"}))
		if n := must(s.Prune(t.Context(), "", c.now()))(t); n != 15 {
			t.Errorf("%d runs were removed", n)
		}
		r := must(s.Check(t.Context()))(t)
		maps.DeleteFunc(r.Rows, func(_ string, n int64) bool { return n == 0 })
		if want := map[string]int64{"runs": 6, "events": 10, "idempotency": 5, "queue": 5, "approvals": 5, "tokens": 1}; !cmp.Equal(r.Rows, want) || len(r.Faults) != 0 {
			t.Errorf("%+v", r)
		}
	})
}

func TestCheckFindsRecordsThatContradictEachOther(t *testing.T) {
	for name, damage := range map[string]string{
		"no queue": "DELETE FROM queue WHERE id = 'r16'", "still queued": "UPDATE runs SET state = 'done' WHERE id = 'r16'", "gap": "DELETE FROM events WHERE run = 'r3' AND number = 1",
		"no run": "UPDATE approvals SET run = 'x' WHERE id = 'a3'", "no run of a key": "UPDATE idempotency SET run = 'x' WHERE name = '3'",
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, s *Store, c *clock) {
				filled(t, s, c)
				check(t, s.update(t.Context(), func(tx *Tx) error {
					n, err := tx.exec(damage)
					if err == nil && n != 1 {
						err = fmt.Errorf("%d rows", n)
					}
					return err
				}))
				if r := must(s.Check(t.Context()))(t); len(r.Faults) != 1 {
					t.Errorf("%q", r.Faults)
				}
			})
		})
	}
}

func TestAStoreOfANewerVersionIsRefused(t *testing.T) {
	for name, address := range addresses(t) {
		t.Run(name, func(t *testing.T) {
			address := address(t)
			s := open(t, address, Options{})
			check(t, s.update(t.Context(), func(tx *Tx) error {
				_, err := tx.exec("INSERT INTO migrations (version, applied) VALUES (1000, 0)")
				return err
			}))
			_, err := Open(t.Context(), address, Options{})
			wantCode(t, err, fault.UsageStore)
			if !strings.Contains(fmt.Sprint(err), "version 1000") {
				t.Error(err)
			}
		})
	}
}

func TestAnExistingStoreIsNotMadeOrMigrated(t *testing.T) {
	for name, address := range addresses(t) {
		t.Run(name, func(t *testing.T) {
			address := address(t)
			for range 2 { // the first attempt leaves nothing
				_, err := Open(t.Context(), address, Options{Existing: true})
				wantCode(t, err, fault.UsageStore)
				if fault.HintOf(err) == "" {
					t.Errorf("no hint: %v", err)
				}
			}
			before, now, err := Migrate(t.Context(), address, Options{})
			if before != 0 || now == 0 || err != nil {
				t.Errorf("%d %d %v", before, now, err)
			}
			s := open(t, address, Options{Existing: true})
			if before, again, err := Migrate(t.Context(), address, Options{}); before != now || again != now || err != nil {
				t.Errorf("%d %d %v", before, again, err)
			}
			check(t, s.update(t.Context(), func(tx *Tx) error {
				_, err := tx.exec("DELETE FROM migrations WHERE version = $1", now)
				return err
			}))
			_, err = Open(t.Context(), address, Options{Existing: true})
			wantCode(t, err, fault.UsageStore)
		})
	}
}

func TestARedactedAddressHasNoSecret(t *testing.T) {
	for address, want := range map[string]string{
		"sqlite:/a b/wexec.db":                                 "sqlite:/a b/wexec.db",
		"postgres://me:secret@db.example:5432/wexec":           "postgres://me@db.example:5432/wexec",
		"postgresql://db/wexec?user=me&password=secret":        "postgresql://db/wexec",
		"postgres:///wexec?host=/run/pg&sslpassword=secret":    "postgres:///wexec",
		"postgres://me:sec%zzret@db/wexec":                     "postgres:",
		"postgres://me:secret@db/wexec?sslmode=disable#secret": "postgres://me@db/wexec",
	} {
		if got := Redacted(address); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}

// Several processes that start at the same time migrate once.
func TestAStoreIsMigratedOnce(t *testing.T) {
	for name, address := range addresses(t) {
		t.Run(name, func(t *testing.T) {
			address := address(t)
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					s, err := Open(t.Context(), address, Options{Wait: time.Minute})
					if err != nil {
						t.Error(err)
						return
					}
					if err := s.Close(); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
		})
	}
}

func TestAnAddressThatCannotBeOpenedSaysWhy(t *testing.T) {
	file := filepath.Join(t.TempDir(), "text")
	check(t, os.WriteFile(file, []byte(strings.Repeat("no database", 100)), 0o600))
	for address, want := range map[string]string{
		"":                                       "unknown kind of store",
		"mysql://secret@x/y":                     `unknown kind of store "mysql"`,
		"sqlite:":                                "unknown kind of store",
		"sqlite:" + file:                         "cannot be opened as a store",
		"sqlite:" + file + "/x/y.db":             "folder of the store cannot be made",
		"postgres://u:secret@127.0.0.1:1/x":      "cannot be reached",
		"postgres://u:secret@127.0.0.1:1x/x":     "",
		"postgres://u:secret@h/x?sslmode=unsure": "address of the store is invalid",
	} {
		_, err := Open(t.Context(), address, Options{Wait: time.Second})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", address, err)
		}
		if err != nil && fault.HintOf(err) == "" && strings.Contains(want, "kind") {
			t.Errorf("%s: no hint", address)
		}
	}
}

func TestAFullDiskEndsWritesWithACode(t *testing.T) {
	s := open(t, addresses(t)["sqlite"](t), Options{})
	l := started(t, s, Run{Tenant: "a", ID: "1"})
	limit := func(pages int) {
		t.Helper()
		if _, err := s.write.Exec(fmt.Sprintf("PRAGMA max_page_count(%d)", pages)); err != nil {
			t.Fatal(err)
		}
	}
	limit(1) // SQLite makes it the present size
	written, unavailable := 0, 0
	for range 40 {
		err := s.Append(t.Context(), l, Event{Type: "output", Data: make([]byte, 4096)})
		switch {
		case err == nil:
			written++
		case errors.Is(err, fault.StoreUnavailable):
			unavailable++
		default:
			t.Fatal(err)
		}
	}
	if unavailable == 0 {
		t.Fatal("the disk was never full")
	}
	if events := must(s.Events(t.Context(), "a", "1", 0, 100))(t); len(events) != written {
		t.Errorf("%d events, %d were acknowledged", len(events), written)
	}
	limit(1 << 30)
	check(t, s.End(t.Context(), l, Outcome{Status: "ok"}))
	if r := must(s.Check(t.Context()))(t); len(r.Faults) != 0 {
		t.Errorf("%q", r.Faults)
	}
}

// Parallel calls of a run have details at the same time.
func TestDetailsAreAddedAtTheSameTime(t *testing.T) {
	both(t, func(t *testing.T, s *Store, _ *clock) {
		started(t, s, Run{Tenant: "a", ID: "r"})
		const writers, each = 8, 10
		var all sync.WaitGroup
		for range writers {
			all.Go(func() {
				for range each {
					if err := s.AddDetail(t.Context(), "a", "r", Sealed{[]byte("key"), []byte("text")}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		if got := must(s.Details(t.Context(), "a", "r"))(t); len(got) != writers*each {
			t.Errorf("%d details of %d", len(got), writers*each)
		}
	})
}

// Events are saved together some time after they happened.
func TestAnEventHasTheTimeAtWhichItHappened(t *testing.T) {
	both(t, func(t *testing.T, s *Store, c *clock) {
		l := started(t, s, Run{Tenant: "a", ID: "r"})
		now := c.now()
		check(t, s.Append(t.Context(), l, Event{Type: "call", At: now.Add(-time.Second)}, Event{Type: "call"}, Event{Type: "call", At: now.Add(time.Hour)}))
		events := must(s.Events(t.Context(), "a", "r", 0, 10))(t)
		events = events[len(events)-3:]
		if got := events[1].At.Sub(events[0].At); got < time.Second || got > time.Minute || !events[2].At.Equal(events[1].At) {
			t.Errorf("%v %v %v", events[0].At, events[1].At, events[2].At)
		}
	})
}
