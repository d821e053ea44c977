package blobs

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/seal"
	"github.com/wexec/wexec/internal/tools/tests3"
)

// runTests runs the tests and ends the S3 server.
func runTests(m *testing.M) int {
	defer tests3.Stop()
	return m.Run()
}

// both runs a test on an empty store of each kind.
func both(t *testing.T, test func(t *testing.T, s Store)) {
	t.Helper()
	t.Run("folder", func(t *testing.T) { test(t, open(t, filepath.Join(t.TempDir(), "blobs"))) })
	t.Run("s3", func(t *testing.T) { test(t, open(t, tests3.Address(t, nil))) })
}

func open(t testing.TB, address string) Store {
	t.Helper()
	s := must(Open(address, os.Getenv))(t)
	t.Cleanup(func() { check(t, s.Close()) })
	return s
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		check(t, err)
		return v
	}
}

func check(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// content returns n bytes that differ from place to place.
func content(n int) []byte {
	out := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(n), byte(n >> 8)}).Read(out)
	return out
}

func put(t testing.TB, s Store, data []byte) Digest {
	t.Helper()
	d, n, err := s.Put(t.Context(), bytes.NewReader(data), math.MaxInt64)
	if err != nil || n != int64(len(data)) || d != sha256.Sum256(data) {
		t.Fatalf("Put of %d bytes = %v, %d, %v", len(data), d, n, err)
	}
	return d
}

// get reads a whole blob and checks it.
func get(t testing.TB, s Store, d Digest) ([]byte, error) {
	t.Helper()
	b, err := s.Open(t.Context(), d)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	return io.ReadAll(bufio.NewReaderSize(NewReader(b, d), 1<<16))
}

// names returns the digests of all blobs.
func names(t testing.TB, s Store) (all []Digest) {
	t.Helper()
	for info, err := range s.List(t.Context()) {
		check(t, err)
		all = append(all, info.Digest)
	}
	return all
}

func TestABlobIsReadAsItWasStored(t *testing.T) {
	both(t, func(t *testing.T, s Store) {
		for _, n := range []int{0, 1, 1000, inMemory - 1, inMemory, inMemory + 1, 5_000_000} {
			data := content(n)
			d := put(t, s, data)
			if got, err := get(t, s, d); err != nil || !bytes.Equal(got, data) {
				t.Errorf("%d bytes: read %d, %v", n, len(got), err)
			}
			info := must(s.Stat(t.Context(), d))(t)
			if info.Digest != d || info.Size != int64(n) || time.Since(info.Time).Abs() > time.Hour {
				t.Errorf("%d bytes: %+v", n, info)
			}
		}
	})
}

func TestARangeIsRead(t *testing.T) {
	both(t, func(t *testing.T, s Store) {
		data := content(5_000_000)
		d := put(t, s, data)
		b := must(s.Open(t.Context(), d))(t)
		defer b.Close()
		if b.Size() != int64(len(data)) {
			t.Errorf("size is %d", b.Size())
		}
		want := bytes.NewReader(data)
		for range 60 {
			p, q := make([]byte, rand.IntN(100_000)), make([]byte, 100_000)
			q = q[:len(p)]
			off := rand.Int64N(int64(len(data)) + 1000)
			n, err := b.ReadAt(p, off)
			m, wantErr := want.ReadAt(q, off)
			if n != m || err != wantErr || !bytes.Equal(p, q) {
				t.Fatalf("ReadAt(%d bytes, %d) = %d, %v, want %d, %v", len(p), off, n, err, m, wantErr)
			}
		}
		if _, err := b.ReadAt(make([]byte, 1), -1); err == nil {
			t.Error("a read before the start succeeds")
		}
		var readers sync.WaitGroup
		for i := range 4 {
			readers.Go(func() {
				p := make([]byte, 200_000)
				if _, err := b.ReadAt(p, int64(i)*900_000); err != nil || !bytes.Equal(p, data[i*900_000:][:len(p)]) {
					t.Errorf("reader %d: %v", i, err)
				}
			})
		}
		readers.Wait()
	})
}

func TestEqualContentIsStoredOnce(t *testing.T) {
	both(t, func(t *testing.T, s Store) {
		a := put(t, s, content(1000))
		var writers sync.WaitGroup
		for range 4 {
			writers.Go(func() { put(t, s, content(1000)) })
		}
		writers.Wait()
		b := put(t, s, content(1001))
		want := []Digest{a, b}
		slices.SortFunc(want, func(x, y Digest) int { return strings.Compare(x.String(), y.String()) })
		if got := names(t, s); !slices.Equal(got, want) {
			t.Errorf("the store has %v, want %v", got, want)
		}
	})
}

func TestAMissingBlobIsSaid(t *testing.T) {
	both(t, func(t *testing.T, s Store) {
		d := Digest(sha256.Sum256([]byte("nothing")))
		for range 2 {
			_, err := s.Open(t.Context(), d)
			_, statErr := s.Stat(t.Context(), d)
			for _, err := range []error{err, statErr} {
				if !errors.Is(err, fs.ErrNotExist) || fault.CodeOf(err) != fault.StoreUnavailable {
					t.Errorf("error is %v", err)
				}
			}
			check(t, s.Delete(t.Context(), d, time.Time{}), s.Delete(t.Context(), d, time.Now()))
			put(t, s, content(3))
		}
	})
}

func TestTooMuchContentIsRefused(t *testing.T) {
	both(t, func(t *testing.T, s Store) {
		for _, most := range []int64{0, 10, inMemory, 2 * inMemory} {
			data := content(int(most) + 1)
			_, _, err := s.Put(t.Context(), bytes.NewReader(data), most)
			if fault.CodeOf(err) != fault.LimitArtifact {
				t.Errorf("%d bytes of %d: %v", len(data), most, err)
			}
			if _, _, err := s.Put(t.Context(), bytes.NewReader(data[:most]), most); err != nil {
				t.Errorf("%d bytes of %d: %v", most, most, err)
			}
		}
		if got := names(t, s); len(got) != 4 {
			t.Errorf("the store has %d blobs, want 4", len(got))
		}
	})
}

func TestAFailedPutLeavesNothing(t *testing.T) {
	both(t, func(t *testing.T, s Store) {
		broken := errors.New("the client went away")
		for _, n := range []int{0, 10, inMemory + 10} {
			_, _, err := s.Put(t.Context(), io.MultiReader(bytes.NewReader(content(n)), iotest.ErrReader(broken)), math.MaxInt64)
			if !errors.Is(err, broken) {
				t.Errorf("after %d bytes: %v", n, err)
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			r := io.MultiReader(bytes.NewReader(content(n)), readerFunc(func([]byte) (int, error) { cancel(broken); return 1, nil }), neverEnds{})
			if _, _, err = s.Put(ctx, r, math.MaxInt64); !errors.Is(err, broken) {
				t.Errorf("canceled after %d bytes: %v", n, err)
			}
		}
		if got := names(t, s); len(got) != 0 {
			t.Errorf("the store has %v", got)
		}
	})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// neverEnds has content without end.
type neverEnds struct{}

func (neverEnds) Read(p []byte) (int, error) { return len(p), nil }

func TestACanceledContextEndsEverything(t *testing.T) {
	both(t, func(t *testing.T, s Store) {
		d := put(t, s, content(100))
		ctx, cancel := context.WithCancel(t.Context())
		b := must(s.Open(ctx, d))(t)
		defer b.Close()
		cancel()
		_, readErr := b.ReadAt(make([]byte, 1), 0)
		_, openErr := s.Stat(ctx, d)
		var listErr error
		for _, listErr = range s.List(ctx) {
		}
		for what, err := range map[string]error{"read": readErr, "stat": openErr, "list": listErr, "delete": s.Delete(ctx, d, time.Time{})} {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}

func TestDeletedBlobsAreGone(t *testing.T) {
	both(t, func(t *testing.T, s Store) {
		a, b := put(t, s, content(10)), put(t, s, content(11))
		check(t, s.Delete(t.Context(), a, time.Time{}))
		if _, err := get(t, s, a); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("error is %v", err)
		}
		if got := names(t, s); !slices.Equal(got, []Digest{b}) {
			t.Errorf("the store has %v", got)
		}
		put(t, s, content(10))
		must(get(t, s, a))(t)
	})
}

func TestTheCollectorKeepsWhatIsUsedOrNew(t *testing.T) {
	both(t, func(t *testing.T, s Store) {
		kept, other := put(t, s, content(10)), put(t, s, content(11))
		used := func(d Digest) (bool, error) { return d == kept, nil }
		n := must(Collect(t.Context(), s, time.Now().Add(-time.Hour), used))(t)
		if n != 0 || len(names(t, s)) != 2 {
			t.Errorf("%d new blobs were deleted", n)
		}
		check(t, s.Delete(t.Context(), other, time.Now().Add(-time.Hour))) // as if it was renewed after the list
		must(get(t, s, other))(t)
		n = must(Collect(t.Context(), s, time.Now().Add(time.Hour), used))(t)
		if got := names(t, s); n != 1 || !slices.Equal(got, []Digest{kept}) {
			t.Errorf("%d were deleted, the store has %v", n, got)
		}
		failed := errors.New("the rows cannot be read")
		_, err := Collect(t.Context(), s, time.Now().Add(time.Hour), func(Digest) (bool, error) { return false, failed })
		if !errors.Is(err, failed) || len(names(t, s)) != 1 {
			t.Errorf("error is %v, the store has %v", err, names(t, s))
		}
	})
}

// Two tenants that store the same content see different digests, and each reads its
// own in ranges. A store has nothing in the clear.
func TestSealedBlobs(t *testing.T) {
	keys := must(seal.ParseKeys(strings.Repeat("A", 43) + "="))(t)
	both(t, func(t *testing.T, s Store) {
		plain := bytes.Repeat([]byte("the phone number is 555 0100. "), 50_000)
		type ref struct {
			digest Digest
			key    []byte
		}
		put := func(tenant string) ref {
			from, to := io.Pipe()
			key := make(chan []byte, 1)
			go func() {
				w, err := seal.NewWriter(t.Context(), to, keys, "artifact of "+tenant)
				if err == nil {
					key <- w.Key()
					_, err = w.Write(plain)
					err = errors.Join(err, w.Close())
				}
				to.CloseWithError(err)
			}()
			d, n, err := s.Put(t.Context(), from, seal.Size(int64(len(plain))))
			if err != nil || n != seal.Size(int64(len(plain))) {
				t.Fatalf("Put = %d, %v", n, err)
			}
			return ref{d, <-key}
		}
		a, b := put("a"), put("b")
		if a.digest == b.digest {
			t.Error("equal content of two tenants has one digest")
		}
		blob := must(s.Open(t.Context(), a.digest))(t)
		defer blob.Close()
		r := must(seal.NewReader(t.Context(), blob, blob.Size(), keys, a.key, "artifact of a"))(t)
		part := make([]byte, 300_000)
		if _, err := r.ReadAt(part, 600_000); err != nil || !bytes.Equal(part, plain[600_000:900_000]) {
			t.Errorf("a range is not what was stored: %v", err)
		}
		if got, err := io.ReadAll(io.NewSectionReader(r, 0, r.Size())); err != nil || !bytes.Equal(got, plain) {
			t.Errorf("the content is not what was stored: %v", err)
		}
		if _, err := seal.NewReader(t.Context(), blob, blob.Size(), keys, b.key, "artifact of b"); !errors.Is(err, seal.ErrDamaged) {
			t.Errorf("a tenant reads the blob of another: %v", err)
		}
		if raw := must(get(t, s, a.digest))(t); bytes.Contains(raw, plain[:30]) {
			t.Error("the store has content in the clear")
		}
	})
}

// made has content that is computed where it is read.
type made struct{ size int64 }

func (m made) ReadAt(p []byte, off int64) (int, error) {
	p, err := within(p, off, m.size)
	for i := range p {
		at := off + int64(i)
		p[i] = byte(at ^ at>>8 ^ at>>16 ^ at>>24)
	}
	return len(p), err
}

func TestALargeBlobIsStoredAndReadInSlices(t *testing.T) {
	size := int64(500_000_000)
	if testing.Short() {
		size = 40_000_000 // three parts of an upload
	}
	both(t, func(t *testing.T, s Store) {
		source := made{size}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		d, n, err := s.Put(t.Context(), io.NewSectionReader(source, 0, size), size)
		if err != nil || n != size {
			t.Fatalf("Put = %d, %v", n, err)
		}
		b := must(s.Open(t.Context(), d))(t)
		defer b.Close()
		p, q := make([]byte, 1_000_000), make([]byte, 1_000_000)
		for range 20 {
			off := rand.Int64N(size - int64(len(p)))
			_, err := b.ReadAt(p, off)
			_, _ = source.ReadAt(q, off)
			if err != nil || !bytes.Equal(p, q) {
				t.Fatalf("the slice at %d is not what was stored: %v", off, err)
			}
		}
		if n, err := io.Copy(io.Discard, NewReader(b, d)); err != nil || n != size {
			t.Errorf("%d bytes are read: %v", n, err)
		}
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 30_000_000 {
			t.Errorf("%d bytes were allocated", used)
		} else {
			t.Logf("%d bytes were allocated", used)
		}
	})
}

func TestDigestsAreReadStrictly(t *testing.T) {
	d := Digest(sha256.Sum256(nil))
	if got, err := ParseDigest(d.String()); err != nil || got != d {
		t.Errorf("got %v, %v", got, err)
	}
	text := d.String()
	for _, bad := range []string{"", text[1:], text + "0", strings.ToUpper(text), "sha256:" + text, "../" + text[3:], strings.Repeat("g", 64)} {
		if _, err := ParseDigest(bad); fault.CodeOf(err) != fault.UsageFlag {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
