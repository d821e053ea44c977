package catalogue

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// Python returns the declaration of a tool for .pyi files: the types that it
// refers to, its signature and its documentation.
func (c *Catalogue) Python(t Tool) string { return c.python(t, 0) }

func (c *Catalogue) python(t Tool, fold int) string {
	name := PythonName(c.Name(t))
	prefix := pascal(c.Name(t))
	args, defs := readShape(t.InputSchema)
	w := &pyWriter{prefix: prefix, taken: map[string]bool{}, fold: fold}
	for _, d := range slices.Sorted(maps.Keys(defs)) {
		w.define(w.prefix+d, defs[d])
	}
	signature, docs := w.signature(args)
	result := "Any"
	schema, observed := c.output(t)
	if len(schema) > 0 {
		s, resultDefs := readShape(schema)
		out := &pyWriter{prefix: prefix + "Result", taken: w.taken, fold: fold}
		for _, d := range slices.Sorted(maps.Keys(resultDefs)) {
			out.define(out.prefix+d, resultDefs[d])
		}
		result = out.write(s, prefix+"Result", 0)
		w.lines = append(w.lines, out.lines...)
	}
	var b strings.Builder
	for _, l := range w.lines {
		b.WriteString(l + "\n")
	}
	fmt.Fprintf(&b, "def %s(%s) -> %s:\n", name, signature, result)
	doc := strings.TrimSpace(documentation(t, observed) + foldedNote(c, t, fold, "describe_tool"))
	if len(docs) > 0 {
		doc = strings.TrimSpace(doc + "\n\n    " + strings.Join(docs, "\n    "))
	}
	if doc == "" {
		b.WriteString("    ...\n")
		return b.String()
	}
	doc = strings.ReplaceAll(doc, `\`, `\\`)
	if strings.HasSuffix(doc, `"`) {
		doc += " "
	}
	b.WriteString(`    """` + doc + `"""` + "\n")
	return b.String()
}

// pyWriter writes shapes as Python types and collects the TypedDicts on the way.
type pyWriter struct {
	prefix string
	lines  []string
	taken  map[string]bool
	fold   int // as in tsWriter
}

// signature returns the parameters of a tool, all by keyword, and their lines of
// documentation.
func (w *pyWriter) signature(s *shape) (string, []string) {
	if s.kind != object {
		return "**arguments: Any", nil
	}
	var required, optional, docs []string
	other := s.items != nil
	for _, p := range s.fields {
		if !pyIdentifier(p.name) {
			other = true
			docs = append(docs, strings.TrimSpace(oneLine(strconv.Quote(p.name))+": pass it in a dict; "+p.comment()))
			continue
		}
		typ := w.write(p.shape, w.prefix+pascal(p.name), 0)
		if doc := p.comment(); doc != "" {
			docs = append(docs, p.name+": "+doc)
		}
		if p.required {
			required = append(required, p.name+": "+typ)
			continue
		}
		optional = append(optional, p.name+": "+typ+" = ...")
	}
	params := append(required, optional...)
	if len(params) > 0 {
		params = append([]string{"*"}, params...)
	}
	if other {
		params = append(params, "**arguments: Any")
	}
	return strings.Join(params, ", "), docs
}

func (w *pyWriter) write(s *shape, name string, depth int) string {
	if depth > 12 {
		return "Any"
	}
	switch s.kind {
	case nothing:
		return "Never"
	case null:
		return "None"
	case boolean:
		return "bool"
	case integer:
		return "int"
	case number:
		return "float"
	case str:
		return "str"
	case literal:
		if v, ok := pyLiteral(s.value); ok {
			return "Literal[" + v + "]"
		}
		return "float"
	case named:
		return `"` + w.prefix + s.name + `"`
	case array:
		return "list[" + w.write(s.items, name+"Item", depth+1) + "]"
	case tuple:
		return w.tuple(s, name, depth)
	case union:
		return w.union(s, name, depth)
	case object:
		return w.object(s, name, depth)
	}
	return "Any"
}

func (w *pyWriter) tuple(s *shape, name string, depth int) string {
	var parts []string
	for i, p := range s.parts {
		parts = append(parts, w.write(p, name+strconv.Itoa(i), depth+1))
	}
	if s.items != nil || len(parts) == 0 {
		return "list[Any]"
	}
	return "tuple[" + strings.Join(parts, ", ") + "]"
}

func (w *pyWriter) union(s *shape, name string, depth int) string {
	var literals, parts []string
	for i, p := range s.parts {
		if p.kind == literal {
			if v, ok := pyLiteral(p.value); ok {
				literals = append(literals, v)
				continue
			}
		}
		part := w.write(p, name+strconv.Itoa(i+1), depth+1)
		if !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	if len(literals) > 0 {
		parts = append([]string{"Literal[" + strings.Join(literals, ", ") + "]"}, parts...)
	}
	if len(parts) > 1 && slices.ContainsFunc(parts, func(p string) bool { return strings.HasPrefix(p, `"`) }) {
		return "Union[" + strings.Join(parts, ", ") + "]" // a quoted name is not allowed as an operand of |
	}
	return strings.Join(parts, " | ")
}

func (w *pyWriter) object(s *shape, name string, depth int) string {
	if len(s.fields) == 0 {
		if s.items == nil {
			return "dict[str, Never]"
		}
		return "dict[str, " + w.write(s.items, name+"Value", depth+1) + "]"
	}
	if w.fold > 0 && depth >= w.fold {
		return "dict[str, Any]"
	}
	return w.typedDict(name, s, depth)
}

// define writes a named shape as a TypedDict or an alias.
func (w *pyWriter) define(name string, s *shape) {
	if s.kind == object && len(s.fields) > 0 {
		w.typedDict(name, s, 0)
		return
	}
	w.taken[name] = true
	typ := w.write(s, name+"Of", 0)
	w.lines = append(w.lines, name+": TypeAlias = "+quoteType(typ))
}

// quoteType quotes a type that refers to names defined later.
func quoteType(typ string) string {
	if strings.HasPrefix(typ, `"`) || !strings.Contains(typ, `"`) {
		return typ
	}
	return "'" + strings.ReplaceAll(strings.ReplaceAll(typ, `\`, `\\`), "'", `\'`) + "'"
}

func (w *pyWriter) typedDict(name string, s *shape, depth int) string {
	base := name
	for i := 2; w.taken[name]; i++ {
		name = base + strconv.Itoa(i)
	}
	w.taken[name] = true
	var b strings.Builder
	b.WriteString(name + ` = TypedDict("` + name + `", {`)
	for i, p := range s.fields {
		typ := w.write(p.shape, name+pascal(p.name), depth+1)
		if !p.required {
			typ = "NotRequired[" + typ + "]"
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(pyString(p.name) + ": " + typ)
	}
	b.WriteString("})")
	w.lines = append(w.lines, b.String())
	return name
}

func pyIdentifier(name string) bool {
	for i, r := range name {
		if !opens(r) && (i == 0 || !continues(r)) {
			return false
		}
	}
	// Python reads names in their compatibility form: others would change.
	return name != "" && !pythonKeywords[name] && norm.NFKC.IsNormalString(name)
}

// pyLiteral returns a JSON literal for Python. Fractions have no literal type.
func pyLiteral(js string) (string, bool) {
	switch js {
	case "true":
		return "True", true
	case "false":
		return "False", true
	}
	var s string
	if json.Unmarshal([]byte(js), &s) == nil {
		return pyString(s), true
	}
	if _, err := strconv.ParseInt(js, 10, 64); err == nil {
		return js, true
	}
	return "", false
}

func pyString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case invisible(r) && r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		case invisible(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
