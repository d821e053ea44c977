package yamldoc

import (
	"cmp"
	"encoding"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/jsonnum"
)

// Decode reads a file into a struct, or into a slice for a file that is a list.
// Problems go to r; into has what could be read.
func Decode(r *Reporter, data []byte, into any) {
	d := decoder{Reporter: r}
	v := reflect.ValueOf(into).Elem()
	body, ok := d.parse(data)
	switch {
	case !ok:
	case body != nil:
		d.value(body, v, field{}, 0)
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if f := fieldOf(v.Type().Field(i)); f.need {
				d.Add(Position{1, 1}, "set the key "+f.name, "the file is empty")
				return
			}
		}
	}
}

type decoder struct {
	*Reporter
	lines []string // of the file, for the positions of block scalars
}

// field is what the tags of a struct field say.
type field struct {
	name   string
	doc    string
	enum   []string
	min    int64
	maxLen int64
	need   bool
	single bool
}

func fieldOf(f reflect.StructField) field {
	out := field{name: f.Tag.Get("yaml"), doc: f.Tag.Get("doc"), need: f.Tag.Get("need") != "", single: f.Tag.Get("single") != ""}
	if e := f.Tag.Get("enum"); e != "" {
		out.enum = strings.Split(e, "|")
	}
	out.min, _ = strconv.ParseInt(f.Tag.Get("min"), 10, 64)
	out.maxLen, _ = strconv.ParseInt(f.Tag.Get("maxlen"), 10, 64)
	return out
}

// shortField returns the index of the field that a scalar stands for, or -1.
func shortField(t reflect.Type) int {
	for i := 0; t.Kind() == reflect.Struct && i < t.NumField(); i++ {
		if t.Field(i).Tag.Get("short") != "" {
			return i
		}
	}
	return -1
}

var (
	valueType  = reflect.TypeFor[interface{ isValue() }]()
	mapType    = reflect.TypeFor[interface{ isMap() }]()
	keyedType  = reflect.TypeFor[Keyed]()
	textType   = reflect.TypeFor[encoding.TextUnmarshaler]()
	codeType   = reflect.TypeFor[Code]()
	objectType = reflect.TypeFor[Object]()
)

// isBlock reports whether a type is read from a mapping with known keys.
func isBlock(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t != codeType && !reflect.PointerTo(t).Implements(textType)
}

// prefix names the field at the start of a message; the file as a whole has none.
func (f field) prefix() string {
	if f.name == "" {
		return ""
	}
	return f.name + ": "
}

// mustBe reports a node of the wrong kind.
func (d *decoder) mustBe(n ast.Node, f field, want, hint string) {
	d.Add(place(n), hint, "%smust be %s, not %s", cmp.Or(f.prefix(), "the file "), want, kindOf(n))
}

// value reads a node into v.
func (d *decoder) value(n ast.Node, v reflect.Value, f field, depth int) {
	if !d.supported(n, depth) {
		return
	}
	switch t := v.Type(); {
	case t.Implements(valueType):
		v.FieldByName("Pos").Set(reflect.ValueOf(place(n)))
		d.value(n, v.FieldByName("V"), f, depth)
	case t == objectType:
		if _, ok := pairsOf(n); !ok {
			d.mustBe(n, f, "a mapping", "")
		} else if m, ok := d.anyValue(n, depth).(map[string]any); ok {
			v.Set(reflect.ValueOf(Object(m)))
		}
	case t.Kind() == reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		d.value(n, v.Elem(), f, depth)
	case t.Implements(mapType):
		d.arbitraryKeys(n, v, f, depth)
	case t.Kind() == reflect.Slice:
		d.list(n, v, f, depth)
	case reflect.PointerTo(t).Implements(keyedType):
		d.keyed(n, v.Addr().Interface().(Keyed), f, depth)
	case isBlock(t):
		d.block(n, v, f, depth)
	default:
		d.scalar(n, v, f)
	}
}

// supported reports YAML that these files do without, and nesting that is too
// deep.
func (d *decoder) supported(n ast.Node, depth int) bool {
	if depth > maxDepth {
		d.Add(place(n), "", "nested more than %d levels deep", maxDepth)
		return false
	}
	switch n.(type) {
	case *ast.AliasNode, *ast.AnchorNode, *ast.MergeKeyNode:
		d.Add(place(n), "quote a string that begins with * or &", "anchors and aliases are not supported")
		return false
	case *ast.TagNode:
		d.Add(place(n), "quote a string that begins with !", "tags are not supported")
		return false
	}
	return true
}

// eachPair calls read for each key of a mapping and reports keys that are
// duplicate or no scalar. read is not called for those.
func (d *decoder) eachPair(pairs []*ast.MappingValueNode, read func(key string, pos Position, value ast.Node)) {
	seen := map[string]Position{}
	for _, pair := range pairs {
		var n ast.Node = pair.Key
		pos := place(n)
		if k, ok := n.(*ast.MappingKeyNode); ok {
			n = k.Value
		}
		if n == nil || !isScalar(n) {
			if d.supported(n, 0) {
				d.Add(pos, "", "a key must be a string")
			}
			continue
		}
		key := scalarText(n)
		if first, ok := seen[key]; ok {
			d.Add(pos, "", "duplicate key %s, first set on line %d", clip(key), first.Line)
			continue
		}
		seen[key] = pos
		read(key, pos, pair.Value)
	}
}

func (d *decoder) noValue(pos Position, key string) {
	d.Add(pos, "set a value or remove the key", "%s: has no value", clip(key))
}

// block reads a mapping into a struct.
func (d *decoder) block(n ast.Node, v reflect.Value, f field, depth int) {
	t := v.Type()
	if pos := v.FieldByName("Pos"); pos.IsValid() {
		pos.Set(reflect.ValueOf(place(n)))
	}
	if i := shortField(t); i >= 0 && isScalar(n) {
		d.value(n, v.Field(i), fieldOf(t.Field(i)), depth+1)
		return
	}
	if isNull(n) && depth > 0 {
		return // a block whose keys are all commented out
	}
	var keys []string
	index := map[string]int{}
	for i := range t.NumField() {
		if name := fieldOf(t.Field(i)).name; name != "" {
			keys = append(keys, name)
			index[name] = i
		}
	}
	pairs, ok := pairsOf(n)
	if !ok {
		d.mustBe(n, f, "a mapping", "its keys are "+strings.Join(keys, ", "))
		return
	}
	set := map[string]bool{}
	d.eachPair(pairs, func(key string, pos Position, value ast.Node) {
		i, known := index[key]
		set[key] = true
		switch {
		case !known:
			hint := Suggest(key, keys)
			if inside := blockWith(t, key); inside != "" {
				hint = "move it under " + inside + ":"
			}
			d.Add(pos, hint, "unknown key %s", clip(key))
		case !isNull(value):
			d.value(value, v.Field(i), fieldOf(t.Field(i)), depth+1)
		case !mayBeEmpty(t.Field(i).Type):
			d.noValue(pos, key)
		}
	})
	for i := range t.NumField() {
		if sub := fieldOf(t.Field(i)); sub.need && !set[sub.name] {
			d.Add(place(n), "", "%smissing key %s", f.prefix(), sub.name)
		}
	}
}

// mayBeEmpty reports whether an empty value of a type is the same as none.
func mayBeEmpty(t reflect.Type) bool {
	return t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.String || t == objectType || reflect.PointerTo(t).Implements(keyedType)
}

// blockWith returns the block of a struct that knows a key, or "".
func blockWith(t reflect.Type, key string) string {
	for i := range t.NumField() {
		block := t.Field(i).Type
		if block.Kind() == reflect.Pointer {
			block = block.Elem()
		}
		name := fieldOf(t.Field(i)).name
		if keyed, ok := reflect.New(block).Interface().(Keyed); ok {
			if slices.ContainsFunc(keyed.YAMLKeys(), func(k Key) bool { return k.Name == key }) {
				return name
			}
			continue
		}
		if !isBlock(block) || block.Implements(valueType) {
			continue
		}
		for j := range block.NumField() {
			if fieldOf(block.Field(j)).name == key {
				return name
			}
		}
	}
	return ""
}

// keyed reads a mapping whose keys are known only at run time.
func (d *decoder) keyed(n ast.Node, v Keyed, f field, depth int) {
	if isNull(n) {
		return
	}
	all := v.YAMLKeys()
	var names []string
	for _, k := range all {
		names = append(names, k.Name)
	}
	pairs, ok := pairsOf(n)
	if !ok {
		d.mustBe(n, f, "a mapping", "its keys are "+strings.Join(names, ", "))
		return
	}
	d.eachPair(pairs, func(key string, pos Position, value ast.Node) {
		switch i := slices.Index(names, key); {
		case i < 0:
			d.Add(pos, Suggest(key, names), "unknown key %s", clip(key))
		case isNull(value):
			d.noValue(pos, key)
		default:
			number := reflect.New(reflect.TypeOf(all[i].Value)).Elem()
			d.value(value, number, field{name: key, min: all[i].Min}, depth+1)
			v.SetYAML(key, number.Int())
		}
	})
}

// list reads a sequence into a slice.
func (d *decoder) list(n ast.Node, v reflect.Value, f field, depth int) {
	var items []ast.Node
	switch seq, ok := n.(*ast.SequenceNode); {
	case ok:
		items = seq.Values
	case isScalar(n) && f.single:
		items = []ast.Node{n}
	case isScalar(n):
		d.mustBe(n, f, "a list", "write ["+clip(scalarText(n))+"]")
		return
	default:
		d.mustBe(n, f, "a list", "")
		return
	}
	out := reflect.MakeSlice(v.Type(), 0, len(items))
	for _, item := range items {
		if isNull(item) {
			d.Add(place(n), "", "%s: has an empty item", f.name)
			continue
		}
		e := reflect.New(v.Type().Elem()).Elem()
		d.value(item, e, f, depth+1)
		out = reflect.Append(out, e)
	}
	v.Set(out)
}

// arbitraryKeys reads a mapping into a [Map].
func (d *decoder) arbitraryKeys(n ast.Node, v reflect.Value, f field, depth int) {
	pairs, ok := pairsOf(n)
	if !ok {
		d.mustBe(n, f, "a mapping", "")
		return
	}
	out := reflect.MakeSlice(v.Type(), 0, len(pairs))
	d.eachPair(pairs, func(key string, pos Position, value ast.Node) {
		if isNull(value) {
			d.noValue(pos, key)
			return
		}
		e := reflect.New(v.Type().Elem()).Elem()
		e.FieldByName("Key").SetString(key)
		e.FieldByName("KeyPos").Set(reflect.ValueOf(pos))
		e.FieldByName("Pos").Set(reflect.ValueOf(place(value)))
		sub := f
		sub.name = clip(key)
		d.value(value, e.FieldByName("V"), sub, depth+1)
		out = reflect.Append(out, e)
	})
	v.Set(out)
}

// scalar reads a string, a number or a boolean.
func (d *decoder) scalar(n ast.Node, v reflect.Value, f field) {
	if !isScalar(n) {
		d.mustBe(n, f, "a string or a number", "")
		return
	}
	written, pos := scalarText(n), place(n)
	if f.enum != nil && !slices.Contains(f.enum, written) {
		hint := ""
		if near := nearest(written, f.enum); near != "" && len(f.enum) > 1 {
			hint = "did you mean " + near + "?"
		}
		d.Add(pos, hint, "%s: must be %s, not %q", f.name, orList(f.enum), clip(written))
		return
	}
	switch to := v.Addr().Interface().(type) {
	case encoding.TextUnmarshaler:
		if err := to.UnmarshalText([]byte(written)); err != nil {
			d.Add(pos, fault.HintOf(err), "%s%s", f.prefix(), err)
			return
		}
	case *Code:
		*to = Code{Text: written, lines: d.linesOf(n, written)}
	case *bool:
		b, ok := n.(*ast.BoolNode)
		if !ok {
			d.mustBe(n, f, "true or false", "")
			return
		}
		*to = b.Value
	default:
		v.SetString(written)
	}
	if v.CanInt() && v.Int() < f.min {
		d.Add(pos, "remove the key for the default", "%s: must be at least %d", f.name, f.min)
		v.SetZero()
	}
}

// orList joins words as in "a, b or c".
func orList(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// anyValue reads a node as encoding/json decodes a value.
func (d *decoder) anyValue(n ast.Node, depth int) any {
	if !d.supported(n, depth) {
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
			out = append(out, d.anyValue(item, depth+1))
		}
		return out
	case *ast.IntegerNode, *ast.FloatNode:
		digits := strings.ReplaceAll(scalarText(n), "_", "")
		if strings.Trim(strings.TrimPrefix(digits, "-"), "0123456789") == "" {
			if n, _, err := jsonnum.Parse(digits); err == nil {
				return n
			}
		}
		f, err := strconv.ParseFloat(digits, 64)
		if err != nil {
			d.Add(place(n), "", "%q is not a JSON number", clip(scalarText(n)))
		}
		return f
	}
	if pairs, ok := pairsOf(n); ok {
		out := make(map[string]any, len(pairs))
		d.eachPair(pairs, func(key string, _ Position, value ast.Node) { out[key] = d.anyValue(value, depth+1) })
		return out
	}
	if isScalar(n) {
		return scalarText(n)
	}
	d.Add(place(n), "", "%s has no JSON form", kindOf(n))
	return nil
}
