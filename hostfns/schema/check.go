package schema

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Fault says where a value does not fit and what would.
type Fault struct {
	Path    string   // "args.labels[2]"
	Problem string   // "expected a string, got a number"
	Allowed []string // what the schema allows there, where that is a list; as JSON
	depth   int
	types   kind // set for faults of type alone
	got     kind
}

// Error is the path and the problem, and what is allowed.
func (f *Fault) Error() string {
	msg := f.Path + ": " + f.Problem
	if len(f.Allowed) > 0 {
		msg += "; allowed: " + strings.Join(f.Allowed, ", ")
	}
	return msg
}

// Check says how a value, as encoding/json decodes it, fails the schema, or
// nil. The name is what the value is called in the path. A check that takes
// too many steps is given up: complete is false then, and nil means nothing.
// Properties of the top object that are filled in later may be missing.
func (s *Schema) Check(name string, v any, later ...string) (f *Fault, complete bool) {
	if s == nil {
		return nil, true
	}
	c := &check{path: append(make([]byte, 0, 64), name...), later: later}
	f = c.value(s.root, v, 0)
	if c.gaveUp {
		return nil, false
	}
	return f, true
}

type check struct {
	path   []byte
	later  []string
	depth  int // steps into the value
	steps  int
	gaveUp bool
}

func (c *check) fault(format string, args ...any) *Fault {
	return &Fault{Path: string(c.path), Problem: fmt.Sprintf(format, args...), depth: c.depth}
}

// into checks a part of the value under its own path.
func (c *check) into(n *node, v any, push func()) *Fault {
	was := len(c.path)
	push()
	c.depth++
	f := c.value(n, v, 0)
	c.depth--
	c.path = c.path[:was]
	return f
}

func (c *check) property(n *node, name string, v any) *Fault {
	return c.into(n, v, func() { c.path = append(append(c.path, '.'), clip(name)...) })
}

func (c *check) item(n *node, i int, v any) *Fault {
	return c.into(n, v, func() { c.path = append(strconv.AppendInt(append(c.path, '['), int64(i), 10), ']') })
}

// value checks v against n; chain counts the schemas passed without a step
// into the value, which is how a schema that refers to itself is found.
func (c *check) value(n *node, v any, chain int) *Fault {
	c.steps += 1 + len(n.enum)/8 + len(n.required)/8 + len(n.patterns)
	if c.steps > maxSteps || chain > maxDepth || c.depth > maxDepth {
		c.gaveUp = true
	}
	if c.gaveUp {
		return nil
	}
	if n.never {
		return c.fault("no value is allowed here")
	}
	k := kindOf(v)
	if n.types != 0 && n.types&k == 0 {
		f := c.fault("expected %s, got %s", nameKinds(n.types), nameKinds(k))
		f.types, f.got = n.types, k
		return f
	}
	if n.ref != nil {
		if f := c.value(n.ref, v, chain+1); f != nil {
			return f
		}
	}
	if n.constant != nil && !equal(*n.constant, v) {
		f := c.fault("expected one value alone")
		f.Allowed = show([]any{*n.constant})
		return f
	}
	if n.enum != nil && !slices.ContainsFunc(n.enum, func(e any) bool { return equal(e, v) }) {
		f := c.fault("is none of the %d values that are allowed", len(n.enum))
		f.Allowed = show(n.enum)
		return f
	}
	var f *Fault
	switch v := v.(type) {
	case float64:
		f = c.number(n, v)
	case string:
		f = c.text(n, v)
	case []any:
		f = c.array(n, v)
	case map[string]any:
		f = c.object(n, v, chain)
	}
	if f != nil {
		return f
	}
	return c.logic(n, v, chain)
}

func (c *check) logic(n *node, v any, chain int) *Fault {
	for _, sub := range n.all {
		if f := c.value(sub, v, chain+1); f != nil {
			return f
		}
	}
	if len(n.any) > 0 {
		if f, _ := c.branches(n.any, v, chain, true); f != nil {
			return f
		}
	}
	if len(n.one) > 0 {
		f, fits := c.branches(n.one, v, chain, false)
		if f != nil {
			return f
		}
		if fits > 1 && !c.gaveUp {
			return c.fault("fits %d of the forms that are allowed here, and may fit one only", fits)
		}
	}
	if n.not != nil && c.value(n.not, v, chain+1) == nil && !c.gaveUp {
		return c.fault("has a form that is not allowed here")
	}
	if n.when != nil {
		next := n.then
		if c.value(n.when, v, chain+1) != nil {
			next = n.other
		}
		if next != nil {
			return c.value(next, v, chain+1)
		}
	}
	return nil
}

// branches counts how many of the alternatives fit, and where none does, gives
// the fault of the one that came furthest.
func (c *check) branches(of []*node, v any, chain int, first bool) (*Fault, int) {
	fits := 0
	var best *Fault
	var types kind
	allTypes := true
	for _, sub := range of {
		f := c.value(sub, v, chain+1)
		if c.gaveUp {
			return nil, 0
		}
		if f == nil {
			if fits++; first {
				return nil, fits
			}
			continue
		}
		if f.types != 0 && f.depth == c.depth {
			types |= f.types
		} else {
			allTypes = false
		}
		if best == nil || f.depth > best.depth || (best.types != 0 && best.depth == f.depth && f.types == 0) {
			best = f
		}
	}
	if fits > 0 {
		return nil, fits
	}
	if allTypes && best != nil {
		f := c.fault("expected %s, got %s", nameKinds(types), nameKinds(kindOf(v)))
		f.types, f.got = types, kindOf(v)
		return f, 0
	}
	return best, 0
}

func (c *check) number(n *node, v float64) *Fault {
	switch {
	case n.min != nil && v < *n.min:
		return c.fault("expected at least %v", *n.min)
	case n.max != nil && v > *n.max:
		return c.fault("expected at most %v", *n.max)
	case n.above != nil && v <= *n.above:
		return c.fault("expected more than %v", *n.above)
	case n.below != nil && v >= *n.below:
		return c.fault("expected less than %v", *n.below)
	case n.multiple != nil:
		q := v / *n.multiple
		if math.IsInf(q, 0) || math.Abs(q-math.Round(q)) > 1e-9*max(1, math.Abs(q)) {
			return c.fault("expected a multiple of %v", *n.multiple)
		}
	}
	return nil
}

func (c *check) text(n *node, v string) *Fault {
	if n.minLen != nil || n.maxLen != nil {
		l := float64(utf8.RuneCountInString(v))
		if n.minLen != nil && l < *n.minLen {
			return c.fault("expected at least %v characters, got %v", *n.minLen, l)
		}
		if n.maxLen != nil && l > *n.maxLen {
			return c.fault("expected at most %v characters, got %v", *n.maxLen, l)
		}
	}
	if n.pattern != nil && !n.pattern.MatchString(v) {
		return c.fault("does not match the pattern %s", clip(n.pattern.String()))
	}
	return nil
}

func (c *check) array(n *node, v []any) *Fault {
	l := float64(len(v))
	switch {
	case n.minItems != nil && l < *n.minItems:
		return c.fault("expected at least %v items, got %v", *n.minItems, l)
	case n.maxItems != nil && l > *n.maxItems:
		return c.fault("expected at most %v items, got %v", *n.maxItems, l)
	}
	for i, e := range v {
		sub := n.items
		if i < len(n.prefix) {
			sub = n.prefix[i]
		}
		if sub == nil {
			break
		}
		if f := c.item(sub, i, e); f != nil {
			return f
		}
		if c.gaveUp {
			return nil
		}
	}
	if n.contains != nil {
		var hits float64
		for i, e := range v {
			if c.item(n.contains, i, e) == nil {
				hits++
			}
		}
		least := 1.0
		if n.minContains != nil {
			least = *n.minContains
		}
		if hits < least || (n.maxContains != nil && hits > *n.maxContains) {
			return c.fault("has %v items of a form that is asked for, which is not the right number", hits)
		}
	}
	if n.unique {
		return c.uniqueItems(v)
	}
	return nil
}

func (c *check) uniqueItems(v []any) *Fault {
	seen := make(map[string]int, len(v))
	for i, e := range v {
		b, err := json.Marshal(e)
		if err != nil {
			continue
		}
		if j, ok := seen[string(b)]; ok {
			return c.fault("expected different items, but %d and %d are equal", j, i)
		}
		seen[string(b)] = i
	}
	return nil
}

func (c *check) object(n *node, v map[string]any, chain int) *Fault {
	for _, name := range n.required {
		if _, ok := v[name]; !ok {
			if c.depth == 0 && slices.Contains(c.later, name) {
				continue
			}
			f := c.fault("%q is missing", clip(name))
			f.Allowed = show(anys(n.names))
			return f
		}
	}
	l := float64(len(v))
	switch {
	case n.minProps != nil && l < *n.minProps:
		return c.fault("expected at least %v properties, got %v", *n.minProps, l)
	case n.maxProps != nil && l > *n.maxProps:
		return c.fault("expected at most %v properties, got %v", *n.maxProps, l)
	}
	if n.props == nil && n.patterns == nil && n.additional == nil && n.propertyNames == nil && n.dependent == nil && n.dependentNames == nil {
		return nil
	}
	var few [16]string
	names := sortedKeys(few[:0], v)
	for _, name := range names {
		if f := c.member(n, name, v[name]); f != nil {
			return f
		}
		if c.gaveUp {
			return nil
		}
	}
	if n.dependent == nil && n.dependentNames == nil {
		return nil
	}
	for _, name := range names {
		for _, need := range n.dependentNames[name] {
			if _, ok := v[need]; !ok {
				return c.fault("%q is missing, which %q asks for", clip(need), clip(name))
			}
		}
		if d := n.dependent[name]; d != nil {
			if f := c.value(d, v, chain+1); f != nil {
				return f
			}
		}
	}
	return nil
}

func (c *check) member(n *node, name string, v any) *Fault {
	if n.propertyNames != nil {
		if f := c.value(n.propertyNames, name, 0); f != nil {
			return c.fault("has a property with a name that is not allowed: %q", clip(name))
		}
	}
	known := false
	if p := n.props[name]; p != nil {
		known = true
		if f := c.property(p, name, v); f != nil {
			return f
		}
	}
	for _, p := range n.patterns {
		if p.re.MatchString(name) {
			known = true
			if f := c.property(p.n, name, v); f != nil {
				return f
			}
		}
	}
	if known || n.additional == nil {
		return nil
	}
	if n.additional.never {
		f := c.fault("%q is not known here", clip(name))
		f.Allowed = show(anys(n.names))
		return f
	}
	return c.property(n.additional, name, v)
}

func kindOf(v any) kind {
	switch v := v.(type) {
	case nil:
		return kindNull
	case bool:
		return kindBool
	case float64:
		if v == math.Trunc(v) && !math.IsInf(v, 0) {
			return kindInteger
		}
		return kindNumber
	case string:
		return kindString
	case []any:
		return kindArray
	case map[string]any:
		return kindObject
	}
	return 0
}

func nameKinds(k kind) string {
	var names []string
	for _, n := range kindNames {
		if k&n.k == 0 || (n.k == kindInteger && k&kindNumber != 0) {
			continue
		}
		switch n.name {
		case "null":
			names = append(names, "null")
		case "array", "object", "integer":
			names = append(names, "an "+n.name)
		default:
			names = append(names, "a "+n.name)
		}
	}
	if len(names) == 0 {
		return "no JSON value"
	}
	return strings.Join(names, " or ")
}

func equal(a, b any) bool {
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k, v := range a {
			if w, ok := b[k]; !ok || !equal(v, w) {
				return false
			}
		}
		return true
	}
	switch b.(type) {
	case []any, map[string]any:
		return false
	}
	return a == b
}

// show writes allowed values as JSON, a few and short.
func show(values []any) []string {
	var out []string
	for i, v := range values {
		if i == 20 {
			out = append(out, fmt.Sprintf("and %d more", len(values)-i))
			break
		}
		b, err := json.Marshal(v)
		if err != nil {
			continue
		}
		out = append(out, clip(string(b)))
	}
	return out
}

func anys(names []string) []any {
	out := make([]any, len(names))
	for i, n := range names {
		out[i] = n
	}
	return out
}

func sortedKeys(keys []string, m map[string]any) []string {
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
