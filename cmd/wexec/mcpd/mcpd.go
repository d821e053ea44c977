// Package mcpd is the MCP server for agents. It has four tools, so that a model
// reads few tokens to start: it finds tools, runs one program that calls them,
// and waits for people if necessary. Use [New] with [Server.Stdio] for one
// client, or [Server.HTTP] for many. Every run passes the policy of its table;
// the server adds no access.
package mcpd

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/engine"
)

// New returns a server. It starts no upstream server.
func New(o Options) *Server {
	if o.AnswerWithin <= 0 {
		o.AnswerWithin = 45 * time.Second
	}
	if o.TaskAfter <= 0 {
		o.TaskAfter = 2 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Run == nil {
		o.Run = func(ctx context.Context, _ string, req engine.Request) (*engine.Result, error) {
			return o.Engine.Run(ctx, req)
		}
	}
	s := &Server{o: o, clients: map[*mcp.ServerSession]string{}, runs: runs{lasting: o.Keeper != nil}}
	s.state.Store(&State{Table: o.Table, Limits: o.Limits, Notice: o.Notice})
	s.mcp = mcp.NewServer(&mcp.Implementation{Name: "wexec", Title: "wexec: code with tools", Version: o.Version}, &mcp.ServerOptions{
		Logger:       o.Logger,
		Instructions: strings.TrimSpace("Write one program that calls the tools and returns one small answer: see execute_code.\n" + noticed(o.Notice)),
		// Lists of prompts and resources come from servers, whose notifications are not
		// passed on: subscriptions and list changes are not announced.
		Capabilities: &mcp.ServerCapabilities{Logging: &mcp.LoggingCapabilities{}, Prompts: &mcp.PromptCapabilities{}, Resources: &mcp.ResourceCapabilities{},
			Extensions: map[string]any{tasksExtension: struct{}{}}},
	})
	s.addTools()
	s.addResources()
	s.addPrompts()
	s.addTasks()
	s.mcp.AddReceivingMiddleware(s.passTasks, s.passOn)
	return s
}

func (s *Server) addTools() {
	yes, no := true, false
	lookup := &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &no}
	type tool struct {
		name, description string
		input, output     string
		annotations       *mcp.ToolAnnotations
		handler           mcp.ToolHandler
	}
	all := []tool{
		{"execute_code", Description(s.table().Identifiers()), executeInput, executeOutput,
			&mcp.ToolAnnotations{Title: "Run a program", OpenWorldHint: &yes}, s.executeCode},
		{"search_tools", "Find the tools a program may call. Answers name, call and summary; detail full adds the declaration.",
			searchInput, "", lookup, s.searchTools},
		{"describe_tools", "The typed declarations of tools by name.", describeInput, "", lookup, s.describeTools},
		{"wait_run", "The result of a run that answered with status waiting.", waitInput, "", lookup, s.waitRun},
	}
	if s.o.ReadArtifact != nil {
		all = append(all, tool{"read_artifact", "Lines of an artifact, or with match those that match. Go on at next.", readArtifactInput, "", lookup, s.readArtifact})
	}
	for _, t := range all {
		tool := &mcp.Tool{Name: t.name, Description: t.description, InputSchema: json.RawMessage(t.input), Annotations: t.annotations}
		if t.output != "" {
			tool.OutputSchema = json.RawMessage(t.output)
		}
		s.mcp.AddTool(tool, t.handler)
	}
}

const (
	executeInput = `{"type":"object","additionalProperties":false,"required":["language","code"],"properties":{
"language":{"enum":["javascript","typescript","python"]},
"code":{"type":"string"},
"args":{"description":"seen as args"},
"intent":{"type":"string","description":"the goal in words"},
"session":{"type":"string","description":"a name: keeps globals between runs"},
"limits":{"type":"object","description":"lower than the defaults: fuel, memory, output, host_bytes (bytes), time (ms), tool_calls, parallel, recursion, cpu (percent of one core)"}}}`
	executeOutput = `{"type":"object","required":["status"],"properties":{
"run_id":{"type":"string"},
"status":{"enum":["ok","error","denied","limit","waiting"]},
"value":{},
"stdout":{"type":"string"},
"stderr":{"type":"string"},
"error":{"type":"object"},
"waiting":{"type":"array"}}}`
	searchInput = `{"type":"object","additionalProperties":false,"required":["query"],"properties":{
"query":{"type":"string"},"limit":{"type":"integer","minimum":1,"maximum":100,"default":10},
"detail":{"enum":["name","summary","full"],"default":"summary"}}}`
	describeInput = `{"type":"object","additionalProperties":false,"required":["names"],"properties":{
"names":{"type":"array","items":{"type":"string"},"maxItems":20},"language":{"enum":["typescript","python"]}}}`
	readArtifactInput = `{"type":"object","additionalProperties":false,"required":["artifact"],"properties":{
"artifact":{"type":"string"},"from":{"type":"integer","minimum":1,"default":1},"lines":{"type":"integer","minimum":1,"default":100},
"match":{"type":"string","description":"a regular expression (RE2)"}}}`
	waitInput = `{"type":"object","additionalProperties":false,"required":["run_id"],"properties":{"run_id":{"type":"string"}}}`
)

func (s *Server) addResources() {
	s.mcp.AddResource(&mcp.Resource{URI: declarationsRoot + "README.md", Name: "tools", MIMEType: "text/markdown",
		Description: "How programs call tools, and the servers."}, s.readDeclarations)
	s.mcp.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: declarationsRoot + "{+path}", Name: "tool declarations", MIMEType: "text/plain",
		Description: "Declarations of tools, as <server>/<tool>.ts or .pyi."}, s.readDeclarations)
	s.mcp.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: valuesRoot + "{run}/{name}", Name: "values of runs",
		Description: "Values and outputs that were too large for an answer, for ten minutes."}, s.readValue)
	s.mcp.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: resourcesRoot + "{server}/{+uri}", Name: "resources of servers",
		Description: "A resource of a server by its URI, where the policy allows it."}, s.readOfServer)
}

func (s *Server) addPrompts() {
	for _, family := range Families() {
		s.mcp.AddPrompt(&mcp.Prompt{Name: "code-mode-" + family, Description: "How to use execute_code, for " + family + " models"},
			func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				text, _ := Prompt(family, s.table().Identifiers(), 0)
				return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}}}, nil
			})
	}
}

// Stdio serves one client over standard input and output until it disconnects or
// the context ends. Nothing else may write to out.
func (s *Server) Stdio(ctx context.Context, in io.Reader, out io.Writer) error {
	return s.Serve(ctx, &mcp.IOTransport{Reader: &inputWithEnd{in, s.drain}, Writer: unclosedWriter{out}})
}

// Serve serves one client over a transport. Its runs end with it.
func (s *Server) Serve(ctx context.Context, t mcp.Transport) error {
	defer context.AfterFunc(ctx, s.runs.cancelAll)()
	defer s.runs.cancelAll()
	err := s.mcp.Run(ctx, t)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// When the input of a client ends, its requests are still answered for a short
// time: they may come through a pipe.
const (
	drainAnswers = 100 * time.Millisecond
	drainRuns    = 2 * time.Second
)

func (s *Server) drain() {
	time.Sleep(drainAnswers)
	for end := time.Now().Add(drainRuns); s.runs.pending() && time.Now().Before(end); {
		time.Sleep(drainAnswers / 4)
	}
	s.runs.cancelAll()
	time.Sleep(drainAnswers / 4)
}

// inputWithEnd calls atEnd before it returns the end of the input. Closing it
// does nothing: the process owns the stream.
type inputWithEnd struct {
	io.Reader
	atEnd func()
}

// Read implements io.Reader.
func (r *inputWithEnd) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if n == 0 && err != nil {
		r.atEnd()
	}
	return n, err
}

// Close implements io.Closer.
func (r *inputWithEnd) Close() error { return nil }

// unclosedWriter is a writer that the transport cannot close.
type unclosedWriter struct{ io.Writer }

// Close implements io.Closer.
func (unclosedWriter) Close() error { return nil }
