package service

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/seal"
	"github.com/wexec/wexec/internal/tools/testpg"
	"github.com/wexec/wexec/internal/tools/tests3"
	"github.com/wexec/wexec/store"
)

// clock is a time that tests set.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// eachStore runs a test on SQLite with blobs in a folder, and on PostgreSQL with
// blobs in S3.
func eachStore(t *testing.T, test func(t *testing.T, x *artifacts, c *clock)) {
	t.Helper()
	t.Run("sqlite and folder", func(t *testing.T) {
		dir := t.TempDir()
		x, c := newArtifacts(t, "sqlite:"+filepath.Join(dir, "wexec.db"), filepath.Join(dir, "blobs"))
		test(t, x, c)
	})
	t.Run("postgres and s3", func(t *testing.T) {
		x, c := newArtifacts(t, testpg.Address(t), tests3.Address(t, nil))
		test(t, x, c)
	})
}

func newArtifacts(t *testing.T, address, content string) (*artifacts, *clock) {
	t.Helper()
	c := &clock{at: time.Now()}
	s, err := store.Open(t.Context(), address, store.Options{Now: c.now})
	if err != nil {
		t.Fatal(err)
	}
	keys, err := seal.ParseKeys(strings.Repeat("A", 43) + "=")
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Store: s, Blobs: content, Keys: &Keys{Keys: keys}, Logger: slog.New(slog.DiscardHandler), Env: &config.Environment{Vars: os.Environ()}}
	x, err := openArtifacts(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(x.blobs.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	})
	return x, c
}

// tenant is a tenant with a quota of bytes.
func tenant(name string, quota int64) *Tenant {
	return &Tenant{Name: name, settings: &config.Settings{Artifacts: config.Artifacts{Keep: time.Hour, Quota: quota}}}
}

// noise returns n bytes that no text has.
func noise(n int64) io.Reader { return io.LimitReader(rand.NewChaCha8([32]byte{1}), n) }

func digestOf(r io.Reader) string {
	sum := sha256.New()
	_, _ = io.Copy(sum, r)
	return hex.EncodeToString(sum.Sum(nil))
}

// blobsOf returns how many blobs there are.
func blobsOf(t *testing.T, x *artifacts) (n int) {
	t.Helper()
	for _, err := range x.blobs.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

func TestAnArtifactIsReadInRangesByItsTenant(t *testing.T) {
	const size = 5_000_000
	eachStore(t, func(t *testing.T, x *artifacts, _ *clock) {
		kept, err := x.put(t.Context(), tenant("a", 1<<30), NewArtifact{Name: "noise", Token: "t"}, noise(size))
		if err != nil || kept.ID != digestOf(noise(size)) || kept.Bytes != size || kept.Text || kept.Type != "application/octet-stream" {
			t.Fatalf("%+v, %v", kept, err)
		}
		a, err := x.open(t.Context(), "a", kept.ID)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		whole, _ := io.ReadAll(noise(size))
		for _, at := range []int64{0, 1, 65_535, 4_000_001, size - 10} {
			part := make([]byte, min(100_000, size-at))
			if _, err := a.ReadAt(part, at); err != nil || !bytes.Equal(part, whole[at:at+int64(len(part))]) {
				t.Errorf("the range at %d differs: %v", at, err)
			}
		}
		if _, err := x.open(t.Context(), "b", kept.ID); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("another tenant: %v", err)
		}
		if err := x.remove(t.Context(), "b", kept.ID); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("another tenant: %v", err)
		}
		if err := x.remove(t.Context(), "a", kept.ID); err != nil || blobsOf(t, x) != 0 {
			t.Errorf("%v, %d blobs are left", err, blobsOf(t, x))
		}
	})
}

func TestTheSameContentOfATenantIsOneBlob(t *testing.T) {
	eachStore(t, func(t *testing.T, x *artifacts, _ *clock) {
		var expiries []time.Time
		for i, keep := range []time.Duration{time.Minute, 2 * time.Minute, time.Second} {
			kept, err := x.put(t.Context(), tenant("a", 20), NewArtifact{Name: fmt.Sprint(i), Keep: keep}, strings.NewReader("some bytes"))
			if err != nil || kept.Name != "0" {
				t.Fatalf("%+v, %v", kept, err)
			}
			expiries = append(expiries, kept.Expires)
		}
		if !expiries[1].After(expiries[0]) || !expiries[2].Equal(expiries[1]) || blobsOf(t, x) != 1 {
			t.Errorf("%v, %d blobs", expiries, blobsOf(t, x))
		}
		if _, err := x.put(t.Context(), tenant("b", 10), NewArtifact{}, strings.NewReader("some bytes")); err != nil || blobsOf(t, x) != 2 {
			t.Errorf("%v, %d blobs", err, blobsOf(t, x))
		}
	})
}

func TestContentThatCannotBeKeptLeavesNothing(t *testing.T) {
	eachStore(t, func(t *testing.T, x *artifacts, _ *clock) {
		gone := errors.New("the client went away")
		for name, put := range map[string]struct {
			content io.Reader
			a       NewArtifact
			want    error
		}{
			"over the quota":  {noise(101), NewArtifact{}, fault.LimitArtifact},
			"without an end":  {rand.NewChaCha8([32]byte{}), NewArtifact{}, fault.LimitArtifact},
			"cut off":         {io.MultiReader(noise(50), iotest.ErrReader(gone)), NewArtifact{}, gone},
			"a type":          {noise(1), NewArtifact{Type: "text"}, fault.UsageFlag},
			"a type of lines": {noise(1), NewArtifact{Type: "text/csv\r\nX: y"}, fault.UsageFlag},
			"a name of lines": {noise(1), NewArtifact{Name: "a\nb"}, fault.UsageFlag},
			"a long name":     {noise(1), NewArtifact{Name: strings.Repeat("a", 201)}, fault.UsageFlag},
		} {
			if _, err := x.put(t.Context(), tenant("a", 100), put.a, put.content); !errors.Is(err, put.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if n := blobsOf(t, x); n != 0 {
			t.Errorf("%d blobs are left", n)
		}
		if _, err := x.put(t.Context(), tenant("a", 100), NewArtifact{}, noise(100)); err != nil {
			t.Error(err)
		}
		if _, err := x.put(t.Context(), tenant("a", 100), NewArtifact{}, strings.NewReader("x")); !errors.Is(err, fault.LimitArtifact) {
			t.Error(err)
		}
	})
}

func TestExpiredArtifactsAndBlobsWithoutARowAreRemoved(t *testing.T) {
	eachStore(t, func(t *testing.T, x *artifacts, c *clock) {
		put := func(content string, keep time.Duration) store.Artifact {
			t.Helper()
			kept, err := x.put(t.Context(), tenant("a", 100), NewArtifact{Keep: keep}, strings.NewReader(content))
			if err != nil {
				t.Fatal(err)
			}
			return kept
		}
		old, kept := put("old", time.Minute), put("kept", time.Hour)
		// a process was killed between blob and row
		if _, _, err := x.blobs.Put(t.Context(), strings.NewReader("orphan"), 100); err != nil {
			t.Fatal(err)
		}
		if n, err := x.collect(t.Context(), time.Now().Add(-time.Minute)); n != 0 || err != nil {
			t.Errorf("%d new blobs are deleted, %v", n, err)
		}
		c.pass(30 * time.Minute)
		var all sync.WaitGroup
		var removed [4]int
		for i := range removed { // of several processes
			all.Go(func() { removed[i], _ = x.expire(t.Context()) })
		}
		all.Wait()
		if got := removed[0] + removed[1] + removed[2] + removed[3]; got != 1 {
			t.Errorf("%d are removed", got)
		}
		if n, err := x.collect(t.Context(), time.Now().Add(time.Minute)); n != 1 || err != nil {
			t.Errorf("%d blobs are deleted, %v", n, err)
		}
		if _, err := x.open(t.Context(), "a", old.ID); !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
		a, err := x.open(t.Context(), "a", kept.ID)
		if err != nil {
			t.Fatal(err)
		}
		_ = a.Close()
		if used, err := x.store.ArtifactBytes(t.Context(), "a"); used != 4 || err != nil {
			t.Errorf("%d bytes are used, %v", used, err)
		}
	})
}

func TestALargeArtifactIsKeptInSlices(t *testing.T) {
	if testing.Short() {
		t.Skip("short: writes 500 MB twice")
	}
	const size = 500_000_000
	eachStore(t, func(t *testing.T, x *artifacts, _ *clock) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		kept, err := x.put(t.Context(), tenant("a", 1<<30), NewArtifact{}, noise(size))
		if err != nil || kept.Bytes != size {
			t.Fatalf("%+v, %v", kept, err)
		}
		a, err := x.open(t.Context(), "a", kept.ID)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		if got := digestOf(io.NewSectionReader(a, 0, a.Bytes)); got != kept.ID {
			t.Errorf("read %s, want %s", got, kept.ID)
		}
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 100_000_000 {
			t.Errorf("%d bytes were allocated for %d", used, size)
		}
	})
}

func TestBlobsOfArtifactsHaveTheirOwnPlace(t *testing.T) {
	for address, want := range map[string]string{
		"/data/blobs": "/data/blobs/artifacts",
		"s3://bucket/prefix?endpoint=http%3A%2F%2Fhost%3A1": "s3://bucket/prefix/artifacts?endpoint=http%3A%2F%2Fhost%3A1",
		"s3://bucket": "s3://bucket/artifacts",
	} {
		if got := filepath.ToSlash(below(address, "artifacts")); got != want {
			t.Errorf("%s: %s", address, got)
		}
	}
}
