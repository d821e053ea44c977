// Package hostfns is the gate: nothing that a guest does reaches the outside
// but through [Run.Call]. Each call is checked against the tool's schema,
// decided by the policy, recorded, asked about where the policy says so, made,
// and recorded again; no constructor leaves a step out.
//
// A [Table] holds what a tenant may reach, a [Run] what lives as long as one
// program, [Calls] the part that guest code talks to.
package hostfns

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/wexec/wexec/catalogue"
)

// Provider is the one seam to the outside: MCP servers, Go functions, the
// network and files are providers. Methods are called from many goroutines at
// once. A provider may be broken, slow or hostile; the caller bounds it.
type Provider interface {
	// Servers names the servers whose tools the provider has. It is cheap and
	// starts nothing.
	Servers() []string
	// Tools lists the tools of one server. It may start the server.
	Tools(ctx context.Context, server string) ([]catalogue.Tool, error)
	// Call calls one tool. An error that is a *fault.Error keeps its code, any
	// other is tool.failed; its text reaches the program.
	Call(ctx context.Context, call Call) (Answer, error)
	// Watch has changed called whenever the tools of a server changed, until
	// stop is called.
	Watch(changed func(server string)) (stop func())
	// Close ends everything the provider started.
	Close() error
}

// Native is a provider that answers calls of the guest's own prelude, such as
// "wexec:fetch". No rule for tools decides them: the provider asks the gate for
// each effect.
type Native interface {
	OwnCalls() []string
}

// Call is one call of a tool as a provider sees it: checked, decided and
// recorded.
type Call struct {
	Server, Tool string
	// Args is a JSON object that fits the tool's schema.
	Args json.RawMessage
	// Progress forwards how far the tool is. Never nil; total 0 is unknown.
	Progress func(done, total float64, text string)
	// Gate decides and records what the provider only learns while it works.
	Gate Gate
}

// Gate is what a provider asks before each further effect of a call: a
// redirect, a connection, a file. It belongs to one run.
type Gate interface {
	// Network decides one request and records the decision. The error is the
	// one to give back.
	Network(ctx context.Context, req NetworkRequest) error
	// File decides one opening of a file and records the decision.
	File(ctx context.Context, req FileRequest) error
	// Count adds bytes to what has passed through the host. An error ends the
	// run.
	Count(bytes int64) error
	// HostSecrets are the secrets for requests to a host.
	HostSecrets(ctx context.Context, host string) ([]Secret, error)
	// Lifetime ends with the run. What outlives the call, such as the body of
	// a response, hangs on it.
	Lifetime() context.Context
}

// NetworkRequest is one request to one host, before and after its name is
// resolved.
type NetworkRequest struct {
	Host    string // name or address, lower case, without port
	Method  string // GET, …
	Port    int
	Address string // the address about to be connected to; empty before resolution
	From    string // host that a redirect came from; empty for the first request
}

// FileRequest is one opening, listing or removal.
type FileRequest struct {
	Path  string // on the host, cleaned, absolute, links resolved
	Guest string // as the program named it
	Write bool
	// Look asks about the existence of a file alone, which is no effect and
	// leaves no record.
	Look bool
	// Import says that a file of the program's own folder is imported: only
	// what the policy denies stands in the way, and it leaves no record.
	Import bool
}

// Secret is a secret for a host, and where it goes.
type Secret struct {
	Name  string
	As    string // "header:Authorization: Bearer {}", "query:key"
	Value string
}

// Kind says what the bytes of an answer are. The numbers are the guest ABI's.
type Kind uint8

// The kinds of an [Answer].
const (
	JSON    Kind = iota // one JSON value
	Error               // a [Failure] as JSON; only the call path makes it
	Text                // UTF-8
	Content             // a list of content items as JSON; {"$bytes": "base64"} stands for bytes
	Bytes               // bytes
)

// Answer is what a tool answered.
type Answer struct {
	Kind Kind
	Data []byte
	// Body is a stream that the program reads in slices. The call path keeps
	// it for the run, puts its number into Data, which is a JSON object then,
	// as "body", and closes it with the run.
	Body io.ReadCloser
	// Checked says that Data is known to be valid for its kind, since it was
	// written by an encoder or read by a decoder. It saves a walk.
	Checked bool
}

// Progress is a step that a program or a tool tells of.
type Progress struct {
	Tool        string // empty: the program itself
	Done, Total float64
	Text        string
}

// Asker puts a question to a person. Ask returns when it is answered; an error
// is a denial that says why.
type Asker interface {
	Ask(ctx context.Context, q Question) (Reply, error)
}

// Question is one call that a person is asked about. Message and Args show
// values, which only a person at the terminal or the socket may see; Covered
// is for everybody else.
type Question struct {
	ID      string          `json:"id"`
	Run     string          `json:"run"`
	Tool    string          `json:"tool"`
	Message string          `json:"message"`
	Rule    string          `json:"rule,omitempty"`
	Actor   string          `json:"actor,omitempty"`
	Intent  string          `json:"intent,omitempty"`
	Args    json.RawMessage `json:"args,omitempty"`
	Since   time.Time       `json:"since"`
	Expires time.Time       `json:"expires"`
	Via     []string        `json:"via,omitempty"` // who may be asked: terminal, mcp, socket
	// Remember says how long an "always" holds: never, run or session.
	Remember string `json:"remember,omitempty"`

	coveredMessage string
	coveredArgs    json.RawMessage
}

// Covered is the question with tokens in place of values.
func (q Question) Covered() Question {
	q.Message, q.Args = q.coveredMessage, q.coveredArgs
	return q
}

// Reply is a person's answer.
type Reply struct {
	Approved bool
	Always   bool   // for as long as the policy remembers
	By       string // which way it came: terminal, mcp or socket
	Who      string // who said so, where that is known
	Reason   string // words for the program, where it is denied
}
