// Package seal encrypts files, so that a file cannot be read without its key and
// becomes unreadable for good when the key is removed.
//
// Each file has a random key of 256 bits, which a [Sealer] wraps: a key file
// ([Keys]) or a key management service. The wrapped key is not in the file. The
// caller keeps it elsewhere, such as in a row of a database, for three reasons: a
// copy of the files cannot be read, not even with the key file; removing the
// row removes the content from every copy of the file; and [Rewrap] changes the
// row when the key file gets a new key, while the file stays as it is.
//
// A file is an 8-byte header and chunks of 64 KiB of content, each encrypted with
// AES-256-GCM. The nonce of a chunk is its number and whether it is the last; the
// associated data is the header and the purpose of the file. A chunk that is
// changed, moved, removed, added or taken from another file is refused, and so is
// a file that is read for another purpose.
//
// The purpose is text that says what the file is and whose, such as
// "artifact of tenant a". It is not in the file.
package seal

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io"
	"sync"

	"github.com/wexec/wexec/fault"
)

// A Sealer encrypts the keys of files. The context of a key is the purpose of its
// file; Unwrap fails if it gets another one. Both may be called concurrently.
type Sealer interface {
	Wrap(ctx context.Context, key []byte, context string) (wrapped []byte, err error)
	Unwrap(ctx context.Context, wrapped []byte, context string) (key []byte, err error)
}

// ErrDamaged says that a sealed file is not as it was written: changed, incomplete,
// or another file.
var ErrDamaged = errors.New("the sealed file is damaged or was sealed for another purpose")

// header starts each file: a name, the version of the format, and the binary
// logarithm of the size of a chunk.
const header = "wxseal\x01\x10"

const (
	keySize   = 32
	tagSize   = 16
	chunkSize = 1 << 16 // of content
	boxSize   = chunkSize + tagSize
)

// Size returns the size of a sealed file with n bytes of content.
func Size(n int64) int64 { return int64(len(header)) + n + boxes(n)*tagSize }

// boxes returns how many chunks hold n bytes of content. An empty file has one.
func boxes(n int64) int64 { return max(1, (n+chunkSize-1)/chunkSize) }

// contentSize returns how much content a sealed file of a size has.
func contentSize(sealed int64) (int64, error) {
	body := sealed - int64(len(header))
	count := (body + boxSize - 1) / boxSize
	n := body - count*tagSize
	if body < tagSize || n < 0 || boxes(n) != count {
		return 0, damaged("its size of %d bytes is impossible", sealed)
	}
	return n, nil
}

func damaged(format string, args ...any) error {
	return fault.New(fault.StoreUnavailable, "%w: "+format, append([]any{ErrDamaged}, args...)...)
}

// file is what the chunks of one file have in common.
type file struct {
	aead  cipher.AEAD
	data  []byte // associated
	nonce [12]byte
}

func newFile(key []byte, purpose string) (file, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return file{}, err
	}
	aead, err := cipher.NewGCM(block)
	return file{aead: aead, data: []byte(header + purpose)}, err
}

// nonceOf returns the nonce of a chunk until the next call. A key encrypts one file,
// so each nonce is used once.
func (f *file) nonceOf(chunk int64, last bool) []byte {
	binary.BigEndian.PutUint64(f.nonce[3:], uint64(chunk))
	f.nonce[11] = 0
	if last {
		f.nonce[11] = 1
	}
	return f.nonce[:]
}

// Writer seals a file while it is written. Close completes the file.
type Writer struct {
	file
	to      io.Writer
	wrapped []byte
	buf     []byte // content that is not sealed yet: at most a chunk
	next    int64  // the number of the next chunk
	err     error
}

// NewWriter returns a Writer of a new file, with a new key that s has wrapped. It
// writes the header.
func NewWriter(ctx context.Context, to io.Writer, s Sealer, purpose string) (*Writer, error) {
	key := make([]byte, keySize)
	rand.Read(key)
	wrapped, err := s.Wrap(ctx, key, purpose)
	if err != nil {
		return nil, err
	}
	f, err := newFile(key, purpose)
	if err != nil {
		return nil, err
	}
	if _, err := io.WriteString(to, header); err != nil {
		return nil, err
	}
	return &Writer{file: f, to: to, wrapped: wrapped}, nil
}

// Key returns the wrapped key of the file, which [NewReader] needs.
func (w *Writer) Key() []byte { return w.wrapped }

// Write seals p. It writes a chunk when the content of the next one begins, since
// only Close knows which one is the last.
func (w *Writer) Write(p []byte) (n int, err error) {
	for w.err == nil && n < len(p) {
		if len(w.buf) == chunkSize {
			w.flush(false)
			continue
		}
		k := min(chunkSize-len(w.buf), len(p)-n)
		w.buf = append(w.buf, p[n:n+k]...)
		n += k
	}
	return n, w.err
}

// Close writes the last chunk. It does not close the file below.
func (w *Writer) Close() error {
	if w.err == nil {
		w.flush(true)
	}
	if w.err == errClosed {
		return nil
	}
	return w.err
}

var errClosed = errors.New("write to a sealed file after its end")

func (w *Writer) flush(last bool) {
	box := w.aead.Seal(w.buf[:0], w.nonceOf(w.next, last), w.buf, w.data) // in place
	_, w.err = w.to.Write(box)
	w.next++
	w.buf = box[:0]
	if w.err == nil && last {
		w.err = errClosed
	}
}

// Reader reads any part of a sealed file. It holds one chunk in
// memory. Its methods may be called concurrently.
type Reader struct {
	file
	from io.ReaderAt
	size int64

	mu    sync.Mutex
	buf   []byte // for one chunk
	plain []byte // the content of the chunk held, in buf
	held  int64  // the number of the chunk, or -1
}

// NewReader returns a Reader of a sealed file of a size. It reads the header and
// the last chunk, which proves that the file is complete.
func NewReader(ctx context.Context, from io.ReaderAt, size int64, s Sealer, wrapped []byte, purpose string) (*Reader, error) {
	n, err := contentSize(size)
	if err != nil {
		return nil, err
	}
	key, err := s.Unwrap(ctx, wrapped, purpose)
	if err != nil {
		return nil, err
	}
	f, err := newFile(key, purpose)
	if err != nil {
		return nil, err
	}
	r := &Reader{file: f, from: from, size: n, buf: make([]byte, min(boxSize, size)), held: -1}
	if err := readFull(from, r.buf[:len(header)], 0); err != nil {
		return nil, err
	}
	if got := r.buf[:len(header)]; string(got) != header {
		return nil, damaged("it starts with %q", got)
	}
	return r, r.load(boxes(n) - 1)
}

// Size returns the number of bytes of the content.
func (r *Reader) Size() int64 { return r.size }

// ReadAt reads content, as io.ReaderAt has it. Each byte that it returns is
// authentic.
func (r *Reader) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, errors.New("read before the start of a sealed file")
	}
	switch rest := r.size - off; {
	case rest <= 0:
		return 0, io.EOF
	case int64(len(p)) > rest:
		p, err = p[:rest], io.EOF
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for n < len(p) {
		chunk := (off + int64(n)) / chunkSize
		if err := r.load(chunk); err != nil {
			return n, err
		}
		n += copy(p[n:], r.plain[off+int64(n)-chunk*chunkSize:])
	}
	return n, err
}

// load decrypts a chunk, unless it is the one in memory.
func (r *Reader) load(chunk int64) error {
	if r.held == chunk {
		return nil
	}
	r.held = -1
	start, last := chunk*chunkSize, boxes(r.size)-1
	box := r.buf[:min(r.size-start, chunkSize)+tagSize]
	if err := readFull(r.from, box, int64(len(header))+chunk*boxSize); err != nil {
		return err
	}
	plain, err := r.aead.Open(box[:0], r.nonceOf(chunk, chunk == last), box, r.data)
	if err != nil {
		return damaged("chunk %d of %d", chunk+1, last+1)
	}
	r.plain, r.held = plain, chunk
	return nil
}

// readFull fills p.
func readFull(from io.ReaderAt, p []byte, off int64) error {
	n, err := from.ReadAt(p, off)
	switch {
	case n == len(p):
		return nil
	case err == io.EOF:
		return damaged("it ends at %d", off+int64(n))
	}
	return fault.New(fault.StoreUnavailable, "read the sealed file at %d: %w", off, err)
}
