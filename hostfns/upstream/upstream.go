// Package upstream provides the tools of MCP servers, over stdio
// and HTTP. It starts a server on first use and restarts it after it ended. A
// server that is broken, slow or malicious affects its own tools only.
package upstream

import (
	"context"
	"slices"
	"sync"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
)

// Provider connects to a set of servers.
type Provider struct {
	connections map[string]*connection
	names       []string
	options     Options

	mu       sync.Mutex
	watchers map[int]func(string)
	next     int
}

var (
	_ hostfns.Provider = (*Provider)(nil)
	_ hostfns.Remote   = (*Provider)(nil)
)

// Remote implements hostfns.Remote: a server with a URL is reached over the network.
func (p *Provider) Remote(server string) bool {
	c := p.connections[server]
	return c != nil && c.server.URL != ""
}

// New makes a provider. It does not start servers.
func New(servers []Server, options Options) (*Provider, error) {
	p := &Provider{connections: map[string]*connection{}, options: options, watchers: map[int]func(string){}}
	for _, s := range servers {
		if s.Name == "" {
			return nil, fault.New(fault.UsageConfig, "server without a name")
		}
		if s.Fault == nil && (s.Command == "") == (s.URL == "") {
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
