package upstream

import (
	"context"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/policy"
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
	User    string            // stdio: the user that it runs as, on Unix; empty: that of the host

	URL     string            // http, sse
	Headers map[string]string // http, sse

	// Secrets are values among the above that are removed from everything the
	// server sends: answers, errors, descriptions, stderr. Values shorter than 6
	// bytes are not removed.
	Secrets []string

	Timeout time.Duration // to start and to list its tools; 0 is 30 s
	Origin  string        // where it was configured, as file:line, for messages

	// Fault is why the configuration of the server cannot be used. The server is
	// never started, and its tools fail with this error.
	Fault error
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
	// Redact removes personal data from what a server writes to the log; it may be
	// nil.
	Redact func(string) string
	// Offers reports whether a server may ask for a feature of the client, or whether
	// its resources or prompts may be used. It is
	// called at each start of a server; nil offers nothing. The [hostfns.Gate] of
	// the call decides each request.
	Offers func(server string, feature policy.Feature) bool
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
