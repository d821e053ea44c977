// Package mcpd is the door for agents: a thin MCP server with four tools. A
// model reads a few hundred tokens, finds the tools it needs, and runs one
// program that calls them.
package mcpd

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/policy"
)

// Options say what the server offers.
type Options struct {
	Engine  *engine.Engine
	Table   *hostfns.Table
	Limits  policy.Limits     // as configured; a model may only lower them
	Env     map[string]string // what programs may see, as far as the policy lets it through
	Dir     string            // from which relative paths of the policy start
	Asker   hostfns.Asker     // asked where the client cannot; nil: nobody
	Logger  *slog.Logger
	Version string
	// Patience is how long people are waited for before a call answers with
	// status waiting. Zero is 45 s: clients give up after about a minute.
	Patience time.Duration
}

// Server is the MCP server, for any number of clients at once.
type Server struct {
	o        Options
	mcp      *mcp.Server
	runs     *waitingRuns
	kept     *keptValues
	clients  *clients
	requests *requests
}

// New makes a server. It starts no upstream server.
func New(o Options) *Server {
	if o.Patience <= 0 {
		o.Patience = 45 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{o: o, runs: newWaitingRuns(), kept: &keptValues{}, clients: newClients(), requests: &requests{}}
	s.mcp = mcp.NewServer(&mcp.Implementation{Name: "wexec", Title: "wexec: code with tools", Version: o.Version}, &mcp.ServerOptions{
		Logger:       o.Logger,
		Instructions: "Write one program that calls the tools and returns one small answer: see execute_code.",
		Capabilities: &mcp.ServerCapabilities{Logging: &mcp.LoggingCapabilities{}},
	})
	s.offerTools()
	s.offerResources()
	s.offerPrompts()
	return s
}

// Stdio serves one client over standard input and output until it leaves or
// the context ends. Nothing else may write to out.
func (s *Server) Stdio(ctx context.Context, in io.Reader, out io.Writer) error {
	return s.Serve(ctx, &mcp.IOTransport{Reader: &watchedInput{in, s.left}, Writer: keptOpen{out}})
}

// Serve serves one client over any transport. Its runs end with it.
func (s *Server) Serve(ctx context.Context, t mcp.Transport) error {
	defer context.AfterFunc(ctx, s.runs.close)()
	defer s.runs.close()
	err := s.mcp.Run(ctx, t)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// A client that has closed its side gets what it asked for before, as far as
// it is ready soon: requests may come through a pipe.
const (
	settling = 100 * time.Millisecond // for answers that need no run
	parting  = 2 * time.Second        // for runs
)

// left waits for what is still to be answered, and ends the rest.
func (s *Server) left() {
	time.Sleep(settling)
	for end := time.Now().Add(parting); s.runs.going() && time.Now().Before(end); {
		time.Sleep(settling / 4)
	}
	s.runs.close()
	time.Sleep(settling / 4)
}

// watchedInput is a reader whose end is told before it is seen.
type watchedInput struct {
	io.Reader
	ended func()
}

// Read implements io.Reader.
func (w *watchedInput) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if n == 0 && err != nil {
		w.ended()
	}
	return n, err
}

// Close leaves the stream to the process.
func (w *watchedInput) Close() error { return nil }

// keptOpen is a writer that a transport cannot close.
type keptOpen struct{ io.Writer }

// Close leaves the stream to the process.
func (keptOpen) Close() error { return nil }

func (s *Server) offerTools() {
	open, closed := true, false
	s.mcp.AddTool(&mcp.Tool{
		Name: "execute_code", Description: Teaching(s.o.Table.Identifiers()),
		InputSchema: json.RawMessage(executeInput), OutputSchema: json.RawMessage(executeOutput),
		Annotations: &mcp.ToolAnnotations{Title: "Run a program", OpenWorldHint: &open},
	}, s.executeCode)
	s.mcp.AddTool(&mcp.Tool{
		Name: "search_tools", Description: "Find the tools a program may call. Answers name, call and summary; detail full adds the declaration.",
		InputSchema: json.RawMessage(searchInput),
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &closed},
	}, s.searchTools)
	s.mcp.AddTool(&mcp.Tool{
		Name: "describe_tools", Description: "The typed declarations of tools by name.",
		InputSchema: json.RawMessage(describeInput),
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &closed},
	}, s.describeTools)
	s.mcp.AddTool(&mcp.Tool{
		Name: "wait_run", Description: "The rest of a run that answered with status waiting.",
		InputSchema: json.RawMessage(waitInput),
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &closed},
	}, s.waitRun)
}

const (
	executeInput = `{"type":"object","additionalProperties":false,"required":["language","code"],"properties":{
"language":{"enum":["javascript","typescript","python"]},
"code":{"type":"string"},
"args":{"description":"seen as args"},
"intent":{"type":"string","description":"the goal in words"},
"session":{"type":"string","description":"a name: globals live on under it"},
"limits":{"type":"object","description":"lower than the defaults: fuel, memory, output, host_bytes (bytes), time (ms), tool_calls, parallel, recursion"}}}`
	executeOutput = `{"type":"object","required":["run_id","status"],"properties":{
"run_id":{"type":"string"},
"status":{"enum":["ok","error","denied","limit","waiting"]},
"value":{},
"stdout":{"type":"string"},
"stderr":{"type":"string"},
"error":{"type":"object"},
"usage":{"type":"object"},
"waiting":{"type":"array"}}}`
	searchInput = `{"type":"object","additionalProperties":false,"required":["query"],"properties":{
"query":{"type":"string"},"limit":{"type":"integer","minimum":1,"maximum":100,"default":10},
"detail":{"enum":["name","summary","full"],"default":"summary"}}}`
	describeInput = `{"type":"object","additionalProperties":false,"required":["names"],"properties":{
"names":{"type":"array","items":{"type":"string"},"maxItems":20},"language":{"enum":["typescript","python"]}}}`
	waitInput = `{"type":"object","additionalProperties":false,"required":["run_id"],"properties":{"run_id":{"type":"string"}}}`
)

// invalid is the answer to parameters that cannot be used.
func invalid(message string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: message}
}

// strictly decodes parameters; an unknown one is named.
func strictly(data json.RawMessage, into any) error {
	if len(data) == 0 {
		data = json.RawMessage(`{}`)
	}
	dec := json.NewDecoder(strings.NewReader(string(data)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return invalid(strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}
