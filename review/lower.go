package review

import (
	"strconv"
	"strings"

	"github.com/wexec/wexec/review/syntax"
)

// lower makes the small form of the program.
func (p *program) lower() {
	p.root = p.form(p.tree.Root)
	if p.root == nil {
		p.root = &node{}
	}
}

// make returns a node for a part of the tree, with those children that are not nil.
func (p *program) make(k kind, s string, n *syntax.Node, children ...*node) *node {
	return &node{kind: k, text: s, start: n.Start, end: n.End, children: children}
}

// all lowers the named children of a node, but those in the given fields.
func (p *program) all(n *syntax.Node) []*node {
	var out []*node
	for _, c := range n.Children {
		if c.Named || c.Kind == "ERROR" {
			if m := p.form(c); m != nil {
				out = append(out, m)
			}
		}
	}
	return out
}

func (p *program) field(n *syntax.Node, name string) *node {
	if c := n.Child(name); c != nil {
		return p.form(c)
	}
	return nil
}

// first lowers the first named child other than comments.
func (p *program) first(n *syntax.Node) *node {
	for _, c := range n.Children {
		if c.Named && c.Kind != "comment" {
			return p.form(c)
		}
	}
	return nil
}

// form lowers a node of the grammars of JavaScript, TypeScript and Python. It returns
// nil for types and for what is empty.
func (p *program) form(n *syntax.Node) *node {
	p.nodes++
	if p.nodes > maxNodes {
		return nil
	}
	if p.depth++; p.depth > maxDepth {
		p.depth--
		p.deep = true
		return nil
	}
	defer func() { p.depth-- }()
	switch n.Kind {
	case "ERROR":
		p.broken = append(p.broken, n)
		return p.make(group, "", n, p.all(n)...)
	case "comment", "html_comment", "hash_bang_line":
		p.comments = append(p.comments, comment{p.tree.Text(n), n.Start})
		return nil
	case "type", "type_annotation", "type_arguments", "type_parameters", "interface_declaration", "type_alias_declaration",
		"ambient_declaration", "empty_statement", "optional_chain", "pass_statement", "continue_statement":
		return nil
	case "identifier", "shorthand_property_identifier", "shorthand_property_identifier_pattern", "property_identifier",
		"private_property_identifier", "this", "super", "undefined", "import", "dotted_name", "statement_identifier", "type_identifier":
		s := p.tree.Text(n)
		if n.Kind == "shorthand_property_identifier" || n.Kind == "shorthand_property_identifier_pattern" {
			return p.make(keyword, s, n, p.make(word, s, n))
		}
		return p.make(word, unescapedName(s), n)
	case "string":
		return p.literal(n)
	case "template_string", "concatenated_string":
		return p.joined(n)
	case "regex":
		return p.make(group, "", n)
	case "number", "integer", "float":
		return p.make(number, p.tree.Text(n), n)
	case "true", "True", "false", "False":
		return p.make(truth, strings.ToLower(n.Kind), n)
	case "null", "none":
		return p.make(truth, "", n)
	case "expression_statement":
		return p.statement(n)
	case "parenthesized_expression", "await_expression", "await", "non_null_expression", "as_expression",
		"satisfies_expression", "interpolation", "template_substitution", "type_assertion", "instantiation_expression":
		return p.first(n)
	case "member_expression", "attribute":
		name := ""
		property := n.Child("property")
		if property == nil {
			property = n.Child("attribute")
		}
		if property != nil {
			name = unescapedName(p.tree.Text(property))
		}
		return p.make(member, name, n, p.field(n, "object"))
	case "subscript_expression", "subscript":
		return p.subscript(n)
	case "call_expression", "call", "new_expression":
		return p.calling(n)
	case "keyword_argument":
		return p.make(keyword, p.tree.Text(n.Child("name")), n, p.field(n, "value"))
	case "pair", "pair_pattern":
		return p.pair(n)
	case "object", "object_pattern", "dictionary":
		return p.make(object, "", n, p.all(n)...)
	case "array", "array_pattern", "list", "tuple", "set", "expression_list", "pattern_list", "tuple_pattern", "list_pattern":
		return p.make(list, "", n, p.all(n)...)
	case "spread_element", "list_splat", "dictionary_splat", "rest_pattern", "list_splat_pattern", "dictionary_splat_pattern":
		return p.make(spread, "", n, p.first(n))
	case "slice":
		return p.sliced(n)
	}
	return p.structure(n)
}

// structure lowers operators, statements and definitions.
func (p *program) structure(n *syntax.Node) *node {
	switch n.Kind {
	case "binary_expression", "binary_operator", "boolean_operator":
		op := "?"
		if o := n.Child("operator"); o != nil {
			op = p.tree.Text(o)
		}
		if op == "||" || op == "??" || op == "or" || op == "&&" || op == "and" {
			return p.make(choice, op, n, p.field(n, "left"), p.field(n, "right"))
		}
		return p.make(binary, op, n, p.field(n, "left"), p.field(n, "right"))
	case "comparison_operator":
		return p.make(binary, "==", n, p.all(n)...)
	case "unary_expression", "unary_operator", "not_operator", "update_expression":
		op := "not"
		if o := n.Child("operator"); o != nil {
			op = p.tree.Text(o)
		}
		return p.make(unary, op, n, p.field(n, "argument"))
	case "ternary_expression":
		return p.make(choice, "?", n, p.field(n, "consequence"), p.field(n, "alternative"), p.field(n, "condition"))
	case "conditional_expression":
		all := p.all(n)
		if len(all) == 3 {
			all[1], all[2] = all[2], all[1]
		}
		return p.make(choice, "?", n, all...)
	case "sequence_expression":
		all := p.all(n)
		return p.make(choice, ",", n, append(all[max(0, len(all)-1):len(all):len(all)], all[:max(0, len(all)-1)]...)...)
	case "variable_declarator", "named_expression":
		return p.make(assign, "=", n, p.field(n, "name"), p.field(n, "value"))
	case "public_field_definition", "field_definition", "enum_assignment":
		key := n.Child("name")
		if key == nil {
			key = n.Child("property")
		}
		if v := p.field(n, "value"); v != nil && key != nil {
			return p.make(keyword, p.tree.Text(key), n, v)
		}
		return nil
	case "enum_declaration":
		entries := p.field(n, "body")
		if entries == nil {
			return nil
		}
		entries.kind = object
		return p.make(group, "lexical_declaration", n, p.make(assign, "=", n, p.field(n, "name"), entries))
	case "assignment", "assignment_expression", "augmented_assignment", "augmented_assignment_expression":
		op := "="
		if o := n.Child("operator"); o != nil {
			op = p.tree.Text(o)
		}
		return p.make(assign, op, n, p.field(n, "left"), p.field(n, "right"))
	case "assignment_pattern", "object_assignment_pattern", "default_parameter", "typed_default_parameter":
		target, fallback := p.field(n, "left"), p.field(n, "right")
		if target == nil {
			target, fallback = p.field(n, "name"), p.field(n, "value")
		}
		return p.make(choice, "=", n, target, fallback)
	case "typed_parameter":
		return p.first(n)
	case "required_parameter", "optional_parameter":
		return p.make(choice, "=", n, p.field(n, "pattern"), p.field(n, "value"))
	case "as_pattern": // with A as B, except A as B, case A as B
		return p.make(assign, "=", n, p.field(n, "alias"), p.first(n))
	case "as_pattern_target":
		return p.first(n)
	case "import_statement", "import_from_statement", "import_require_clause", "import_alias":
		return p.imports(n)
	case "export_statement":
		if source := n.Child("source"); source != nil {
			return p.moduleOf(source)
		}
		return p.make(group, "", n, p.all(n)...)
	case "function_declaration", "function_expression", "arrow_function", "generator_function", "generator_function_declaration",
		"method_definition", "function_definition", "lambda":
		return p.function(n)
	case "class_declaration", "class", "class_definition", "abstract_class_declaration":
		return p.make(class, "", n, p.all(n)...)
	case "return_statement", "yield", "yield_expression":
		return p.make(result, n.Kind, n, p.all(n)...)
	case "break_statement", "throw_statement", "raise_statement":
		return p.make(exit, n.Kind, n, p.all(n)...)
	case "if_statement", "elif_clause":
		return p.make(branch, "", n, p.all(n)...)
	case "while_statement", "do_statement":
		return p.make(loop, "", n, p.field(n, "condition"), p.field(n, "body"))
	case "for_in_statement":
		declared := ""
		if k := n.Child("kind"); k != nil {
			declared = p.tree.Text(k)
		}
		return p.make(each, declared, n, p.field(n, "left"), p.field(n, "right"), p.field(n, "body"))
	case "for_in_clause":
		return p.make(each, "", n, p.field(n, "left"), p.field(n, "right"))
	case "for_statement":
		if n.Child("left") != nil {
			return p.make(each, "", n, p.field(n, "left"), p.field(n, "right"), p.field(n, "body"))
		}
		condition := p.field(n, "condition")
		if condition == nil {
			condition = &node{kind: truth, text: "true", start: n.Start, end: n.Start}
		}
		return p.make(group, n.Kind, n, present(p.field(n, "initializer"),
			p.make(loop, "", n, condition, p.make(group, "", n, present(p.field(n, "body"), p.field(n, "increment"))...)))...)
	case "list_comprehension", "generator_expression", "set_comprehension", "dictionary_comprehension":
		return p.make(transform, "", n, p.all(n)...)
	}
	return p.make(group, n.Kind, n, p.all(n)...)
}

func present(nodes ...*node) []*node {
	var out []*node
	for _, n := range nodes {
		if n != nil {
			out = append(out, n)
		}
	}
	return out
}

// statement lowers an expression that is a statement. A string is a comment.
func (p *program) statement(n *syntax.Node) *node {
	if len(n.Children) > 0 && n.Children[0].Kind == "string" {
		p.comments = append(p.comments, comment{p.tree.Text(n), n.Start})
	}
	all := p.all(n)
	if len(all) == 1 {
		return all[0]
	}
	return p.make(list, "", n, all...)
}

func (p *program) subscript(n *syntax.Node) *node {
	if p.tree.Language != syntax.Python {
		return p.make(member, "", n, p.field(n, "object"), p.field(n, "index"))
	}
	return p.make(member, "", n, p.field(n, "value"), p.field(n, "subscript"))
}

func (p *program) calling(n *syntax.Node) *node {
	callee := p.field(n, "function")
	if n.Kind == "new_expression" {
		callee = p.field(n, "constructor")
	}
	c := p.make(call, "", n, callee)
	if n.Kind == "new_expression" {
		c.text = "new"
	}
	if a := n.Child("arguments"); a != nil {
		if a.Kind == "arguments" || a.Kind == "argument_list" {
			c.children = append(c.children, p.all(a)...)
		} else if m := p.form(a); m != nil { // a generator or a tagged template
			c.children = append(c.children, m)
		}
	}
	if c.children[0] == nil {
		c.children[0] = p.make(group, "", n)
	}
	return c
}

func (p *program) pair(n *syntax.Node) *node {
	key, v := n.Child("key"), p.field(n, "value")
	if key == nil {
		return v
	}
	switch key.Kind {
	case "property_identifier", "private_property_identifier":
		return p.make(keyword, p.tree.Text(key), n, v)
	case "computed_property_name":
		return p.make(keyword, "", n, v, p.first(key))
	}
	k := p.form(key)
	if k != nil && (k.kind == text || k.kind == number) {
		return &node{kind: keyword, text: k.text, start: n.Start, end: n.End, children: []*node{v}}
	}
	return p.make(keyword, "", n, v, k)
}

func (p *program) sliced(n *syntax.Node) *node {
	out := p.make(slice, "", n, nil, nil, nil)
	at, end := 0, n.Start
	for _, c := range n.Children {
		at += strings.Count(p.tree.Source[end:max(end, c.Start)], ":")
		end = c.End
		if at < 3 && c.Named && c.Kind != "comment" {
			out.children[at] = p.form(c)
		}
	}
	return out
}

func (p *program) function(n *syntax.Node) *node {
	name := ""
	if c := n.Child("name"); c != nil {
		name = p.tree.Text(c)
	}
	parameters := p.make(group, "", n)
	if c := n.Child("parameters"); c != nil {
		parameters.children = p.all(c)
	} else if c := n.Child("parameter"); c != nil {
		parameters.children = present(p.form(c))
	}
	body := p.field(n, "body")
	if c := n.Child("body"); body != nil && c.Kind != "block" && c.Kind != "statement_block" {
		body = p.make(result, "return", c, body)
	}
	f := p.make(function, name, n, parameters, body)
	f.method = n.Kind == "method_definition"
	return f
}

// imports lowers an import to assignments of modules and their members.
func (p *program) imports(n *syntax.Node) *node {
	out := p.make(group, "", n)
	bind := func(at *syntax.Node, local string, value *node) {
		a := p.make(assign, "=", at, p.make(word, local, at), value)
		a.binding = true
		out.children = append(out.children, a)
	}
	source := n.Child("source")
	if source == nil {
		source = n.Child("module_name")
	}
	var origin *node
	if source != nil {
		origin = p.moduleOf(source)
		out.children = append(out.children, origin)
	}
	var names func(c *syntax.Node)
	names = func(c *syntax.Node) {
		local, name := c.Child("alias"), c.Child("name")
		switch c.Kind {
		case "dotted_name", "aliased_import":
			if c.Kind == "dotted_name" {
				name = c
			}
			path := p.tree.Text(name)
			as := path
			if local != nil {
				as = p.tree.Text(local)
			}
			if origin != nil {
				bind(c, as, p.make(member, path, c, origin))
				return
			}
			m := p.make(module, path, c)
			if local == nil {
				out.children = append(out.children, m)
				first, _, _ := strings.Cut(path, ".")
				bind(c, first, p.make(module, first, c))
				return
			}
			bind(c, as, m)
		case "import_specifier":
			if name == nil {
				return
			}
			if local == nil {
				local = name
			}
			bind(c, p.tree.Text(local), p.make(member, strings.Trim(p.tree.Text(name), `"'`), c, origin))
		case "identifier": // the default, or the name of a namespace
			bind(c, p.tree.Text(c), origin)
		case "import_clause", "named_imports", "namespace_import", "import_require_clause":
			if s := c.Child("source"); s != nil && origin == nil {
				origin = p.moduleOf(s)
				out.children = append(out.children, origin)
			}
			for _, d := range c.Children {
				if d.Named {
					names(d)
				}
			}
		}
	}
	for _, c := range n.Children {
		if c.Named && c != source {
			names(c)
		}
	}
	return out
}

// moduleOf returns the module that a string or a dotted name names.
func (p *program) moduleOf(n *syntax.Node) *node {
	s := p.tree.Text(n)
	if n.Kind == "string" {
		s, _ = unescape(strings.Trim(s, "\"'"), false)
	}
	return p.make(module, moduleName(s), n)
}

// literal lowers a string. A string of Python may be a template.
func (p *program) literal(n *syntax.Node) *node {
	s := p.tree.Text(n)
	if p.tree.Language != syntax.Python {
		if len(s) < 2 {
			return p.make(text, "", n)
		}
		v, escapes := unescape(s[1:len(s)-1], false)
		out := p.make(text, v, n)
		out.escaped = needless(escapes, v)
		return out
	}
	quote := strings.IndexAny(s, `"'`)
	if quote < 0 {
		return p.make(text, "", n)
	}
	prefix := strings.ToLower(s[:quote])
	var parts []*node
	escapes := 0
	for _, c := range n.Children {
		switch c.Kind {
		case "string_content":
			v := p.tree.Text(c)
			if !strings.Contains(prefix, "r") {
				var e int
				v, e = unescape(v, strings.Contains(prefix, "b"))
				escapes += e
			}
			parts = append(parts, p.make(text, v, c))
		case "interpolation":
			if m := p.form(c); m != nil {
				parts = append(parts, m)
			}
		}
	}
	out := p.make(template, "", n, parts...)
	switch {
	case len(parts) == 0:
		out = p.make(text, "", n)
	case len(parts) == 1 && parts[0].kind == text:
		out = p.make(text, parts[0].text, n)
	}
	out.escaped = needless(escapes, out.text)
	return out
}

// joined lowers a template string of JavaScript, or strings of Python that follow
// each other.
func (p *program) joined(n *syntax.Node) *node {
	out := p.make(template, "", n)
	constant := true
	var b strings.Builder
	for _, c := range n.Children {
		if !c.Named {
			continue
		}
		var part *node
		switch c.Kind {
		case "string_fragment", "escape_sequence":
			v := p.tree.Text(c)
			if c.Kind == "escape_sequence" {
				v, _ = unescape(v, false)
			}
			part = p.make(text, v, c)
		default:
			part = p.form(c)
		}
		if part == nil {
			continue
		}
		if part.kind == text {
			b.WriteString(part.text)
		} else {
			constant = false
		}
		out.children = append(out.children, part)
	}
	if constant && n.Kind == "template_string" {
		return p.make(text, b.String(), n)
	}
	return out
}

// unescapedName returns a name of JavaScript without its escapes.
func unescapedName(s string) string {
	if strings.Contains(s, `\`) {
		s, _ = unescape(s, false)
	}
	return s
}

// needless reports whether the escapes in a text write letters that can be written without one.
func needless(escapes int, s string) bool { return escapes >= 4 && escapes*2 >= len(s) }

// unescape returns what a string literal means, and how many of its escapes write a
// printable ASCII character by its number.
func unescape(s string, bytes bool) (string, int) {
	if !strings.Contains(s, `\`) {
		return s, 0
	}
	var b strings.Builder
	printable := 0
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		var digits string
		base := 16
		switch c := s[i]; c {
		case 'x':
			digits = s[i+1 : min(len(s), i+3)]
			i += len(digits)
		case 'u', 'U':
			if i+1 < len(s) && s[i+1] == '{' {
				end := strings.IndexByte(s[i:], '}')
				if end < 0 {
					continue
				}
				digits = s[i+2 : i+end]
				i += end
				break
			}
			size := 4
			if c == 'U' {
				size = 8
			}
			digits = s[i+1 : min(len(s), i+1+size)]
			i += len(digits)
		case '0', '1', '2', '3', '4', '5', '6', '7':
			end := i
			for end < len(s) && end < i+3 && s[end] >= '0' && s[end] <= '7' {
				end++
			}
			digits, base = s[i:end], 8
			i = end - 1
		case '\n':
			continue
		default:
			if at := strings.IndexByte("nrtbfva", c); at >= 0 {
				c = "\n\r\t\b\f\v\a"[at]
			}
			b.WriteByte(c)
			continue
		}
		v, err := strconv.ParseUint(digits, base, 21)
		if err != nil {
			continue
		}
		if v >= ' ' && v < 127 {
			printable++
		}
		if bytes && v < 256 {
			b.WriteByte(byte(v))
		} else {
			b.WriteRune(rune(v)) //nolint:gosec // at most 21 bits
		}
	}
	return b.String(), printable
}
