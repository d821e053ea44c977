package expr

import (
	"slices"

	"cel.dev/cel-go/cel"
	celast "cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"

	"github.com/wexec/wexec/internal/text"
)

// roots are the names that every expression can use.
var roots = []string{"args", "tool", "run", "actor", "calls", "now", "vars"}

func isRoot(name string) bool { return slices.Contains(roots, name) }

// conjuncts returns the operands of the outermost && of an expression.
func conjuncts(e celast.Expr) []celast.Expr {
	if e.Kind() == celast.CallKind && e.AsCall().FunctionName() == operators.LogicalAnd {
		var out []celast.Expr
		for _, arg := range e.AsCall().Args() {
			out = append(out, conjuncts(arg)...)
		}
		return out
	}
	return []celast.Expr{e}
}

// varsIn lists the names of the variables that an expression uses.
func varsIn(tree *cel.Ast) []string {
	var out []string
	visit(tree, func(e celast.Expr) {
		if name, ok := selectedFrom(e, "vars"); ok {
			out = append(out, name)
		}
	})
	return out
}

// selectedFrom returns the field that an expression selects from a root.
func selectedFrom(e celast.Expr, root string) (string, bool) {
	if e.Kind() != celast.SelectKind {
		return "", false
	}
	of := e.AsSelect().Operand()
	return e.AsSelect().FieldName(), of.Kind() == celast.IdentKind && of.AsIdent() == root
}

func visit(tree *cel.Ast, f func(celast.Expr)) {
	celast.PreOrderVisit(tree.NativeRep().Expr(), celast.NewExprVisitor(f))
}

// pathOf returns a chain of fields of one of the roots: args.a.b.
func pathOf(e celast.Expr) (string, bool) {
	switch e.Kind() {
	case celast.IdentKind:
		return e.AsIdent(), isRoot(e.AsIdent())
	case celast.SelectKind:
		s := e.AsSelect()
		path, ok := pathOf(s.Operand())
		return path + "." + s.FieldName(), ok && !s.IsTestOnly()
	}
	return "", false
}

// boundedFunctions are those whose cost is bounded by the size of their
// arguments. An expression of these needs no cost limit: its cost is bounded by
// its length and the size of the call's arguments.
var boundedFunctions = []string{
	operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot, operators.Conditional,
	operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals,
	operators.In, operators.Index, operators.OptIndex, operators.OptSelect, operators.Negate,
	operators.Subtract, operators.Multiply, operators.Divide, operators.Modulo, operators.Add,
	"size", "startsWith", "endsWith", "contains", "int", "double", "string", "bool", "timestamp", "duration", "type", "dyn",
	"orValue", "or", "hasValue", "value", "lowerAscii", "upperAscii", "trim", "indexOf", "lastIndexOf", "charAt", "substring",
	"getHours", "getMinutes", "getSeconds", "getFullYear", "getMonth", "getDayOfWeek", "getDayOfMonth", "getDate", "getDayOfYear", "getMilliseconds",
}

func isUnbounded(tree *cel.Ast) bool {
	found := false
	visit(tree, func(e celast.Expr) {
		switch e.Kind() {
		case celast.ComprehensionKind:
			found = true
		case celast.CallKind:
			found = found || !slices.Contains(boundedFunctions, e.AsCall().FunctionName())
		}
	})
	return found
}

// clip shortens a text for a message.
func clip(s string) string { return text.Clip(s, 60) }
