// Package upstream is the provider of tools that MCP servers offer, over stdio
// and over HTTP. A server is started when it is first needed, and costs its
// own tools and nothing else when it is broken, slow or rude.
package upstream

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
)

// Options say how servers are reached. The zero value is good for tests.
type Options struct {
	// Environ is the host's environment as NAME=value. Servers get the names
	// that programs need to run, never all of it.
	Environ []string
	// Logger hears what servers log and why they ended. Nil: nobody.
	Logger *slog.Logger
	// Version is what wexec calls itself.
	Version string
	// Secrets gives what the policy puts into a server's environment
	// ("env:NAME") or the headers of requests to it ("header:NAME: TEXT {}"),
	// whenever the server is started. Nil: nothing.
	Secrets func(ctx context.Context, server string) ([]hostfns.Secret, error)
	// Offer gives what the host offers a server beside calling its tools:
	// handlers of sampling and elicitation, and Capabilities with roots. Nil, or
	// nil for a server: nothing, and what the server asks is refused.
	Offer func(Server) *mcp.ClientOptions
	// Authorize gives the handler that logs in at an HTTP server; nil: none.
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

// New makes a provider of servers. It starts none.
func New(servers []Server, options Options) (*Provider, error) {
	p := &Provider{connections: map[string]*connection{}, options: options, watchers: map[int]func(string){}}
	for _, s := range servers {
		if s.Name == "" {
			return nil, fault.New(fault.UsageConfig, "a server has no name")
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

// Servers names the configured servers.
func (p *Provider) Servers() []string { return p.names }

// Tools lists what a server offers, and starts it where it is not running.
func (p *Provider) Tools(ctx context.Context, server string) ([]catalogue.Tool, error) {
	c, ok := p.connections[server]
	if !ok {
		return nil, fault.New(fault.ToolUnknown, "there is no server %s", server)
	}
	l, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	return l.list(ctx, server)
}

// Refused says which tools of a running server are left out, and why.
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

// Call calls one tool. A server that ended is started again first.
func (p *Provider) Call(ctx context.Context, call hostfns.Call) (hostfns.Answer, error) {
	c, ok := p.connections[call.Server]
	if !ok {
		return hostfns.Answer{}, fault.New(fault.ToolUnknown, "there is no server %s", call.Server)
	}
	l, err := c.connect(ctx)
	if err != nil {
		return hostfns.Answer{}, err
	}
	return l.call(ctx, call)
}

// Watch has changed called with the name of a server that says its tools
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

// Close ends every server, side by side, and returns when all are gone.
func (p *Provider) Close() error {
	var wg sync.WaitGroup
	for _, c := range p.connections {
		wg.Go(c.close)
	}
	wg.Wait()
	return nil
}
