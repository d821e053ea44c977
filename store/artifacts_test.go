package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wexec/wexec/fault"
)

const noQuota = int64(1) << 50

// artifact is an artifact that expires in an hour.
func artifact(c *clock, tenant, id string, bytes int64) Artifact {
	return Artifact{Tenant: tenant, ID: id, Name: "a\x00.csv", Type: "text/csv", Text: true, Bytes: bytes, Expires: c.now().Add(time.Hour), Run: "r", Token: "t",
		Blob: "blob of " + tenant + id, Seal: []byte{1, 0, 255}, Pages: []byte{2}}
}

func TestAnArtifactIsKeptUntilItExpires(t *testing.T) {
	both(t, func(t *testing.T, s *Store, c *clock) {
		want := artifact(c, "a", "1", 10)
		got := must(s.PutArtifact(t.Context(), want, noQuota))(t)
		want.Name, want.Created = "a\uFFFD.csv", c.now()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(want, must(s.Artifact(t.Context(), "a", "1"))(t)); diff != "" {
			t.Error(diff)
		}
		for _, key := range [][2]string{{"b", "1"}, {"a", "2"}} {
			if _, err := s.Artifact(t.Context(), key[0], key[1]); !errors.Is(err, fs.ErrNotExist) {
				t.Error(err)
			}
			if _, err := s.DeleteArtifact(t.Context(), key[0], key[1]); !errors.Is(err, fs.ErrNotExist) {
				t.Error(err)
			}
		}
		if !must(s.UsesBlob(t.Context(), want.Blob))(t) || must(s.UsesBlob(t.Context(), "another"))(t) {
			t.Error("a blob is used or unused by mistake")
		}
		c.pass(time.Hour)
		if _, err := s.Artifact(t.Context(), "a", "1"); !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
		if all, _, err := s.Artifacts(t.Context(), "a", "", 10); len(all) != 0 || err != nil {
			t.Errorf("%+v, %v", all, err)
		}
		must(s.PutArtifact(t.Context(), artifact(c, "b", "1", 10), noQuota))(t)
		must(s.Prune(t.Context(), "b", c.now()))(t)
		for _, want := range []int{1, 0} {
			if blobs := must(s.ExpireArtifacts(t.Context()))(t); len(blobs) != want {
				t.Errorf("%v", blobs)
			}
		}
		if must(s.ArtifactBytes(t.Context(), "a"))(t) != 0 || must(s.ArtifactBytes(t.Context(), "b"))(t) != 10 {
			t.Error("the bytes of artifacts are wrong")
		}
		c.pass(time.Hour)
		must(s.Prune(t.Context(), "", c.now()))(t)
		if must(s.UsesBlob(t.Context(), "blob of b1"))(t) {
			t.Error("an expired artifact is not pruned")
		}
	})
}

func TestTheSameArtifactTwiceIsOneWithTheLaterExpiry(t *testing.T) {
	both(t, func(t *testing.T, s *Store, c *clock) {
		first := must(s.PutArtifact(t.Context(), artifact(c, "a", "1", 10), noQuota))(t)
		again := artifact(c, "a", "1", 10)
		again.Blob, again.Expires = "another blob", c.now().Add(time.Minute)
		if got := must(s.PutArtifact(t.Context(), again, noQuota))(t); cmp.Diff(first, got) != "" {
			t.Error(cmp.Diff(first, got))
		}
		again.Expires = c.now().Add(2 * time.Hour)
		if got := must(s.PutArtifact(t.Context(), again, noQuota))(t); got.Blob != first.Blob || !got.Expires.Equal(again.Expires) {
			t.Errorf("%+v", got)
		}
		must(s.PutArtifact(t.Context(), artifact(c, "b", "1", 10), noQuota))(t)
		if n := must(s.ArtifactBytes(t.Context(), "a"))(t); n != 10 {
			t.Errorf("%d bytes", n)
		}
	})
}

func TestTheArtifactsOfATenantStayBelowItsQuota(t *testing.T) {
	both(t, func(t *testing.T, s *Store, c *clock) {
		errs := make([]error, 8)
		var all sync.WaitGroup
		for i := range errs {
			all.Go(func() { _, errs[i] = s.PutArtifact(t.Context(), artifact(c, "a", fmt.Sprint(i), 10), 50) })
		}
		all.Wait()
		kept := 0
		for _, err := range errs {
			if err == nil {
				kept++
			} else if fault.CodeOf(err) != fault.LimitArtifact || fault.HintOf(err) == "" {
				t.Error(err)
			}
		}
		if kept != 5 || must(s.ArtifactBytes(t.Context(), "a"))(t) != 50 {
			t.Errorf("%d are kept", kept)
		}
		must(s.PutArtifact(t.Context(), artifact(c, "b", "1", 50), 50))(t)
		page, next, err := s.Artifacts(t.Context(), "a", "", 3)
		check(t, err)
		if len(page) != 3 || next == "" {
			t.Errorf("%+v %q", page, next)
		}
		rest, end, err := s.Artifacts(t.Context(), "a", next, 3)
		check(t, err)
		if len(rest) != 2 || end != "" || rest[0].ID == page[2].ID {
			t.Errorf("%+v %q", rest, end)
		}
		_, _, err = s.Artifacts(t.Context(), "a", "x", 3)
		wantCode(t, err, fault.UsageFlag)
		must(s.DeleteArtifact(t.Context(), "a", page[0].ID))(t)
		must(s.PutArtifact(t.Context(), artifact(c, "a", "9", 10), 50))(t)
		if r := must(s.Check(t.Context()))(t); len(r.Faults) != 0 || r.Rows["artifacts"] != 6 {
			t.Errorf("%+v", r)
		}
		to := open(t, "sqlite:"+filepath.Join(t.TempDir(), "copy.db"), Options{Now: c.now})
		check(t, s.Copy(t.Context(), to))
		if n := must(to.ArtifactBytes(t.Context(), "a"))(t); n != 50 {
			t.Errorf("%d bytes in the copy", n)
		}
	})
}
