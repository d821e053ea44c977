package policy

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	celast "cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/ext"
)

// Bounds of conditions.
const (
	maxExpression = 8 << 10
	maxNodes      = 2000
	maxNesting    = 60
	maxCost       = 200_000 // of one evaluation, in CEL's own units
)

var errDrawn = errors.New("a policy file says what may be allowed, and flags do not widen it")

// conditions is what the expressions of one file share.
type conditions struct {
	env  *cel.Env
	vars []variable
	kind *objectKind // of "vars"
	zone zones

	provider *provider
}

// variable is one entry of vars.
type variable struct {
	name string
	cond *condition
}

// condition is one compiled expression. It does not change.
type condition struct {
	in      *conditions
	program cel.Program
	tree    *cel.Ast
	source  expr
}

// holds evaluates a condition. Anything but true and false is an error.
func (c *condition) holds(f *facts, l *layer) (bool, error) {
	v, err := c.eval(f, l.conditions)
	if err != nil {
		return false, err
	}
	b, ok := v.(types.Bool)
	if !ok {
		return false, fmt.Errorf("it gives %s and not true or false", v.Type().TypeName())
	}
	return bool(b), nil
}

// text evaluates an expression that gives a text.
func (c *condition) text(f *facts, l *layer) (string, error) {
	v, err := c.eval(f, l.conditions)
	if err != nil {
		return "", err
	}
	s, ok := v.(types.String)
	if !ok {
		return "", fmt.Errorf("it gives %s and not a text", v.Type().TypeName())
	}
	return string(s), nil
}

func (c *condition) eval(f *facts, in *conditions) (ref.Val, error) {
	before := f.in
	f.in = in
	v, _, err := c.program.Eval(f)
	f.in = before
	if err == nil && types.IsUnknownOrError(v) {
		err = fmt.Errorf("%v", v)
	}
	if err != nil {
		return nil, errors.New(lower(clip(strings.ReplaceAll(err.Error(), "\n", " "))))
	}
	return v, nil
}

// newConditions makes the environment of a file's expressions. The type of args
// is a map of anything, or one of the objects that are given beside it.
func newConditions(zone zones, args *cel.Type, objects map[string]*objectKind) (*conditions, error) {
	c := &conditions{kind: &objectKind{typ: cel.ObjectType("wexec.vars"), fields: map[string]objectField{}}, zone: zone}
	registry, err := types.NewRegistry()
	if err != nil {
		return nil, err
	}
	byName := map[string]*objectKind{}
	for _, k := range []*objectKind{kinds.run, kinds.tool, kinds.notes, kinds.actor, c.kind} {
		byName[k.typ.TypeName()] = k
	}
	maps.Copy(byName, objects)
	c.provider = &provider{Registry: registry, kinds: byName}
	options := []cel.EnvOption{
		cel.CustomTypeProvider(c.provider),
		cel.CustomTypeAdapter(adapter{registry}),
		cel.OptionalTypes(),
		cel.CrossTypeNumericComparisons(true),
		cel.DefaultUTCTimeZone(true),
		cel.ParserRecursionLimit(maxNesting),
		cel.ParserExpressionSizeLimit(maxExpression),
		cel.ExpressionNodeLimit(maxNodes),
		cel.ExpressionNestingDepthLimit(maxNesting),
		ext.Strings(), ext.Sets(), ext.Lists(ext.ListsMaxRangeSize(1000)),
		cel.Variable("args", args),
		cel.Variable("tool", kinds.tool.typ),
		cel.Variable("run", kinds.run.typ),
		cel.Variable("actor", kinds.actor.typ),
		cel.Variable("calls", cel.MapType(cel.StringType, cel.IntType)),
		cel.Variable("now", cel.TimestampType),
		cel.Variable("vars", c.kind.typ),
	}
	options = append(options, zone.functions()...)
	c.env, err = cel.NewEnv(options...)
	return c, err
}

// anyArgs is the type of args where no tool's schema is looked at.
var anyArgs = cel.MapType(cel.StringType, cel.DynType)

// names lists what expressions may begin with.
var names = []string{"args", "tool", "run", "actor", "calls", "now", "vars"}

// compileVars compiles the variables in the order in which they need each
// other.
func (c *conditions) compileVars(r *reporter, vars named[expr]) {
	waits := map[string][]string{}
	byName := map[string]entry[expr]{}
	for _, v := range vars {
		if !isName(v.Key) {
			r.add(v.KeyPos, "use letters, digits and _", "%q cannot name a variable", clip(v.Key))
			continue
		}
		byName[v.Key] = v
		if tree, issues := c.env.Parse(v.V.text); issues.Err() == nil {
			waits[v.Key] = varsIn(tree)
		}
	}
	done := map[string]int{} // 1: being compiled, 2: compiled
	var visit func(name string) bool
	visit = func(name string) bool {
		v, ok := byName[name]
		if !ok || done[name] == 2 {
			return true
		}
		if done[name] == 1 {
			return false
		}
		done[name] = 1
		for _, need := range waits[name] {
			if !visit(need) {
				r.add(v.Pos, "", "the variable %s needs itself", name)
				for _, known := range vars {
					if _, ok := c.kind.fields[known.Key]; !ok {
						c.kind.fields[known.Key] = objectField{typ: cel.DynType}
					}
				}
				break
			}
		}
		done[name] = 2
		// Declared first, so that its own faults do not make others.
		typ := cel.DynType
		cond := c.compile(r, v.V, nil)
		if cond != nil {
			typ = cond.tree.OutputType()
		}
		slot := len(c.vars)
		c.vars = append(c.vars, variable{name, cond})
		c.kind.fields[name] = objectField{typ: typ, get: func(f *facts) ref.Val { return f.variable(c, slot) }}
		return true
	}
	for _, v := range vars {
		visit(v.Key)
	}
}

// varsIn lists the variables that an expression names.
func varsIn(tree *cel.Ast) []string {
	var out []string
	celast.PreOrderVisit(tree.NativeRep().Expr(), celast.NewExprVisitor(func(e celast.Expr) {
		if e.Kind() != celast.SelectKind {
			return
		}
		s := e.AsSelect()
		if s.Operand().Kind() == celast.IdentKind && s.Operand().AsIdent() == "vars" {
			out = append(out, s.FieldName())
		}
	}))
	return out
}

// compile reads one expression and reports what is wrong with it. Where want
// is not nil the expression has to give that type.
func (c *conditions) compile(r *reporter, e expr, want *cel.Type) *condition {
	if strings.TrimSpace(e.text) == "" {
		r.add(e.place(1, 0), "", "the expression is empty")
		return nil
	}
	tree, issues := c.env.Compile(e.text)
	if issues.Err() != nil {
		for _, one := range issues.Errors() {
			message, hint := c.explain(one.Message)
			r.add(e.place(one.Location.Line(), nameColumn(one.Message, one.Location.Column())), hint, "%s", message)
		}
		return nil
	}
	ok := c.zone.check(r, e, tree)
	if got := tree.OutputType(); want != nil && !got.IsExactType(want) && !got.IsExactType(cel.DynType) {
		r.add(e.place(1, 0), "", "the expression gives %s and has to give %s", got, want)
		ok = false
	}
	if !ok {
		return nil
	}
	var options []cel.ProgramOption
	if unbounded(tree) {
		options = append(options, cel.CostLimit(maxCost))
	} else {
		options = append(options, cel.EvalOptions(cel.OptOptimize))
	}
	program, err := c.env.Program(tree, options...)
	if err != nil {
		r.add(e.place(1, 0), "", "%s", lower(err.Error()))
		return nil
	}
	return &condition{in: c, program: program, tree: tree, source: e}
}

// explain puts a message of the CEL compiler into our words, with the nearest
// right name.
func (c *conditions) explain(message string) (text, hint string) {
	message, _, _ = strings.Cut(message, "\n")
	message = strings.TrimSuffix(message, " (in container '')")
	if name, near, ok := quotedAfter(message, "undeclared reference to "); ok {
		candidates := slices.Clone(names)
		for f := range c.env.Functions() {
			if isName(f) {
				candidates = append(candidates, f)
			}
		}
		slices.Sort(candidates)
		if hint = near; hint == "" {
			hint = meant(name, candidates)
		}
		if hint == "" {
			hint = "expressions know " + strings.Join(names, ", ")
		}
		return "there is no " + name, hint
	}
	if name, near, ok := quotedAfter(message, "undefined field "); ok {
		var candidates []string
		for _, k := range []*objectKind{kinds.run, kinds.tool, kinds.notes, kinds.actor, c.kind} {
			for field := range k.fields {
				candidates = append(candidates, field)
			}
		}
		slices.Sort(candidates)
		if hint = near; hint == "" {
			hint = meant(name, slices.Compact(candidates))
		}
		return "there is no field " + name, hint
	}
	if rest, ok := strings.CutPrefix(message, "Syntax error: "); ok {
		if strings.Contains(rest, "'<EOF>'") {
			return "the expression ends too early", ""
		}
		rest, _, _ = strings.Cut(rest, " expecting ")
		if token, ok := strings.CutPrefix(rest, "mismatched input "); ok {
			rest = "unexpected " + token
		}
		return lower(rest), ""
	}
	return lower(message), ""
}

// nameColumn is where the name of a wrong field stands: behind the dot at which
// the compiler reports it.
func nameColumn(message string, column int) int {
	if strings.HasPrefix(message, "undefined field ") {
		return column + 1
	}
	return column
}

// quotedAfter takes a message of the CEL compiler apart: prefix 'name' (did
// you mean 'other'?).
func quotedAfter(message, prefix string) (name, near string, ok bool) {
	rest, ok := strings.CutPrefix(message, prefix)
	if !ok {
		return "", "", false
	}
	name, rest, _ = strings.Cut(strings.TrimPrefix(rest, "'"), "'")
	if _, other, ok := strings.Cut(rest, "did you mean '"); ok {
		other, _, _ = strings.Cut(other, "'")
		near = "did you mean " + other + "?"
	}
	return name, near, true
}

// bounded are the functions whose cost grows no faster than the values they
// are given. An expression of these alone needs no count of its steps: its
// cost is bounded by its own length and that of the arguments.
var bounded = []string{
	operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot, operators.Conditional,
	operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals,
	operators.In, operators.Index, operators.OptIndex, operators.OptSelect, operators.Negate,
	operators.Subtract, operators.Multiply, operators.Divide, operators.Modulo, operators.Add,
	"size", "startsWith", "endsWith", "contains", "int", "double", "string", "bool", "timestamp", "duration", "type", "dyn",
	"orValue", "or", "hasValue", "value", "lowerAscii", "upperAscii", "trim", "indexOf", "lastIndexOf", "charAt", "substring",
	"getHours", "getMinutes", "getSeconds", "getFullYear", "getMonth", "getDayOfWeek", "getDayOfMonth", "getDate", "getDayOfYear", "getMilliseconds",
}

// unbounded reports whether an expression loops, or calls something whose cost
// may run away.
func unbounded(tree *cel.Ast) bool {
	found := false
	celast.PreOrderVisit(tree.NativeRep().Expr(), celast.NewExprVisitor(func(e celast.Expr) {
		switch e.Kind() {
		case celast.ComprehensionKind:
			found = true
		case celast.CallKind:
			found = found || !slices.Contains(bounded, e.AsCall().FunctionName())
		}
	}))
	return found
}

func isName(s string) bool {
	if s == "" || len(s) > 100 || s[0] >= '0' && s[0] <= '9' {
		return false
	}
	for _, c := range []byte(s) {
		if c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}

// adapter makes CEL values of what JSON decodes to. JSON has one kind of
// number: a whole one becomes an int and any other a double, so that args.n +
// 1 works whichever way the number came.
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
	case interface{ Float64() (float64, error) }: // json.Number
		if whole, ok := v.(interface{ Int64() (int64, error) }); ok {
			if n, err := whole.Int64(); err == nil {
				return types.Int(n)
			}
		}
		n, err := v.Float64()
		if err != nil {
			return types.NewErr("a number cannot be read")
		}
		return a.NativeToValue(n)
	}
	return a.Registry.NativeToValue(v)
}

// provider knows the types of what expressions begin with.
type provider struct {
	*types.Registry
	kinds map[string]*objectKind
}

func (p *provider) FindStructType(name string) (*types.Type, bool) {
	if k, ok := p.kinds[name]; ok {
		return types.NewTypeTypeWithParam(k.typ), true
	}
	return p.Registry.FindStructType(name)
}

func (p *provider) FindStructFieldNames(name string) ([]string, bool) {
	k, ok := p.kinds[name]
	if !ok {
		return p.Registry.FindStructFieldNames(name)
	}
	var fields []string
	for f := range k.fields {
		fields = append(fields, f)
	}
	slices.Sort(fields)
	return fields, true
}

func (p *provider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	k, ok := p.kinds[name]
	if !ok {
		return p.Registry.FindStructFieldType(name, field)
	}
	f, ok := k.fields[field]
	if !ok {
		return nil, false
	}
	return &types.FieldType{Type: f.typ}, true
}

// objectKind is a type of object with its fields.
type objectKind struct {
	typ    *types.Type
	fields map[string]objectField
}

type objectField struct {
	typ *types.Type
	get func(*facts) ref.Val
	set func(*facts) bool // nil: always set
}

// object is an object as expressions see it, with its fields made when they
// are asked for.
type object struct {
	kind *objectKind
	of   *facts
}

func (o *object) field(index ref.Val) (objectField, ref.Val) {
	name, ok := index.(types.String)
	if !ok {
		return objectField{}, types.MaybeNoSuchOverloadErr(index)
	}
	f, ok := o.kind.fields[string(name)]
	if !ok {
		return f, types.NewErr("no such field: %s", clip(string(name)))
	}
	return f, nil
}

// Get gives a field.
func (o *object) Get(index ref.Val) ref.Val {
	f, err := o.field(index)
	if err != nil {
		return err
	}
	return f.get(o.of)
}

// IsSet reports whether a field was said.
func (o *object) IsSet(index ref.Val) ref.Val {
	f, err := o.field(index)
	if err != nil {
		return err
	}
	return types.Bool(f.set == nil || f.set(o.of))
}

// ConvertToNative refuses: objects stay inside expressions.
func (o *object) ConvertToNative(t reflect.Type) (any, error) {
	return nil, fmt.Errorf("%s has no other form", o.kind.typ)
}

// ConvertToType gives the object's type, and nothing else.
func (o *object) ConvertToType(t ref.Type) ref.Val {
	if t == types.TypeType {
		return o.kind.typ
	}
	return types.NewErr("%s has no other form", o.kind.typ)
}

// Equal compares by identity.
func (o *object) Equal(other ref.Val) ref.Val {
	p, ok := other.(*object)
	return types.Bool(ok && p.kind == o.kind && p.of == o.of)
}

// Type is the object's type.
func (o *object) Type() ref.Type { return o.kind.typ }

// Value is the object itself.
func (o *object) Value() any { return o }
