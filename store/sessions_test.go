package store

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wexec/wexec/fault"
)

func TestASessionIsAwakeInOneProcessAndItsImageIsUsedOnce(t *testing.T) {
	both(t, func(t *testing.T, s *Store, c *clock) {
		k := SessionKey{"a", "ada", "s"}
		claim := func(generation int64, owner string) bool {
			t.Helper()
			_, ok, err := s.ClaimSession(t.Context(), k, "python", generation, owner)
			check(t, err)
			return ok
		}
		put := func(generation int64, owner string) bool {
			t.Helper()
			ok, err := s.PutSession(t.Context(), Session{SessionKey: k, Generation: generation, Bytes: 5, Blob: fmt.Sprint("blob", generation), Seal: []byte{1, 0}}, owner)
			check(t, err)
			return ok
		}
		created := c.now()
		steps := []struct {
			name string
			did  func() bool
			want bool
		}{
			{"an image of a session that does not exist", func() bool { return claim(1, "p") }, false},
			{"a new session", func() bool { return claim(0, "p") }, true},
			{"a session that exists", func() bool { return claim(0, "q") }, false},
			{"an image of another process", func() bool { return put(1, "q") }, false},
			{"an image of a later generation", func() bool { return put(2, "p") }, false},
			{"the first image", func() bool { return put(1, "p") }, true},
			{"the image again", func() bool { return put(1, "p") }, false},
			{"a later generation", func() bool { return claim(2, "q") }, false},
			{"the first generation", func() bool { return claim(1, "q") }, true},
			{"the first generation again", func() bool { return claim(1, "p") }, false},
			{"the second image", func() bool { return put(2, "q") }, true},
			{"an older generation", func() bool { return claim(1, "q") }, false},
		}
		for _, step := range steps {
			if got := step.did(); got != step.want {
				t.Errorf("%s: %v", step.name, got)
			}
		}
		got, found, err := s.Session(t.Context(), k)
		check(t, err)
		want := Session{SessionKey: k, Language: "python", Generation: 2, Renewed: created, Created: created, Used: created, Bytes: 5, Blob: "blob2", Seal: []byte{1, 0}}
		if diff := cmp.Diff(want, got); !found || diff != "" {
			t.Error(diff)
		}
		if !must(s.UsesImage(t.Context(), "blob2"))(t) || must(s.UsesImage(t.Context(), "blob1"))(t) {
			t.Error("a blob is used or unused by mistake")
		}
		blob, ok, err := s.ClaimSession(t.Context(), k, "python", 2, "p")
		if check(t, err); !ok || blob != "blob2" {
			t.Errorf("claimed %q: %v", blob, ok)
		}
		c.pass(time.Minute)
		check(t, s.RenewSessions(t.Context(), "p"))
		if got, _, err := s.Session(t.Context(), k); err != nil || !got.Renewed.Equal(c.now()) || got.Owner != "p" || got.Blob != "" {
			t.Errorf("%+v %v", got, err)
		}
		for _, other := range []SessionKey{{"b", "ada", "s"}, {"a", "bob", "s"}, {"a", "ada", "t"}} {
			if _, found, err := s.Session(t.Context(), other); found || err != nil {
				t.Errorf("%v exists: %v", other, err)
			}
			if _, ok, err := s.DeleteSession(t.Context(), other, ""); ok || err != nil {
				t.Errorf("%v was deleted: %v", other, err)
			}
		}
		if _, ok, _ := s.DeleteSession(t.Context(), k, "q"); ok {
			t.Error("another process deleted it")
		}
		if _, ok, err := s.DeleteSession(t.Context(), k, "p"); !ok || err != nil {
			t.Errorf("it was not deleted: %v", err)
		}
	})
}

func TestOneOfManyWakesASession(t *testing.T) {
	both(t, func(t *testing.T, s *Store, c *clock) {
		k := SessionKey{"a", "ada", "s"}
		for generation := range int64(5) {
			var mu sync.Mutex
			var winners []string
			var all sync.WaitGroup
			for n := range 8 {
				all.Go(func() {
					owner := fmt.Sprint(n)
					_, ok, err := s.ClaimSession(t.Context(), k, "python", generation, owner)
					if err != nil {
						t.Error(err)
					}
					if ok {
						mu.Lock()
						winners = append(winners, owner)
						mu.Unlock()
					}
				})
			}
			if all.Wait(); len(winners) != 1 {
				t.Fatalf("%d processes have the session", len(winners))
			}
			if ok, err := s.PutSession(t.Context(), Session{SessionKey: k, Generation: generation + 1}, winners[0]); !ok || err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestTheSessionsOfATenantAreBoundedAndListed(t *testing.T) {
	both(t, func(t *testing.T, s *Store, c *clock) {
		for _, k := range []SessionKey{{"a", "ada", "z"}, {"a", "ada", "b"}, {"a", "bob", "b"}, {"b", "ada", "c"}} {
			_, ok, err := s.ClaimSession(t.Context(), k, "python", 0, "p")
			if check(t, err); !ok {
				t.Fatal("not claimed")
			}
		}
		names := func(tenant, actor string) (all []string) {
			for _, x := range must(s.Sessions(t.Context(), tenant, actor))(t) {
				all = append(all, x.Actor+" "+x.Name)
			}
			return all
		}
		if diff := cmp.Diff([]string{"ada b", "bob b", "ada z"}, names("a", "")); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"ada b", "ada z"}, names("a", "ada")); diff != "" {
			t.Error(diff)
		}
		huge := Session{SessionKey: SessionKey{"a", "ada", "z"}, Generation: 1, Bytes: maxSessionBytes + 1}
		_, err := s.PutSession(t.Context(), huge, "p")
		wantCode(t, err, fault.LimitQuota)
	})
}
