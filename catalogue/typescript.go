package catalogue

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// TypeScript returns the declaration of a tool: the named types that it refers
// to, its documentation and its signature.
func (c *Catalogue) TypeScript(t Tool) string {
	return c.typescript(t, "declare function ", 0)
}

func (c *Catalogue) typescript(t Tool, keyword string, fold int) string {
	sig := c.tsSignature(t, fold, "")
	var b strings.Builder
	for _, def := range sig.types {
		if strings.HasPrefix(keyword, "export ") {
			b.WriteString("export ")
		}
		b.WriteString("type " + def + ";\n")
	}
	b.WriteString(tsDoc(strings.TrimSpace(sig.doc+foldedNote(c, t, fold, "describeTool")), ""))
	b.WriteString(keyword + tsName(c.Name(t)) + "(" + sig.params + "): Promise<" + sig.result + ">;\n")
	return b.String()
}

// tsSignature is the parts of a declaration.
type tsSignature struct {
	types          []string // "Name = type", of the named types it refers to
	doc            string
	params, result string
}

func (c *Catalogue) tsSignature(t Tool, fold int, indent string) tsSignature {
	prefix := pascal(c.Name(t))
	var sig tsSignature
	read := func(schema json.RawMessage, prefix string) (tsWriter, *shape) {
		w := tsWriter{prefix: prefix, fold: fold}
		s, defs := readShape(schema)
		for _, name := range slices.Sorted(maps.Keys(defs)) {
			sig.types = append(sig.types, w.named(name)+" = "+w.write(defs[name], 0, indent))
		}
		return w, s
	}
	w, args := read(t.InputSchema, prefix)
	sig.params = w.argument(args)
	schema, learned := c.output(t)
	sig.result, sig.doc = "any", documentation(t, learned)
	if len(schema) > 0 {
		w, result := read(schema, prefix+"Result")
		sig.result = w.write(result, 0, indent)
	}
	return sig
}

// documentation is the text of a declaration.
func documentation(t Tool, learned bool) string {
	doc := Summary(t.Description, 400)
	if doc == "" {
		doc = t.Title
	}
	if t.Annotations.Destructive != nil && *t.Annotations.Destructive {
		doc = strings.TrimSpace(doc + " (destructive)")
	}
	if learned {
		doc = strings.TrimSpace(doc + " (answer: observed, not declared)")
	}
	return oneLine(doc)
}

// tsWriter writes shapes as TypeScript types.
type tsWriter struct {
	prefix string
	fold   int // depth from which objects are omitted; 0: none are
}

// foldedNote says how to get a declaration that is not folded.
func foldedNote(c *Catalogue, t Tool, fold int, helper string) string {
	if fold == 0 {
		return ""
	}
	return " (folded: " + helper + `("` + oneLine(strings.TrimPrefix(c.Call(t, "javascript"), "tools.")) + `") shows all)`
}

func (w tsWriter) named(name string) string { return w.prefix + name }

// argument returns the parameter list of a tool.
func (w tsWriter) argument(s *shape) string {
	if s.kind == object && len(s.fields) == 0 && (s.items == nil || s.items.kind == anything) {
		return "args?: Record<string, unknown>"
	}
	optional := ""
	if s.kind != object || !slices.ContainsFunc(s.fields, func(p property) bool { return p.required }) {
		optional = "?"
	}
	return "args" + optional + ": " + w.write(s, 0, "")
}

// write returns a shape as a type. depth is its nesting, lists and unions
// included; indent is that of its line.
func (w tsWriter) write(s *shape, depth int, indent string) string {
	if depth > 12 {
		return "unknown"
	}
	switch s.kind {
	case nothing:
		return "never"
	case null:
		return "null"
	case boolean:
		return "boolean"
	case integer, number:
		return "number"
	case str:
		return "string"
	case literal:
		return tsLiteral(s.value)
	case named:
		return w.named(s.name)
	case array:
		return "Array<" + w.write(s.items, depth+1, indent) + ">"
	case tuple:
		var parts []string
		for _, p := range s.parts {
			parts = append(parts, w.write(p, depth+1, indent))
		}
		if s.items != nil {
			parts = append(parts, "...Array<"+w.write(s.items, depth+1, indent)+">")
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case union, intersection:
		op := " | "
		if s.kind == intersection {
			op = " & "
		}
		var parts []string
		for _, p := range s.parts {
			part := w.write(p, depth+1, indent)
			if p.kind == union || p.kind == intersection {
				part = "(" + part + ")"
			}
			if !slices.Contains(parts, part) {
				parts = append(parts, part)
			}
		}
		return strings.Join(parts, op)
	case object:
		return w.object(s, depth, indent)
	}
	return "unknown"
}

func (w tsWriter) object(s *shape, depth int, indent string) string {
	if len(s.fields) == 0 {
		if s.items == nil {
			return "Record<string, never>"
		}
		return "Record<string, " + w.write(s.items, depth+1, indent) + ">"
	}
	if w.fold > 0 && depth >= w.fold {
		return "Record<string, any>"
	}
	inner := indent + "  "
	var b strings.Builder
	b.WriteString("{\n")
	for _, p := range s.fields {
		b.WriteString(tsDoc(p.comment(), inner))
		b.WriteString(inner + tsKey(p.name))
		if !p.required {
			b.WriteByte('?')
		}
		b.WriteString(": " + w.write(p.shape, depth+1, inner) + ";\n")
	}
	if s.items != nil {
		b.WriteString(inner + "[key: string]: unknown;\n")
	}
	b.WriteString(indent + "}")
	return b.String()
}

// comment returns what the type of a property lacks: description, bounds and
// default.
func (p property) comment() string {
	doc := oneLine(Summary(p.doc, 140))
	if p.shape.note != "" {
		doc = strings.TrimSpace(doc + " (" + p.shape.note + ")")
	}
	if p.fallback != "" {
		doc = strings.TrimSpace(doc + " Default " + oneLine(p.fallback) + ".")
	}
	return doc
}

func tsDoc(doc, indent string) string {
	if doc == "" {
		return ""
	}
	return indent + "/** " + doc + " */\n"
}

var tsIdentifier = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$]*$`)
})

func tsKey(name string) string {
	if tsIdentifier().MatchString(name) {
		return name
	}
	b, err := json.Marshal(name)
	if err != nil {
		return `""`
	}
	return tsLiteral(string(b))
}

// tsLiteral returns a JSON literal for TypeScript. Invisible characters, and those
// that change the direction of writing, are escaped.
func tsLiteral(js string) string {
	if !strings.ContainsFunc(js, invisible) {
		return js
	}
	var b strings.Builder
	for _, r := range js {
		if invisible(r) {
			fmt.Fprintf(&b, `\u{%x}`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// tsName returns the name of a declared function. Reserved words, which are valid
// as members, get an underscore in the declaration only.
func tsName(name string) string {
	if tsReserved[name] {
		return name + "_"
	}
	return name
}

var tsReserved = map[string]bool{
	"break": true, "case": true, "catch": true, "class": true, "const": true, "continue": true, "debugger": true,
	"default": true, "delete": true, "do": true, "else": true, "enum": true, "export": true, "extends": true,
	"false": true, "finally": true, "for": true, "function": true, "if": true, "import": true, "in": true,
	"instanceof": true, "new": true, "null": true, "return": true, "super": true, "switch": true, "this": true,
	"throw": true, "true": true, "try": true, "typeof": true, "var": true, "void": true, "while": true, "with": true,
	"yield": true, "let": true, "static": true, "implements": true, "interface": true, "package": true,
	"private": true, "protected": true, "public": true, "await": true, "eval": true, "arguments": true,
}
