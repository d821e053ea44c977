package blobs

import (
	"bytes"
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"io/fs"
	"iter"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// bucket is a Store in an S3 bucket. The blob abcd… is the object PREFIX/abcd….
type bucket struct {
	client
	prefix   string // empty, or ends with a slash
	partSize int64
}

const (
	// inMemory is the size up to which Put keeps content in memory until it knows
	// the digest. More goes through a temporary file.
	inMemory = 1 << 20
	// partSize is the size of the parts of an upload; smaller content is sent in one
	// request. S3 allows maxParts of them.
	partSize = 16 << 20
	maxParts = 10000
	// renewAfter is the age at which Put sends a blob again that exists, since S3
	// has no other way to renew its time.
	renewAfter = time.Hour
	// cleanupTime bounds the removal of an upload whose context has ended.
	cleanupTime = 10 * time.Second
)

func openS3(address string, env func(string) string) (Store, error) {
	c, prefix, err := newClient(address, env)
	if err != nil {
		return nil, err
	}
	return &bucket{c, prefix, partSize}, nil
}

// spool keeps content until its digest is known. The caller calls done.
func spool(ctx context.Context, r io.Reader, most int64) (content io.ReaderAt, d Digest, n int64, done func(), err error) {
	var small bytes.Buffer
	_, err = io.CopyN(&small, &source{ctx: ctx, from: r}, min(most, inMemory)+1)
	switch {
	case err == io.EOF:
		content := bytes.NewReader(small.Bytes())
		d, n, err := copyHashed(ctx, io.Discard, content, most)
		return content, d, n, func() {}, err
	case err != nil:
		return nil, d, 0, nil, err
	}
	f, err := os.CreateTemp("", "wexec-blob-*")
	if err != nil {
		return nil, d, 0, nil, unavailable(err)
	}
	_ = os.Remove(f.Name()) // fails on Windows, where done removes it
	done = func() { _ = f.Close(); _ = os.Remove(f.Name()) }
	d, n, err = copyHashed(ctx, f, io.MultiReader(&small, r), most)
	if err != nil {
		done()
	}
	return f, d, n, done, err
}

// Put implements [Store].
func (b *bucket) Put(ctx context.Context, r io.Reader, most int64) (Digest, int64, error) {
	content, d, n, done, err := spool(ctx, r, most)
	if err != nil {
		return Digest{}, 0, err
	}
	defer done()
	info, err := b.head(ctx, d)
	if err == nil && info.Size == n && time.Since(info.Time) < renewAfter {
		return d, n, nil
	}
	if err != nil && !notFound(err) {
		return Digest{}, 0, err
	}
	if n <= b.partSize {
		_, err = b.do(ctx, request{method: http.MethodPut, key: b.key(d), body: io.NewSectionReader(content, 0, n)})
	} else {
		err = b.upload(ctx, d, content, n)
	}
	if err != nil {
		return Digest{}, 0, err
	}
	return d, n, nil
}

func (b *bucket) key(d Digest) string { return b.prefix + d.String() }

// digest returns the digest of the blob in an object, if it is one of this store.
func (b *bucket) digest(key string) (Digest, bool) {
	name, ours := strings.CutPrefix(key, b.prefix)
	d, err := ParseDigest(name)
	return d, ours && err == nil
}

// part is a part of an upload in the body that completes it.
type part struct {
	Number int    `xml:"PartNumber"`
	ETag   string `xml:"ETag"`
}

// upload sends content in parts.
func (b *bucket) upload(ctx context.Context, d Digest, content io.ReaderAt, n int64) (err error) {
	var started struct {
		ID string `xml:"UploadId"`
	}
	if err := b.decode(ctx, request{method: http.MethodPost, key: b.key(d), query: url.Values{"uploads": {""}}}, &started); err != nil {
		return err
	}
	id := url.Values{"uploadId": {started.ID}}
	defer func() {
		if err != nil {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
			defer cancel()
			_, _ = b.do(ctx, request{method: http.MethodDelete, key: b.key(d), query: id})
		}
	}()
	whole := struct {
		XMLName xml.Name `xml:"CompleteMultipartUpload"`
		Parts   []part   `xml:"Part"`
	}{}
	size := max(b.partSize, (n+maxParts-1)/maxParts)
	for at := int64(0); at < n; at += size {
		number := len(whole.Parts) + 1
		a, err := b.do(ctx, request{method: http.MethodPut, key: b.key(d), body: io.NewSectionReader(content, at, min(size, n-at)),
			query: url.Values{"uploadId": {started.ID}, "partNumber": {strconv.Itoa(number)}}})
		if err != nil {
			return err
		}
		whole.Parts = append(whole.Parts, part{number, a.header.Get("ETag")})
	}
	body, err := xml.Marshal(whole)
	if err != nil {
		return err
	}
	var end struct{ XMLName xml.Name }
	err = b.decode(ctx, request{method: http.MethodPost, key: b.key(d), query: id, body: io.NewSectionReader(bytes.NewReader(body), 0, int64(len(body)))}, &end)
	if err == nil && end.XMLName.Local != "CompleteMultipartUploadResult" {
		err = b.failed("the server did not complete the upload: %s", end.XMLName.Local)
	}
	if err != nil { // it was completed if only the answer was lost
		if info, look := b.head(ctx, d); look == nil && info.Size == n && time.Since(info.Time) < renewAfter {
			return nil
		}
	}
	return err
}

// Stat implements [Store].
func (b *bucket) Stat(ctx context.Context, d Digest) (Info, error) {
	info, err := b.head(ctx, d)
	if notFound(err) {
		// the answer to HEAD does not say whether it is the blob or the bucket
		a, err := b.do(ctx, request{method: http.MethodGet, key: b.key(d), stream: true, to: 1})
		switch {
		case err == nil: // it was stored in between
			_ = a.body.Close()
			return b.head(ctx, d)
		case refusedWith(err, "NoSuchKey"):
			err = missing(d)
		}
		return Info{}, err
	}
	return info, err
}

// notFound reports whether the server did not find the object or what it is in.
func notFound(err error) bool {
	said, ok := errors.AsType[*refusal](err)
	return ok && said.status == http.StatusNotFound
}

// head describes a blob. For a missing one, the error is a refusal.
func (b *bucket) head(ctx context.Context, d Digest) (Info, error) {
	a, err := b.do(ctx, request{method: http.MethodHead, key: b.key(d)})
	if err != nil {
		return Info{}, err
	}
	changed, err := http.ParseTime(a.header.Get("Last-Modified"))
	if err != nil || a.size < 0 {
		return Info{}, b.failed("the server does not say the size and time of %s", b.key(d))
	}
	return Info{d, a.size, changed}, nil
}

// Delete implements [Store]. It does not notice a Put between the request for
// the time and the deletion.
func (b *bucket) Delete(ctx context.Context, d Digest, since time.Time) error {
	if !since.IsZero() {
		info, err := b.Stat(ctx, d)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case !info.Time.Before(since):
			return nil
		}
	}
	_, err := b.do(ctx, request{method: http.MethodDelete, key: b.key(d)})
	if refusedWith(err, "NoSuchKey") {
		return nil
	}
	return err
}

// List implements [Store].
func (b *bucket) List(ctx context.Context) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		query := url.Values{"list-type": {"2"}, "prefix": {b.prefix}, "delimiter": {"/"}}
		for {
			var page struct {
				Contents []struct {
					Key          string
					Size         int64
					LastModified time.Time
				}
				IsTruncated           bool
				NextContinuationToken string
			}
			if err := b.decode(ctx, request{method: http.MethodGet, query: query}, &page); err != nil {
				yield(Info{}, err)
				return
			}
			for _, c := range page.Contents {
				if d, ours := b.digest(c.Key); ours && !yield(Info{d, c.Size, c.LastModified}, nil) {
					return
				}
			}
			if !page.IsTruncated {
				return
			}
			if page.NextContinuationToken == query.Get("continuation-token") {
				yield(Info{}, b.failed("the server repeats a page of the list"))
				return
			}
			query.Set("continuation-token", page.NextContinuationToken)
		}
	}
}

// Sweep implements [Store]. It ends uploads that were not completed.
func (b *bucket) Sweep(ctx context.Context, before time.Time) error {
	query := url.Values{"uploads": {""}, "prefix": {b.prefix}}
	for {
		var page struct {
			Upload []struct {
				Key       string
				ID        string `xml:"UploadId"`
				Initiated time.Time
			}
			IsTruncated bool
			NextKey     string `xml:"NextKeyMarker"`
			NextID      string `xml:"NextUploadIdMarker"`
		}
		if err := b.decode(ctx, request{method: http.MethodGet, query: query}, &page); err != nil {
			return err
		}
		for _, u := range page.Upload {
			if _, ours := b.digest(u.Key); !ours || !u.Initiated.Before(before) {
				continue
			}
			_, err := b.do(ctx, request{method: http.MethodDelete, key: u.Key, query: url.Values{"uploadId": {u.ID}}})
			if err != nil && !refusedWith(err, "NoSuchUpload") {
				return err
			}
		}
		if !page.IsTruncated {
			return nil
		}
		if page.NextKey == query.Get("key-marker") && page.NextID == query.Get("upload-id-marker") {
			return b.failed("the server repeats a page of the list of uploads")
		}
		query.Set("key-marker", page.NextKey)
		query.Set("upload-id-marker", page.NextID)
	}
}

// Open implements [Store].
func (b *bucket) Open(ctx context.Context, d Digest) (Blob, error) {
	info, err := b.Stat(ctx, d)
	if err != nil {
		return nil, err
	}
	return &object{ctx: ctx, bucket: b, key: b.key(d), size: info.Size}, nil
}

// object is a blob in a bucket.
type object struct {
	ctx    context.Context
	bucket *bucket
	key    string
	size   int64

	mu   sync.Mutex
	body io.ReadCloser // nil, or an answer that is being read
	at   int64         // where the last read ended
	end  int64         // where body ends
}

func (o *object) Size() int64 { return o.size }

func (o *object) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.drop()
	return nil
}

func (o *object) drop() {
	if o.body != nil {
		_ = o.body.Close()
		o.body = nil
	}
}

// ReadAt requests the range that p needs, or, when a read begins where the last one
// ended, all that follows: reading a blob in order takes two requests. After a cut
// connection it goes on where it was.
func (o *object) ReadAt(p []byte, off int64) (n int, err error) {
	p, err = within(p, off, o.size)
	o.mu.Lock()
	defer o.mu.Unlock()
	for failures := 0; n < len(p); {
		if cause := context.Cause(o.ctx); cause != nil {
			o.drop()
			return n, cause
		}
		if err := o.seek(off+int64(n), off+int64(len(p))); err != nil {
			return n, err
		}
		k, readErr := io.ReadFull(o.body, p[n:min(int64(len(p)), int64(n)+o.end-o.at)])
		n, o.at = n+k, o.at+int64(k)
		if readErr != nil || o.at == o.end {
			o.drop()
		}
		switch {
		case k > 0:
			failures = 0
		case readErr != nil:
			if failures++; failures == attempts {
				return n, o.bucket.failed("read %s: %w", o.key, readErr)
			}
			if err := o.bucket.pause(o.ctx, failures); err != nil {
				return n, err
			}
		}
	}
	return n, err
}

// seek makes body an answer that continues at an offset.
func (o *object) seek(off, end int64) error {
	if o.body != nil && o.at == off {
		return nil
	}
	o.drop()
	if o.at == off && off > 0 {
		end = o.size
	}
	a, err := o.bucket.do(o.ctx, request{method: http.MethodGet, key: o.key, stream: true, from: off, to: end})
	if err != nil {
		return err
	}
	o.body, o.at, o.end = a.body, off, end
	want := "bytes " + strconv.FormatInt(off, 10) + "-" + strconv.FormatInt(end-1, 10) + "/" + strconv.FormatInt(o.size, 10)
	whole := a.status == http.StatusOK && off == 0 && end == o.size
	if got := a.header.Get("Content-Range"); !whole && (a.status != http.StatusPartialContent || got != want) || a.size != end-off {
		o.drop()
		return o.bucket.failed("the server answers %q with %d bytes for %s of %s", cmp.Or(got, strconv.Itoa(a.status)), a.size, want, o.key)
	}
	return nil
}

// Close implements [Store].
func (b *bucket) Close() error {
	b.http.CloseIdleConnections()
	return nil
}
