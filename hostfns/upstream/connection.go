package upstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/hostfns/internal/toolmeta"
	"github.com/wexec/wexec/internal/telemetry"
)

// Delays before a failed server is started again. Each is twice the one before.
const (
	firstBackoff = 500 * time.Millisecond
	lastBackoff  = 30 * time.Second
)

// connection manages one server: it starts it on first use, and again
// after it ended.
type connection struct {
	server  Server
	options *Options
	changed func()

	mu      sync.Mutex
	live    *live         // nil: not running
	opening chan struct{} // closed when the current start is over
	failed  error         // why the last start failed
	failedN int
	retryAt time.Time
	closed  bool
}

// connect returns the running server and starts it if necessary. Concurrent callers
// share one start.
func (c *connection) connect(ctx context.Context) (*live, error) {
	if err := c.server.Fault; err != nil {
		return nil, fault.New(fault.UpstreamUnavailable, "start server %s: %w", c.server.Name, err).WithHint("%s", fault.HintOf(err))
	}
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
		// Without the values of the context: in that of a client's request, the library
		// keeps the protocol version of the client, and would use it for this server.
		go c.open(telemetry.WithParent(context.Background(), telemetry.Parent(ctx)))
	}
}

// open starts the server and wakes the waiting callers.
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

// supervise waits until the server ends.
func (c *connection) supervise(l *live) {
	err := l.session.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.live != l {
		return
	}
	c.live = nil
	if !c.closed {
		c.options.log().Warn("server ended", "server", c.server.Name, "error", c.loggable(l, fmt.Sprint(err)), "stderr", c.loggable(l, lastLines(l.stderr(), 20)))
	}
}

// loggable returns a text of the server for the log of the host: without secrets
// and personal data.
func (c *connection) loggable(l *live, text string) string {
	text = l.said(text, 8*maxText)
	if c.options.Redact != nil {
		text = c.options.Redact(text)
	}
	return toolmeta.Text(text, maxText/2)
}

// dial connects to the server and initializes the session.
func (c *connection) dial(ctx context.Context, limit time.Duration) (*live, error) {
	l := &live{}
	options := &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{}, // no roots
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			l.toolsMu.Lock()
			l.fresh = false
			l.toolsMu.Unlock()
			c.changed()
		},
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { l.progress(r.Params) },
		LoggingMessageHandler: func(_ context.Context, r *mcp.LoggingMessageRequest) {
			c.options.log().Log(context.Background(), levelOf(r.Params.Level), "server log", "server", c.server.Name, "level", string(r.Params.Level),
				"data", c.loggable(l, fmt.Sprint(r.Params.Data)))
		},
	}
	l.offer(c.server.Name, c.options.Offers, options)
	client := mcp.NewClient(&mcp.Implementation{Name: "wexec", Version: c.options.version()}, options)
	client.AddSendingMiddleware(forgetCached)
	client.AddReceivingMiddleware(l.refuseOthers(c.server.Name, options))
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
		return nil, asked // a login is required
	}
	if l.rejected.Load() {
		return nil, fault.New(fault.UpstreamUnavailable, "server %s rejected its configured credentials", c.server.Name).
			WithHint("check the headers of the server in %s", orHere(c.server.Origin))
	}
	why := fault.New(fault.UpstreamUnavailable, "start server %s: %s", c.server.Name, l.said(err.Error(), maxText))
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		why = fault.New(fault.UpstreamUnavailable, "server %s did not answer within %v", c.server.Name, limit)
	case l.process != nil && l.process.err != nil:
		why = fault.New(fault.UpstreamUnavailable, "start server %s: process ended: %v", c.server.Name, l.process.err)
	}
	if said := strings.TrimSpace(l.stderr()); said != "" {
		return nil, why.WithHint("last output: %s", l.said(lastLines(said, 5), maxText))
	}
	return nil, why.WithHint("check the configuration of the server in %s", orHere(c.server.Origin))
}

// listen requests the log of the server at the level that the logger wants.
func (c *connection) listen(ctx context.Context, l *live) {
	switch log := c.options.log(); {
	case log.Enabled(ctx, slog.LevelDebug):
		l.logLevel = "debug"
	case log.Enabled(ctx, slog.LevelInfo):
		l.logLevel = "warning"
	default:
		return
	}
	// Newer servers get the level with each call. A server that supports neither logs
	// at its own level.
	if r := l.session.InitializeResult(); r != nil && r.Capabilities != nil && r.Capabilities.Logging != nil {
		_ = l.session.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: l.logLevel})
	}
}

// levelOf returns the level at which a server's message is logged: problems
// of a server are information, not warnings, to the host.
func levelOf(said mcp.LoggingLevel) slog.Level {
	switch said {
	case "debug", "info", "notice":
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

func (c *connection) transport(ctx context.Context, l *live) (mcp.Transport, error) {
	for _, value := range c.server.Secrets {
		l.secrets.Add("", value)
	}
	server, secrets, err := c.withSecrets(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range secrets {
		l.secrets.Add(s.Name, s.Value)
	}
	if server.URL != "" {
		way := &headers{set: server.Headers, host: hostOf(server.URL), refused: &l.rejected, secrets: &l.secrets,
			next: &capture{answers: &l.answers, next: http.DefaultTransport}}
		var login auth.OAuthHandler
		if c.options.Authorize != nil {
			login = c.options.Authorize(c.server)
		}
		return httpTransport(server, way, login), nil
	}
	p, err := start(server, c.options.Environ, c.options.platform(), &l.secrets)
	if err != nil {
		return nil, err
	}
	l.process = p
	return &lineTransport{p: p, answers: &l.answers}, nil
}

// withSecrets returns the server with the secrets that the policy adds, and these.
func (c *connection) withSecrets(ctx context.Context) (Server, []hostfns.Secret, error) {
	s := c.server
	if c.options.Secrets == nil {
		return s, nil, nil
	}
	list, err := c.options.Secrets(ctx, s.Name)
	if err != nil || len(list) == 0 {
		return s, nil, err
	}
	s.Env, s.Headers = maps.Clone(s.Env), maps.Clone(s.Headers)
	if s.Env == nil {
		s.Env = map[string]string{}
	}
	if s.Headers == nil {
		s.Headers = map[string]string{}
	}
	for _, secret := range list {
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
	return s, list, nil
}

// close stops the server and waits for it.
func (c *connection) close() {
	c.mu.Lock()
	c.closed = true
	l, opening := c.live, c.opening
	c.live = nil
	c.mu.Unlock()
	if opening != nil {
		<-opening
	}
	if l == nil {
		return
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = l.session.Close()
	}()
	select {
	case <-closed:
	case <-time.After(closeGrace): // the library waits for a server that sends all the time
	}
	if l.process != nil {
		l.process.stop()
		<-closed
	}
}
