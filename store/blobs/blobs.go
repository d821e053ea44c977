// Package blobs keeps content by its SHA-256 digest, in a folder or in an S3 bucket.
//
// # Sealed content
//
// A blob does not know whether its content is sealed (internal/seal). Callers seal
// all content that can have values first, so the digest is that of the sealed bytes.
// That is a decision:
//
//   - Each sealed file has a random key, so equal content of two tenants has two
//     digests. Nobody can find out whether another tenant has some content by
//     storing it, or confirm a guess from a digest, which programs, agents and the
//     owner of the bucket may see.
//   - Anyone can check a sealed blob against its digest without a key: a restore, a
//     replica, an audit.
//   - Removing the wrapped key from its row removes the content. Removing the blob
//     only frees the space, so it does not matter how long a bucket keeps versions.
//
// Content that a tenant stores twice is found before it is sealed: a row of the
// tenant maps the HMAC-SHA-256 of the content, with a key of the tenant that is
// wrapped like those of files, to the digest of the blob and its wrapped key.
//
// # Collection of garbage
//
// Rows name the blobs in use, and [Collect] deletes old blobs that no row names. Put
// renews the time of a blob that exists, so that a row can be written within the
// grace of the collector after each Put.
package blobs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"io/fs"
	"iter"
	"math"
	"time"

	"github.com/wexec/wexec/fault"
)

// Store keeps blobs. Its methods may be called concurrently. Errors have the code
// store.unavailable unless noted; those of contexts and of the reader given to Put
// are returned as they are.
type Store interface {
	// Put stores what r has and returns its digest and size. More than most bytes
	// fail with limit.artifact. When Put returns, the blob is durable and complete;
	// if it fails, there is no new blob. Memory is bounded.
	Put(ctx context.Context, r io.Reader, most int64) (Digest, int64, error)
	// Open opens a blob. A missing one is an error that is [fs.ErrNotExist]. The
	// context bounds the use of the blob as well.
	Open(ctx context.Context, d Digest) (Blob, error)
	// Stat describes a blob, with the errors of Open.
	Stat(ctx context.Context, d Digest) (Info, error)
	// Delete deletes a blob unless Put has stored or renewed it since a time; the
	// zero time deletes it in any case. A missing blob is not an error.
	Delete(ctx context.Context, d Digest, since time.Time) error
	// List yields all blobs by digest. The last pair has the error, if there is one.
	List(ctx context.Context) iter.Seq2[Info, error]
	// Sweep deletes what interrupted calls of Put left behind before a time.
	Sweep(ctx context.Context, before time.Time) error
	Close() error
}

// Blob is an open blob. Reads of a range are not checked against the digest, since
// that needs the whole: sealed content checks itself, and [NewReader] checks all of it.
type Blob interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// Info describes a blob.
type Info struct {
	Digest Digest
	Size   int64
	Time   time.Time // of the last Put
}

// Digest is the SHA-256 of a blob.
type Digest [sha256.Size]byte

// String returns the digest in hexadecimal.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// ParseDigest reads 64 lower-case hexadecimal digits.
func ParseDigest(text string) (d Digest, err error) {
	n, err := hex.Decode(d[:], []byte(text[:min(len(text), 2*len(d))]))
	if err != nil || n != len(d) || text != d.String() {
		return Digest{}, fault.New(fault.UsageFlag, "%.70q is not a digest", text).WithHint("use 64 lower-case hexadecimal digits")
	}
	return d, nil
}

// ErrDamaged says that the content of a blob does not have its digest.
var ErrDamaged = errors.New("the content of the blob does not match its digest")

// NewReader returns a reader of a whole blob. At the end it fails with [ErrDamaged]
// instead of io.EOF if the content does not have the digest.
func NewReader(b Blob, d Digest) io.Reader {
	return &checked{io.NewSectionReader(b, 0, b.Size()), sha256.New(), d}
}

type checked struct {
	from io.Reader
	hash hash.Hash
	want Digest
}

func (c *checked) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.hash.Write(p[:n])
	if err == io.EOF && Digest(c.hash.Sum(nil)) != c.want {
		err = fault.New(fault.StoreUnavailable, "%w: %s", ErrDamaged, c.want)
	}
	return n, err
}

// Collect deletes the blobs that were last stored before a time and are not in use,
// and sweeps. The time must lie further in the past than a caller of Put takes to
// make its blob used: take a day.
func Collect(ctx context.Context, s Store, before time.Time, used func(Digest) (bool, error)) (deleted int, err error) {
	for info, err := range s.List(ctx) {
		if err != nil {
			return deleted, err
		}
		if !info.Time.Before(before) {
			continue
		}
		if keep, err := used(info.Digest); err != nil {
			return deleted, err
		} else if keep {
			continue
		}
		if err := s.Delete(ctx, info.Digest, before); err != nil {
			return deleted, err
		}
		deleted++
	}
	return deleted, s.Sweep(ctx, before)
}

// copyHashed copies at most most bytes and returns their digest and number.
func copyHashed(ctx context.Context, to io.Writer, r io.Reader, most int64) (Digest, int64, error) {
	h := sha256.New()
	from := &source{ctx: ctx, from: io.LimitReader(r, min(most, math.MaxInt64-1)+1)}
	n, err := io.Copy(io.MultiWriter(h, to), from)
	switch {
	case from.err != nil:
		return Digest{}, n, from.err
	case err != nil:
		return Digest{}, n, fault.New(fault.StoreUnavailable, "%w", err).WithOp("write a blob")
	case n > most:
		return Digest{}, n, fault.New(fault.LimitArtifact, "the content is larger than %d bytes", most).WithHint("store less, or store it in parts")
	}
	return Digest(h.Sum(nil)), n, nil
}

// source reads until a context ends, and remembers its error.
type source struct {
	ctx  context.Context
	from io.Reader
	err  error
}

func (s *source) Read(p []byte) (int, error) {
	if s.err = context.Cause(s.ctx); s.err != nil {
		return 0, s.err
	}
	n, err := s.from.Read(p)
	if err != io.EOF {
		s.err = err
	}
	return n, err
}

// missing is the error for a blob that does not exist.
func missing(d Digest) error {
	return fault.New(fault.StoreUnavailable, "there is no blob %s: %w", d, fs.ErrNotExist)
}

// within returns the part of p that a blob of a size has at an offset, and io.EOF if
// that is not all of p.
func within(p []byte, off, size int64) ([]byte, error) {
	switch {
	case off < 0:
		return nil, errors.New("read before the start of a blob")
	case off >= size:
		return nil, io.EOF
	case int64(len(p)) > size-off:
		return p[:size-off], io.EOF
	}
	return p, nil
}
