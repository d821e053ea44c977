package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
)

// Restarts of a server that failed wait, each twice as long as the one before.
const (
	firstBackoff = 500 * time.Millisecond
	lastBackoff  = 30 * time.Second
)

// connection is one server: started when it is first needed, started again
// when it ended.
type connection struct {
	server  Server
	options *Options
	changed func()

	mu      sync.Mutex
	live    *live         // nil: not running
	opening chan struct{} // closed when the start under way has ended
	failed  error         // why the last start failed
	failedN int
	retryAt time.Time
	closed  bool
}

// live is a server that answers.
type live struct {
	session  *mcp.ClientSession
	process  *process // nil for HTTP
	answers  answers
	rejected atomic.Bool      // an HTTP server wants other credentials
	secrets  scrubber         // what the server was given
	hears    mcp.LoggingLevel // what of the server's log is listened to; empty: nothing
	calls    atomic.Int64
	watch    sync.Map // call number to hostfns progress

	toolsMu sync.Mutex
	tools   []catalogue.Tool
	refused []string
	fresh   bool // tools are what the server has now
}

// connect gives the running server, starting it where need be. All who wait
// for one start share it.
func (c *connection) connect(ctx context.Context) (*live, error) {
	for {
		c.mu.Lock()
		switch {
		case c.closed:
			c.mu.Unlock()
			return nil, fault.New(fault.UpstreamUnavailable, "server %s is closed", c.server.Name)
		case c.live != nil:
			l := c.live
			c.mu.Unlock()
			return l, nil
		case c.opening != nil:
			wait := c.opening
			c.mu.Unlock()
			select {
			case <-wait:
				continue
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		case c.failed != nil && time.Now().Before(c.retryAt):
			err := c.failed
			c.mu.Unlock()
			return nil, err
		}
		c.opening = make(chan struct{})
		c.mu.Unlock()
		go c.open(context.WithoutCancel(ctx))
	}
}

// open starts the server and tells those who wait.
func (c *connection) open(ctx context.Context) {
	limit := c.server.Timeout
	if limit <= 0 {
		limit = 30 * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	l, err := c.dial(ctx, limit)
	c.mu.Lock()
	if err == nil && c.closed {
		err = fault.New(fault.UpstreamUnavailable, "server %s is closed", c.server.Name)
		defer func() { _ = l.session.Close() }()
	}
	if err != nil {
		c.failed = err
		wait := min(firstBackoff<<min(c.failedN, 10), lastBackoff)
		c.failedN++
		c.retryAt = time.Now().Add(wait)
	} else {
		c.live, c.failed = l, nil
		go c.supervise(l)
	}
	close(c.opening)
	c.opening = nil
	c.mu.Unlock()
}

// supervise notices when a server ends.
func (c *connection) supervise(l *live) {
	err := l.session.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.live != l {
		return
	}
	c.live = nil
	if !c.closed {
		c.options.log().Warn("server ended", "server", c.server.Name, "error", err, "stderr", cleanText(lastLines(l.stderr(), 20), 4000))
	}
}

// dial makes the transport and says hello.
func (c *connection) dial(ctx context.Context, limit time.Duration) (*live, error) {
	l := &live{}
	offered := &mcp.ClientOptions{}
	if c.options.Offer != nil {
		if o := c.options.Offer(c.server); o != nil {
			*offered = *o
		}
	}
	if offered.Capabilities == nil {
		offered.Capabilities = &mcp.ClientCapabilities{}
	}
	offered.ToolListChangedHandler = func(context.Context, *mcp.ToolListChangedRequest) {
		l.toolsMu.Lock()
		l.fresh = false
		l.toolsMu.Unlock()
		c.changed()
	}
	offered.ProgressNotificationHandler = func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { l.progress(r.Params) }
	offered.LoggingMessageHandler = func(_ context.Context, r *mcp.LoggingMessageRequest) {
		c.options.log().Log(context.Background(), levelOf(r.Params.Level), "server says", "server", c.server.Name, "level", string(r.Params.Level),
			"data", cleanText(l.secrets.text(fmt.Sprint(r.Params.Data)), 2000))
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "wexec", Version: c.options.version()}, offered)
	transport, err := c.transport(ctx, l)
	if err != nil {
		return nil, err
	}
	l.session, err = client.Connect(ctx, transport, nil)
	if err == nil {
		c.mu.Lock()
		c.failedN = 0
		c.mu.Unlock()
		c.listen(ctx, l)
		return l, nil
	}
	if l.process != nil {
		l.process.stop()
	}
	var asked *fault.Error
	if errors.As(err, &asked) {
		return nil, asked // for a login
	}
	if l.rejected.Load() {
		return nil, fault.New(fault.UpstreamUnavailable, "server %s does not take the credentials it is configured with", c.server.Name).
			WithHint("check its headers in %s", orHere(c.server.Origin))
	}
	why := fault.New(fault.UpstreamUnavailable, "server %s did not start: %s", c.server.Name, l.secrets.text(err.Error()))
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		why = fault.New(fault.UpstreamUnavailable, "server %s did not answer within %v", c.server.Name, limit)
	case l.process != nil && l.process.err != nil:
		why = fault.New(fault.UpstreamUnavailable, "server %s ended while it started: %v", c.server.Name, l.process.err)
	}
	if said := strings.TrimSpace(l.stderr()); said != "" {
		return nil, why.WithHint("it said: %s", cleanText(lastLines(said, 5), 1000))
	}
	return nil, why.WithHint("check how it is configured in %s", orHere(c.server.Origin))
}

// listen asks the server for its log, as far as anybody hears it.
func (c *connection) listen(ctx context.Context, l *live) {
	switch log := c.options.log(); {
	case log.Enabled(ctx, slog.LevelDebug):
		l.hears = "debug"
	case log.Enabled(ctx, slog.LevelInfo):
		l.hears = "warning"
	default:
		return
	}
	// Newer servers are told with each call. A server that takes neither logs
	// as it likes.
	if r := l.session.InitializeResult(); r != nil && r.Capabilities != nil && r.Capabilities.Logging != nil {
		_ = l.session.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: l.hears})
	}
}

// levelOf is the level at which a server's message is passed on: what troubles
// a server is worth knowing, and no trouble of ours.
func levelOf(said mcp.LoggingLevel) slog.Level {
	switch said {
	case "debug", "info", "notice":
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

func (c *connection) transport(ctx context.Context, l *live) (mcp.Transport, error) {
	l.secrets.add(c.server.Secrets...)
	server, secrets, err := c.withSecrets(ctx)
	if err != nil {
		return nil, err
	}
	l.secrets.add(secrets...)
	if server.URL != "" {
		way := &headers{set: server.Headers, host: hostOf(server.URL), refused: &l.rejected, secrets: &l.secrets,
			next: &capture{answers: &l.answers, next: http.DefaultTransport}}
		var login auth.OAuthHandler
		if c.options.Authorize != nil {
			login = c.options.Authorize(c.server)
		}
		return overHTTP(server, way, login), nil
	}
	p, err := start(server, c.options.Environ, c.options.platform())
	if err != nil {
		return nil, err
	}
	l.process = p
	return &lineTransport{p: p, answers: &l.answers}, nil
}

// lasting is a transport whose connection outlives the context that it was
// made with: the library's older HTTP transport reads its stream under that.
type lasting struct{ mcp.Transport }

// Connect implements mcp.Transport.
func (t lasting) Connect(ctx context.Context) (mcp.Connection, error) {
	living, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, cancel)
	conn, err := t.Transport.Connect(living)
	if err != nil {
		cancel()
		return nil, err
	}
	if !stop() {
		_ = conn.Close()
		return nil, context.Cause(ctx)
	}
	return conn, nil
}

// withSecrets is the server with what the policy puts in for it, and the values
// of that.
func (c *connection) withSecrets(ctx context.Context) (Server, []string, error) {
	s := c.server
	if c.options.Secrets == nil {
		return s, nil, nil
	}
	list, err := c.options.Secrets(ctx, s.Name)
	if err != nil || len(list) == 0 {
		return s, nil, err
	}
	var values []string
	s.Env, s.Headers = maps.Clone(s.Env), maps.Clone(s.Headers)
	if s.Env == nil {
		s.Env = map[string]string{}
	}
	if s.Headers == nil {
		s.Headers = map[string]string{}
	}
	for _, secret := range list {
		values = append(values, secret.Value)
		if name, ok := strings.CutPrefix(secret.As, "env:"); ok {
			s.Env[name] = secret.Value
		} else if header, ok := strings.CutPrefix(secret.As, "header:"); ok {
			name, text, ok := strings.Cut(header, ":")
			if !ok {
				text = "{}"
			}
			s.Headers[strings.TrimSpace(name)] = strings.ReplaceAll(strings.TrimSpace(text), "{}", secret.Value)
		}
	}
	return s, values, nil
}

// headers adds a server's configured headers to each request to it, and to no
// other host that it may redirect to.
type headers struct {
	set  map[string]string
	host string
	next http.RoundTripper
	// refused is set where the server answered that the credentials do not do.
	refused *atomic.Bool
	secrets *scrubber // gets the tokens that are sent
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// RoundTrip implements http.RoundTripper.
func (h *headers) RoundTrip(req *http.Request) (*http.Response, error) {
	if len(h.set) > 0 && req.URL.Host == h.host {
		req = req.Clone(req.Context())
		for k, v := range h.set {
			req.Header.Set(k, v)
		}
	}
	if h.secrets != nil {
		if _, token, ok := strings.Cut(req.Header.Get("Authorization"), " "); ok {
			h.secrets.add(token)
		}
	}
	resp, err := h.next.RoundTrip(req)
	if err == nil && resp.StatusCode == http.StatusUnauthorized && h.refused != nil {
		h.refused.Store(true)
	}
	return resp, err
}

// list asks a server for its tools, page by page.
func (l *live) list(ctx context.Context, server string) ([]catalogue.Tool, error) {
	l.toolsMu.Lock()
	defer l.toolsMu.Unlock()
	if l.fresh {
		return l.tools, nil
	}
	version := ""
	if r := l.session.InitializeResult(); r != nil && r.ServerInfo != nil {
		version = cleanText(r.ServerInfo.Version, 60)
	}
	var tools []catalogue.Tool
	var refused []string
	size := 0
	for t, err := range l.session.Tools(ctx, nil) {
		if err != nil {
			var asked *fault.Error
			if errors.As(err, &asked) {
				return nil, asked // for a login
			}
			return nil, fault.New(fault.UpstreamUnavailable, "server %s did not list its tools: %w", server, err)
		}
		if len(tools) >= maxTools || size > maxSchemas || len(refused) > maxTools {
			refused = append(refused, fmt.Sprintf("every tool after the first %d", len(tools)))
			break
		}
		clean, err := cleanTool(server, version, t)
		if err != nil {
			refused = append(refused, err.Error())
			continue
		}
		size += len(clean.InputSchema) + len(clean.OutputSchema)
		l.scrub(&clean)
		tools = append(tools, clean)
	}
	l.tools, l.refused, l.fresh = tools, refused, true
	return tools, nil
}

// scrub takes secrets out of what a server says of a tool.
func (l *live) scrub(t *catalogue.Tool) {
	t.Title, t.Description = l.secrets.text(t.Title), l.secrets.text(t.Description)
	t.InputSchema, t.OutputSchema = l.secrets.bytes(t.InputSchema), l.secrets.bytes(t.OutputSchema)
}

// call calls one tool. The number of the call is its progress token, by which
// raw answers and progress are found.
func (l *live) call(ctx context.Context, call hostfns.Call) (hostfns.Answer, error) {
	n := l.calls.Add(1)
	if call.Progress != nil {
		l.watch.Store(n, call.Progress)
		defer l.watch.Delete(n)
	}
	params := &mcp.CallToolParams{Name: call.Tool, Arguments: call.Args}
	params.Meta = mcp.Meta{}
	params.SetProgressToken(n)
	if l.hears != "" {
		params.Meta[mcp.MetaKeyLogLevel] = string(l.hears)
	}
	res, err := l.session.CallTool(ctx, params)
	raw, kept := l.answers.collect(n)
	if err != nil {
		l.answers.forget(n)
		if ctx.Err() != nil {
			return hostfns.Answer{}, context.Cause(ctx)
		}
		var asked *fault.Error
		if errors.As(err, &asked) {
			return hostfns.Answer{}, asked // for a login
		}
		var refused *jsonrpc.Error
		if errors.As(err, &refused) {
			return hostfns.Answer{}, fault.New(fault.ToolFailed, "%s", l.secrets.text(refused.Message))
		}
		return hostfns.Answer{}, fault.New(fault.UpstreamUnavailable, "server %s ended during the call", call.Server).
			WithHint("%s", saidLast(l.stderr()))
	}
	if !kept {
		if raw, err = json.Marshal(res); err != nil {
			return hostfns.Answer{}, fault.New(fault.ToolFailed, "the answer cannot be read: %w", err)
		}
	}
	return unwrap(call.Server, call.Tool, l.secrets.bytes(raw))
}

// progress passes a notification on to the call it belongs to.
func (l *live) progress(p *mcp.ProgressNotificationParams) {
	if p == nil {
		return
	}
	var n int64
	switch token := p.ProgressToken.(type) {
	case float64:
		n = int64(token)
	case int64:
		n = token
	case int:
		n = int64(token)
	default:
		return
	}
	if f, ok := l.watch.Load(n); ok {
		f.(func(float64, float64, string))(p.Progress, p.Total, cleanText(l.secrets.text(p.Message), 500))
	}
}

func (l *live) stderr() string {
	if l.process == nil {
		return ""
	}
	return l.secrets.text(l.process.stderr.String())
}

func saidLast(stderr string) string {
	said := strings.TrimSpace(stderr)
	if said == "" {
		return "it is started again with the next call"
	}
	return "it said: " + cleanText(lastLines(said, 5), 1000)
}

func lastLines(s string, n int) string {
	lines := strings.Split(s, "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// close ends the server and waits until it is gone.
func (c *connection) close() {
	c.mu.Lock()
	c.closed = true
	l, opening := c.live, c.opening
	c.live = nil
	c.mu.Unlock()
	if opening != nil {
		<-opening
	}
	if l != nil {
		_ = l.session.Close()
		if l.process != nil {
			l.process.stop()
		}
	}
}
