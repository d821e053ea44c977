package blobs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/tools/tests3"
)

// between returns a store in a bucket, with a handler between it and the server.
func between(t *testing.T, h func(server http.Handler, w http.ResponseWriter, r *http.Request)) *bucket {
	t.Helper()
	b := open(t, tests3.Address(t, func(server http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h(server, w, r) })
	})).(*bucket)
	b.wait = time.Millisecond
	return b
}

// The example of the documentation of Signature Version 4 for S3.
func TestTheSignatureIsThatOfTheDocumentation(t *testing.T) {
	q := must(http.NewRequest(http.MethodGet, "https://examplebucket.s3.amazonaws.com/test.txt", nil))(t)
	q.Header.Set("Range", "bytes=0-9")
	keys := credentials{id: "AKIAIOSFODNN7EXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}
	sign(q, sha256.Sum256(nil), keys, "us-east-1", time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC))
	want := "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
	if got := q.Header.Get("Authorization"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestAnyPrefixIsSigned(t *testing.T) {
	address := tests3.Address(t, nil)
	start, query, _ := strings.Cut(address, "?")
	for _, prefix := range []string{"", "/a b", "/ä+%25&=;", "/a/b/c"} {
		u := &url.URL{Path: prefix}
		s := open(t, start+u.EscapedPath()+"?"+query)
		d := put(t, s, content(10))
		must(get(t, s, d))(t)
		if got := names(t, s); !slices.Equal(got, []Digest{d}) {
			t.Errorf("%q lists %v", prefix, got)
		}
		if n := must(Collect(t.Context(), s, time.Now().Add(time.Hour), func(Digest) (bool, error) { return false, nil }))(t); n != 1 {
			t.Errorf("%q: %d blobs were deleted", prefix, n)
		}
	}
}

func TestWrongCredentialsAreSaid(t *testing.T) {
	address := tests3.Address(t, nil)
	for name, secret := range map[string]string{"AWS_ACCESS_KEY_ID": "nobody", "AWS_SECRET_ACCESS_KEY": "wrong"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("AWS_ACCESS_KEY_ID", tests3.AccessKey)
			t.Setenv("AWS_SECRET_ACCESS_KEY", tests3.SecretKey)
			t.Setenv(name, secret)
			s := open(t, address)
			_, _, putErr := s.Put(t.Context(), bytes.NewReader(content(10)), 10)
			_, openErr := s.Open(t.Context(), Digest{})
			var listErr error
			for _, listErr = range s.List(t.Context()) {
			}
			for what, err := range map[string]error{"put": putErr, "open": openErr, "list": listErr, "delete": s.Delete(t.Context(), Digest{}, time.Time{})} {
				if fault.CodeOf(err) != fault.StoreUnavailable || errors.Is(err, fs.ErrNotExist) || !strings.Contains(fault.HintOf(err), "credentials") {
					t.Errorf("%s: %v, hint %q", what, err, fault.HintOf(err))
				}
				if err != nil && strings.Contains(err.Error(), secret) && name == "AWS_SECRET_ACCESS_KEY" {
					t.Errorf("%s: the message %q has the secret", what, err)
				}
			}
		})
	}
}

func TestAMissingBucketIsNoMissingBlob(t *testing.T) {
	s := open(t, strings.Replace(tests3.Address(t, nil), "s3://"+tests3.Bucket, "s3://elsewhere", 1))
	_, _, putErr := s.Put(t.Context(), bytes.NewReader(content(10)), 10)
	_, openErr := s.Open(t.Context(), Digest{})
	var listErr error
	for _, listErr = range s.List(t.Context()) {
	}
	for what, err := range map[string]error{"put": putErr, "open": openErr, "list": listErr, "delete": s.Delete(t.Context(), Digest{}, time.Time{}), "delete an old one": s.Delete(t.Context(), Digest{}, time.Now())} {
		if fault.CodeOf(err) != fault.StoreUnavailable || errors.Is(err, fs.ErrNotExist) || fault.HintOf(err) == "" {
			t.Errorf("%s: %v, hint %q", what, err, fault.HintOf(err))
		}
	}
}

func TestAddressesOfBucketsAreReadStrictly(t *testing.T) {
	for _, name := range []string{"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_SESSION_TOKEN"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	for address, want := range map[string]string{
		"s3://b":             "https://s3.us-east-1.amazonaws.com b us-east-1 ",
		"s3://b/p/":          "https://s3.us-east-1.amazonaws.com b us-east-1 p/",
		"s3://b?region=eu-x": "https://s3.eu-x.amazonaws.com b eu-x ",
		"s3://b/p?endpoint=http%3A%2F%2Fh%3A1&region=r": "http://h:1 b r p/",
		"s3://b/p?endpoint=https://h/s3":                "https://h/s3 b us-east-1 p/",
		"s3://":                                         "",
		"s3:///p":                                       "",
		"s3://id:secret@b/p":                            "",
		"s3://b/p#x":                                    "",
		"s3://b/p?endpint=https://h":                    "",
		"s3://b/p?endpoint=h":                           "",
		"s3://b/p?endpoint=ftp://h":                     "",
		"s3://b/p?endpoint=https://id:secret@h":         "",
		"s3://b/p?endpoint=%zz":                         "",
	} {
		s, err := Open(address, os.Getenv)
		if want == "" {
			if fault.CodeOf(err) != fault.UsageStore || fault.HintOf(err) == "" || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: %v", address, err)
			}
			continue
		}
		check(t, err)
		b := s.(*bucket)
		if got := fmt.Sprint(b.endpoint, " ", b.bucket, " ", b.region, " ", b.prefix); got != want {
			t.Errorf("%s: got %q, want %q", address, got, want)
		}
	}
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	if _, err := Open("s3://b", os.Getenv); fault.CodeOf(err) != fault.UsageStore || !strings.Contains(fault.HintOf(err), "AWS_SECRET_ACCESS_KEY") {
		t.Errorf("without credentials: %v", err)
	}
}

// cut ends the connection after some bytes of the body of an answer.
type cut struct {
	http.ResponseWriter
	left int
}

func (c *cut) Write(p []byte) (int, error) {
	if len(p) < c.left {
		c.left -= len(p)
		return c.ResponseWriter.Write(p)
	}
	_, _ = c.ResponseWriter.Write(p[:c.left])
	_ = http.NewResponseController(c.ResponseWriter).Flush()
	panic(http.ErrAbortHandler)
}

func TestACutConnectionIsResumed(t *testing.T) {
	var gets atomic.Int64
	b := between(t, func(server http.Handler, w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && gets.Add(1) <= 6 {
			w = &cut{w, 100_000}
		}
		server.ServeHTTP(w, r)
	})
	data := content(1_000_000)
	d := put(t, b, data)
	if got, err := get(t, b, d); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes are read, %v", len(got), err)
	}
	if gets.Load() < 7 {
		t.Errorf("there were %d requests", gets.Load())
	}
}

func TestAConnectionThatIsAlwaysCutFails(t *testing.T) {
	var gets atomic.Int64
	b := between(t, func(server http.Handler, w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			gets.Add(1)
			w = &cut{w, 0}
		}
		server.ServeHTTP(w, r)
	})
	d := put(t, b, content(1000))
	if _, err := get(t, b, d); fault.CodeOf(err) != fault.StoreUnavailable {
		t.Errorf("error is %v", err)
	}
	if n := gets.Load(); n != attempts {
		t.Errorf("there were %d requests, want %d", n, attempts)
	}
}

func TestAFailureThatPassesIsTriedAgain(t *testing.T) {
	var n atomic.Int64
	b := between(t, func(server http.Handler, w http.ResponseWriter, r *http.Request) {
		switch n.Add(1) % 4 {
		case 0:
			panic(http.ErrAbortHandler)
		case 1:
			http.Error(w, "<Error><Code>SlowDown</Code></Error>", http.StatusServiceUnavailable)
		case 2:
			http.Error(w, "later", http.StatusTooManyRequests)
		default:
			server.ServeHTTP(w, r)
		}
	})
	b.partSize = 5 << 20
	data := content(11 << 20)
	d := put(t, b, data)
	if got, err := get(t, b, d); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes are read, %v", len(got), err)
	}
	if got := names(t, b); !slices.Equal(got, []Digest{d}) {
		t.Errorf("the store has %v", got)
	}
}

func TestRetriesEnd(t *testing.T) {
	var n atomic.Int64
	status := http.StatusServiceUnavailable
	b := between(t, func(_ http.Handler, w http.ResponseWriter, _ *http.Request) {
		n.Add(1)
		w.WriteHeader(status)
	})
	if _, err := b.Stat(t.Context(), Digest{}); fault.CodeOf(err) != fault.StoreUnavailable || n.Load() != attempts {
		t.Errorf("error is %v after %d requests", err, n.Load())
	}
	n.Store(0)
	status = http.StatusBadRequest
	if _, err := b.Stat(t.Context(), Digest{}); fault.CodeOf(err) != fault.StoreUnavailable || n.Load() != 1 {
		t.Errorf("error is %v after %d requests", err, n.Load())
	}
}

func TestTheContextEndsRetries(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var n atomic.Int64
	b := between(t, func(_ http.Handler, w http.ResponseWriter, _ *http.Request) {
		n.Add(1)
		cancel()
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	if _, err := b.Stat(ctx, Digest{}); !errors.Is(err, context.Canceled) || n.Load() != 1 {
		t.Errorf("error is %v after %d requests", err, n.Load())
	}
}

// changed rewrites the answers to a method.
func changed(method string, change func(*httptest.ResponseRecorder)) func(http.Handler, http.ResponseWriter, *http.Request) {
	return func(server http.Handler, w http.ResponseWriter, r *http.Request) {
		if r.Method != method {
			server.ServeHTTP(w, r)
			return
		}
		rec := httptest.NewRecorder()
		server.ServeHTTP(rec, r)
		change(rec)
		for name, values := range rec.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(rec.Code)
		_, _ = w.Write(rec.Body.Bytes())
	}
}

func TestALyingServerIsFound(t *testing.T) {
	data := content(1000)
	for name, h := range map[string]func(http.Handler, http.ResponseWriter, *http.Request){
		"other content": changed(http.MethodGet, func(rec *httptest.ResponseRecorder) { rec.Body.Bytes()[500] ^= 1 }),
		"another range": changed(http.MethodGet, func(rec *httptest.ResponseRecorder) {
			rec.Header().Set("Content-Range", "bytes 1-1000/1001")
		}),
		"another size of the range": changed(http.MethodGet, func(rec *httptest.ResponseRecorder) {
			rec.Header().Set("Content-Range", "bytes 0-999/5000")
		}),
		"less": changed(http.MethodGet, func(rec *httptest.ResponseRecorder) {
			rec.Body.Truncate(900)
			rec.Header().Set("Content-Length", "900")
		}),
		"more": changed(http.MethodGet, func(rec *httptest.ResponseRecorder) {
			rec.Body.WriteString("more")
			rec.Header().Set("Content-Length", "1004")
		}),
		"no length": changed(http.MethodGet, func(rec *httptest.ResponseRecorder) {
			rec.Body.Write(make([]byte, 1<<16))
			rec.Header().Del("Content-Length")
		}),
		"all for a range": changed(http.MethodGet, func(rec *httptest.ResponseRecorder) {
			rec.Code = http.StatusOK
			rec.Header().Del("Content-Range")
			rec.Body.WriteByte(0)
			rec.Header().Set("Content-Length", "1001")
		}),
		"a shorter blob": changed(http.MethodHead, func(rec *httptest.ResponseRecorder) { rec.Header().Set("Content-Length", "900") }),
		"a longer blob":  changed(http.MethodHead, func(rec *httptest.ResponseRecorder) { rec.Header().Set("Content-Length", "1100") }),
		"an empty blob":  changed(http.MethodHead, func(rec *httptest.ResponseRecorder) { rec.Header().Set("Content-Length", "0") }),
		"no time":        changed(http.MethodHead, func(rec *httptest.ResponseRecorder) { rec.Header().Del("Last-Modified") }),
	} {
		t.Run(name, func(t *testing.T) {
			var lie atomic.Bool
			b := between(t, func(server http.Handler, w http.ResponseWriter, r *http.Request) {
				if !lie.Load() {
					server.ServeHTTP(w, r)
					return
				}
				h(server, w, r)
			})
			d := put(t, b, data)
			lie.Store(true)
			if got, err := get(t, b, d); fault.CodeOf(err) != fault.StoreUnavailable {
				t.Errorf("%d bytes are read, %v", len(got), err)
			}
		})
	}
}

func TestAServerThatListsWithoutEndIsFound(t *testing.T) {
	page := `<R><IsTruncated>true</IsTruncated><NextContinuationToken>a</NextContinuationToken><NextKeyMarker>a</NextKeyMarker></R>`
	b := between(t, func(_ http.Handler, w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, page) })
	var err error
	for _, err = range b.List(t.Context()) {
	}
	for what, err := range map[string]error{"list": err, "sweep": b.Sweep(t.Context(), time.Now())} {
		if fault.CodeOf(err) != fault.StoreUnavailable {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	var followed atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed.Store(true) }))
	defer other.Close()
	b := between(t, func(_ http.Handler, w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	if _, err := b.Stat(t.Context(), Digest{}); fault.CodeOf(err) != fault.StoreUnavailable || followed.Load() {
		t.Errorf("error is %v, followed %v", err, followed.Load())
	}
}

// requests counts the requests by method and first query.
type requests struct {
	mu  sync.Mutex
	all []string
}

func (q *requests) ServeHTTP(server http.Handler, w http.ResponseWriter, r *http.Request) {
	q.mu.Lock()
	what, _, _ := strings.Cut(r.URL.RawQuery, "=")
	q.all = append(q.all, strings.TrimSuffix(r.Method+" "+what, " "))
	q.mu.Unlock()
	server.ServeHTTP(w, r)
}

func (q *requests) take() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := q.all
	q.all = nil
	return all
}

func TestRequestsAreFew(t *testing.T) {
	var q requests
	b := between(t, q.ServeHTTP)
	b.partSize = 5 << 20
	want := func(what string, want ...string) {
		t.Helper()
		if got := q.take(); !slices.Equal(got, want) {
			t.Errorf("%s: the requests are %q, want %q", what, got, want)
		}
	}
	d := put(t, b, content(1_000_000))
	want("put", "HEAD", "PUT")
	put(t, b, content(1_000_000))
	want("put again", "HEAD")
	blob := must(b.Open(t.Context(), d))(t)
	defer blob.Close()
	must(io.Copy(io.Discard, NewReader(blob, d)))(t)
	want("read in order", "HEAD", "GET", "GET")
	put(t, b, content(11<<20))
	want("put in parts", "HEAD", "POST uploads", "PUT partNumber", "PUT partNumber", "PUT partNumber", "POST uploadId")
}

func TestAFailedUploadIsRemoved(t *testing.T) {
	var parts atomic.Int64
	failing := true
	b := between(t, func(server http.Handler, w http.ResponseWriter, r *http.Request) {
		if failing && r.URL.Query().Get("partNumber") == "2" {
			parts.Add(1)
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		if failing && r.Method == http.MethodDelete && parts.Load() > 1 { // the second time, the process is killed
			w.WriteHeader(http.StatusForbidden)
			return
		}
		server.ServeHTTP(w, r)
	})
	b.partSize = 5 << 20
	uploads := func() (n int) {
		var page struct{ Upload []struct{ Key string } }
		check(t, b.decode(t.Context(), request{method: http.MethodGet, query: url.Values{"uploads": {""}, "prefix": {b.prefix}}}, &page))
		return len(page.Upload)
	}
	for i := range 2 {
		_, _, err := b.Put(t.Context(), bytes.NewReader(content(11<<20)), math.MaxInt64)
		if fault.CodeOf(err) != fault.StoreUnavailable || uploads() != i {
			t.Errorf("error is %v, there are %d uploads, want %d", err, uploads(), i)
		}
	}
	failing = false
	check(t, b.Sweep(t.Context(), time.Now().Add(-time.Hour)))
	if uploads() != 1 {
		t.Error("a new upload was swept")
	}
	check(t, b.Sweep(t.Context(), time.Now().Add(time.Hour)))
	if n := uploads(); n != 0 {
		t.Errorf("%d uploads remain", n)
	}
	if got := names(t, b); len(got) != 0 {
		t.Errorf("the store has %v", got)
	}
}

func TestACompletionWhoseAnswerIsLostSucceeds(t *testing.T) {
	var lost atomic.Bool
	b := between(t, func(server http.Handler, w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.URL.Query().Has("uploadId") && lost.CompareAndSwap(false, true) {
			server.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		server.ServeHTTP(w, r)
	})
	b.partSize = 5 << 20
	data := content(11 << 20)
	d := put(t, b, data)
	if got, err := get(t, b, d); err != nil || !bytes.Equal(got, data) || !lost.Load() {
		t.Errorf("%d bytes are read, %v", len(got), err)
	}
}

func TestAnErrorInASuccessfulAnswerIsFound(t *testing.T) {
	b := between(t, func(server http.Handler, w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.URL.Query().Has("uploadId") {
			_, _ = io.WriteString(w, "<Error><Code>InternalError</Code></Error>")
			return
		}
		server.ServeHTTP(w, r)
	})
	b.partSize = 5 << 20
	if _, _, err := b.Put(t.Context(), bytes.NewReader(content(11<<20)), math.MaxInt64); fault.CodeOf(err) != fault.StoreUnavailable {
		t.Errorf("error is %v", err)
	}
}

func TestAnOldBlobIsRenewed(t *testing.T) {
	var puts atomic.Int64
	old := time.Now().Add(-2 * renewAfter).UTC().Format(http.TimeFormat)
	b := between(t, func(server http.Handler, w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			puts.Add(1)
		}
		changed(http.MethodHead, func(rec *httptest.ResponseRecorder) {
			if rec.Code == http.StatusOK {
				rec.Header().Set("Last-Modified", old)
			}
		})(server, w, r)
	})
	put(t, b, content(10))
	put(t, b, content(10))
	if n := puts.Load(); n != 2 {
		t.Errorf("the blob was sent %d times, want 2", n)
	}
}
