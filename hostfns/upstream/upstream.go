// Package upstream provides the tools of MCP servers, over stdio
// and HTTP. It starts a server on first use and restarts it after it ended. A
// server that is broken, slow or malicious affects its own tools only.
package upstream

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
)

// Transports of a [Server].
const (
	Stdio = "stdio"
	HTTP  = "http" // streamable HTTP
	SSE   = "sse"  // the older HTTP transport
)

// Server is the configuration of one MCP server. Env and Headers may hold secrets
// and are never shown.
type Server struct {
	Name      string
	Transport string // stdio, http or sse; empty: by whether Command or URL is set

	Command string            // stdio: the program
	Args    []string          // stdio: its arguments
	Env     map[string]string // stdio: added to a small clean environment
	Dir     string            // stdio: its working folder

	URL     string            // http, sse
	Headers map[string]string // http, sse

	// Secrets are values among the above that are removed from everything the
	// server sends: answers, errors, descriptions, stderr. Values shorter than 6
	// bytes are not removed.
	Secrets []string

	Timeout time.Duration // to start and to list its tools; 0 is 30 s
	Origin  string        // where it was configured, as file:line, for messages
}

// Options configure a [Provider]. The zero value is usable.
type Options struct {
	// Environ is the host's environment as NAME=value. Servers get a fixed set of
	// harmless variables of it, such as PATH and HOME.
	Environ []string
	// Logger receives the logs of servers and why they ended; it may be nil.
	Logger *slog.Logger
	// Version is wexec's version, which servers see.
	Version string
	// Secrets returns the secrets that the policy puts into a server's environment
	// ("env:NAME") or into headers of requests to it ("header:NAME: TEXT {}").
	// It is called at each start of a server, and may be nil.
	Secrets func(ctx context.Context, server string) ([]hostfns.Secret, error)
	// Authorize returns the login handler of an HTTP server; it may be nil.
	Authorize func(Server) auth.OAuthHandler

	ending *ending // of processes; nil: the platform's
}

func (o *Options) platform() ending {
	if o.ending == nil {
		return platformEnding()
	}
	return *o.ending
}

func (o *Options) log() *slog.Logger {
	if o.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Logger
}

func (o *Options) version() string {
	if o.Version == "" {
		return "devel"
	}
	return o.Version
}

// Provider connects to a set of servers.
type Provider struct {
	connections map[string]*connection
	names       []string
	options     Options

	mu       sync.Mutex
	watchers map[int]func(string)
	next     int
}

var _ hostfns.Provider = (*Provider)(nil)

// New makes a provider. It does not start servers.
func New(servers []Server, options Options) (*Provider, error) {
	p := &Provider{connections: map[string]*connection{}, options: options, watchers: map[int]func(string){}}
	for _, s := range servers {
		if s.Name == "" {
			return nil, fault.New(fault.UsageConfig, "server without a name")
		}
		if (s.Command == "") == (s.URL == "") {
			return nil, fault.New(fault.UsageConfig, "server %s needs either a command or a url", s.Name)
		}
		if _, twice := p.connections[s.Name]; twice {
			return nil, fault.New(fault.UsageConfig, "server %s is configured twice", s.Name)
		}
		p.connections[s.Name] = &connection{server: s, options: &p.options, changed: func() { p.tell(s.Name) }}
		p.names = append(p.names, s.Name)
	}
	slices.Sort(p.names)
	return p, nil
}

// Servers implements [hostfns.Provider].
func (p *Provider) Servers() []string { return p.names }

// Tools implements [hostfns.Provider]. It starts the server if it is not running.
func (p *Provider) Tools(ctx context.Context, server string) ([]catalogue.Tool, error) {
	c, ok := p.connections[server]
	if !ok {
		return nil, fault.New(fault.ToolUnknown, "unknown server %s", server)
	}
	l, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	return l.list(ctx, server)
}

// Refused returns why tools of a running server were left out.
func (p *Provider) Refused(server string) []string {
	c, ok := p.connections[server]
	if !ok {
		return nil
	}
	c.mu.Lock()
	l := c.live
	c.mu.Unlock()
	if l == nil {
		return nil
	}
	l.toolsMu.Lock()
	defer l.toolsMu.Unlock()
	return slices.Clone(l.refused)
}

// Call implements [hostfns.Provider]. It starts the server if it is not running.
func (p *Provider) Call(ctx context.Context, call hostfns.Call) (hostfns.Answer, error) {
	c, ok := p.connections[call.Server]
	if !ok {
		return hostfns.Answer{}, fault.New(fault.ToolUnknown, "unknown server %s", call.Server)
	}
	l, err := c.connect(ctx)
	if err != nil {
		return hostfns.Answer{}, err
	}
	return l.call(ctx, call)
}

// Watch calls changed with the name of a server that reports that its tools
// changed.
func (p *Provider) Watch(changed func(server string)) (stop func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.next
	p.next++
	p.watchers[n] = changed
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.watchers, n)
	}
}

func (p *Provider) tell(server string) {
	p.mu.Lock()
	var all []func(string)
	for _, w := range p.watchers {
		all = append(all, w)
	}
	p.mu.Unlock()
	for _, w := range all {
		w(server)
	}
}

// Close stops all servers concurrently and waits for them.
func (p *Provider) Close() error {
	var wg sync.WaitGroup
	for _, c := range p.connections {
		wg.Go(c.close)
	}
	wg.Wait()
	return nil
}
