package snapshot

import (
	"bytes"
	"crypto/sha256"
	"os"
	"path/filepath"
	"testing"
)

// FuzzFiles opens a file whose end is made up: it is an image only where its
// trailer is the one that belongs to its size and the digest, and then its pages
// are the file's.
func FuzzFiles(f *testing.F) {
	page := make([]byte, pageSize)
	whole := append(bytes.Clone(page), trailer(pageSize, sha256.Sum256(page))...)
	f.Add(whole[pageSize:], 1, 0)
	f.Add(whole[pageSize:len(whole)-1], 1, 0)
	f.Add(whole[pageSize:], 2, 0)
	f.Add(whole[pageSize:], 1, 7)
	f.Add([]byte{}, 0, 0)
	f.Add(bytes.Repeat([]byte{0xff}, trailerSize), 1, 0)
	path := filepath.Join(f.TempDir(), "image")
	f.Fuzz(func(t *testing.T, end []byte, pages, extra int) {
		data := make([]byte, min(max(pages, 0), 4)*pageSize+min(max(extra, 0), 100))
		body := data
		data = append(bytes.Clone(data), end...)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		digest := sha256.Sum256(body)
		for _, mode := range []Mode{Auto, Copy} {
			im, err := OpenFile(path, digest, mode)
			if right := len(body) > 0 && len(body)%pageSize == 0 && bytes.Equal(end, trailer(uint64(len(body)), digest)); (err == nil) != right {
				t.Fatalf("a file of %d bytes with the end %x: %v", len(data), end, err)
			}
			if err != nil {
				continue
			}
			m := im.Memory(0).Allocate(im.Size(), 1<<32)
			if !bytes.Equal(m.Reallocate(im.Size()), body) {
				t.Error("the memory is not the file")
			}
			m.Free()
			if err := im.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}
