package hostfns

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
)

// Func returns a [Provider] with a Go function as its tool. The name is
// "server.tool", or a tool of the server "host" without a dot. Several functions may
// share a server.
//
// The input schema is that of the type In, a struct or a map, with the jsonschema
// tags of its fields. The program receives what the function returns as JSON, a
// json.RawMessage unchanged, and []byte as bytes. An error is tool.failed unless it
// is a *fault.Error.
//
// If In has no schema, [NewTable] fails.
func Func[In, Out any](name string, f func(context.Context, In) (Out, error), opts ...FuncOption) Provider {
	server, tool, ok := strings.Cut(name, ".")
	if !ok {
		server, tool = "host", name
	}
	p := &function{tool: catalogue.Tool{Server: server, Name: tool}}
	for _, o := range opts {
		o(&p.tool)
	}
	s, err := jsonschema.For[In](nil)
	if err == nil {
		p.tool.InputSchema, err = json.Marshal(s)
	}
	if err != nil {
		p.broken = fault.New(fault.UsageConfig, "derive the input schema of %s: %w", name, err)
		return p
	}
	p.call = func(ctx context.Context, args json.RawMessage) (Answer, error) {
		var in In
		if err := json.Unmarshal(args, &in); err != nil {
			return Answer{}, fault.New(fault.ToolInvalidArgs, "decode the arguments of %s: %w", name, err)
		}
		out, err := f(ctx, in)
		if err != nil {
			return Answer{}, err
		}
		switch b := any(out).(type) {
		case []byte:
			return Answer{Kind: Bytes, Data: b}, nil
		case json.RawMessage: // unchanged: encoding it again would take longer than the call
			return Answer{Kind: JSON, Data: b}, nil
		}
		data, err := json.Marshal(out)
		if err != nil {
			return Answer{}, fault.New(fault.ToolFailed, "encode the answer of %s: %w", name, err)
		}
		return Answer{Kind: JSON, Data: data, Checked: true}, nil
	}
	return p
}

// FuncOption describes a tool of [Func].
type FuncOption func(*catalogue.Tool)

// Describe sets the description of a function, for search and declarations.
func Describe(text string) FuncOption { return func(t *catalogue.Tool) { t.Description = text } }

// ReadOnly declares that a function changes nothing.
func ReadOnly() FuncOption {
	return func(t *catalogue.Tool) { yes := true; t.Annotations.ReadOnly = &yes }
}

// Destructive declares that a function may destroy data.
func Destructive() FuncOption {
	return func(t *catalogue.Tool) { yes := true; t.Annotations.Destructive = &yes }
}

type function struct {
	tool   catalogue.Tool
	broken error
	call   func(context.Context, json.RawMessage) (Answer, error)
}

func (p *function) Servers() []string { return []string{p.tool.Server} }

func (p *function) Tools(_ context.Context, server string) ([]catalogue.Tool, error) {
	if p.broken != nil { // of a provider that wraps it
		return nil, p.broken
	}
	if server != p.tool.Server {
		return nil, nil
	}
	return []catalogue.Tool{p.tool}, nil
}

func (p *function) Call(ctx context.Context, call Call) (Answer, error) {
	if p.broken != nil {
		return Answer{}, p.broken
	}
	if call.Tool != p.tool.Name {
		return Answer{}, fault.New(fault.ToolUnknown, "there is no tool %s.%s", call.Server, call.Tool)
	}
	return p.call(ctx, call.Args)
}

func (p *function) Watch(func(string)) func() { return func() {} }
func (p *function) Close() error              { return nil }
