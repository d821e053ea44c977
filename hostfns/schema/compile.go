package schema

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

type compiler struct {
	root     any
	base     string
	at       map[string]*node
	anchors  map[string]string
	nodes    int
	warnings []string
	warned   map[string]bool
}

func (c *compiler) warn(format string, args ...any) {
	w := fmt.Sprintf(format, args...)
	if !c.warned[w] && len(c.warnings) < 20 {
		c.warned[w] = true
		c.warnings = append(c.warnings, w)
	}
}

// findAnchors notes where each $anchor stands.
func (c *compiler) findAnchors(v any, at string, depth int) {
	if depth > maxDepth {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for _, word := range []string{"$anchor", "$dynamicAnchor"} {
			if a, ok := v[word].(string); ok {
				c.anchors[a] = at
			}
		}
		if id, ok := v["$id"].(string); ok && strings.HasPrefix(id, "#") {
			c.anchors[id[1:]] = at
		}
		for k, sub := range v {
			c.findAnchors(sub, at+"/"+escape(k), depth+1)
		}
	case []any:
		for i, sub := range v {
			c.findAnchors(sub, at+"/"+strconv.Itoa(i), depth+1)
		}
	}
}

var errTooBig = errors.New("the schema is nested too deep or has too many parts")

// compile turns one schema into a node; at is its JSON pointer.
func (c *compiler) compile(v any, at string, depth int) (*node, error) {
	if n, ok := c.at[at]; ok {
		return n, nil
	}
	c.nodes++
	if c.nodes > maxNodes || depth > maxDepth {
		return nil, errTooBig
	}
	n := &node{}
	c.at[at] = n
	switch v := v.(type) {
	case bool:
		n.never = !v
		return n, nil
	case map[string]any:
		return n, c.fill(n, v, at, depth)
	}
	c.warn("%s is no schema and is not checked", place(at))
	return n, nil
}

func (c *compiler) fill(n *node, v map[string]any, at string, depth int) error {
	var err error
	sub := func(key string) *node {
		s, ok := v[key]
		if !ok || err != nil {
			return nil
		}
		var out *node
		out, err = c.compile(s, at+"/"+key, depth+1)
		return out
	}
	list := func(key string) []*node {
		items, ok := v[key].([]any)
		if !ok || err != nil {
			return nil
		}
		out := make([]*node, 0, len(items))
		for i, s := range items {
			var child *node
			if child, err = c.compile(s, at+"/"+key+"/"+strconv.Itoa(i), depth+1); err != nil {
				return nil
			}
			out = append(out, child)
		}
		return out
	}
	named := func(key string) map[string]*node {
		m, ok := v[key].(map[string]any)
		if !ok || err != nil {
			return nil
		}
		out := make(map[string]*node, len(m))
		for _, name := range slices.Sorted(maps.Keys(m)) {
			if _, isList := m[name].([]any); isList {
				continue // "dependencies" has lists too
			}
			var child *node
			if child, err = c.compile(m[name], at+"/"+key+"/"+escape(name), depth+1); err != nil {
				return nil
			}
			out[name] = child
		}
		return out
	}

	if ref, ok := v["$ref"].(string); ok {
		if n.ref, err = c.refer(ref, at, depth); err != nil {
			return err
		}
	} else if ref, ok := v["$dynamicRef"].(string); ok {
		if n.ref, err = c.refer(ref, at, depth); err != nil {
			return err
		}
	}
	n.types = c.types(v["type"], at)
	if e, ok := v["enum"].([]any); ok {
		n.enum = e
	}
	if k, ok := v["const"]; ok {
		n.constant = &k
	}
	if d, ok := v["default"]; ok {
		n.preset = &d
	}
	c.numbers(n, v)
	n.pattern = c.regexp(v["pattern"], at)
	n.unique, _ = v["uniqueItems"].(bool)
	n.required = texts(v["required"])

	n.props = named("properties")
	n.names = slices.Sorted(maps.Keys(n.props))
	for expr, p := range named("patternProperties") {
		if re := c.regexp(expr, at); re != nil {
			n.patterns = append(n.patterns, patternNode{re, p})
		} else {
			n.additional = nil // what the pattern would allow cannot be told
			v = maps.Clone(v)
			delete(v, "additionalProperties")
		}
	}
	n.additional = sub("additionalProperties")
	n.propertyNames = sub("propertyNames")
	n.dependent = named("dependentSchemas")
	for name, d := range named("dependencies") {
		if n.dependent == nil {
			n.dependent = map[string]*node{}
		}
		n.dependent[name] = d
	}
	for _, key := range []string{"dependentRequired", "dependencies"} {
		m, _ := v[key].(map[string]any)
		for name, need := range m {
			if l := texts(need); len(l) > 0 {
				if n.dependentNames == nil {
					n.dependentNames = map[string][]string{}
				}
				n.dependentNames[name] = l
			}
		}
	}

	n.prefix = list("prefixItems")
	if _, tuple := v["items"].([]any); tuple {
		n.prefix = list("items")
		n.items = sub("additionalItems")
	} else {
		n.items = sub("items")
	}
	n.contains = sub("contains")
	n.all, n.any, n.one = list("allOf"), list("anyOf"), list("oneOf")
	n.not, n.when = sub("not"), sub("if")
	if n.when != nil {
		n.then, n.other = sub("then"), sub("else")
	}
	for _, key := range []string{"unevaluatedProperties", "unevaluatedItems"} {
		if _, ok := v[key]; ok {
			c.warn("%s at %s is not checked", key, place(at))
		}
	}
	return err
}

func (c *compiler) numbers(n *node, v map[string]any) {
	number := func(key string) *float64 {
		if f, ok := v[key].(float64); ok {
			return &f
		}
		return nil
	}
	n.min, n.max = number("minimum"), number("maximum")
	n.above, n.below = number("exclusiveMinimum"), number("exclusiveMaximum")
	if b, _ := v["exclusiveMinimum"].(bool); b { // draft 4
		n.above, n.min = n.min, nil
	}
	if b, _ := v["exclusiveMaximum"].(bool); b {
		n.below, n.max = n.max, nil
	}
	if m := number("multipleOf"); m != nil && *m > 0 {
		n.multiple = m
	}
	n.minLen, n.maxLen = number("minLength"), number("maxLength")
	n.minItems, n.maxItems = number("minItems"), number("maxItems")
	n.minProps, n.maxProps = number("minProperties"), number("maxProperties")
	n.minContains, n.maxContains = number("minContains"), number("maxContains")
}

func (c *compiler) types(v any, at string) kind {
	var out kind
	names := texts(v)
	if s, ok := v.(string); ok {
		names = []string{s}
	}
	for _, name := range names {
		found := false
		for _, k := range kindNames {
			if k.name == name {
				out |= k.k
				found = true
			}
		}
		if !found {
			c.warn("type %q at %s is not known and not checked", clip(name), place(at))
			return 0
		}
	}
	if out&kindNumber != 0 {
		out |= kindInteger
	}
	return out
}

// regexp compiles a pattern. ECMAScript knows more than can be checked here in
// linear time; such a pattern is left out with a warning.
func (c *compiler) regexp(v any, at string) *regexp.Regexp {
	expr, ok := v.(string)
	if !ok {
		return nil
	}
	if len(expr) > 4096 {
		c.warn("the pattern at %s is too long and not checked", place(at))
		return nil
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		c.warn("the pattern at %s cannot be checked here", place(at))
		return nil
	}
	return re
}

// refer resolves a reference within the document.
func (c *compiler) refer(ref, at string, depth int) (*node, error) {
	fragment, ok := strings.CutPrefix(ref, "#")
	if !ok && c.base != "" && strings.HasPrefix(ref, strings.TrimSuffix(c.base, "#")+"#") {
		fragment, ok = ref[strings.Index(ref, "#")+1:], true
	}
	if !ok {
		c.warn("the reference at %s leads out of the schema and is not checked", place(at))
		return nil, nil
	}
	fragment = unpercent(fragment)
	if fragment != "" && !strings.HasPrefix(fragment, "/") {
		where, ok := c.anchors[fragment]
		if !ok {
			c.warn("the reference at %s leads nowhere and is not checked", place(at))
			return nil, nil
		}
		fragment = where
	}
	v := c.root
	canonical := ""
	for _, part := range strings.Split(fragment, "/")[1:] {
		if fragment == "" {
			break
		}
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		switch in := v.(type) {
		case map[string]any:
			v, ok = in[part]
		case []any:
			i, err := strconv.Atoi(part)
			if ok = err == nil && i >= 0 && i < len(in); ok {
				v = in[i]
			}
		default:
			ok = false
		}
		if !ok {
			c.warn("the reference at %s leads nowhere and is not checked", place(at))
			return nil, nil
		}
		canonical += "/" + escape(part)
	}
	return c.compile(v, canonical, depth+1)
}

func texts(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, e := range list {
		if s, ok := e.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

func escape(part string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(part) }

func unpercent(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(n))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func place(at string) string {
	if at == "" {
		return "the top"
	}
	return clip(at)
}

// clip shortens text that a server chose.
func clip(s string) string {
	if r := []rune(s); len(r) > 80 {
		return string(r[:79]) + "…"
	}
	return s
}
