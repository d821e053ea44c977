package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	celast "cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/internal/jsonschema"
)

// maxTyped bounds the tools whose schemas one condition is checked against.
const maxTyped = 100

// stage is the environment in which expressions are looked at in the terms of
// one tool after the other. It is made once for a file; what changes from tool
// to tool is the fields of its types.
type stage struct {
	conditions *conditions
	common     map[string]*objectKind // types that are the same for every tool
	parsed     map[string]*cel.Ast    // by text
	uses       map[string]*argsUsed   // by text
}

// argsUsed is which arguments an expression selects, and for which types of
// them it was found to fit. Tools that have them alike need one look.
type argsUsed struct {
	names []string
	whole bool // it uses args in other ways too
	fits  map[string]bool
}

// used finds which arguments an expression and its variables select.
func (s *stage) used(file *conditions, text string) *argsUsed {
	if u := s.uses[text]; u != nil {
		return u
	}
	u := &argsUsed{fits: map[string]bool{}}
	s.uses[text] = u
	tree := s.parse(text)
	if tree == nil {
		u.whole = true
		return u
	}
	selected, all := 0, 0
	celast.PreOrderVisit(tree.NativeRep().Expr(), celast.NewExprVisitor(func(e celast.Expr) {
		switch e.Kind() {
		case celast.IdentKind:
			if e.AsIdent() == "args" {
				all++
			}
		case celast.SelectKind:
			if sel := e.AsSelect(); sel.Operand().Kind() == celast.IdentKind && sel.Operand().AsIdent() == "args" {
				u.names = append(u.names, sel.FieldName())
				selected++
			}
		}
	}))
	u.whole = selected != all
	for _, name := range varsIn(tree) {
		for _, v := range file.vars {
			if v.name == name && v.cond != nil {
				of := s.used(file, v.cond.source.text)
				u.names, u.whole = append(u.names, of.names...), u.whole || of.whole
			}
		}
	}
	slices.Sort(u.names)
	u.names = slices.Compact(u.names)
	return u
}

// signature is the types of the arguments that are used, or "" where they are
// not all there and plain.
func (t *typed) signature(u *argsUsed) string {
	if u.whole {
		return ""
	}
	var b strings.Builder
	b.WriteByte('.')
	for _, name := range u.names {
		f, ok := t.kinds["wexec.args"].fields[name]
		if !ok || strings.Contains(f.typ.String(), "wexec.") {
			return ""
		}
		b.WriteString(f.typ.String() + ",")
	}
	return b.String()
}

// typed is what the arguments of one tool are.
type typed struct {
	stage  *stage
	kinds  map[string]*objectKind
	fields map[string][]string // type name to its fields
	root   *jsonschema.Schema  // the schema, behind references
	vars   map[string]objectField
}

// staged makes the stage of a file, once; nil where that fails.
func (c *checker) staged() *stage {
	if c.stage == nil && !c.noStage {
		cond, err := newConditions(zones{"UTC": nil}, cel.ObjectType("wexec.args"), nil)
		if c.noStage = err != nil; err == nil {
			c.stage = &stage{conditions: cond, common: maps.Clone(cond.provider.kinds), parsed: map[string]*cel.Ast{}, uses: map[string]*argsUsed{}}
		}
	}
	return c.stage
}

// parse parses an expression, once.
func (s *stage) parse(text string) *cel.Ast {
	tree, ok := s.parsed[text]
	if !ok {
		parsed, issues := s.conditions.env.Parse(text)
		if issues.Err() == nil {
			tree = parsed
		}
		s.parsed[text] = tree
	}
	return tree
}

// typesOf makes the types of a tool, once; nil where its schema says nothing of
// use.
func (c *checker) typesOf(t catalogue.Tool) *typed {
	if known, ok := c.types[t.ID()]; ok {
		return known
	}
	c.types[t.ID()] = nil
	doc, err := jsonschema.Parse(t.InputSchema)
	if c.staged() == nil || err != nil {
		return nil
	}
	sch := schemaTypes{kinds: map[string]*objectKind{}}
	if sch.object(doc.Root, "args", 0) == nil {
		return nil
	}
	out := &typed{stage: c.stage, kinds: sch.kinds, fields: map[string][]string{}, root: doc.Root.Target(),
		vars: map[string]objectField{}}
	for name, k := range sch.kinds {
		out.fields[name] = sortedKeys(k.fields)
	}
	c.types[t.ID()] = out
	return out
}

// enter puts the tool's types on the stage, and the variables that expressions
// need, in its terms.
func (t *typed) enter(file *conditions, tree *cel.Ast) {
	clear(t.stage.conditions.provider.kinds)
	maps.Copy(t.stage.conditions.provider.kinds, t.stage.common)
	maps.Copy(t.stage.conditions.provider.kinds, t.kinds)
	t.stage.conditions.kind.fields = t.vars
	t.variables(file, tree, 0)
}

// variables finds the types of the variables that an expression names, and of
// those that they name.
func (t *typed) variables(file *conditions, tree *cel.Ast, depth int) {
	if depth > maxNesting {
		return
	}
	for _, name := range varsIn(tree) {
		if _, done := t.vars[name]; done {
			continue
		}
		typ := cel.DynType
		for _, v := range file.vars {
			if v.name != name || v.cond == nil {
				continue
			}
			if again := t.stage.parse(v.cond.source.text); again != nil {
				t.variables(file, again, depth+1)
				if checked, issues := t.stage.conditions.env.Check(again); issues.Err() == nil {
					typ = checked.OutputType()
				}
			}
		}
		t.vars[name] = objectField{typ: typ}
	}
}

// misfit is one thing about an expression that does not fit a tool.
type misfit struct {
	pos     position
	topic   Topic
	message string
	hint    string
}

// condition checks an expression, and the variables it uses, against the
// schemas of the tools that its rule fits.
func (c *checker) condition(r *rule, cond *condition, fit []catalogue.Tool, decides bool) {
	exprs := []*condition{cond}
	for i := 0; i < len(exprs); i++ {
		for _, name := range varsIn(exprs[i].tree) {
			for _, v := range c.l.conditions.vars {
				if v.name == name && v.cond != nil && !slices.Contains(exprs, v.cond) {
					exprs = append(exprs, v.cond)
				}
			}
		}
	}
	for _, e := range exprs {
		found := map[misfit][]string{} // to the tools it is true of
		var order []misfit
		typedTools := 0
		for _, t := range fit {
			if typedTools == maxTyped {
				break
			}
			env := c.typesOf(t)
			if env == nil {
				continue
			}
			typedTools++
			for _, m := range env.misfits(c.l.conditions, e) {
				if found[m] == nil {
					order = append(order, m)
				}
				found[m] = append(found[m], t.ID())
			}
		}
		for _, m := range order {
			switch tools := found[m]; {
			case len(tools) == typedTools:
				c.add(SeverityError, m.topic, m.pos, m.hint, "%s%s", m.message, ofTools(tools))
			case decides && r.effect != Deny:
				c.add(SeverityNote, m.topic, m.pos, "the condition fails there: use args.?name, has(args.name), or a rule for each",
					"%s%s", m.message, ofTools(tools))
			}
		}
	}
}

func ofTools(tools []string) string {
	if len(tools) > 3 {
		return fmt.Sprintf(" in %s and %d more", strings.Join(tools[:2], ", "), len(tools)-2)
	}
	return " in " + strings.Join(tools, ", ")
}

// misfits compiles an expression in a tool's terms and keeps what is wrong.
func (t *typed) misfits(file *conditions, c *condition) []misfit {
	used := t.stage.used(file, c.source.text)
	signature := t.signature(used)
	if used.fits[signature] {
		return nil
	}
	tree := t.stage.parse(c.source.text)
	if tree == nil {
		return nil
	}
	t.enter(file, tree)
	var out []misfit
	_, issues := t.stage.conditions.env.Check(tree)
	for _, one := range issues.Errors() {
		pos := c.source.place(one.Location.Line(), nameColumn(one.Message, one.Location.Column()))
		message, _, _ := strings.Cut(one.Message, "\n")
		if name, _, ok := quotedAfter(message, "undefined field "); ok {
			out = append(out, t.unknown(name, pos))
			continue
		}
		// An object of known fields is no map to CEL; what fails for that alone
		// is sound at run time.
		if strings.Contains(message, "wexec.args") || !strings.Contains(message, "overload") {
			continue
		}
		out = append(out, misfit{pos, TopicWrongType, lower(message), ""})
	}
	info := c.tree.NativeRep().SourceInfo()
	celast.PreOrderVisit(c.tree.NativeRep().Expr(), celast.NewExprVisitor(func(e celast.Expr) {
		name, ok := indexed(e)
		if !ok || slices.Contains(t.fields["wexec.args"], name) {
			return
		}
		loc := info.GetStartLocation(e.ID())
		out = append(out, t.unknown(name, c.source.place(loc.Line(), loc.Column())))
	}))
	if len(out) == 0 && signature != "" {
		used.fits[signature] = true
	}
	return out
}

// unknown is the misfit of an argument that is not there, with the nearest
// that is.
func (t *typed) unknown(name string, pos position) misfit {
	var all []string
	for _, fields := range t.fields {
		all = append(all, fields...)
	}
	slices.Sort(all)
	return misfit{pos, TopicUnknownArg, "there is no argument " + clip(name), meant(name, slices.Compact(all))}
}

// indexed recognises args["name"] and "name" in args.
func indexed(e celast.Expr) (string, bool) {
	if e.Kind() != celast.CallKind {
		return "", false
	}
	call := e.AsCall()
	args := call.Args()
	if len(args) != 2 {
		return "", false
	}
	of, key := args[0], args[1]
	switch call.FunctionName() {
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

// schemaTypes maps schemas to CEL types. What is not certain becomes dyn, which
// matches everything.
type schemaTypes struct {
	kinds map[string]*objectKind
}

const (
	maxSchemaDepth = 12
	maxSchemaTypes = 500
)

// object returns the type of an object with known fields, or nil.
func (s *schemaTypes) object(n *jsonschema.Schema, name string, depth int) *types.Type {
	n = n.Target()
	if n == nil || n.Properties == nil || depth > maxSchemaDepth || len(s.kinds) >= maxSchemaTypes {
		return nil
	}
	if n.Additional != nil && !n.Additional.Never || n.Patterns != nil || n.AllOf != nil || n.AnyOf != nil || n.OneOf != nil || n.If != nil {
		return nil
	}
	k := &objectKind{typ: cel.ObjectType("wexec." + name), fields: map[string]objectField{}}
	s.kinds["wexec."+name] = k
	for _, field := range n.Names {
		k.fields[field] = objectField{typ: s.typ(n.Properties[field], name+"."+field, depth+1)}
	}
	return k.typ
}

func (s *schemaTypes) typ(n *jsonschema.Schema, name string, depth int) *types.Type {
	if n = n.Target(); n == nil || depth > maxSchemaDepth || n.AnyOf != nil || n.OneOf != nil || n.AllOf != nil {
		return cel.DynType
	}
	switch n.Types {
	case jsonschema.String:
		return cel.StringType
	case jsonschema.Integer:
		return cel.IntType
	case jsonschema.Boolean:
		return cel.BoolType
	case jsonschema.Array:
		return cel.ListType(s.typ(n.Items, name+".items", depth+1))
	case jsonschema.Object:
		if t := s.object(n, name, depth); t != nil {
			return t
		}
		return cel.MapType(cel.StringType, cel.DynType)
	}
	return cel.DynType // a number is an int or a double, as its value is
}

// truthValue is what can be told of a condition without a request.
type truthValue uint8

const (
	depends truthValue = iota
	alwaysTrue
	alwaysFalse
)

// constant is the value of a condition that names nothing, found once.
func (c *checker) constant(cond *condition) truthValue {
	v, ok := c.values[cond]
	if !ok {
		v = constant(cond)
		c.values[cond] = v
	}
	return v
}

// constant tells the value of a condition that names nothing.
func constant(c *condition) truthValue {
	free := true
	celast.PreOrderVisit(c.tree.NativeRep().Expr(), celast.NewExprVisitor(func(e celast.Expr) {
		if e.Kind() == celast.IdentKind && slices.Contains(names, e.AsIdent()) {
			free = false
		}
	}))
	if !free {
		return depends
	}
	f := new(facts)
	f.reset(Request{})
	switch v, err := c.eval(f, c.in); {
	case err != nil:
		return depends
	case v == types.True:
		return alwaysTrue
	case v == types.False:
		return alwaysFalse
	}
	return depends
}

// truth finds conditions that cannot be true.
func (c *checker) truth(r *rule, fit []catalogue.Tool) {
	switch c.constant(r.when) {
	case alwaysFalse:
		c.add(SeverityError, TopicNeverTrue, r.when.source.place(1, 0), "", "the condition is never true")
		return
	case alwaysTrue:
		c.add(SeverityNote, TopicNeverTrue, r.when.source.place(1, 0), "take it out", "the condition is always true")
		return
	}
	wanted := map[string][]ref.Val{} // path to the values that are still possible
	for _, part := range conjuncts(r.when.tree.NativeRep().Expr()) {
		path, values, ok := demands(part)
		if !ok {
			continue
		}
		if before, again := wanted[path]; again {
			values = slices.DeleteFunc(slices.Clone(before), func(v ref.Val) bool { return !holds(values, v) })
		}
		wanted[path] = values
		if len(values) == 0 {
			c.add(SeverityError, TopicNeverTrue, r.when.source.place(1, 0), "", "the condition is never true: %s cannot be all of that at once", path)
			return
		}
	}
	for _, path := range sortedKeys(wanted) {
		if text, ok := c.impossible(r, path, wanted[path], fit); ok {
			c.add(SeverityError, TopicNeverTrue, r.when.source.place(1, 0), text.hint, "the condition is never true: %s", text.message)
		}
	}
}

// impossible reports whether no tool that the rule fits can have the values
// that a condition asks for.
func (c *checker) impossible(r *rule, path string, values []ref.Val, fit []catalogue.Tool) (misfit, bool) {
	field, isArg := strings.CutPrefix(path, "args.")
	if len(fit) == 0 {
		return misfit{}, false
	}
	var allowed []string
	for _, t := range fit {
		switch {
		case path == "tool.server":
			if holds(values, types.String(t.Server)) {
				return misfit{}, false
			}
			allowed = append(allowed, t.Server)
		case path == "tool.name":
			if holds(values, types.String(t.Name)) {
				return misfit{}, false
			}
			allowed = append(allowed, t.Name)
		case isArg && !strings.Contains(field, "."):
			env := c.typesOf(t)
			if env == nil {
				return misfit{}, false
			}
			prop := env.root.Properties[field].Target()
			if prop == nil {
				return misfit{}, false
			}
			list := prop.Enum
			if prop.Const != nil {
				list = []any{*prop.Const}
			}
			if list == nil {
				return misfit{}, false
			}
			for _, v := range list {
				s, text := v.(string)
				if !text || holds(values, types.String(s)) {
					return misfit{}, false
				}
				allowed = append(allowed, s)
			}
		default:
			return misfit{}, false
		}
	}
	slices.Sort(allowed)
	allowed = slices.Compact(allowed)
	var asked []string
	hint := ""
	for _, v := range values {
		text := fmt.Sprint(v.Value())
		asked = append(asked, fmt.Sprintf("%q", clip(text)))
		if near := catalogue.NearestOf(text, allowed); near != "" {
			hint = "did you mean " + near + "?"
		}
	}
	if hint == "" && len(allowed) <= 24 {
		hint = "one of " + strings.Join(allowed, ", ")
	}
	return misfit{message: fmt.Sprintf("%s is never %s in %s", path, strings.Join(asked, " or "), r.tool), hint: hint}, true
}

// demands recognises PATH == LITERAL and PATH in [LITERALS].
func demands(e celast.Expr) (path string, values []ref.Val, ok bool) {
	if e.Kind() != celast.CallKind || len(e.AsCall().Args()) != 2 {
		return "", nil, false
	}
	a, b := e.AsCall().Args()[0], e.AsCall().Args()[1]
	switch e.AsCall().FunctionName() {
	case operators.Equals:
		if a.Kind() == celast.LiteralKind {
			a, b = b, a
		}
		if path, ok = pathOf(a); ok && b.Kind() == celast.LiteralKind {
			return path, []ref.Val{b.AsLiteral()}, true
		}
	case operators.In:
		if path, ok = pathOf(a); !ok || b.Kind() != celast.ListKind {
			return "", nil, false
		}
		for _, v := range b.AsList().Elements() {
			if v.Kind() != celast.LiteralKind {
				return "", nil, false
			}
			values = append(values, v.AsLiteral())
		}
		return path, values, true
	}
	return "", nil, false
}

// pathOf is a chain of fields from one of the known names: args.a.b.
func pathOf(e celast.Expr) (string, bool) {
	switch e.Kind() {
	case celast.IdentKind:
		return e.AsIdent(), slices.Contains(names, e.AsIdent())
	case celast.SelectKind:
		s := e.AsSelect()
		path, ok := pathOf(s.Operand())
		return path + "." + s.FieldName(), ok && !s.IsTestOnly()
	}
	return "", false
}

func holds(list []ref.Val, v ref.Val) bool {
	return slices.ContainsFunc(list, func(o ref.Val) bool { return o.Equal(v) == types.True })
}
