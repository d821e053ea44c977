package blobs

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wexec/wexec/fault"
)

// client sends requests to a bucket, signed with AWS Signature Version 4.
type client struct {
	http     *http.Client
	endpoint *url.URL
	bucket   string
	region   string
	keys     credentials
	now      func() time.Time
	wait     time.Duration // before the first retry
}

type credentials struct{ id, secret, session string }

const (
	// attempts is how often a request is sent that fails for the moment.
	attempts = 5
	// maxAnswer bounds an answer that is not a blob.
	maxAnswer = 8 << 20
	// answerTime bounds the wait for the header of an answer. S3 takes long to
	// complete a large upload.
	answerTime = 2 * time.Minute
)

// newClient returns a client of the bucket at an address, and the prefix of the keys. Env looks
// up environment variables.
func newClient(address string, env func(string) string) (c client, prefix string, err error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.Port() != "" || u.Fragment != "" {
		return c, "", bad("the address of the bucket is invalid").WithHint("use s3://BUCKET/PREFIX?endpoint=https://HOST")
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return c, "", bad("the parameters of the address of the bucket are invalid").WithHint("encode the endpoint as a query parameter")
	}
	for name := range query {
		if name != "endpoint" && name != "region" {
			return c, "", bad("unknown parameter %q in the address of the bucket", name).WithHint("use endpoint and region")
		}
	}
	c = client{
		http: &http.Client{
			Transport: &http.Transport{
				Proxy:                 http.ProxyFromEnvironment,
				DialContext:           (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
				TLSHandshakeTimeout:   10 * time.Second,
				ResponseHeaderTimeout: answerTime,
				MaxIdleConnsPerHost:   16,
				IdleConnTimeout:       time.Minute,
				DisableCompression:    true, // lengths are those of the blobs
				ForceAttemptHTTP2:     true,
			},
			// a request is signed for one host
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		bucket: u.Host,
		region: first(query.Get("region"), env("AWS_REGION"), env("AWS_DEFAULT_REGION"), "us-east-1"),
		keys:   credentials{env("AWS_ACCESS_KEY_ID"), env("AWS_SECRET_ACCESS_KEY"), env("AWS_SESSION_TOKEN")},
		now:    time.Now,
		wait:   100 * time.Millisecond,
	}
	endpoint := first(query.Get("endpoint"), env("AWS_ENDPOINT_URL_S3"), env("AWS_ENDPOINT_URL"), "https://s3."+c.region+".amazonaws.com")
	c.endpoint, err = url.Parse(endpoint)
	if err != nil || c.endpoint.Host == "" || c.endpoint.User != nil || c.endpoint.RawQuery != "" || c.endpoint.Scheme != "https" && c.endpoint.Scheme != "http" {
		return c, "", bad("the endpoint of the bucket is not an http or https URL").WithHint("use endpoint=https://HOST")
	}
	if c.keys.id == "" || c.keys.secret == "" {
		return c, "", bad("there are no credentials for the bucket").WithHint("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	}
	if prefix = strings.Trim(u.Path, "/"); prefix != "" {
		prefix += "/"
	}
	return c, prefix, nil
}

func bad(format string, args ...any) *fault.Error {
	return fault.New(fault.UsageStore, format, args...)
}

// first returns the first text that is not empty.
func first(texts ...string) string {
	return texts[slices.IndexFunc(texts, func(s string) bool { return s != "" })]
}

// failed is an error of the bucket.
func (c *client) failed(format string, args ...any) *fault.Error {
	return fault.New(fault.StoreUnavailable, format, args...).WithOp("use the bucket " + c.bucket)
}

// request is a request for an object, or for the bucket if key is empty.
type request struct {
	method string
	key    string
	query  url.Values
	body   *io.SectionReader // nil: none
	// stream asks for the bytes from one offset to another. The caller closes the
	// body. The bodies of other answers are in memory.
	stream   bool
	from, to int64
}

// answer is an answer to a request that succeeded.
type answer struct {
	status int
	header http.Header
	size   int64 // of the body, or -1; for HEAD that of the object
	body   io.ReadCloser
}

// do sends a request until it succeeds, fails for good, or failed too often.
func (c *client) do(ctx context.Context, r request) (*answer, error) {
	if r.body == nil {
		r.body = io.NewSectionReader(strings.NewReader(""), 0, 0)
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(r.body, 0, r.body.Size())); err != nil {
		return nil, c.failed("read the content to send: %w", err)
	}
	for failures := 1; ; failures++ {
		a, err := c.send(ctx, r, Digest(h.Sum(nil)))
		if err == nil {
			return a, nil
		}
		if cause := context.Cause(ctx); cause != nil {
			return nil, cause
		}
		if said, ok := errors.AsType[*refusal](err); failures == attempts || ok && !said.passing() {
			return nil, err
		}
		if err := c.pause(ctx, failures); err != nil {
			return nil, err
		}
	}
}

// refusal is an answer that says no. Answers to HEAD have no code.
type refusal struct {
	status        int
	Code, Message string
}

func (r *refusal) Error() string {
	return fmt.Sprintf("%d %s %.100s %.300q", r.status, http.StatusText(r.status), r.Code, r.Message)
}

// passing reports whether the request may succeed when it is sent again.
func (r *refusal) passing() bool {
	return r.status == http.StatusTooManyRequests || r.status == http.StatusRequestTimeout || r.status >= 500 && r.status != http.StatusNotImplemented
}

// refusedWith reports whether an error is a refusal with a code.
func refusedWith(err error, code string) bool {
	said, ok := errors.AsType[*refusal](err)
	return ok && said.Code == code
}

// pause waits longer after each failure.
func (c *client) pause(ctx context.Context, failures int) error {
	timer := time.NewTimer(c.wait<<(failures-1) + rand.N(c.wait))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// send sends a request once.
func (c *client) send(ctx context.Context, r request, digest Digest) (*answer, error) {
	u := *c.endpoint
	u.Path = strings.TrimSuffix(u.Path, "/") + "/" + c.bucket
	if r.key != "" {
		u.Path += "/" + r.key
	}
	u.RawPath, u.RawQuery = escape(u.Path, true), canonicalQuery(r.query)
	var body io.Reader
	if r.body.Size() > 0 { // a reader for each attempt, since the last one may still be in use
		body = io.NewSectionReader(r.body, 0, r.body.Size())
	}
	q, err := http.NewRequestWithContext(ctx, r.method, u.String(), body)
	if err != nil {
		return nil, c.failed("%w", err)
	}
	q.ContentLength = r.body.Size()
	if r.stream {
		q.Header.Set("Range", "bytes="+strconv.FormatInt(r.from, 10)+"-"+strconv.FormatInt(r.to-1, 10))
	}
	sign(q, digest, c.keys, c.region, c.now())
	got, err := c.http.Do(q)
	if err != nil {
		return nil, c.failed("%w", err)
	}
	a := &answer{got.StatusCode, got.Header, got.ContentLength, got.Body}
	good := got.StatusCode/100 == 2
	if good && r.stream {
		return a, nil
	}
	defer got.Body.Close()
	text, err := io.ReadAll(io.LimitReader(got.Body, maxAnswer))
	switch {
	case !good:
		return nil, c.refused(r, got.StatusCode, text)
	case err != nil:
		return nil, c.failed("read the answer: %w", err)
	}
	a.body = io.NopCloser(bytes.NewReader(text))
	return a, nil
}

// refused is the error for an answer that is not a success.
func (c *client) refused(r request, status int, text []byte) error {
	said := &refusal{status: status}
	_ = xml.Unmarshal(text, said)
	err := c.failed("%s %s: %w", r.method, r.key, said)
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return err.WithHint("check the credentials, the region and the rights to the bucket")
	case http.StatusMovedPermanently, http.StatusTemporaryRedirect, http.StatusBadRequest, http.StatusNotFound:
		return err.WithHint("check the endpoint, the name and the region of the bucket, and the credentials")
	}
	return err
}

// decode sends a request and decodes its answer.
func (c *client) decode(ctx context.Context, r request, into any) error {
	a, err := c.do(ctx, r)
	if err != nil {
		return err
	}
	if err := xml.NewDecoder(a.body).Decode(into); err != nil {
		return c.failed("%s %s: the answer cannot be read: %w", r.method, r.key, err)
	}
	return nil
}

// sign adds the headers of AWS Signature Version 4. It signs all headers that are set.
func sign(q *http.Request, content Digest, keys credentials, region string, now time.Time) {
	stamp := now.UTC().Format("20060102T150405Z")
	q.Header.Set("X-Amz-Date", stamp)
	q.Header.Set("X-Amz-Content-Sha256", content.String())
	if keys.session != "" {
		q.Header.Set("X-Amz-Security-Token", keys.session)
	}
	headers := map[string]string{"host": q.URL.Host}
	for name := range q.Header {
		headers[strings.ToLower(name)] = q.Header.Get(name)
	}
	names := slices.Sorted(maps.Keys(headers))
	signed := strings.Join(names, ";")
	var text strings.Builder
	text.WriteString(q.Method + "\n" + q.URL.EscapedPath() + "\n" + q.URL.RawQuery + "\n")
	for _, name := range names {
		text.WriteString(name + ":" + headers[name] + "\n")
	}
	text.WriteString("\n" + signed + "\n" + content.String())
	scope := stamp[:8] + "/" + region + "/s3/aws4_request"
	whole := sha256.Sum256([]byte(text.String()))
	key := []byte("AWS4" + keys.secret)
	for _, step := range []string{stamp[:8], region, "s3", "aws4_request", "AWS4-HMAC-SHA256\n" + stamp + "\n" + scope + "\n" + hex.EncodeToString(whole[:])} {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(step))
		key = mac.Sum(nil)
	}
	q.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+keys.id+"/"+scope+", SignedHeaders="+signed+", Signature="+hex.EncodeToString(key))
}

// canonicalQuery encodes a query as the signature wants it.
func canonicalQuery(query url.Values) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(query)) {
		parts = append(parts, escape(name, false)+"="+escape(query.Get(name), false))
	}
	return strings.Join(parts, "&")
}

// escape encodes all but unreserved characters, and slashes unless they are kept.
func escape(text string, slashes bool) string {
	var out strings.Builder
	for _, c := range []byte(text) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-._~", c) >= 0, slashes && c == '/':
			out.WriteByte(c)
		default:
			out.WriteByte('%')
			out.WriteString(strings.ToUpper(hex.EncodeToString([]byte{c})))
		}
	}
	return out.String()
}
