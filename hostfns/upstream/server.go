package upstream

import (
	"time"
)

// Transports of a [Server].
const (
	Stdio = "stdio"
	HTTP  = "http" // streamable HTTP
	SSE   = "sse"  // the older HTTP transport
)

// Server says how to reach one MCP server. It holds secrets: Env and Headers
// are never shown.
type Server struct {
	Name      string
	Transport string // stdio, http or sse; empty: by whether Command or URL is set

	Command string            // stdio: the program
	Args    []string          // stdio: its arguments
	Env     map[string]string // stdio: added to a small clean environment
	Dir     string            // stdio: its working folder

	URL     string            // http, sse
	Headers map[string]string // http, sse

	// Secrets are values among the above that are taken out of whatever the
	// server says: answers, errors, descriptions, stderr. Those of fewer than 6
	// bytes are not.
	Secrets []string

	Timeout time.Duration // to start and to list its tools; 0 is 30 s
	Origin  string        // where it was configured, as file:line, for messages
}
