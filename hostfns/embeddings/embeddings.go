// Package embeddings ranks tools by the meaning of a question, with vectors of an
// endpoint that has OpenAI's API. If the endpoint does not answer
// in time, search uses words only.
package embeddings

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns/internal/scrub"
	"github.com/wexec/wexec/internal/text"
)

// Options configure an [Index].
type Options struct {
	URL   string // of the API, https://host/v1, or of its embeddings
	Model string
	// Key returns the API key, for each request; nil: none is sent.
	Key func(ctx context.Context) (string, error)
	// Dir stores the vectors of tools, by the digest of their text; "" keeps them
	// in memory.
	Dir string
	// Timeout bounds the wait of a search; zero is 3 seconds.
	Timeout time.Duration
	// Rest is how long a failed endpoint is not asked; zero is a minute.
	Rest   time.Duration
	Client *http.Client // nil: a new one
	Logger *slog.Logger // logs failures of the endpoint; may be nil
}

// Index holds the vectors of tools. It is safe for concurrent use.
type Index struct {
	o        Options
	endpoint string
	client   *http.Client
	secrets  scrub.Scrubber // the keys that were sent

	mu        sync.Mutex
	vectors   *store
	questions map[string][]float32
	failed    time.Time
	filling   chan struct{} // closed when the current fill ends; nil: none runs

	lastTools   []catalogue.Tool
	lastDigests [][sha256.Size]byte // of the texts of lastTools
}

// maxQuestions bounds the cached vectors of questions.
const maxQuestions = 256

// New makes an index. It does not connect to the endpoint.
func New(o Options) (*Index, error) {
	u, err := url.Parse(o.URL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil:
		return nil, fault.New(fault.UsageConfig, "embeddings: url must be an http or https URL without a user name").WithHint("write url: https://HOST/v1")
	case o.Model == "":
		return nil, fault.New(fault.UsageConfig, "embeddings: model is missing")
	case u.Scheme == "http" && o.Key != nil && !local(u.Hostname()):
		return nil, fault.New(fault.UsageConfig, "embeddings: a key requires https, or a URL on this machine")
	}
	if !strings.HasSuffix(u.Path, "/embeddings") {
		u = u.JoinPath("embeddings")
	}
	x := &Index{o: o, endpoint: u.String(), questions: map[string][]float32{}}
	if x.client = o.Client; x.client == nil {
		x.client = &http.Client{}
	}
	// Redirects are not followed, so that no other host gets the key.
	client := *x.client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	x.client = &client
	if x.o.Timeout <= 0 {
		x.o.Timeout = 3 * time.Second
	}
	if x.o.Rest <= 0 {
		x.o.Rest = time.Minute
	}
	if x.o.Logger == nil {
		x.o.Logger = slog.New(slog.DiscardHandler)
	}
	x.vectors = newStore(o.Dir, x.endpoint, o.Model)
	return x, nil
}

func local(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// errResting is returned after a recent failure of the endpoint.
var errResting = errors.New("embeddings endpoint failed recently")

// Near implements [hostfns.Ranker] with the cosine between a question and each tool.
// Tools whose vectors do not arrive in time are left out; if these are more than a
// tenth, Near fails.
func (x *Index) Near(ctx context.Context, tools []catalogue.Tool, question string) (rate func() map[string]float64, err error) {
	question = text.Prefix(strings.TrimSpace(question), maxQuestion)
	if question == "" || len(tools) == 0 {
		return nil, nil
	}
	x.mu.Lock()
	resting := !x.failed.IsZero() && time.Since(x.failed) < x.o.Rest
	x.mu.Unlock()
	if resting {
		return nil, errResting
	}
	ctx, cancel := context.WithTimeout(ctx, x.o.Timeout)
	defer cancel()
	asked, err := x.question(ctx, question)
	if err != nil {
		return nil, x.fail(err)
	}
	digests, err := x.digests(ctx, tools)
	if err != nil {
		return nil, err
	}
	x.fill(ctx, tools, digests)
	vectors := make([][]float32, len(tools))
	n := 0
	for i, d := range digests {
		if v := x.vectors.get(d); len(v) == len(asked) {
			vectors[i] = v
			n++
		}
	}
	if n*10 < len(tools)*9 {
		return nil, errors.New("vectors of tools are not available yet")
	}
	return func() map[string]float64 {
		near := make(map[string]float64, n)
		for i, v := range vectors {
			if v != nil {
				near[tools[i].ID()] = cosine(asked, v)
			}
		}
		return near
	}, nil
}

// digests returns the digests of the texts of tools. It keeps those of the last
// list: most searches have the same.
func (x *Index) digests(ctx context.Context, tools []catalogue.Tool) ([][sha256.Size]byte, error) {
	x.mu.Lock()
	last, of := x.lastDigests, x.lastTools
	x.mu.Unlock()
	if len(of) == len(tools) && &of[0] == &tools[0] {
		return last, nil
	}
	out := make([][sha256.Size]byte, len(tools))
	for i, t := range tools {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		out[i] = digest(textOf(t))
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.lastDigests, x.lastTools = out, tools
	return out, nil
}

// fail records a failure of the endpoint, and logs it once.
func (x *Index) fail(err error) error {
	if errors.Is(err, context.Canceled) {
		return err // the caller gave up
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.failed.IsZero() || time.Since(x.failed) >= x.o.Rest {
		x.o.Logger.Warn("embeddings endpoint failed; search uses words only", "url", x.endpoint, "error", x.secrets.Text(err.Error()))
	}
	x.failed = time.Now()
	return err
}

// question returns the vector of a question, cached.
func (x *Index) question(ctx context.Context, text string) ([]float32, error) {
	x.mu.Lock()
	v := x.questions[text]
	x.mu.Unlock()
	if v != nil {
		return v, nil
	}
	list, err := x.ask(ctx, []string{text})
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.questions) >= maxQuestions {
		clear(x.questions)
	}
	x.questions[text] = list[0]
	x.failed = time.Time{}
	return list[0], nil
}

// fill requests missing vectors of tools, and waits for them until
// ctx ends. Later vectors serve the next question.
func (x *Index) fill(ctx context.Context, tools []catalogue.Tool, digests [][sha256.Size]byte) {
	var missing []string
	have := map[[sha256.Size]byte]bool{}
	for i, d := range digests {
		if x.vectors.get(d) == nil && !have[d] {
			have[d] = true
			missing = append(missing, textOf(tools[i]))
		}
	}
	if len(missing) == 0 {
		return
	}
	x.mu.Lock()
	done := x.filling
	if done == nil {
		done = make(chan struct{})
		x.filling = done
		go x.fetch(context.WithoutCancel(ctx), missing, done)
	}
	x.mu.Unlock()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// Bounds of requests.
const (
	batch       = 32
	maxText     = 1500
	maxQuestion = 1000
	fillSpan    = 5 * time.Minute
)

func (x *Index) fetch(ctx context.Context, missing []string, done chan struct{}) {
	ctx, cancel := context.WithTimeout(ctx, fillSpan)
	defer cancel()
	defer func() {
		x.mu.Lock()
		x.filling = nil
		x.mu.Unlock()
		close(done)
	}()
	for len(missing) > 0 {
		n := min(batch, len(missing))
		list, err := x.ask(ctx, missing[:n])
		if err != nil {
			_ = x.fail(err) // logs it
			return
		}
		for i, v := range list {
			x.vectors.put(digest(missing[i]), v)
		}
		if err := x.vectors.save(); err != nil {
			x.o.Logger.Warn("store vectors of tools", "error", err)
		}
		missing = missing[n:]
	}
}

// textOf returns the text of a tool that is compared: names and descriptions, no schemas.
func textOf(t catalogue.Tool) string {
	var b strings.Builder
	b.WriteString(strings.Join(catalogue.Words(t.Server), " ") + ": " + strings.Join(catalogue.Words(t.Name), " "))
	if t.Title != "" {
		b.WriteString(". " + t.Title)
	}
	if t.Description != "" {
		b.WriteString(". " + t.Description)
	}
	return text.Prefix(b.String(), maxText)
}

func digest(text string) [sha256.Size]byte { return sha256.Sum256([]byte(text)) }

func cosine(a, b []float32) float64 {
	var dot, aa, bb float64
	for i := range a {
		dot += float64(a[i]) * float64(b[i])
		aa += float64(a[i]) * float64(a[i])
		bb += float64(b[i]) * float64(b[i])
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return dot / math.Sqrt(aa*bb)
}
