package hostfns

import (
	"context"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

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
// The output schema is that of the type Out, so that declarations have it. It allows
// anything where a type writes its own JSON or contains itself.
//
// If In has no schema or Out has no JSON form, [NewTable] fails.
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
	if p.tool.OutputSchema, err = outputSchema(reflect.TypeFor[Out]()); err != nil {
		p.broken = fault.New(fault.UsageConfig, "derive the output schema of %s: %w", name, err)
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

// outputSchema returns the schema of what a type is encoded as, or nil if that can
// be anything.
func outputSchema(t reflect.Type) (json.RawMessage, error) {
	if t == reflect.TypeFor[[]byte]() || t == reflect.TypeFor[json.RawMessage]() {
		return nil, nil
	}
	o := outputTypes{schemas: map[reflect.Type]*jsonschema.Schema{}, within: map[reflect.Type]bool{}}
	if err := o.add(t); err != nil {
		return nil, err
	}
	if t.Kind() == reflect.Interface || o.opaque || o.schemas[t] != nil {
		return nil, nil
	}
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: o.schemas})
	if err != nil {
		return nil, err
	}
	allowNilMaps(s)
	return json.Marshal(s)
}

// allowNilMaps allows null where a schema has a map.
func allowNilMaps(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if s.Type == "object" && s.Properties == nil {
		s.Type, s.Types = "", []string{"null", "object"}
	}
	for _, p := range s.Properties {
		allowNilMaps(p)
	}
	allowNilMaps(s.Items)
	allowNilMaps(s.AdditionalProperties)
}

// outputTypes collects the types whose encoding differs from what their kind
// suggests.
type outputTypes struct {
	schemas map[reflect.Type]*jsonschema.Schema
	within  map[reflect.Type]bool // types that contain this one
	opaque  bool                  // a schema cannot say how a field is encoded
}

func (o *outputTypes) add(t reflect.Type) error {
	if o.schemas[t] != nil || t == reflect.TypeFor[time.Time]() {
		return nil
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]()) || reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextMarshaler]()) || o.within[t] {
		o.schemas[t] = &jsonschema.Schema{}
		return nil
	}
	o.within[t] = true
	defer delete(o.within, t)
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
		return fmt.Errorf("%s has no JSON form", t)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 { // written in base64
			o.schemas[t] = &jsonschema.Schema{Types: []string{"null", "string"}}
			return nil
		}
		return o.add(t.Elem())
	case reflect.Map:
		if key := t.Key(); key.Kind() != reflect.String {
			if _, err := json.Marshal(reflect.MakeMap(t).Interface()); err != nil {
				return fmt.Errorf("%s has no JSON form", t)
			}
			o.schemas[t] = &jsonschema.Schema{Types: []string{"null", "object"}}
		}
		return o.add(t.Elem())
	case reflect.Pointer, reflect.Array:
		return o.add(t.Elem())
	case reflect.Struct:
		for _, f := range reflect.VisibleFields(t) {
			tag := f.Tag.Get("json")
			if tag == "-" || !f.IsExported() && !f.Anonymous {
				continue
			}
			if err := o.add(f.Type); err != nil {
				return err
			}
			o.opaque = o.opaque || strings.HasSuffix(tag, ",string") || f.Anonymous && o.schemas[f.Type] != nil
		}
	}
	return nil
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
