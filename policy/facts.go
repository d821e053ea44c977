package policy

import (
	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// facts is what the conditions of one decision see. Values are made when they
// are asked for, and once.
type facts struct {
	req   Request
	id    string // server.tool
	found []int32
	ends  []int

	in   *conditions // whose expression is being evaluated
	memo []memo

	args, calls, now        ref.Val
	run, tool, notes, actor object
}

// memo keeps the variables of one file.
type memo struct {
	in     *conditions
	values []ref.Val
}

func (f *facts) reset(req Request) {
	f.req, f.id = req, req.Tool.ID()
	f.args, f.calls, f.now = nil, nil, nil
	f.memo = f.memo[:0]
	f.in = nil
	f.run = object{kinds.run, f}
	f.tool = object{kinds.tool, f}
	f.notes = object{kinds.notes, f}
	f.actor = object{kinds.actor, f}
}

func (f *facts) release() {
	f.req, f.id = Request{}, ""
	f.args, f.calls, f.now = nil, nil, nil
	clear(f.memo[:cap(f.memo)])
	f.memo = f.memo[:0]
	factsPool.Put(f)
}

// ResolveName gives what an expression names.
func (f *facts) ResolveName(name string) (any, bool) {
	switch name {
	case "args":
		if f.args == nil {
			m := f.req.Args
			if m == nil {
				m = map[string]any{}
			}
			f.args = f.in.env.CELTypeAdapter().NativeToValue(m)
		}
		return f.args, true
	case "tool":
		return &f.tool, true
	case "run":
		return &f.run, true
	case "actor":
		return &f.actor, true
	case "vars":
		// Not kept: which file's they are changes from layer to layer.
		return &object{f.in.kind, f}, true
	case "now":
		if f.now == nil {
			f.now = types.Timestamp{Time: f.req.Now}
		}
		return f.now, true
	case "calls":
		if f.calls == nil {
			f.calls = newCallCounts(f.req.Calls)
		}
		return f.calls, true
	}
	return nil, false
}

// Parent is nil: there are no other names.
func (f *facts) Parent() cel.Activation { return nil }

// variable evaluates a variable of a file, once.
func (f *facts) variable(c *conditions, slot int) ref.Val {
	var m *memo
	for i := range f.memo {
		if f.memo[i].in == c {
			m = &f.memo[i]
		}
	}
	if m == nil {
		f.memo = append(f.memo, memo{c, make([]ref.Val, len(c.vars))})
		m = &f.memo[len(f.memo)-1]
	}
	values := m.values
	if values[slot] == nil {
		v, err := c.vars[slot].cond.eval(f, c)
		if err != nil {
			v = types.NewErr("vars.%s: %s", c.vars[slot].name, err)
		}
		values[slot] = v
	}
	return values[slot]
}

// callCounts are the calls so far. A tool that was not called has zero, so
// that calls["mail.send"] < 5 holds before the first.
type callCounts struct{ traits.Mapper }

func newCallCounts(calls map[string]int) ref.Val {
	m := make(map[string]int64, len(calls))
	for k, n := range calls {
		m[k] = int64(n)
	}
	return callCounts{types.DefaultTypeAdapter.NativeToValue(m).(traits.Mapper)}
}

// Find gives zero for a tool that was not called.
func (c callCounts) Find(key ref.Val) (ref.Val, bool) {
	if v, ok := c.Mapper.Find(key); ok {
		return v, true
	}
	if _, ok := key.(types.String); !ok {
		return types.MaybeNoSuchOverloadErr(key), false
	}
	return types.IntZero, true
}

// Get gives zero for a tool that was not called.
func (c callCounts) Get(key ref.Val) ref.Val {
	v, _ := c.Find(key)
	return v
}

// kinds are the types of the objects that expressions begin with.
var kinds = struct{ run, tool, notes, actor *objectKind }{runKind(), toolKind(), annotationsKind(), actorKind()}

func textField(get func(*Request) string) objectField {
	return objectField{typ: cel.StringType, get: func(f *facts) ref.Val { return types.String(get(&f.req)) }}
}

func runKind() *objectKind {
	return &objectKind{cel.ObjectType("wexec.run"), map[string]objectField{
		"id":            textField(func(r *Request) string { return r.Run.ID }),
		"language":      textField(func(r *Request) string { return r.Run.Language }),
		"intent":        textField(func(r *Request) string { return r.Run.Intent }),
		"trigger":       textField(func(r *Request) string { return r.Run.Trigger }),
		"deterministic": {typ: cel.BoolType, get: func(f *facts) ref.Val { return types.Bool(f.req.Run.Deterministic) }},
	}}
}

func actorKind() *objectKind {
	return &objectKind{cel.ObjectType("wexec.actor"), map[string]objectField{
		"id":   textField(func(r *Request) string { return r.Actor.ID }),
		"type": textField(func(r *Request) string { return r.Actor.Type }),
	}}
}

func toolKind() *objectKind {
	return &objectKind{cel.ObjectType("wexec.tool"), map[string]objectField{
		"server":      textField(func(r *Request) string { return r.Tool.Server }),
		"name":        textField(func(r *Request) string { return r.Tool.Name }),
		"annotations": {typ: cel.ObjectType("wexec.annotations"), get: func(f *facts) ref.Val { return &f.notes }},
	}}
}

// annotationsKind is what a server says of its own tool. What it does not say
// is what the protocol takes for granted: the tool writes, destroys and
// reaches out.
func annotationsKind() *objectKind {
	note := func(otherwise bool, get func(*Request) *bool) objectField {
		return objectField{
			typ: cel.BoolType,
			get: func(f *facts) ref.Val {
				if b := get(&f.req); b != nil {
					return types.Bool(*b)
				}
				return types.Bool(otherwise)
			},
			set: func(f *facts) bool { return get(&f.req) != nil },
		}
	}
	return &objectKind{cel.ObjectType("wexec.annotations"), map[string]objectField{
		"readOnlyHint":    note(false, func(r *Request) *bool { return r.Tool.Annotations.ReadOnly }),
		"destructiveHint": note(true, func(r *Request) *bool { return r.Tool.Annotations.Destructive }),
		"idempotentHint":  note(false, func(r *Request) *bool { return r.Tool.Annotations.Idempotent }),
		"openWorldHint":   note(true, func(r *Request) *bool { return r.Tool.Annotations.OpenWorld }),
	}}
}
