// Package hostfns is the gate between programs and the outside: a program
// reaches tools, the network and files only through [Run.Call]. Each call is
// checked against the tool's schema, decided by the policy, recorded, approved by
// a person if the policy asks for it, sent, and recorded again. No constructor or
// option skips a step.
//
// A [Table] is what one tenant may reach. [Table.Open] returns a [Run] for
// each program, and [NewCalls] the part of it that guest code talks to.
// [Recorded] returns a table whose runs are answered from the record of an
// earlier run.
//
// To give programs new tools, implement [Provider], or use [Func] for a Go
// function. Do not call providers directly: nothing is then checked or recorded.
package hostfns

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"strconv"
	"time"

	"github.com/tetratelabs/wazero/experimental/sys"
	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns/internal/scrub"
	"github.com/wexec/wexec/hostfns/packages"
	"github.com/wexec/wexec/internal/text"
	"github.com/wexec/wexec/policy"
	"github.com/wexec/wexec/privacy"
)

// Provider connects a table to the outside: MCP servers, Go functions, the
// network and files are providers. Its methods are called concurrently. A
// provider may panic, hang or return anything; the table bounds it.
type Provider interface {
	// Servers returns the names of the servers whose tools the provider has. It
	// must be fast and start nothing.
	Servers() []string
	// Tools returns the tools of one server. It may start the server.
	Tools(ctx context.Context, server string) ([]catalogue.Tool, error)
	// Call calls one tool. An error that is a *fault.Error keeps its code; any
	// other error is tool.failed. The program sees its text.
	Call(ctx context.Context, call Call) (Answer, error)
	// Watch registers a function to call when the tools of a server change, until
	// stop is called.
	Watch(changed func(server string)) (stop func())
	// Close stops everything the provider started.
	Close() error
}

// Native is a [Provider] that also answers calls of the guest's prelude, such as
// "wexec:fetch". The rules for tools do not apply to them: the provider asks the
// [Gate] about each effect.
type Native interface {
	PreludeCalls() []string
	// Writes reports whether a call can change something outside. One that cannot is
	// made again when a durable run goes on without its answer.
	Writes(call string, args map[string]any) bool
}

// Remote is a [Provider] of which some servers are reached over the network.
type Remote interface {
	Remote(server string) bool
}

// Keeper is a [Provider] that is part of the host and keeps values for later runs,
// sealed. Its tools get tokens, whatever the policy reveals, with Call.Values, and
// answer with tokens, with their values in Answer.Issued: the reader gets tokens from
// its own vault.
type Keeper interface {
	Provider
	KeepsValues()
}

// Values is the personal data of the run of a call.
type Values interface {
	// Issued returns the tokens of the run in texts, with their values, inner ones
	// first.
	Issued(texts ...[]byte) []privacy.Issued
	// Cover returns what replaces personal data in texts that are read for the call. The
	// values are those that the texts were kept with; kept tells that they were kept by
	// a run.
	Cover(values []privacy.Issued, kept bool) (*Cover, error)
}

// findingCost is the memory that a finding takes while an answer is searched.
const findingCost = 128

// Cover replaces personal data in texts by tokens of a vault for the reader.
type Cover struct {
	vault  *privacy.Vault
	off    bool // the policy searches nothing
	kept   bool
	plain  bool // the reader may see values
	core   func(ctx context.Context) (leave func(), err error)
	charge func(n int64) error // nil outside of runs
}

// Plain makes Text return values, for a reader that may see them.
func (c *Cover) Plain() { c.plain = true }

// Idle reports that texts stay as they are.
func (c *Cover) Idle() bool { return (c.off || c.plain) && c.vault.Count() == 0 }

// Enter waits for a core for the work on a text, until leave is called.
func (c *Cover) Enter(ctx context.Context) (leave func(), err error) { return c.core(ctx) }

// Text returns a text with tokens. Call Enter before.
func (c *Cover) Text(ctx context.Context, text string) (string, error) {
	spend := func(findings int) error {
		if c.charge == nil {
			return context.Cause(ctx)
		}
		return cmp.Or(context.Cause(ctx), c.charge(findingCost*int64(findings)))
	}
	switch {
	case c.plain:
		return c.vault.Reveal(text, func(int) error { return context.Cause(ctx) })
	case c.off:
		return text, nil
	}
	return c.vault.Cover(text, c.kept, spend)
}

// Issued returns the tokens in texts with their values.
func (c *Cover) Issued(texts ...[]byte) []privacy.Issued {
	return c.vault.Issued(c.vault.Count(), texts...)
}

// Call is one call of a tool as its provider receives it, after it was checked,
// decided and recorded.
type Call struct {
	Run          string // its id
	Number       uint64 // of the call in the run
	Server, Tool string
	// Args is a JSON object that matches the tool's schema.
	Args json.RawMessage
	// Secrets are those that the policy put into Args. The table removes them from
	// answers, errors and progress; what else leaves the provider, such as logs,
	// must not have them.
	Secrets []Secret
	// Progress reports how far the tool is; a total of 0 is unknown. Never nil.
	Progress func(done, total float64, text string)
	// Gate decides and records effects that become known during the call.
	Gate Gate
	// Values are the values of the run's tokens, for a [Keeper]; else nil.
	Values Values
	// Compute waits for a core for work that takes long, and returns what gives it back.
	// It is nil for a tool.
	Compute func(ctx context.Context) (done func(), err error)
}

// Key identifies the call, for servers that serve a call once. It stays the same when a
// durable run goes on in another process. It is empty outside of a run.
func (c *Call) Key() string {
	if c.Run == "" || c.Number == 0 {
		return ""
	}
	return c.Run + "/" + strconv.FormatUint(c.Number, 10)
}

// Gate decides the effects of a call that a provider learns of while it works: a
// redirect, a connection, a file. A provider must ask it before each. A Gate
// belongs to one run.
type Gate interface {
	// Network decides one request and records the decision. The provider returns
	// the error.
	Network(ctx context.Context, req NetworkRequest) error
	// File decides one access to a file and records the decision.
	File(ctx context.Context, req FileRequest) error
	// Count adds to the bytes that passed through the host. An error ends the
	// run.
	Count(bytes int64) error
	// Arriving notes bytes of an answer that is being read and not counted yet, and
	// with a negative number that they are counted or dropped. It reports whether
	// the run has room for all of them.
	Arriving(bytes int64) bool
	// Feature passes a request of the server to the client of the run, if the
	// policy allows it, and returns the client's answer: the parameters and the
	// result of elicitation/create or sampling/createMessage.
	Feature(ctx context.Context, feature policy.Feature, params json.RawMessage) (json.RawMessage, error)
	// Permit decides whether a feature of the server may be used and records the
	// decision. use is a JSON object that tells what is used. A person is asked if the
	// policy says so, unless use is nil: what only lists is not asked for.
	Permit(ctx context.Context, feature policy.Feature, use json.RawMessage) error
	// HostSecrets returns the secrets for requests to a host.
	HostSecrets(ctx context.Context, host string) ([]Secret, error)
	// Lifetime returns a context that ends with the run, for what outlives the
	// call, such as the body of a response.
	Lifetime() context.Context
}

// NetworkRequest is a request to a host, before or after its name is resolved.
type NetworkRequest struct {
	Host    string // name or address, lower case, without port
	Method  string // GET, …
	Port    int
	Address string // the address about to be connected to; empty before resolution
	From    string // the host that redirected here; empty for the first request
}

// FileRequest is an access to a file: opening, listing or removing it.
type FileRequest struct {
	Path  string // on the host, cleaned, absolute, links resolved
	Guest string // the path in the program
	Write bool
	// Folder reports that the path is a folder.
	Folder bool
	// Look reports that only the existence of the file is checked. This is not
	// recorded.
	Look bool
	// Import reports that a file of the program's own folder is imported. This is
	// allowed unless the policy denies it, and not recorded.
	Import bool
	// Workspace reports that the file is in the workspace of the run. This is allowed
	// unless the policy denies it, and recorded.
	Workspace bool
}

// Secret is the value of a secret and where it goes.
type Secret struct {
	Name  string
	As    string // "header:Authorization: Bearer {}", "query:key"
	Value string
}

// Kind is the type of the bytes of an answer. The numbers are part of the guest
// ABI.
type Kind uint8

// The kinds of an [Answer].
const (
	JSON    Kind = iota // one JSON value
	Error               // a [Failure] as JSON; providers must not return it
	Text                // UTF-8
	Content             // a list of content items as JSON, with bytes as {"$bytes": "base64"}
	Bytes               // bytes
)

// Answer is the result of a call.
type Answer struct {
	Kind Kind
	Data []byte
	// Body is a stream that the program reads in slices. The run keeps it, adds
	// its number to the JSON object in Data as "body", and closes it at its end.
	Body io.ReadCloser
	// Checked reports that Data is valid for its kind, because an encoder wrote
	// it or a decoder read it. It saves a second check.
	Checked bool
	// Issued are the tokens in Data with their values, of a [Keeper].
	Issued []privacy.Issued
}

// Progress is a report of how far a program or a tool is.
type Progress struct {
	Tool        string // empty for the program itself
	Done, Total float64
	Text        string
}

// Client is the client of a run: what it has beyond calling tools.
type Client interface {
	// Feature serves a request of a server, made by a tool, that the policy allows.
	// Params and result are those of elicitation/create or sampling/createMessage.
	// The error is [ErrNobody] if the client does not have the feature.
	Feature(ctx context.Context, feature policy.Feature, tool string, params json.RawMessage) (json.RawMessage, error)
}

// Asker asks a person. Ask returns when the question is answered. An error denies
// the call and is given as the reason.
type Asker interface {
	Ask(ctx context.Context, q Question) (Reply, error)
}

// Signals has what others sent to a run. A payload is hostile input.
type Signals interface {
	// Await returns the payload of the signal with a name that came after n others with
	// that name. It waits until the signal is there, and returns the same payload each
	// time.
	Await(ctx context.Context, run, name string, n int) (json.RawMessage, error)
}

// Question is a call that a person has to approve. Message, Args and Grant show
// personal data, which only a person at the terminal or the socket may see. Show
// anybody else the result of Covered.
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
	Via     []string        `json:"via,omitempty"` // ways to ask: terminal, mcp, socket, page, api
	// Remember is how long an "always" applies: never, run or session.
	Remember string `json:"remember,omitempty"`
	// Decisive are the names of the arguments to show first: those that the rule
	// depends on, then those that the tool requires.
	Decisive []string `json:"decisive,omitempty"`
	// Recorded reports whether the audit has the arguments in full.
	Recorded bool `json:"recorded,omitempty"`
	// Grant is what no rule allows, if that is the question.
	Grant *Grant `json:"grant,omitempty"`

	// Asking is why the policy asks about the tool; nil if the question is another.
	Asking *policy.Asking `json:"-"`
	// Digest is the digest of the rule that asks, as it is written.
	Digest string `json:"-"`

	coveredMessage, coveredGrant string
	coveredArgs                  json.RawMessage
}

// Covered returns the question with tokens instead of personal data.
func (q Question) Covered() Question {
	q.Message, q.Args = q.coveredMessage, q.coveredArgs
	if q.Grant != nil {
		g := *q.Grant
		g.Name, q.Grant = q.coveredGrant, &g
	}
	return q
}

// Grant is a tool, a host or a file that is denied only because no rule allows it.
type Grant struct {
	Kind   string   `json:"kind"` // tool, network or file
	Name   string   `json:"name"` // server.tool, a host, or an absolute path
	Port   int      `json:"port,omitempty"`
	Write  bool     `json:"write,omitempty"`  // of a file: to write it
	Folder bool     `json:"folder,omitempty"` // of a file: it is a folder, and what is below it is granted too
	Files  []string `json:"files,omitempty"`  // the policy files that lack a rule
}

// Granter is an [Asker] that may be asked about a [Grant]. Its Always is for the
// run.
type Granter interface {
	Asker
	// CanGrant reports whether somebody can be asked now.
	CanGrant() bool
}

// Reply is the answer of a person.
type Reply struct {
	Approved bool
	Always   bool   // approves the same call for as long as the policy remembers
	By       string // the way it came: terminal, mcp, socket, page or api
	Who      string // the person, if known
	Reason   string // shown to the program if the call is denied
}

// ErrNobody is the error of an [Asker] that has nobody to ask. The call is denied
// at once.
var ErrNobody = errors.New("there is nobody to ask")

// Filer is a [Provider] that also gives programs files. A table uses the first.
type Filer interface {
	// Mount makes the file system of one run, with "/" as its root.
	Mount(m Mount) (sys.FS, io.Closer, error)
}

// Workspace is a folder that one run sees as /workspace, and the calls of the prelude
// about it. It asks the gate about each file.
type Workspace interface {
	Provider
	Native
	// Files returns the folder.
	Files(gate Gate) sys.FS
	// Used notes the run that used the workspace at its end. It returns the id of the
	// workspace and the number of paths that differ from its folder.
	Used(run string) (id string, changed int, err error)
}

// Mount describes the file system of a run.
type Mount struct {
	Gate Gate
	Root string // folder of the host seen as /app; empty: none
	Dir  string // folder that relative paths start from; empty: none
	// Packages is the folder of the host seen as /packages; empty: Installed.
	Packages  string
	Installed *packages.Set // seen as /packages; nil: nothing
	Read      []string
	Write     []string  // literal prefixes of the paths that the policy grants: absolute, of the host
	Workspace Workspace // seen as /workspace; nil: nothing
	// Catalogue returns the tree seen as /mcp-servers, as it is now. It is called
	// for each access and may start servers.
	Catalogue func() fs.FS
	// Ask reports that a person may be asked about paths that the policy does not
	// grant.
	Ask bool
	// Memory is the size of /tmp in bytes.
	Memory int64
	// Now returns the time of new files in /tmp; nil is the real time.
	Now func() time.Time
}

// Failure is the error of a call that the program may catch. Every other error of
// [Run.Call] ends the run.
type Failure struct {
	Code    fault.Code `json:"code"`
	Message string     `json:"message"`
	Tool    string     `json:"tool,omitempty"`
	Hint    string     `json:"hint,omitempty"`
	Rule    string     `json:"rule,omitempty"`
}

// Error returns the message.
func (f *Failure) Error() string { return f.Message }

// Unwrap returns the code, so that errors.Is(err, fault.DeniedTool) works.
func (f *Failure) Unwrap() error { return f.Code }

// answer returns the failure as the guest receives it.
func (f *Failure) answer() Answer {
	b, err := json.Marshal(f)
	if err != nil {
		b = []byte(`{"code":"internal","message":"the error could not be encoded"}`)
	}
	return Answer{Kind: Error, Data: b}
}

// maxMessage is the number of bytes of an error that a tool may show.
const maxMessage = 8 << 10

// catchable reports whether the error of a provider keeps its code. Every other
// error of a provider is tool.failed.
func catchable(code fault.Code) bool {
	switch code {
	case fault.ToolFailed, fault.ToolUnknown, fault.ToolInvalidArgs, fault.ToolTooLarge, fault.ToolTimeout,
		fault.DeniedTool, fault.DeniedNetwork, fault.DeniedFile, fault.DeniedApproval, fault.DeniedPinned,
		fault.UpstreamUnavailable:
		return true
	}
	return false
}

// failureIn returns the failure that an error wraps, or nil.
func failureIn(err error) *Failure {
	if err == nil {
		return nil // without the allocation of errors.As
	}
	var f *Failure
	errors.As(err, &f)
	return f
}

// failureOf converts the error of a provider. The text has no secrets, but may have
// personal data; it is shortened when that is removed.
func failureOf(err error, tool string, secrets *scrub.Scrubber) *Failure {
	if f := failureIn(err); f != nil {
		c := *f
		if c.Tool == "" {
			c.Tool = tool
		}
		return &c
	}
	code := fault.ToolFailed
	if c := fault.CodeOf(err); catchable(c) {
		code = c
	} else if errors.Is(err, context.DeadlineExceeded) {
		code = fault.ToolTimeout
	}
	return &Failure{Code: code, Message: text.Clean(secrets.Text(err.Error())), Tool: tool, Hint: text.Clean(secrets.Text(fault.HintOf(err)))}
}

// endsRun reports whether the program may not catch the error of a provider: a
// limit of the run, or a record that was not written.
func endsRun(err error) bool {
	code := fault.CodeOf(err)
	return code.Class() == fault.ClassLimit || code == fault.AuditUnavailable
}

// clean returns foreign text fit for a message, of at most n bytes.
func clean(s string, n int) string { return text.Clean(text.Clip(s, n)) }

// preludePrefix begins the names of calls of the prelude.
const preludePrefix = "wexec:"

// Ranker rates tools by their meaning, such as with the vectors of a language
// model. The search works without one.
type Ranker interface {
	// Near returns a function that returns a number for each tool, by ID, that is
	// larger the nearer the tool is to the question. Near itself may wait, and bounds
	// its own time; the function only computes, and the search calls it on a core.
	// After an error the search compares words only.
	Near(ctx context.Context, tools []catalogue.Tool, question string) (rate func() map[string]float64, err error)
}

// Review is what a review of a program found before its run.
type Review struct {
	Level        string              `json:"level"`
	Findings     []string            `json:"findings"` // one line each
	Capabilities policy.Capabilities `json:"capabilities"`

	Rules []string `json:"-"` // of the findings, sorted
}

// record returns a review as records have it. show replaces personal data.
func (v *Review) record(show func(string) string) *audit.Review {
	if v == nil {
		return nil
	}
	all, _ := json.Marshal(v.Capabilities) // lists of strings always have a JSON form
	out := &audit.Review{Level: v.Level, Rules: v.Rules, CapabilitiesSHA256: audit.Digest(all)}
	for _, tool := range v.Capabilities.Tools {
		out.Tools = append(out.Tools, show(tool))
	}
	return out
}
