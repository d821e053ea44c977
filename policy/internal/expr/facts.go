package expr

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"github.com/wexec/wexec/catalogue"
)

// Call is a tool call as expressions see it.
type Call struct {
	Tool   catalogue.Tool
	Args   map[string]any
	Reveal func() (map[string]any, error) // what expressions see instead of Args; may be nil
	Run    Run
	Actor  Actor
	Calls  map[string]int // calls so far, by server.tool
	Now    time.Time
}

// Run is the run that makes the call.
type Run struct {
	ID, Language, Intent, Trigger string
	Deterministic                 bool
	Risk                          string        // level of the review; empty without one
	Capabilities                  *Capabilities // that the review foresees; nil without one
}

// Capabilities are what a review foresees that a program uses.
type Capabilities struct {
	Tools      []string `json:"tools"`
	Hosts      []string `json:"hosts"`
	Files      []string `json:"files"`
	Skills     []string `json:"skills"`
	Unresolved []string `json:"unresolved"`
}

// Actor is who started the run.
type Actor struct{ ID, Type string }

// Facts is a call with the values that its expressions have computed: each is
// computed on first use and then kept. It may be reused with Reset and is not
// safe for concurrent use.
type Facts struct {
	call  Call
	scope *scope // of the expression that is being evaluated
	vars  []fileVars

	args, calls, now              ref.Val
	run, tool, annotations, actor object
	capabilities                  object
}

// scope is what the expressions of one file share when they are evaluated.
type scope struct {
	adapter adapter
	vars    *objectType
}

// fileVars are the computed variables of one file.
type fileVars struct {
	scope  *scope
	values []ref.Val
}

// NewFacts returns the facts of a call.
func NewFacts(c Call) *Facts {
	f := new(Facts)
	f.Reset(c)
	return f
}

// Reset forgets everything and takes another call.
func (f *Facts) Reset(c Call) {
	clear(f.vars[:cap(f.vars)])
	*f = Facts{call: c, vars: f.vars[:0]}
	f.run = object{runType, f}
	f.tool = object{toolType, f}
	f.annotations = object{annotationsType, f}
	f.actor = object{actorType, f}
	f.capabilities = object{capabilitiesType, f}
}

// Call returns the call.
func (f *Facts) Call() Call { return f.call }

// ResolveName returns the value of a root.
func (f *Facts) ResolveName(name string) (any, bool) {
	switch name {
	case "args":
		if f.args == nil {
			f.args = f.arguments()
		}
		return f.args, true
	case "tool":
		return &f.tool, true
	case "run":
		return &f.run, true
	case "actor":
		return &f.actor, true
	case "vars":
		return &object{f.scope.vars, f}, true // not kept: each file has its own
	case "now":
		if f.now == nil {
			f.now = types.Timestamp{Time: f.call.Now}
		}
		return f.now, true
	case "calls":
		if f.calls == nil {
			f.calls = newCallCounts(f.call.Calls)
		}
		return f.calls, true
	}
	return nil, false
}

func (f *Facts) arguments() ref.Val {
	args := f.call.Args
	if f.call.Reveal != nil {
		var err error
		if args, err = f.call.Reveal(); err != nil {
			return types.WrapErr(err)
		}
	}
	if args == nil {
		args = map[string]any{}
	}
	return f.scope.adapter.NativeToValue(args)
}

// Parent returns nil: there are no other names.
func (f *Facts) Parent() cel.Activation { return nil }

// variable returns a variable of a file by its index. compute computes it, once.
func (f *Facts) variable(s *scope, i int, compute func() ref.Val) ref.Val {
	values := f.valuesOf(s)
	if values[i] == nil {
		values[i] = compute()
	}
	return values[i]
}

func (f *Facts) valuesOf(s *scope) []ref.Val {
	for i := range f.vars {
		if f.vars[i].scope == s {
			return f.vars[i].values
		}
	}
	values := make([]ref.Val, len(s.vars.fields))
	f.vars = append(f.vars, fileVars{s, values})
	return values
}

// callCounts counts calls by tool. A tool that was not called has the count 0,
// so that calls["mail.send"] < 5 is true before the first call.
type callCounts struct{ traits.Mapper }

func newCallCounts(calls map[string]int) ref.Val {
	m := make(map[string]int64, len(calls))
	for tool, n := range calls {
		m[tool] = int64(n)
	}
	return callCounts{types.DefaultTypeAdapter.NativeToValue(m).(traits.Mapper)}
}

// Find returns the count of a tool.
func (c callCounts) Find(key ref.Val) (ref.Val, bool) {
	if v, ok := c.Mapper.Find(key); ok {
		return v, true
	}
	if _, ok := key.(types.String); !ok {
		return types.MaybeNoSuchOverloadErr(key), false
	}
	return types.IntZero, true
}

// Get returns the count of a tool.
func (c callCounts) Get(key ref.Val) ref.Val {
	v, _ := c.Find(key)
	return v
}

// objectType is a type of object with its fields.
type objectType struct {
	cel    *types.Type
	fields map[string]objectField
}

type objectField struct {
	cel *types.Type
	get func(*Facts) ref.Val
	set func(*Facts) bool // nil: always set
}

// The types of the objects that every expression can use.
var (
	runType = &objectType{cel.ObjectType("wexec.run"), map[string]objectField{
		"id":            stringField(func(c *Call) string { return c.Run.ID }),
		"language":      stringField(func(c *Call) string { return c.Run.Language }),
		"intent":        stringField(func(c *Call) string { return c.Run.Intent }),
		"trigger":       stringField(func(c *Call) string { return c.Run.Trigger }),
		"deterministic": {cel: cel.BoolType, get: func(f *Facts) ref.Val { return types.Bool(f.call.Run.Deterministic) }},
		"risk":          stringField(func(c *Call) string { return c.Run.Risk }),
		"capabilities":  {cel: cel.ObjectType("wexec.capabilities"), get: func(f *Facts) ref.Val { return &f.capabilities }},
	}}
	capabilitiesType = &objectType{cel.ObjectType("wexec.capabilities"), map[string]objectField{
		"tools":      listField(func(c *Capabilities) []string { return c.Tools }),
		"hosts":      listField(func(c *Capabilities) []string { return c.Hosts }),
		"files":      listField(func(c *Capabilities) []string { return c.Files }),
		"skills":     listField(func(c *Capabilities) []string { return c.Skills }),
		"unresolved": listField(func(c *Capabilities) []string { return c.Unresolved }),
	}}
	actorType = &objectType{cel.ObjectType("wexec.actor"), map[string]objectField{
		"id":   stringField(func(c *Call) string { return c.Actor.ID }),
		"type": stringField(func(c *Call) string { return c.Actor.Type }),
	}}
	toolType = &objectType{cel.ObjectType("wexec.tool"), map[string]objectField{
		"server":      stringField(func(c *Call) string { return c.Tool.Server }),
		"name":        stringField(func(c *Call) string { return c.Tool.Name }),
		"annotations": {cel: cel.ObjectType("wexec.annotations"), get: func(f *Facts) ref.Val { return &f.annotations }},
	}}
	// A hint that the server does not give has the default of the MCP protocol:
	// the tool writes, destroys and reaches other systems.
	annotationsType = &objectType{cel.ObjectType("wexec.annotations"), map[string]objectField{
		"readOnlyHint":    hintField(false, func(a *catalogue.Annotations) *bool { return a.ReadOnly }),
		"destructiveHint": hintField(true, func(a *catalogue.Annotations) *bool { return a.Destructive }),
		"idempotentHint":  hintField(false, func(a *catalogue.Annotations) *bool { return a.Idempotent }),
		"openWorldHint":   hintField(true, func(a *catalogue.Annotations) *bool { return a.OpenWorld }),
	}}
)

func stringField(get func(*Call) string) objectField {
	return objectField{cel: cel.StringType, get: func(f *Facts) ref.Val { return types.String(get(&f.call)) }}
}

func listField(get func(*Capabilities) []string) objectField {
	return objectField{cel: cel.ListType(cel.StringType), get: func(f *Facts) ref.Val {
		var list []string
		if c := f.call.Run.Capabilities; c != nil {
			list = get(c)
		}
		return types.NewStringList(types.DefaultTypeAdapter, list)
	}}
}

func hintField(standard bool, get func(*catalogue.Annotations) *bool) objectField {
	return objectField{
		cel: cel.BoolType,
		get: func(f *Facts) ref.Val {
			if hint := get(&f.call.Tool.Annotations); hint != nil {
				return types.Bool(*hint)
			}
			return types.Bool(standard)
		},
		set: func(f *Facts) bool { return get(&f.call.Tool.Annotations) != nil },
	}
}

// object is a value of an object type. Its fields are computed on access.
type object struct {
	typ   *objectType
	facts *Facts
}

func (o *object) field(index ref.Val) (objectField, ref.Val) {
	name, ok := index.(types.String)
	if !ok {
		return objectField{}, types.MaybeNoSuchOverloadErr(index)
	}
	f, ok := o.typ.fields[string(name)]
	if !ok {
		return f, types.NewErr("no such field: %s", clip(string(name)))
	}
	return f, nil
}

// Get returns a field.
func (o *object) Get(index ref.Val) ref.Val {
	f, err := o.field(index)
	if err != nil {
		return err
	}
	return f.get(o.facts)
}

// IsSet reports whether a field was set.
func (o *object) IsSet(index ref.Val) ref.Val {
	f, err := o.field(index)
	if err != nil {
		return err
	}
	return types.Bool(f.set == nil || f.set(o.facts))
}

// ConvertToNative returns an error: objects do not leave expressions.
func (o *object) ConvertToNative(reflect.Type) (any, error) {
	return nil, fmt.Errorf("%s cannot be converted", o.typ.cel)
}

// ConvertToType returns the object's type.
func (o *object) ConvertToType(t ref.Type) ref.Val {
	if t == types.TypeType {
		return o.typ.cel
	}
	return types.NewErr("%s cannot be converted", o.typ.cel)
}

// Equal compares by identity.
func (o *object) Equal(other ref.Val) ref.Val {
	p, ok := other.(*object)
	return types.Bool(ok && *p == *o)
}

// Type returns the object's type.
func (o *object) Type() ref.Type { return o.typ.cel }

// Value returns the object.
func (o *object) Value() any { return o }

// provider tells CEL the types of objects.
type provider struct {
	*types.Registry
	types map[string]*objectType
}

// objectTypes returns the types of a file's expressions, by name.
func objectTypes(vars *objectType) map[string]*objectType {
	out := map[string]*objectType{}
	for _, t := range []*objectType{runType, actorType, toolType, annotationsType, capabilitiesType, vars} {
		out[t.cel.TypeName()] = t
	}
	return out
}

func (p *provider) FindStructType(name string) (*types.Type, bool) {
	if t, ok := p.types[name]; ok {
		return types.NewTypeTypeWithParam(t.cel), true
	}
	return p.Registry.FindStructType(name)
}

func (p *provider) FindStructFieldNames(name string) ([]string, bool) {
	if t, ok := p.types[name]; ok {
		return slices.Sorted(maps.Keys(t.fields)), true
	}
	return p.Registry.FindStructFieldNames(name)
}

func (p *provider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	t, ok := p.types[name]
	if !ok {
		return p.Registry.FindStructFieldType(name, field)
	}
	f, ok := t.fields[field]
	return &types.FieldType{Type: f.cel}, ok
}

// adapter converts decoded JSON to CEL values. JSON has one type of number: a
// whole number becomes an int, or a uint if it is too large for one, and any other
// a double, so that args.n + 1 works for both. A number that fits no type is
// an error, so that no condition sees another number than the tool gets.
type adapter struct{ *types.Registry }

func (a adapter) NativeToValue(v any) ref.Val {
	switch v := v.(type) {
	case string:
		return types.String(v)
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return types.Int(v)
		}
		return types.Double(v)
	case bool:
		return types.Bool(v)
	case nil:
		return types.NullValue
	case map[string]any:
		return types.NewStringInterfaceMap(a, v)
	case []any:
		return types.NewDynamicList(a, v)
	case ref.Val:
		return v
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return types.Int(n)
		}
		if n, err := strconv.ParseUint(string(v), 10, 64); err == nil {
			return types.Uint(n)
		}
		if f, err := v.Float64(); err == nil && strconv.FormatFloat(f, 'f', -1, 64) == string(v) {
			return types.Double(f)
		}
		return types.NewErr("a number has more digits than a condition can compare")
	}
	return a.Registry.NativeToValue(v)
}
