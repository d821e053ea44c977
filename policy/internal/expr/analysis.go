package expr

import (
	"strconv"

	"cel.dev/cel-go/cel"
	celast "cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/wexec/wexec/internal/jsonnum"
	"github.com/wexec/wexec/internal/text"
	"github.com/wexec/wexec/internal/yamldoc"
)

// FalsePart returns the part of a condition that makes it false: the first of
// the operands of && that is not true, or else the whole condition.
func (x *Expr) FalsePart(f *Facts) string {
	parts := conjuncts(x.tree.NativeRep().Expr())
	if len(parts) < 2 {
		return x.Text()
	}
	for _, part := range parts {
		source, err := cel.ExprToString(part, x.tree.NativeRep().SourceInfo())
		if err != nil {
			break
		}
		compiled := x.env.Condition(&yamldoc.Reporter{}, yamldoc.Code{Text: source})
		if compiled == nil {
			break
		}
		if ok, err := compiled.Bool(f); !ok && err == nil {
			return text.OneLine(source)
		}
	}
	return x.Text()
}

// UsesAnnotations reports whether a condition depends on what a server says
// about its own tools, directly or through variables.
func (x *Expr) UsesAnnotations() bool {
	found := false
	visit(x.tree, func(e celast.Expr) {
		found = found || e.Kind() == celast.SelectKind && e.AsSelect().FieldName() == "annotations"
	})
	for _, v := range x.Vars() {
		found = found || v.UsesAnnotations()
	}
	return found
}

// UsesReview reports whether an expression depends on the review of the program,
// directly or through variables.
func (x *Expr) UsesReview() bool {
	found := false
	visit(x.tree, func(e celast.Expr) {
		name, ok := selectedFrom(e, "run")
		found = found || ok && (name == "risk" || name == "capabilities")
	})
	for _, v := range x.Vars() {
		found = found || v.UsesReview()
	}
	return found
}

// Vars returns the variables that an expression uses directly.
func (x *Expr) Vars() []*Expr {
	var out []*Expr
	for _, name := range varsIn(x.tree) {
		if v := x.env.variable(name); v != nil {
			out = append(out, v)
		}
	}
	return out
}

// Arguments returns the names of the arguments that an expression depends on,
// directly or through variables: a of args.a and of args["a"].
func (x *Expr) Arguments() []string {
	var out []string
	visit(x.tree, func(e celast.Expr) {
		if name, ok := selectedFrom(e, "args"); ok {
			out = append(out, name)
		}
		if e.Kind() != celast.CallKind || len(e.AsCall().Args()) != 2 {
			return
		}
		of, key := e.AsCall().Args()[0], e.AsCall().Args()[1]
		switch e.AsCall().FunctionName() {
		case operators.In:
			of, key = key, of
		case operators.Index, operators.OptIndex, operators.OptSelect:
		default:
			return
		}
		if name, ok := plainLiteral(key); ok && of.Kind() == celast.IdentKind && of.AsIdent() == "args" {
			if name, ok := name.(string); ok {
				out = append(out, name)
			}
		}
	})
	for _, v := range x.Vars() {
		out = append(out, v.Arguments()...)
	}
	return out
}

// Constant returns the value of a condition that depends on nothing. known is
// false for every other condition.
func (x *Expr) Constant() (value, known bool) {
	depends := false
	visit(x.tree, func(e celast.Expr) {
		depends = depends || e.Kind() == celast.IdentKind && isRoot(e.AsIdent())
	})
	if depends {
		return false, false
	}
	v, err := x.eval(NewFacts(Call{}))
	b, ok := v.(types.Bool)
	return bool(b), err == nil && ok
}

// Demand is a part of a condition that requires a field to have one of some
// values: args.a == "x" or args.a in ["x", "y"].
type Demand struct {
	Path   string // args.a
	Values []any  // strings, numbers of package jsonnum, booleans and nil
}

// Demands returns the demands among the operands of && of a condition.
func (x *Expr) Demands() []Demand {
	var out []Demand
	for _, part := range conjuncts(x.tree.NativeRep().Expr()) {
		if d, ok := demandOf(part); ok {
			out = append(out, d)
		}
	}
	return out
}

func demandOf(e celast.Expr) (Demand, bool) {
	if e.Kind() != celast.CallKind || len(e.AsCall().Args()) != 2 {
		return Demand{}, false
	}
	field, list := e.AsCall().Args()[0], []celast.Expr{e.AsCall().Args()[1]}
	switch e.AsCall().FunctionName() {
	case operators.Equals:
		if field.Kind() == celast.LiteralKind {
			field, list[0] = list[0], field
		}
	case operators.In:
		if list[0].Kind() != celast.ListKind {
			return Demand{}, false
		}
		list = list[0].AsList().Elements()
	default:
		return Demand{}, false
	}
	path, ok := pathOf(field)
	d := Demand{Path: path}
	for _, e := range list {
		v, plain := plainLiteral(e)
		ok = ok && plain
		d.Values = append(d.Values, v)
	}
	return d, ok
}

// plainLiteral returns the value of a literal as [Demand] has it.
func plainLiteral(e celast.Expr) (any, bool) {
	if e.Kind() != celast.LiteralKind {
		return nil, false
	}
	switch v := e.AsLiteral().(type) {
	case types.String:
		return string(v), true
	case types.Bool:
		return bool(v), true
	case types.Int:
		return number(strconv.FormatInt(int64(v), 10)), true
	case types.Uint:
		return number(strconv.FormatUint(uint64(v), 10)), true
	case types.Double:
		return number(strconv.FormatFloat(float64(v), 'g', -1, 64)), true
	case types.Null:
		return nil, true
	}
	return nil, false
}

func number(text string) any {
	n, _, _ := jsonnum.Parse(text) // it is one
	return n
}
