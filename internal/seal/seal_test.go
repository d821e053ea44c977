package seal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/wexec/wexec/fault"
)

const purpose = "artifact of tenant a"

// testKeys are the keys of a key file with one key.
func testKeys(t testing.TB, texts ...string) *Keys {
	t.Helper()
	if len(texts) == 0 {
		texts = []string{keyOf('a')}
	}
	return must(ParseKeys(strings.Join(texts, "\n")))(t)
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// content returns n bytes that differ from place to place.
func content(n int) []byte {
	out := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(out)
	return out
}

// sealed seals content in writes of a size and returns the file and its key.
func sealed(t testing.TB, s Sealer, plain []byte, size int) (box, key []byte) {
	t.Helper()
	var out bytes.Buffer
	w := must(NewWriter(t.Context(), &out, s, purpose))(t)
	for part := range slices.Chunk(plain, size) {
		if n, err := w.Write(part); n != len(part) || err != nil {
			t.Fatalf("wrote %d of %d bytes: %v", n, len(part), err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), w.Key()
}

// opened returns the content of a sealed file.
func opened(box, key []byte, s Sealer, purpose string) ([]byte, error) {
	r, err := NewReader(context.Background(), bytes.NewReader(box), int64(len(box)), s, key, purpose)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.NewSectionReader(r, 0, r.Size()))
}

// sizes are those around the bounds of chunks.
var sizes = []int{0, 1, 100, chunkSize - 1, chunkSize, chunkSize + 1, 2*chunkSize - 1, 2 * chunkSize, 2*chunkSize + 1, 5*chunkSize + 77}

func TestContentIsReadAsItWasWritten(t *testing.T) {
	s := testKeys(t)
	for _, n := range sizes {
		plain := content(n)
		for _, size := range []int{7919, chunkSize, 1 << 20} {
			box, key := sealed(t, s, plain, size)
			if got, err := opened(box, key, s, purpose); err != nil || !bytes.Equal(got, plain) {
				t.Errorf("%d bytes in writes of %d: got %d bytes, %v", n, size, len(got), err)
			}
			if Size(int64(n)) != int64(len(box)) {
				t.Errorf("Size(%d) = %d, want %d", n, Size(int64(n)), len(box))
			}
			if n >= 16 && bytes.Contains(box, plain[:16]) {
				t.Errorf("a file of %d bytes has content in the clear", n)
			}
		}
	}
}

func TestAnyRangeIsRead(t *testing.T) {
	s := testKeys(t)
	plain := content(3*chunkSize + 1234)
	box, key := sealed(t, s, plain, 1<<20)
	r := must(NewReader(t.Context(), bytes.NewReader(box), int64(len(box)), s, key, purpose))(t)
	if r.Size() != int64(len(plain)) {
		t.Fatalf("size is %d, want %d", r.Size(), len(plain))
	}
	want := bytes.NewReader(plain)
	for range 300 {
		p, q := make([]byte, rand.IntN(2*chunkSize)), make([]byte, 2*chunkSize)
		q = q[:len(p)]
		off := rand.Int64N(int64(len(plain)) + 10)
		n, err := r.ReadAt(p, off)
		m, wantErr := want.ReadAt(q, off)
		if n != m || err != wantErr || !bytes.Equal(p, q) {
			t.Fatalf("ReadAt(%d bytes, %d) = %d, %v, want %d, %v", len(p), off, n, err, m, wantErr)
		}
	}
	if _, err := r.ReadAt(make([]byte, 1), -1); err == nil {
		t.Error("a read before the start succeeds")
	}
}

// reads counts what is read of a file.
type reads struct {
	io.ReaderAt
	bytes int64
}

func (r *reads) ReadAt(p []byte, off int64) (int, error) {
	r.bytes += int64(len(p))
	return r.ReaderAt.ReadAt(p, off)
}

func TestARangeReadsOnlyItsChunks(t *testing.T) {
	s := testKeys(t)
	box, key := sealed(t, s, content(50*chunkSize), 1<<20)
	from := &reads{ReaderAt: bytes.NewReader(box)}
	r := must(NewReader(t.Context(), from, int64(len(box)), s, key, purpose))(t)
	for i := range int64(1000) { // small reads that follow each other
		must(r.ReadAt(make([]byte, 10), 20*chunkSize+10*i))(t)
	}
	if most := int64(len(header) + 2*boxSize); from.bytes != most {
		t.Errorf("%d bytes were read, want %d: the header, the last chunk and the one asked for", from.bytes, most)
	}
}

// boxesOf returns the chunks of a sealed file without the header.
func boxesOf(box []byte) [][]byte { return slices.Collect(slices.Chunk(box[len(header):], boxSize)) }

func joined(boxes ...[]byte) []byte { return append([]byte(header), slices.Concat(boxes...)...) }

func TestAChangedFileIsRefused(t *testing.T) {
	s := testKeys(t)
	box, key := sealed(t, s, content(3*chunkSize), 1<<20)
	other, otherKey := sealed(t, s, content(3*chunkSize), 1<<20)
	b, o := boxesOf(box), boxesOf(other)
	flip := func(at int) []byte {
		out := bytes.Clone(box)
		out[at] ^= 1
		return out
	}
	for name, c := range map[string]struct {
		box, key []byte
		purpose  string
	}{
		"empty":                              {nil, key, purpose},
		"only the header":                    {box[:len(header)], key, purpose},
		"cut in the header":                  {box[:3], key, purpose},
		"cut by a byte":                      {box[:len(box)-1], key, purpose},
		"cut by a tag":                       {box[:len(box)-tagSize], key, purpose},
		"cut by a chunk":                     {joined(b[0], b[1]), key, purpose},
		"only the first chunk":               {joined(b[0]), key, purpose},
		"first chunk missing":                {joined(b[1], b[2]), key, purpose},
		"chunks exchanged":                   {joined(b[1], b[0], b[2]), key, purpose},
		"last chunk twice":                   {joined(b[0], b[1], b[2], b[2]), key, purpose},
		"first chunk twice":                  {joined(b[0], b[0], b[2]), key, purpose},
		"a byte appended":                    {append(bytes.Clone(box), 0), key, purpose},
		"an empty chunk appended":            {append(bytes.Clone(box), make([]byte, tagSize)...), key, purpose},
		"a chunk of another file":            {joined(b[0], o[1], b[2]), key, purpose},
		"another file":                       {other, key, purpose},
		"the key of another file":            {box, otherKey, purpose},
		"another purpose":                    {box, key, "artifact of tenant b"},
		"no purpose":                         {box, key, ""},
		"a byte of the name changed":         {flip(0), key, purpose},
		"the version changed":                {flip(len(header) - 2), key, purpose},
		"the chunk size changed":             {flip(len(header) - 1), key, purpose},
		"a byte of the first chunk changed":  {flip(len(header)), key, purpose},
		"a byte of the second chunk changed": {flip(len(header) + boxSize + 99), key, purpose},
		"a byte of the last tag changed":     {flip(len(box) - 1), key, purpose},
		"no key":                             {box, nil, purpose},
		"the key cut":                        {box, key[:len(key)-1], purpose},
		"a byte of the key changed":          {box, append(key[:len(key)-1:len(key)-1], key[len(key)-1]^1), purpose},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := opened(c.box, c.key, s, c.purpose)
			if !errors.Is(err, ErrDamaged) || !errors.Is(err, fault.StoreUnavailable) {
				t.Errorf("read %d bytes, %v", len(got), err)
			}
			for plain := range slices.Chunk(content(3*chunkSize), chunkSize) {
				if len(got) == 0 {
					break
				}
				if !bytes.Equal(got[:min(len(got), chunkSize)], plain) {
					t.Error("it returned bytes that were not written")
				}
				got = got[min(len(got), chunkSize):]
			}
		})
	}
}

// A file for another purpose is refused even where the sealer forgets the context.
func TestThePurposeIsInEachChunk(t *testing.T) {
	s := careless{testKeys(t)}
	box, key := sealed(t, s, content(10), 10)
	if _, err := opened(box, key, s, "another"); !errors.Is(err, ErrDamaged) {
		t.Errorf("error is %v", err)
	}
}

// careless is a sealer that ignores the context.
type careless struct{ *Keys }

func (c careless) Wrap(ctx context.Context, key []byte, _ string) ([]byte, error) {
	return c.Keys.Wrap(ctx, key, "")
}

func (c careless) Unwrap(ctx context.Context, wrapped []byte, _ string) ([]byte, error) {
	return c.Keys.Unwrap(ctx, wrapped, "")
}

func TestEqualContentGivesDifferentFiles(t *testing.T) {
	s := testKeys(t)
	a, keyA := sealed(t, s, content(100), 100)
	b, keyB := sealed(t, s, content(100), 100)
	if bytes.Equal(a[len(header):], b[len(header):]) || bytes.Equal(keyA, keyB) {
		t.Error("two files with equal content are equal")
	}
}

// full is a disk with room for some bytes.
type full struct{ room int }

var errFull = errors.New("no space left")

func (f *full) Write(p []byte) (int, error) {
	if f.room -= len(p); f.room < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestAFailedWriteStaysFailed(t *testing.T) {
	s := testKeys(t)
	for _, room := range []int{0, len(header), len(header) + boxSize} {
		w, err := NewWriter(t.Context(), &full{room}, s, purpose)
		if err == nil {
			_, err = w.Write(content(3 * chunkSize))
			if again := w.Close(); !errors.Is(again, errFull) {
				t.Errorf("room for %d: Close after a failure says %v", room, again)
			}
		}
		if !errors.Is(err, errFull) {
			t.Errorf("room for %d: error is %v", room, err)
		}
	}
}

func TestAWriterEndsOnce(t *testing.T) {
	var out bytes.Buffer
	w := must(NewWriter(t.Context(), &out, testKeys(t), purpose))(t)
	for range 2 {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := w.Write([]byte("more")); err == nil {
		t.Error("a write after the end succeeds")
	}
	if int64(out.Len()) != Size(0) {
		t.Errorf("the file has %d bytes, want %d", out.Len(), Size(0))
	}
}

// broken is a file that cannot be read.
type broken struct{ io.ReaderAt }

var errBroken = errors.New("input/output error")

func (b broken) ReadAt([]byte, int64) (int, error) { return 0, errBroken }

func TestAnUnreadableFileIsNotDamaged(t *testing.T) {
	_, key := sealed(t, testKeys(t), nil, 1)
	_, err := NewReader(t.Context(), broken{}, 100, testKeys(t), key, purpose)
	if !errors.Is(err, errBroken) || !errors.Is(err, fault.StoreUnavailable) || errors.Is(err, ErrDamaged) {
		t.Errorf("error is %v", err)
	}
}

func TestMemoryDoesNotGrowWithTheFile(t *testing.T) {
	s, plain, p := testKeys(t), make([]byte, chunkSize), make([]byte, chunkSize)
	count := func(chunks int) float64 {
		box, key := sealed(t, s, make([]byte, chunks*chunkSize), chunkSize)
		return testing.AllocsPerRun(5, func() {
			w := must(NewWriter(t.Context(), io.Discard, s, purpose))(t)
			for range chunks {
				if _, err := w.Write(plain); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			r := must(NewReader(t.Context(), bytes.NewReader(box), int64(len(box)), s, key, purpose))(t)
			for i := range chunks {
				if _, err := r.ReadAt(p, int64(i)*chunkSize); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	_ = count(1)
	if few, many := count(10), count(100); many > few+9 { // none for each chunk
		t.Errorf("%v allocations for 10 chunks, %v for 100", few, many)
	}
}

// The reader accepts only what was written, for any file and key.
func FuzzReader(f *testing.F) {
	s, lengths := testKeys(f), []int{0, 5, chunkSize, chunkSize + 5}
	for _, n := range lengths {
		box, key := sealed(f, s, content(n), 1<<20)
		f.Add(box, key)
		f.Add(box[:len(box)/2], key)
	}
	f.Fuzz(func(t *testing.T, box, key []byte) {
		got, err := opened(box, key, s, purpose)
		switch {
		case err == nil && (!slices.Contains(lengths, len(got)) || !bytes.Equal(got, content(len(got)))):
			t.Errorf("%d bytes are read that nobody wrote", len(got))
		case err != nil && fault.CodeOf(err) != fault.StoreUnavailable:
			t.Error(err)
		}
	})
}

func BenchmarkWriter(b *testing.B) {
	s, plain := testKeys(b), make([]byte, 8<<20)
	b.SetBytes(int64(len(plain)))
	b.ReportAllocs()
	for b.Loop() {
		w := must(NewWriter(b.Context(), io.Discard, s, purpose))(b)
		if _, err := w.Write(plain); err != nil {
			b.Fatal(err)
		}
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReader(b *testing.B) {
	s := testKeys(b)
	box, key := sealed(b, s, make([]byte, 8<<20), 1<<20)
	b.SetBytes(8 << 20)
	b.ReportAllocs()
	for b.Loop() {
		r := must(NewReader(b.Context(), bytes.NewReader(box), int64(len(box)), s, key, purpose))(b)
		if _, err := io.Copy(io.Discard, io.NewSectionReader(r, 0, r.Size())); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSmallFile(b *testing.B) {
	s := testKeys(b)
	plain := make([]byte, 4<<10)
	b.ReportAllocs()
	for b.Loop() {
		box, key := sealed(b, s, plain, len(plain))
		must(opened(box, key, s, purpose))(b)
	}
}

func ExampleKeys() {
	keys, err := ParseKeys(keyOf('a'))
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	var file bytes.Buffer // the blob
	w, err := NewWriter(ctx, &file, keys, "notes of tenant a")
	if err != nil {
		panic(err)
	}
	fmt.Fprint(w, "the content")
	if err := w.Close(); err != nil {
		panic(err)
	}
	key := w.Key() // the row
	r, err := NewReader(ctx, bytes.NewReader(file.Bytes()), int64(file.Len()), keys, key, "notes of tenant a")
	if err != nil {
		panic(err)
	}
	part := make([]byte, 7)
	if _, err := r.ReadAt(part, 4); err != nil {
		panic(err)
	}
	fmt.Printf("%s\n", part)
	// Output: content
}
