// Package expr compiles and evaluates the CEL expressions of policy files:
// conditions, messages and the variables that they share.
//
// An [Env] belongs to one file. Its expressions are type-checked when they are
// compiled; with a [Checker] also against the argument schemas of tools. An
// [Expr] is a pure function of a [Call]: it reads no clock, and its time zones
// are loaded when it is compiled. Evaluation takes a bounded number of steps.
package expr

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/ext"

	"github.com/wexec/wexec/internal/text"
	"github.com/wexec/wexec/internal/yamldoc"
)

// Bounds of expressions.
const (
	maxLength  = 8 << 10
	maxNodes   = 2000
	maxNesting = 60
	maxCost    = 200_000 // of one evaluation, in CEL's own units
)

// Env is the environment of the expressions of one file: what they share.
type Env struct {
	env      *cel.Env
	scope    *scope
	provider *provider
	zones    zones
	vars     []variable // compiled, in the order in which they need each other
}

type variable struct {
	name string
	expr *Expr // nil if it did not compile
}

// NewEnv returns an environment without variables.
func NewEnv() (*Env, error) {
	return newEnv(zones{"UTC": time.UTC}, cel.MapType(cel.StringType, cel.DynType))
}

func newEnv(z zones, args *cel.Type) (*Env, error) {
	registry, err := types.NewRegistry()
	if err != nil {
		return nil, err
	}
	vars := &objectType{cel.ObjectType("wexec.vars"), map[string]objectField{}}
	e := &Env{scope: &scope{adapter{registry}, vars}, zones: z, provider: &provider{registry, objectTypes(vars)}}
	e.env, err = cel.NewEnv(append(z.functions(),
		cel.CustomTypeProvider(e.provider),
		cel.CustomTypeAdapter(e.scope.adapter),
		cel.OptionalTypes(),
		cel.CrossTypeNumericComparisons(true),
		cel.DefaultUTCTimeZone(true),
		cel.ParserRecursionLimit(maxNesting),
		cel.ParserExpressionSizeLimit(maxLength),
		cel.ExpressionNodeLimit(maxNodes),
		cel.ExpressionNestingDepthLimit(maxNesting),
		ext.Strings(), ext.Sets(), ext.Lists(ext.ListsMaxRangeSize(1000)),
		cel.Variable("args", args),
		cel.Variable("tool", toolType.cel),
		cel.Variable("run", runType.cel),
		cel.Variable("actor", actorType.cel),
		cel.Variable("calls", cel.MapType(cel.StringType, cel.IntType)),
		cel.Variable("now", cel.TimestampType),
		cel.Variable("vars", vars.cel),
	)...)
	return e, err
}

// variable returns a compiled variable, or nil.
func (e *Env) variable(name string) *Expr {
	for _, v := range e.vars {
		if v.name == name {
			return v.expr
		}
	}
	return nil
}

// Variables compiles the variables of the file, each after those that it uses.
// It is called once, before expressions that use them are compiled.
func (e *Env) Variables(r *yamldoc.Reporter, vars yamldoc.Map[yamldoc.Code]) {
	c := variableCompiler{env: e, reporter: r, byName: map[string]yamldoc.Pair[yamldoc.Code]{}, done: map[string]bool{}}
	for _, v := range vars {
		if !isName(v.Key) {
			r.Add(v.KeyPos, "use letters, digits and _", "invalid variable name %q", clip(v.Key))
			continue
		}
		c.byName[v.Key] = v
	}
	for _, v := range vars {
		c.compile(v.Key)
	}
}

type variableCompiler struct {
	env      *Env
	reporter *yamldoc.Reporter
	byName   map[string]yamldoc.Pair[yamldoc.Code]
	done     map[string]bool // false: being compiled
}

// compile compiles a variable after those that it uses. It returns false if the
// variable is being compiled already: it uses itself.
func (c *variableCompiler) compile(name string) bool {
	v, ok := c.byName[name]
	if done, begun := c.done[name]; begun || !ok {
		return done || !begun
	}
	c.done[name] = false
	if tree, issues := c.env.env.Parse(v.V.Text); issues.Err() == nil {
		for _, used := range varsIn(tree) {
			if !c.compile(used) {
				c.reporter.Add(v.Pos, "", "variable %s uses itself", name)
				c.declareAll()
				break
			}
		}
	}
	c.done[name] = true
	typ := cel.DynType // so that a problem of the variable makes no others
	x := c.env.compile(c.reporter, v.V, nil)
	if x != nil {
		typ = x.tree.OutputType()
	}
	s, i := c.env.scope, len(c.env.vars)
	compute := func(f *Facts) ref.Val {
		v, err := x.eval(f)
		if err != nil {
			return types.NewErr("vars.%s: %s", name, err)
		}
		return v
	}
	c.env.vars = append(c.env.vars, variable{name, x})
	s.vars.fields[name] = objectField{cel: typ, get: func(f *Facts) ref.Val { return f.variable(s, i, func() ref.Val { return compute(f) }) }}
	return true
}

// declareAll declares every variable, so that a cycle is reported once.
func (c *variableCompiler) declareAll() {
	for name := range c.byName {
		if _, ok := c.env.scope.vars.fields[name]; !ok {
			c.env.scope.vars.fields[name] = objectField{cel: cel.DynType}
		}
	}
}

// Condition compiles an expression that returns a boolean. It reports problems
// and returns nil if there are any.
func (e *Env) Condition(r *yamldoc.Reporter, code yamldoc.Code) *Expr {
	return e.compile(r, code, cel.BoolType)
}

// Message compiles an expression that returns a string. It reports problems and
// returns nil if there are any.
func (e *Env) Message(r *yamldoc.Reporter, code yamldoc.Code) *Expr {
	return e.compile(r, code, cel.StringType)
}

// compile compiles an expression of a type, or of any if want is nil.
func (e *Env) compile(r *yamldoc.Reporter, code yamldoc.Code, want *cel.Type) *Expr {
	if strings.TrimSpace(code.Text) == "" {
		r.Add(code.Place(1, 0), "", "the expression is empty")
		return nil
	}
	tree, issues := e.env.Compile(code.Text)
	if issues.Err() != nil {
		for _, issue := range issues.Errors() {
			message, hint := e.translate(issue.Message)
			r.Add(code.Place(issue.Location.Line(), issueColumn(issue.Message, issue.Location.Column())), hint, "%s", message)
		}
		return nil
	}
	ok := e.zones.load(r, code, tree)
	if got := tree.OutputType(); want != nil && !got.IsExactType(want) && !got.IsExactType(cel.DynType) {
		r.Add(code.Place(1, 0), "", "the expression must return %s, not %s", want, got)
		ok = false
	}
	if !ok {
		return nil
	}
	option := cel.EvalOptions(cel.OptOptimize)
	if isUnbounded(tree) {
		option = cel.CostLimit(maxCost)
	}
	program, err := e.env.Program(tree, option)
	if err != nil {
		r.Add(code.Place(1, 0), "", "%s", yamldoc.LowerFirst(err.Error()))
		return nil
	}
	return &Expr{env: e, program: program, tree: tree, code: code}
}

// Expr is one compiled expression. It is immutable.
type Expr struct {
	env     *Env
	program cel.Program
	tree    *cel.Ast
	code    yamldoc.Code
}

// Text returns the expression as it was written, on one line.
func (x *Expr) Text() string { return text.OneLine(x.code.Text) }

// Source returns the expression and the variables that it uses, as they were written.
func (x *Expr) Source() string {
	var out strings.Builder
	seen := map[string]bool{}
	var add func(x *Expr)
	add = func(x *Expr) {
		fmt.Fprintf(&out, "%q\n", x.code.Text)
		for _, name := range varsIn(x.tree) {
			if v := x.env.variable(name); v != nil && !seen[name] {
				seen[name] = true
				fmt.Fprintf(&out, "%s: ", name)
				add(v)
			}
		}
	}
	add(x)
	return out.String()
}

// Pos returns where the expression begins in its file.
func (x *Expr) Pos() yamldoc.Position { return x.code.Place(1, 0) }

// Bool evaluates a condition. A result that is not a boolean is an error.
func (x *Expr) Bool(f *Facts) (bool, error) {
	b, err := evalAs[types.Bool](x, f, "a boolean")
	return bool(b), err
}

// String evaluates an expression that returns a string.
func (x *Expr) String(f *Facts) (string, error) {
	s, err := evalAs[types.String](x, f, "a string")
	return string(s), err
}

func evalAs[T ref.Val](x *Expr, f *Facts, want string) (out T, err error) {
	v, err := x.eval(f)
	if err != nil {
		return out, err
	}
	out, ok := v.(T)
	if !ok {
		err = fmt.Errorf("it returns %s, not %s", v.Type().TypeName(), want)
	}
	return out, err
}

func (x *Expr) eval(f *Facts) (ref.Val, error) {
	before := f.scope
	f.scope = x.env.scope
	v, _, err := x.program.Eval(f)
	f.scope = before
	if err == nil && types.IsUnknownOrError(v) {
		err = fmt.Errorf("%v", v)
	}
	if err != nil {
		return nil, errors.New(yamldoc.LowerFirst(clip(strings.ReplaceAll(err.Error(), "\n", " "))))
	}
	return v, nil
}

// translate returns a message of the CEL compiler in the terms of policy files,
// and a hint with the nearest name.
func (e *Env) translate(message string) (text, hint string) {
	message, _, _ = strings.Cut(message, "\n")
	message = strings.TrimSuffix(message, " (in container '')")
	if name, near, ok := quotedAfter(message, "undeclared reference to "); ok {
		candidates := slices.Clone(roots)
		for f := range e.env.Functions() {
			if isName(f) {
				candidates = append(candidates, f)
			}
		}
		slices.Sort(candidates)
		return "unknown name " + name, cmp.Or(near, yamldoc.Suggest(name, candidates), "the names are "+strings.Join(roots, ", "))
	}
	if name, near, ok := quotedAfter(message, "undefined field "); ok {
		var candidates []string
		for _, t := range []*objectType{runType, toolType, annotationsType, actorType, capabilitiesType, e.scope.vars} {
			candidates = slices.AppendSeq(candidates, maps.Keys(t.fields))
		}
		slices.Sort(candidates)
		return "unknown field " + name, cmp.Or(near, yamldoc.Suggest(name, slices.Compact(candidates)))
	}
	if rest, ok := strings.CutPrefix(message, "Syntax error: "); ok {
		if strings.Contains(rest, "'<EOF>'") {
			return "unexpected end of expression", ""
		}
		message, _, _ = strings.Cut(rest, " expecting ")
		if token, ok := strings.CutPrefix(message, "mismatched input "); ok {
			message = "unexpected " + token
		}
	}
	return yamldoc.LowerFirst(message), ""
}

// issueColumn returns the column of the name of an unknown field. The compiler
// reports the dot before it.
func issueColumn(message string, column int) int {
	if strings.HasPrefix(message, "undefined field ") {
		return column + 1
	}
	return column
}

// quotedAfter splits a message of the CEL compiler: prefix 'name' (did you mean
// 'other'?).
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

// isName reports whether a text is an identifier.
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
