package hostfns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns/internal/strictjson"
	"github.com/wexec/wexec/hostfns/schema"
)

// arguments are the arguments of a call on their way to the tool.
type arguments struct {
	raw    []byte         // a JSON object
	values map[string]any // the same, decoded
}

// readArguments parses and completes the arguments. A lookup decodes its own.
func (c *call) readArguments(ctx context.Context) error {
	if c.kind == lookupCall {
		if len(c.given) > maxLookup && c.name != "wexec:compile" {
			return &Failure{Code: fault.ToolInvalidArgs, Tool: c.name,
				Message: fmt.Sprintf("the arguments have %d bytes, more than the %d of a lookup", len(c.given), maxLookup)}
		}
		return nil
	}
	var f *Failure
	if c.args, f = c.tool.parse(ctx, c.given, (*payer)(c.run)); f != nil {
		if ctx.Err() != nil {
			return c.cancelled()
		}
		return c.refuse("schema", f)
	}
	if err := c.run.spend(max(0, int64(len(c.args.raw)-len(c.given)))); err != nil { // defaults may be long
		return err
	}
	return c.takeSecrets(ctx)
}

// payer is a run that is charged for memory. As a type it costs no allocation.
type payer Run

// Charge implements strictjson.Payer.
func (p *payer) Charge(n int64) error { return (*Run)(p).spend(n) }

// takeSecrets reads the secrets that fill arguments, and removes what the program
// wrote there.
func (c *call) takeSecrets(ctx context.Context) (err error) {
	if c.kind != toolCall {
		return nil
	}
	if c.secrets, err = c.run.table.argumentSecrets(ctx, c.name); err != nil {
		return err
	}
	for _, s := range c.secrets {
		if _, given := c.args.values[s.argument()]; !given {
			continue
		}
		delete(c.args.values, s.argument())
		if err := c.args.encode(); err != nil {
			return c.refuse("schema", c.tool.invalid(err.Error(), ""))
		}
	}
	return nil
}

// errReveal is why revealed arguments are not known. It does not depend on values.
var errReveal = errors.New("the tokens in the arguments cannot be revealed")

// revealArguments sets the arguments with values instead of tokens, which may be
// longer than the arguments by most bytes. Only the first call has an effect.
func (c *call) revealArguments(ctx context.Context, most int64) error {
	if !c.tried {
		c.tried = true
		c.revealed, c.hasTokens, c.revealErr = c.valuesOf(ctx, c.args, most)
	}
	return c.revealErr
}

func (c *call) valuesOf(ctx context.Context, args arguments, most int64) (revealed arguments, differ bool, err error) {
	raw, err := c.run.redactor.reveal(args.raw, c.run.growing(ctx, int64(len(args.raw))+most))
	switch {
	case fault.CodeOf(err) == fault.GuestResult:
		return args, false, errReveal
	case err != nil || string(raw) == string(args.raw):
		return args, false, err
	}
	// Two names may have the same value, which is an error.
	doc, err := strictjson.Decode(ctx, raw, (*payer)(c.run))
	if ctx.Err() != nil {
		return args, false, context.Cause(ctx)
	}
	values, ok := doc.Value.(map[string]any)
	if err != nil || !ok {
		return args, false, errReveal
	}
	return arguments{raw: raw, values: values}, true, nil
}

// growing returns a function that charges the run for text before it is made, of
// most bytes in all, and ends with the context.
func (r *Run) growing(ctx context.Context, most int64) func(n int) error {
	return func(n int) error {
		if most -= int64(n); most < 0 {
			return errTooLong
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return r.spend(int64(n))
	}
}

// unrevealed returns the error of a call whose arguments cannot be revealed.
func (c *call) unrevealed() error {
	switch err := c.revealErr; {
	case err == errReveal:
		return c.refuse("schema", c.tool.invalid(err.Error(), ""))
	case err == errTooLong:
		return c.refuse("schema", c.tool.invalid(err.Error(), "pass fewer tokens in one call"))
	case endsRun(err):
		return err
	}
	return c.cancelled()
}

// reveals reports whether the tool gets values instead of tokens.
func (c *call) reveals() bool { return !c.tool.keeps && c.run.redactor.reveals(c.name) }

// reveal puts in the values that the tool may have, and the secrets.
func (c *call) reveal(ctx context.Context) error {
	if c.kind == lookupCall {
		return nil
	}
	out := c.args
	if c.reveals() {
		if c.revealArguments(ctx, c.run.limits.HostBytes) != nil {
			return c.unrevealed()
		}
		if out = c.revealed; c.hasTokens || c.run.info.Client != nil { // the client's answers may have tokens
			c.values = c.run.redactor.given(c.args.raw, c.name)
		}
	}
	c.outgoing = out
	if len(c.secrets) == 0 {
		return nil
	}
	extra := make(map[string]any, len(c.secrets))
	for _, s := range c.secrets {
		extra[s.argument()] = s.Value
	}
	if err := c.outgoing.add(extra); err != nil {
		return c.tool.invalid(err.Error(), "")
	}
	return nil
}

// checkArguments checks the arguments against the schema as the tool gets them.
// Those that a secret fills may be missing. A fault shows names as the program
// wrote them.
func (c *call) checkArguments(ctx context.Context) error {
	if c.kind == lookupCall {
		return nil
	}
	var filled []string
	for _, s := range c.secrets {
		filled = append(filled, s.argument())
	}
	var f *schema.Fault
	var err error
	check := c.beginCheck(ctx)
	defer check.end()
	work := schema.Work{Size: len(c.outgoing.raw), Spender: check}
	if c.hasTokens && c.reveals() {
		f, err = c.tool.schema().CheckMasked("args", c.outgoing.values, c.args.values, work, filled...)
	} else {
		f, err = c.tool.schema().Check("args", c.outgoing.values, work, filled...)
	}
	switch {
	case err == schema.ErrTooMuch:
		c.run.warn("the arguments of " + c.name + " were not checked: its schema takes too long")
	case endsRun(err):
		return err
	case err != nil:
		return c.cancelled()
	case f != nil:
		return c.refuse("schema", c.tool.invalid(f.Error(), c.tool.signature()))
	}
	return nil
}

// CheckArguments returns the failure of a call of a tool with these arguments, in the
// form of [schema.ReadPartial], if it fails for all values of the unknown
// arguments. Without a failure it is nil. No tool is called and no secret is read.
// The spender receives the work.
func (t *Table) CheckArguments(ctx context.Context, tool string, form []byte, spender schema.Spender) (*Failure, error) {
	r, err := t.resolve(ctx, tool)
	if err != nil {
		return nil, err
	}
	var list []json.RawMessage
	if json.Unmarshal(form, &list) == nil {
		values := make([]any, 0, len(list))
		for _, v := range list {
			values = append(values, v)
		}
		for len(values) > 0 && string(list[len(values)-1]) == "{}" { // may be undefined, which is not sent
			values = values[:len(values)-1]
		}
		named, f := r.byPosition(values)
		if f != nil {
			return f, nil
		}
		if form, err = json.Marshal(map[string]any{"fields": named, "open": len(values) < len(list)}); err != nil {
			return nil, fault.New(fault.Internal, "encode the arguments: %w", err)
		}
	}
	v, err := schema.ReadPartial(form)
	if err != nil {
		return nil, fault.New(fault.Internal, "read the arguments: %w", err)
	}
	s := r.schema()
	var filled []string
	if fields, open, ok := schema.Object(v); ok {
		for _, secret := range t.policy.Secrets() {
			if fillsArgument(secret, r.id) {
				name := strings.TrimPrefix(secret.As, argumentPrefix)
				filled = append(filled, name)
				delete(fields, name)
			}
		}
		if !open || s.Closed() {
			if f := r.misnamed(fields); f != nil {
				return f, nil
			}
		}
		maps.Copy(fields, s.Defaults(fields))
	}
	f, err := s.Check("args", v, schema.Work{Size: len(form), Spender: spender}, filled...)
	if f != nil {
		return r.invalid(f.Error(), r.signature()), nil
	}
	return nil, err
}

// freeWork is the work of one check that is neither counted nor waits for a core.
const freeWork = 1 << 20

// checking charges a run for the work of a check, a byte for each unit, and ends it
// with the context. A long check takes a core.
type checking struct {
	ctx  context.Context
	call *call
	free int
	back func() // gives the core back; nil: it has none
}

// beginCheck begins a check of one of the call's values.
func (c *call) beginCheck(ctx context.Context) *checking {
	c.checking = checking{ctx: ctx, call: c, free: freeWork}
	return &c.checking
}

// Spend implements schema.Spender.
func (w *checking) Spend(units int) (err error) {
	if w.ctx.Err() != nil {
		return context.Cause(w.ctx)
	}
	spared := min(w.free, units)
	w.free -= spared
	if units > spared && w.back == nil {
		if w.back, err = w.call.core.enter(w.ctx); err != nil {
			return err
		}
	}
	return w.call.run.spend(int64(units - spared))
}

// end gives back the core.
func (w *checking) end() {
	if w.back != nil {
		w.back()
	}
}

// parse reads what the program wrote: an object by keyword, or an array by
// position. It fills in the defaults of the schema. by is charged for the
// memory of many values.
func (t *resolvedTool) parse(ctx context.Context, data []byte, by strictjson.Payer) (arguments, *Failure) {
	if len(data) == 0 {
		data = []byte("{}")
	}
	doc, err := strictjson.Decode(ctx, data, by)
	if err != nil {
		return arguments{}, t.invalid("the arguments are not valid JSON: "+err.Error(), "")
	}
	a := arguments{raw: data}
	exact := doc.Exact
	switch v := doc.Value.(type) {
	case map[string]any:
		a.values = v
	case []any:
		var f *Failure
		if a.values, f = t.byPosition(v); f != nil {
			return arguments{}, f
		}
		exact = false
	case nil:
		a.values = map[string]any{}
		exact = false
	default:
		return arguments{}, t.invalid("the arguments must be an object by keyword or a list by position", t.signature())
	}
	if f := t.misnamed(a.values); f != nil {
		return arguments{}, f
	}
	extra := t.schema().Defaults(a.values)
	maps.Copy(a.values, extra)
	if exact {
		err = a.add(extra)
	} else {
		err = a.encode()
	}
	if err != nil {
		return arguments{}, t.invalid(err.Error(), "")
	}
	return a, nil
}

// encode writes raw from values.
func (a *arguments) encode() (err error) {
	if a.raw, err = json.Marshal(a.values); err != nil {
		return fmt.Errorf("encode the arguments: %w", err)
	}
	return nil
}

// add adds members to raw and leaves the others as they were written, so that
// numbers keep every digit.
func (a *arguments) add(extra map[string]any) error {
	if len(extra) == 0 {
		return nil
	}
	members, err := json.Marshal(extra)
	if err != nil {
		return fmt.Errorf("encode the arguments: %w", err)
	}
	object := strings.TrimSpace(string(a.raw[:strings.LastIndexByte(string(a.raw), '}')]))
	out := make([]byte, 0, len(object)+len(members)+1)
	out = append(out, object...)
	if object != "{" {
		out = append(out, ',')
	}
	a.raw = append(out, members[1:]...)
	return nil
}

// byPosition gives the arguments of a list their names.
func (t *resolvedTool) byPosition(list []any) (map[string]any, *Failure) {
	names := t.schema().Positions()
	if len(list) > len(names) {
		if len(names) == 0 && len(list) == 1 {
			if m, ok := list[0].(map[string]any); ok {
				return m, nil
			}
		}
		return nil, t.invalid(fmt.Sprintf("%d arguments by position, but the tool has %d", len(list), len(names)), t.signature())
	}
	out := make(map[string]any, len(list))
	for i, v := range list {
		out[names[i]] = v
	}
	return out, nil
}

// misnamed finds an argument with a misspelled name: one that is unknown and
// similar to one that the tool has and that is missing. Tools that accept any name
// would ignore it.
func (t *resolvedTool) misnamed(values map[string]any) *Failure {
	s := t.schema()
	if len(s.Properties()) == 0 || s.Open() {
		return nil
	}
	unknown := t.unknownNames(values)
	if len(unknown) == 0 {
		return nil
	}
	missing := slices.DeleteFunc(slices.Clone(s.Properties()), func(name string) bool {
		_, given := values[name]
		return given
	})
	for _, got := range unknown {
		message := fmt.Sprintf("args.%s: there is no argument of that name", clean(got, 80))
		if near := catalogue.NearestOf(got, missing); near != "" {
			return t.invalid(message, "did you mean "+clean(near, 80)+"?")
		}
		if s.Closed() {
			return t.invalid(message, t.signature())
		}
	}
	return nil
}

// unknownNames returns the names that the tool does not have, sorted. Of very
// many it returns a few: they are not misspelled.
func (t *resolvedTool) unknownNames(values map[string]any) []string {
	const most = 10
	var out []string
	for name := range values {
		if t.schema().Has(name) {
			continue
		}
		at, _ := slices.BinarySearch(out, name)
		if at < most {
			out = slices.Insert(out[:min(len(out), most-1)], at, name)
		}
	}
	return out
}
