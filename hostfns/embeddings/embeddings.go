// Package embeddings finds tools by what a question means, with vectors of any
// endpoint that speaks OpenAI's form. It only ever helps: what it cannot say in
// time, words decide alone.
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
)

// Options say which endpoint is asked, and how.
type Options struct {
	URL   string // of the API, https://host/v1, or of its embeddings
	Model string
	// Key gives the key, asked for at each request; nil: none is sent.
	Key func(ctx context.Context) (string, error)
	// Dir keeps the vectors of tools, by the digest of their text; "" keeps them
	// in memory.
	Dir string
	// Timeout bounds what a search waits; zero is 3 seconds.
	Timeout time.Duration
	// Rest is how long an endpoint that failed is left alone; zero is a minute.
	Rest   time.Duration
	Client *http.Client // nil: one of its own
	Logger *slog.Logger // told when the endpoint fails
}

// Index knows the vectors of tools. It is safe for concurrent use.
type Index struct {
	o        Options
	endpoint string
	client   *http.Client

	mu        sync.Mutex
	vectors   *store
	questions map[string][]float32
	failed    time.Time
	filling   chan struct{} // closed when the vectors of tools are there; nil: nobody fills
}

// maxQuestions bounds the questions whose vectors are remembered.
const maxQuestions = 256

// New makes an index. The endpoint is not asked yet.
func New(o Options) (*Index, error) {
	u, err := url.Parse(o.URL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil:
		return nil, fault.New(fault.UsageConfig, "embeddings: the url has to be one of http or https, without a name and password").WithHint("url: https://HOST/v1")
	case o.Model == "":
		return nil, fault.New(fault.UsageConfig, "embeddings: no model is named")
	case u.Scheme == "http" && o.Key != nil && !local(u.Hostname()):
		return nil, fault.New(fault.UsageConfig, "embeddings: a key is sent by https alone, or to this machine")
	}
	if !strings.HasSuffix(u.Path, "/embeddings") {
		u = u.JoinPath("embeddings")
	}
	x := &Index{o: o, endpoint: u.String(), questions: map[string][]float32{}}
	if x.client = o.Client; x.client == nil {
		x.client = &http.Client{}
	}
	// A key goes to the host that was named and to no other.
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

// errResting says that the endpoint failed a moment ago.
var errResting = errors.New("the endpoint failed a moment ago")

// Near gives the cosine between a question and each tool, by the tool's ID.
// Tools whose vectors are not there in time are left out; where most are, it
// is an error.
func (x *Index) Near(ctx context.Context, tools []catalogue.Tool, question string) (map[string]float64, error) {
	question = bounded(strings.TrimSpace(question), maxQuestion)
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
	x.fill(ctx, tools)
	near := make(map[string]float64, len(tools))
	for _, t := range tools {
		if v := x.vectors.get(digest(textOf(t))); len(v) == len(asked) {
			near[t.ID()] = cosine(asked, v)
		}
	}
	if len(near)*10 < len(tools)*9 {
		return nil, errors.New("the vectors of the tools are not there yet")
	}
	return near, nil
}

// fail notes that the endpoint did not answer, and says so once.
func (x *Index) fail(err error) error {
	if errors.Is(err, context.Canceled) {
		return err // whoever asked went away
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.failed.IsZero() || time.Since(x.failed) >= x.o.Rest {
		x.o.Logger.Warn("the embeddings endpoint does not answer; words alone find tools", "url", x.endpoint, "error", err)
	}
	x.failed = time.Now()
	return err
}

// question is the vector of a question, remembered.
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

// fill sees to it that the vectors of tools are there, and waits for them as
// long as it may. What is not there by then comes for the next question.
func (x *Index) fill(ctx context.Context, tools []catalogue.Tool) {
	var missing []string
	have := map[[sha256.Size]byte]bool{}
	for _, t := range tools {
		text := textOf(t)
		if d := digest(text); !have[d] && x.vectors.get(d) == nil {
			have[d] = true
			missing = append(missing, text)
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

// Bounds of what is asked.
const (
	batch       = 64
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
			_ = x.fail(err) // said there
			return
		}
		for i, v := range list {
			x.vectors.put(digest(missing[i]), v)
		}
		if err := x.vectors.save(); err != nil {
			x.o.Logger.Warn("the vectors of tools cannot be kept", "error", err)
		}
		missing = missing[n:]
	}
}

// textOf is what of a tool is compared: its words, not its types.
func textOf(t catalogue.Tool) string {
	var b strings.Builder
	b.WriteString(strings.Join(catalogue.Words(t.Server), " ") + ": " + strings.Join(catalogue.Words(t.Name), " "))
	if t.Title != "" {
		b.WriteString(". " + t.Title)
	}
	if t.Description != "" {
		b.WriteString(". " + t.Description)
	}
	return bounded(b.String(), maxText)
}

func bounded(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "")
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
