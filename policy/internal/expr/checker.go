package expr

import (
	"maps"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	celast "cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/internal/jsonschema"
	"github.com/wexec/wexec/internal/yamldoc"
)

// Checker checks the expressions of one file against the argument schemas of
// tools. It is made once for a file: only the types of args and vars change from
// tool to tool, which is why many tools are checked fast.
type Checker struct {
	file   *Env // of the file
	env    *Env // with typed arguments
	parsed map[string]*cel.Ast
	uses   map[string]*argUse
	tools  map[string]*ArgTypes
}

// NewChecker returns a checker for the expressions of an environment.
func NewChecker(file *Env) (*Checker, error) {
	env, err := newEnv(zones{"UTC": nil}, cel.ObjectType("wexec.args"))
	return &Checker{file: file, env: env, parsed: map[string]*cel.Ast{}, uses: map[string]*argUse{}, tools: map[string]*ArgTypes{}}, err
}

// ArgTypes are the types of the arguments of one tool.
type ArgTypes struct {
	checker *Checker
	types   schemaTypes
	vars    map[string]objectField
	schema  *jsonschema.Schema
}

// Tool returns the types of a tool's arguments, or nil if its schema does not
// say which arguments there are.
func (c *Checker) Tool(t catalogue.Tool) *ArgTypes {
	if known, ok := c.tools[t.ID()]; ok {
		return known
	}
	c.tools[t.ID()] = nil
	schema, err := jsonschema.Parse(t.InputSchema)
	if err != nil {
		return nil
	}
	s := schemaTypes{}
	if s.object(schema.Root, "args", 0) == nil {
		return nil
	}
	c.tools[t.ID()] = &ArgTypes{checker: c, types: s, vars: map[string]objectField{}, schema: schema.Root.Target()}
	return c.tools[t.ID()]
}

// MismatchKind says how an expression does not fit a tool.
type MismatchKind uint8

// The kinds of mismatches.
const (
	UnknownArgument MismatchKind = iota
	WrongType
)

// Mismatch is one way in which an expression does not fit a tool.
type Mismatch struct {
	Pos     yamldoc.Position
	Kind    MismatchKind
	Message string
	Hint    string
}

// Check returns where an expression does not fit the tool.
func (t *ArgTypes) Check(x *Expr) []Mismatch {
	used := t.checker.argsUsedBy(x.code.Text)
	signature := t.signature(used)
	if used.fits[signature] {
		return nil
	}
	tree := t.checker.parse(x.code.Text)
	if tree == nil {
		return nil
	}
	t.enter(tree)
	var out []Mismatch
	_, issues := t.checker.env.env.Check(tree)
	for _, issue := range issues.Errors() {
		pos := x.code.Place(issue.Location.Line(), issueColumn(issue.Message, issue.Location.Column()))
		message, _, _ := strings.Cut(issue.Message, "\n")
		if name, _, ok := quotedAfter(message, "undefined field "); ok {
			out = append(out, t.unknown(name, pos))
			continue
		}
		// CEL does not take an object with known fields for a map. An error for
		// that reason only does not occur at run time.
		if strings.Contains(message, "wexec.args") || !strings.Contains(message, "overload") {
			continue
		}
		out = append(out, Mismatch{pos, WrongType, yamldoc.LowerFirst(message), ""})
	}
	info := x.tree.NativeRep().SourceInfo()
	visit(x.tree, func(e celast.Expr) {
		name, ok := indexOfArgs(e)
		if !ok || t.has(name) {
			return
		}
		at := info.GetStartLocation(e.ID())
		out = append(out, t.unknown(name, x.code.Place(at.Line(), at.Column())))
	})
	if len(out) == 0 && signature != "" {
		used.fits[signature] = true
	}
	return out
}

// Values returns the only values that an argument of the tool may have, from
// enum or const of its schema. ok is false if it has neither.
func (t *ArgTypes) Values(argument string) (values []any, ok bool) {
	s := t.schema.Properties[argument].Target()
	switch {
	case s == nil:
		return nil, false
	case s.Const != nil:
		return []any{*s.Const}, true
	}
	return s.Enum, s.Enum != nil
}

func (t *ArgTypes) has(argument string) bool {
	_, ok := t.types["wexec.args"].fields[argument]
	return ok
}

// unknown is the mismatch of an argument that the tool does not have.
func (t *ArgTypes) unknown(name string, pos yamldoc.Position) Mismatch {
	var all []string
	for _, typ := range t.types {
		all = slices.AppendSeq(all, maps.Keys(typ.fields))
	}
	slices.Sort(all)
	return Mismatch{pos, UnknownArgument, "unknown argument " + clip(name), yamldoc.Suggest(name, slices.Compact(all))}
}

// enter makes the tool's types those of the checker's environment, with the
// types that the variables of an expression have for them.
func (t *ArgTypes) enter(tree *cel.Ast) {
	env := t.checker.env
	env.provider.types = objectTypes(env.scope.vars)
	maps.Copy(env.provider.types, t.types)
	env.scope.vars.fields = t.vars
	t.declareVars(tree, 0)
}

// declareVars declares the variables that an expression uses, and those that
// they use.
func (t *ArgTypes) declareVars(tree *cel.Ast, depth int) {
	if depth > maxNesting {
		return
	}
	for _, name := range varsIn(tree) {
		if _, done := t.vars[name]; done {
			continue
		}
		typ := cel.DynType
		if v := t.checker.file.variable(name); v != nil {
			if parsed := t.checker.parse(v.code.Text); parsed != nil {
				t.declareVars(parsed, depth+1)
				if checked, issues := t.checker.env.env.Check(parsed); issues.Err() == nil {
					typ = checked.OutputType()
				}
			}
		}
		t.vars[name] = objectField{cel: typ}
	}
}

// signature returns the types of the arguments that an expression uses, or "" if
// one of them is missing or an object. Tools with the same signature need one
// check.
func (t *ArgTypes) signature(u *argUse) string {
	if u.whole {
		return ""
	}
	var b strings.Builder
	b.WriteByte('.')
	for _, name := range u.names {
		f, ok := t.types["wexec.args"].fields[name]
		if !ok || strings.Contains(f.cel.String(), "wexec.") {
			return ""
		}
		b.WriteString(f.cel.String() + ",")
	}
	return b.String()
}

// argUse is which arguments an expression selects.
type argUse struct {
	names []string
	whole bool            // args is used in another way too
	fits  map[string]bool // signatures for which the expression has no mismatch
}

// argsUsedBy returns which arguments an expression and its variables select.
func (c *Checker) argsUsedBy(source string) *argUse {
	if u := c.uses[source]; u != nil {
		return u
	}
	u := &argUse{fits: map[string]bool{}}
	c.uses[source] = u
	tree := c.parse(source)
	if tree == nil {
		u.whole = true
		return u
	}
	selected, all := 0, 0
	visit(tree, func(e celast.Expr) {
		if e.Kind() == celast.IdentKind && e.AsIdent() == "args" {
			all++
		}
		if name, ok := selectedFrom(e, "args"); ok {
			u.names = append(u.names, name)
			selected++
		}
	})
	u.whole = selected != all
	for _, name := range varsIn(tree) {
		if v := c.file.variable(name); v != nil {
			of := c.argsUsedBy(v.code.Text)
			u.names, u.whole = append(u.names, of.names...), u.whole || of.whole
		}
	}
	slices.Sort(u.names)
	u.names = slices.Compact(u.names)
	return u
}

// parse parses an expression, once.
func (c *Checker) parse(source string) *cel.Ast {
	tree, ok := c.parsed[source]
	if !ok {
		if parsed, issues := c.env.env.Parse(source); issues.Err() == nil {
			tree = parsed
		}
		c.parsed[source] = tree
	}
	return tree
}

// indexOfArgs recognizes args["name"] and "name" in args.
func indexOfArgs(e celast.Expr) (string, bool) {
	if e.Kind() != celast.CallKind || len(e.AsCall().Args()) != 2 {
		return "", false
	}
	of, key := e.AsCall().Args()[0], e.AsCall().Args()[1]
	switch e.AsCall().FunctionName() {
	case operators.Index, operators.OptIndex:
	case operators.In:
		of, key = key, of
	default:
		return "", false
	}
	if of.Kind() != celast.IdentKind || of.AsIdent() != "args" || key.Kind() != celast.LiteralKind {
		return "", false
	}
	s, ok := key.AsLiteral().(types.String)
	return string(s), ok
}
