package policy

import (
	"bytes"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/wexec/wexec/internal/units"
)

// Bounds of a file. The YAML parser takes time that grows with the square of
// the keys of one mapping, and with nesting; these keep the worst file under a
// few seconds.
const (
	maxFile   = 256 << 10
	maxDepth  = 40
	maxColons = 8000
)

// decoder reads a YAML tree into the types of a document and reports all it
// does not know.
type decoder struct {
	*reporter
	lines []string // of the file, for the places of texts in blocks
}

// decode reads a file strictly.
func decode(r *reporter, data []byte, into any) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if line, what := Burden(data); what != "" {
		at := position{}
		if line > 0 {
			at = position{line, 1}
		}
		r.add(at, "", "%s", what)
		return
	}
	file, err := parseYAML(data)
	if err != nil {
		r.syntax(err)
		return
	}
	d := decoder{reporter: r, lines: strings.Split(string(data), "\n")}
	var body ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil || isComment(doc.Body) {
			continue
		}
		if body != nil {
			d.add(place(doc.Body), "keep one", "the file has more than one document")
			return
		}
		body = doc.Body
	}
	if body == nil {
		d.add(position{1, 1}, "begin with version: 1", "the file is empty")
		return
	}
	d.value(body, reflect.ValueOf(into).Elem(), field{}, 0)
}

// Burden says what of a YAML file would be too much for a parser, and on which
// line where it is one; "" where the file may be parsed. A file of a stranger
// can be small and keep a parser busy for hours.
func Burden(data []byte) (line int, what string) {
	if len(data) > maxFile {
		return 0, fmt.Sprintf("the file is larger than %d KiB", maxFile>>10)
	}
	if line := tooDeep(data); line > 0 {
		return line, fmt.Sprintf("values are nested more than %d deep", maxDepth)
	}
	if n := bytes.Count(data, []byte{':'}); n > maxColons {
		return 0, fmt.Sprintf("the file has more than %d keys", maxColons)
	}
	return 0, ""
}

// parseYAML keeps a panic of the parser inside.
func parseYAML(data []byte) (f *ast.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the file cannot be read as YAML")
		}
	}()
	return parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
}

// syntax reports an error of the YAML parser at its place.
func (r *reporter) syntax(err error) {
	type placed interface {
		GetToken() *token.Token
		GetMessage() string
	}
	if p, ok := err.(placed); ok && p.GetToken() != nil && p.GetToken().Position != nil {
		pos := p.GetToken().Position
		r.add(position{pos.Line, pos.Column}, "", "%s", lower(p.GetMessage()))
		return
	}
	msg, _, _ := strings.Cut(err.Error(), "\n")
	r.add(position{}, "", "%s", lower(msg))
}

// tooDeep gives the line at which values are nested too deeply, or 0. It counts
// brackets in texts too, and each "- " at the start of a line, since nobody
// needs forty of them.
func tooDeep(data []byte) int {
	depth, line, dashes, start := 0, 1, 0, true
	for _, c := range data {
		switch c {
		case '\n':
			line++
			dashes, start = 0, true
			continue
		case '[', '{':
			depth++
		case ']', '}':
			depth = max(depth-1, 0)
		case '-', '?', ':':
			dashes++
		}
		if c != '-' && c != '?' && c != ' ' && c != ':' {
			start = false
		}
		if depth > maxDepth || (start && dashes > maxDepth) {
			return line
		}
	}
	return 0
}

// field is what the tags of a struct's field say.
type field struct {
	name string
	enum []string
	min  int64
	need bool
}

func fieldOf(f reflect.StructField) field {
	out := field{name: f.Tag.Get("yaml"), need: f.Tag.Get("need") != ""}
	if e := f.Tag.Get("enum"); e != "" {
		out.enum = strings.Split(e, "|")
	}
	if m := f.Tag.Get("min"); m != "" {
		out.min, _ = strconv.ParseInt(m, 10, 64)
	}
	return out
}

var (
	typeExpr   = reflect.TypeFor[expr]()
	typeGlob   = reflect.TypeFor[Glob]()
	typeRate   = reflect.TypeFor[units.Rate]()
	typeObject = reflect.TypeFor[jsonObject]()
)

// value reads a node into v.
func (d *decoder) value(n ast.Node, v reflect.Value, f field, depth int) {
	if depth > maxDepth {
		d.add(place(n), "", "values are nested more than %d deep", maxDepth)
		return
	}
	if !d.plain(n) {
		return
	}
	t := v.Type()
	switch {
	case isAt(t):
		v.FieldByName("Pos").Set(reflect.ValueOf(place(n)))
		d.value(n, v.FieldByName("V"), f, depth)
	case t == typeObject:
		if m, ok := d.any(n, depth).(map[string]any); ok {
			v.Set(reflect.ValueOf(jsonObject(m)))
		} else {
			d.add(place(n), "", "%s is no mapping", f.what())
		}
	case t.Kind() == reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		d.value(n, v.Elem(), f, depth)
	case isNamed(t):
		d.named(n, v, f, depth)
	case t.Kind() == reflect.Slice:
		d.list(n, v, f, depth)
	case t.Kind() == reflect.Struct && t != typeExpr && t != typeGlob && t != typeRate:
		d.mapping(n, v, f, depth)
	default:
		d.scalar(n, v, f)
	}
}

// plain refuses what YAML has and policy files do without.
func (d *decoder) plain(n ast.Node) bool {
	switch n.(type) {
	case *ast.AliasNode, *ast.AnchorNode, *ast.MergeKeyNode:
		d.add(place(n), "a text that begins with * or & has to be quoted", "anchors and aliases are not read")
		return false
	case *ast.TagNode:
		d.add(place(n), "a text that begins with ! has to be quoted", "tags are not read")
		return false
	}
	return true
}

func isAt(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && strings.HasPrefix(t.Name(), "at[")
}

func isNamed(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && strings.HasPrefix(t.Name(), "named[")
}

// what names a value for a message.
func (f field) what() string {
	if f.name == "" {
		return "the file"
	}
	return f.name
}

// mapping reads a mapping into a struct. A text alone is the field that is
// marked as short.
func (d *decoder) mapping(n ast.Node, v reflect.Value, f field, depth int) {
	t := v.Type()
	if p, ok := t.FieldByName("Pos"); ok {
		v.FieldByIndex(p.Index).Set(reflect.ValueOf(place(n)))
	}
	var keys []string
	byName := map[string]int{}
	for i := range t.NumField() {
		name := t.Field(i).Tag.Get("yaml")
		if name == "" {
			continue
		}
		keys = append(keys, name)
		byName[name] = i
		if t.Field(i).Tag.Get("short") != "" && isScalar(n) {
			d.value(n, v.Field(i), fieldOf(t.Field(i)), depth+1)
			return
		}
	}
	if isNull(n) && depth > 0 {
		return // a block whose entries are all commented out
	}
	pairs, ok := mappingOf(n)
	if !ok {
		d.add(place(n), "its keys: "+strings.Join(keys, ", "), "%s is %s and has to be a mapping", f.what(), kindOf(n))
		return
	}
	seen := map[string]position{}
	for _, pair := range pairs {
		key, pos, ok := d.key(pair)
		if !ok {
			continue
		}
		i, known := byName[key]
		if !known {
			hint := meant(key, keys)
			if inside := blockWith(t, key); inside != "" {
				hint = "it stands under " + inside + ":"
			}
			d.add(pos, hint, "unknown key %s", clip(key))
			continue
		}
		if before, twice := seen[key]; twice {
			d.add(pos, "", "%s stands twice, first on line %d", key, before.line)
			continue
		}
		seen[key] = pos
		sub := fieldOf(t.Field(i))
		if isNull(pair.Value) {
			if !isBlock(v.Field(i).Type()) {
				d.add(pos, "give it a value or take the key out", "%s has no value", key)
			}
			continue
		}
		d.value(pair.Value, v.Field(i), sub, depth+1)
	}
	for i := range t.NumField() {
		sub := fieldOf(t.Field(i))
		if _, there := seen[sub.name]; sub.need && !there {
			d.add(place(n), "", "%s has no %s", f.what(), sub.name)
		}
	}
}

// isBlock reports whether an empty value of a type is as good as none.
func isBlock(t reflect.Type) bool {
	return t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t == typeObject
}

// list reads a sequence.
func (d *decoder) list(n ast.Node, v reflect.Value, f field, depth int) {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		hint := ""
		if isScalar(n) {
			hint = "write [" + clip(textOf(n)) + "]"
		}
		d.add(place(n), hint, "%s is %s and has to be a list", f.what(), kindOf(n))
		return
	}
	out := reflect.MakeSlice(v.Type(), 0, len(seq.Values))
	for _, item := range seq.Values {
		if isNull(item) {
			d.add(place(n), "", "%s has an empty entry", f.what())
			continue
		}
		e := reflect.New(v.Type().Elem()).Elem()
		d.value(item, e, f, depth+1)
		out = reflect.Append(out, e)
	}
	v.Set(out)
}

// named reads a mapping with free keys.
func (d *decoder) named(n ast.Node, v reflect.Value, f field, depth int) {
	pairs, ok := mappingOf(n)
	if !ok {
		d.add(place(n), "", "%s is %s and has to be a mapping", f.what(), kindOf(n))
		return
	}
	seen := map[string]position{}
	out := reflect.MakeSlice(v.Type(), 0, len(pairs))
	for _, pair := range pairs {
		key, pos, ok := d.key(pair)
		if !ok {
			continue
		}
		if before, twice := seen[key]; twice {
			d.add(pos, "", "%s stands twice, first on line %d", clip(key), before.line)
			continue
		}
		seen[key] = pos
		if isNull(pair.Value) {
			d.add(pos, "give it a value or take the key out", "%s has no value", clip(key))
			continue
		}
		e := reflect.New(v.Type().Elem()).Elem()
		e.FieldByName("Key").SetString(key)
		e.FieldByName("KeyPos").Set(reflect.ValueOf(pos))
		e.FieldByName("Pos").Set(reflect.ValueOf(place(pair.Value)))
		sub := f
		sub.name = clip(key)
		d.value(pair.Value, e.FieldByName("V"), sub, depth+1)
		out = reflect.Append(out, e)
	}
	v.Set(out)
}

// scalar reads a text or a number.
func (d *decoder) scalar(n ast.Node, v reflect.Value, f field) {
	if !isScalar(n) {
		d.add(place(n), "", "%s is %s and has to be a text or a number", f.what(), kindOf(n))
		return
	}
	text, pos := textOf(n), place(n)
	if f.enum != nil && !contains(f.enum, text) {
		d.add(pos, meant(text, f.enum), "%s cannot be %q", f.what(), clip(text))
		return
	}
	var err error
	switch v.Interface().(type) {
	case string:
		v.SetString(text)
	case expr:
		v.Set(reflect.ValueOf(expr{text: text, lines: d.linesOf(n, text)}))
	case Glob:
		var g Glob
		if g, err = ParseGlob(text); err == nil {
			v.Set(reflect.ValueOf(g))
		}
	case units.Rate:
		var r units.Rate
		if r, err = units.ParseRate(text); err == nil {
			v.Set(reflect.ValueOf(r))
		}
	case units.Count:
		err = d.number(v, f, pos, text, units.ParseCount)
	case units.Size:
		err = d.number(v, f, pos, text, units.ParseSize)
	case units.Duration:
		err = d.number(v, f, pos, text, func(s string) (int64, error) {
			t, err := units.ParseDuration(s)
			return int64(t), err
		})
	}
	if err != nil {
		d.fail(pos, err)
	}
}

func (d *decoder) number(v reflect.Value, f field, pos position, text string, read func(string) (int64, error)) error {
	n, err := read(text)
	if err != nil {
		return err
	}
	if n < f.min {
		d.add(pos, "leave it out for the default", "%s cannot be %s", f.what(), clip(text))
		return nil
	}
	v.SetInt(n)
	return nil
}

// any reads a node as JSON decodes a value.
func (d *decoder) any(n ast.Node, depth int) any {
	if depth > maxDepth {
		d.add(place(n), "", "values are nested more than %d deep", maxDepth)
		return nil
	}
	if !d.plain(n) {
		return nil
	}
	switch n := n.(type) {
	case *ast.NullNode:
		return nil
	case *ast.BoolNode:
		return n.Value
	case *ast.SequenceNode:
		out := make([]any, 0, len(n.Values))
		for _, item := range n.Values {
			out = append(out, d.any(item, depth+1))
		}
		return out
	case *ast.IntegerNode, *ast.FloatNode:
		f, err := strconv.ParseFloat(strings.ReplaceAll(textOf(n), "_", ""), 64)
		if err != nil {
			d.add(place(n), "", "%q is no number that JSON has", clip(textOf(n)))
		}
		return f
	}
	if pairs, ok := mappingOf(n); ok {
		out := make(map[string]any, len(pairs))
		for _, pair := range pairs {
			key, pos, ok := d.key(pair)
			if !ok {
				continue
			}
			if _, twice := out[key]; twice {
				d.add(pos, "", "%s stands twice", clip(key))
			}
			out[key] = d.any(pair.Value, depth+1)
		}
		return out
	}
	if isScalar(n) {
		return textOf(n)
	}
	d.add(place(n), "", "%s has no JSON form", kindOf(n))
	return nil
}

// blockWith is the block of a mapping that has a key which the mapping itself
// does not know; "" where none has.
func blockWith(t reflect.Type, key string) string {
	for i := range t.NumField() {
		block := t.Field(i).Type
		for block.Kind() == reflect.Pointer {
			block = block.Elem()
		}
		if block.Kind() != reflect.Struct || block.PkgPath() != t.PkgPath() {
			continue
		}
		for j := range block.NumField() {
			if fieldOf(block.Field(j)).name == key {
				return fieldOf(t.Field(i)).name
			}
		}
	}
	return ""
}
