package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/wexec/wexec/internal/jsonschema"
	"github.com/wexec/wexec/internal/text"
)

// Fault is a value that does not match the schema.
type Fault struct {
	Path    string   // "args.labels[2]"
	Problem string   // "expected a string, got a number"
	Allowed []string // the values or names that the schema lists, as JSON
	depth   int
	types   jsonschema.Types // expected; set if only the type is wrong
}

// Error returns the path, the problem and what is allowed.
func (f *Fault) Error() string {
	msg := f.Path + ": " + f.Problem
	if len(f.Allowed) > 0 {
		msg += "; allowed: " + strings.Join(f.Allowed, ", ")
	}
	return msg
}

// Check returns the first way in which a value, as decoded by encoding/json,
// does not match the schema, or nil. The path of a fault starts with name. A
// check that takes too many steps is abandoned: complete is false, and the fault
// nil. Properties of the top object that are listed as later may be missing.
func (s *Schema) Check(name string, v any, later ...string) (f *Fault, complete bool) {
	if s == nil {
		return nil, true
	}
	return s.check(v, check{path: append(make([]byte, 0, 64), name...), later: later})
}

// CheckMasked is Check for a value with secret parts. A fault shows names of
// properties and facts about values only where masked has them too, which is the
// same value with something else instead of the secrets.
func (s *Schema) CheckMasked(name string, v, masked any, later ...string) (f *Fault, complete bool) {
	if s == nil {
		return nil, true
	}
	return s.check(v, check{path: append(make([]byte, 0, 64), name...), later: later, hiding: true, masked: masked})
}

func (s *Schema) check(v any, c check) (*Fault, bool) {
	f := c.value(s.root, v, 0)
	if c.gaveUp {
		return nil, false
	}
	return f, true
}

type check struct {
	path   []byte
	later  []string
	hiding bool // secrets, and masked is the value as a fault may show it
	masked any
	hidden bool // the name of a step into the value is secret; path ends before it
	depth  int  // steps into the value
	steps  int
	gaveUp bool
}

func (c *check) fault(format string, args ...any) *Fault {
	path := string(c.path)
	if c.hidden {
		path = "a member of " + path
	}
	return &Fault{Path: path, Problem: fmt.Sprintf(format, args...), depth: c.depth}
}

// into checks a part of the value, with its path.
func (c *check) into(n *jsonschema.Schema, v any, extend func()) *Fault {
	was := len(c.path)
	extend()
	c.depth++
	f := c.value(n, v, 0)
	c.depth--
	c.path = c.path[:was]
	return f
}

func (c *check) property(n *jsonschema.Schema, name string, v any) *Fault {
	if c.hiding {
		defer func(masked any, hidden bool) { c.masked, c.hidden = masked, hidden }(c.masked, c.hidden)
		members, _ := c.masked.(map[string]any)
		member, ok := members[name]
		c.masked, c.hidden = member, c.hidden || !ok
	}
	return c.into(n, v, func() {
		if !c.hidden {
			c.path = append(append(c.path, '.'), clip(name)...)
		}
	})
}

func (c *check) item(n *jsonschema.Schema, i int, v any) *Fault {
	if c.hiding {
		defer func(masked any) { c.masked = masked }(c.masked)
		if items, _ := c.masked.([]any); i < len(items) {
			c.masked = items[i]
		} else {
			c.masked = nil
		}
	}
	return c.into(n, v, func() {
		if !c.hidden {
			c.path = append(strconv.AppendInt(append(c.path, '['), int64(i), 10), ']')
		}
	})
}

// quote quotes the name of a property of the current value, unless it is secret.
func (c *check) quote(name string) string {
	if c.hiding {
		members, _ := c.masked.(map[string]any)
		if _, ok := members[name]; !ok {
			return "<hidden>"
		}
	}
	return strconv.Quote(clip(name))
}

// shows reports whether a fault may quote a string of the value.
func (c *check) shows(v string) bool { return !c.hiding || c.masked == any(v) }

// value checks v against n. chain counts the schemas since the last step into the
// value: it is bounded because a schema may refer to itself.
func (c *check) value(n *jsonschema.Schema, v any, chain int) *Fault {
	c.steps += 1 + len(n.Enum)/8 + len(n.Required)/8 + len(n.Patterns)
	if c.steps > maxSteps || chain > jsonschema.MaxDepth || c.depth > jsonschema.MaxDepth {
		c.gaveUp = true
	}
	if c.gaveUp {
		return nil
	}
	if n.Never {
		return c.fault("no value is allowed")
	}
	k := typeOf(v)
	if n.Types != 0 && n.Types&k == 0 {
		f := c.fault("expected %s, got %s", describe(n.Types), describe(k))
		f.types = n.Types
		return f
	}
	if n.Ref != nil {
		if f := c.value(n.Ref, v, chain+1); f != nil {
			return f
		}
	}
	if n.Const != nil && !equal(*n.Const, v) {
		f := c.fault("expected another value")
		f.Allowed = show([]any{*n.Const})
		return f
	}
	if n.Enum != nil && !slices.ContainsFunc(n.Enum, func(e any) bool { return equal(e, v) }) {
		f := c.fault("must be one of %d values", len(n.Enum))
		f.Allowed = show(n.Enum)
		return f
	}
	var f *Fault
	switch v := v.(type) {
	case float64:
		f = c.number(n, v)
	case string:
		f = c.string(n, v)
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

func (c *check) logic(n *jsonschema.Schema, v any, chain int) *Fault {
	for _, sub := range n.AllOf {
		if f := c.value(sub, v, chain+1); f != nil {
			return f
		}
	}
	if len(n.AnyOf) > 0 {
		if f, _ := c.branches(n.AnyOf, v, chain, true); f != nil {
			return f
		}
	}
	if len(n.OneOf) > 0 {
		f, fits := c.branches(n.OneOf, v, chain, false)
		if f != nil {
			return f
		}
		if fits > 1 && !c.gaveUp {
			return c.fault("matches %d of the alternatives, but must match exactly one", fits)
		}
	}
	if n.Not != nil && c.value(n.Not, v, chain+1) == nil && !c.gaveUp {
		return c.fault("matches a schema that is excluded")
	}
	if n.If != nil {
		next := n.Then
		if c.value(n.If, v, chain+1) != nil {
			next = n.Else
		}
		if next != nil {
			return c.value(next, v, chain+1)
		}
	}
	return nil
}

// branches counts the alternatives that match, at most one if first is set. If
// none does, it returns the fault that is deepest in the value.
func (c *check) branches(of []*jsonschema.Schema, v any, chain int, first bool) (*Fault, int) {
	fits := 0
	var best *Fault
	var types jsonschema.Types
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
		f := c.fault("expected %s, got %s", describe(types), describe(typeOf(v)))
		f.types = types
		return f, 0
	}
	return best, 0
}

func (c *check) number(n *jsonschema.Schema, v float64) *Fault {
	switch {
	case n.Minimum != nil && v < *n.Minimum:
		return c.fault("expected at least %v", *n.Minimum)
	case n.Maximum != nil && v > *n.Maximum:
		return c.fault("expected at most %v", *n.Maximum)
	case n.ExclusiveMinimum != nil && v <= *n.ExclusiveMinimum:
		return c.fault("expected more than %v", *n.ExclusiveMinimum)
	case n.ExclusiveMaximum != nil && v >= *n.ExclusiveMaximum:
		return c.fault("expected less than %v", *n.ExclusiveMaximum)
	case n.MultipleOf != nil:
		q := v / *n.MultipleOf
		if math.IsInf(q, 0) || math.Abs(q-math.Round(q)) > 1e-9*max(1, math.Abs(q)) {
			return c.fault("expected a multiple of %v", *n.MultipleOf)
		}
	}
	return nil
}

func (c *check) string(n *jsonschema.Schema, v string) *Fault {
	if n.MinLength != nil || n.MaxLength != nil {
		l := float64(utf8.RuneCountInString(v))
		got := ""
		if c.shows(v) {
			got = fmt.Sprintf(", got %v", l)
		}
		if n.MinLength != nil && l < *n.MinLength {
			return c.fault("expected at least %v characters%s", *n.MinLength, got)
		}
		if n.MaxLength != nil && l > *n.MaxLength {
			return c.fault("expected at most %v characters%s", *n.MaxLength, got)
		}
	}
	if n.Pattern != nil && !n.Pattern.MatchString(v) {
		return c.fault("does not match the pattern %s", clip(n.Pattern.String()))
	}
	return nil
}

func (c *check) array(n *jsonschema.Schema, v []any) *Fault {
	l := float64(len(v))
	switch {
	case n.MinItems != nil && l < *n.MinItems:
		return c.fault("expected at least %v items, got %v", *n.MinItems, l)
	case n.MaxItems != nil && l > *n.MaxItems:
		return c.fault("expected at most %v items, got %v", *n.MaxItems, l)
	}
	for i, e := range v {
		sub := n.Items
		if i < len(n.Prefix) {
			sub = n.Prefix[i]
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
	if n.Contains != nil {
		var hits float64
		for i, e := range v {
			if c.item(n.Contains, i, e) == nil {
				hits++
			}
		}
		least := 1.0
		if n.MinContains != nil {
			least = *n.MinContains
		}
		if hits < least || (n.MaxContains != nil && hits > *n.MaxContains) {
			return c.fault("%v items match contains, which is too few or too many", hits)
		}
	}
	if n.Unique {
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
			return c.fault("expected unique items, but items %d and %d are equal", j, i)
		}
		seen[string(b)] = i
	}
	return nil
}

func (c *check) object(n *jsonschema.Schema, v map[string]any, chain int) *Fault {
	for _, name := range n.Required {
		if _, ok := v[name]; !ok {
			if c.depth == 0 && slices.Contains(c.later, name) {
				continue
			}
			f := c.fault("%q is missing", clip(name))
			f.Allowed = show(anys(n.Names))
			return f
		}
	}
	l := float64(len(v))
	switch {
	case n.MinProperties != nil && l < *n.MinProperties:
		return c.fault("expected at least %v properties, got %v", *n.MinProperties, l)
	case n.MaxProperties != nil && l > *n.MaxProperties:
		return c.fault("expected at most %v properties, got %v", *n.MaxProperties, l)
	}
	if n.Properties == nil && n.Patterns == nil && n.Additional == nil && n.PropertyNames == nil && n.DependentSchemas == nil && n.DependentRequired == nil {
		return nil
	}
	var few [16]string
	names := slices.AppendSeq(few[:0], maps.Keys(v))
	slices.Sort(names)
	for _, name := range names {
		if f := c.member(n, name, v[name]); f != nil {
			return f
		}
		if c.gaveUp {
			return nil
		}
	}
	if n.DependentSchemas == nil && n.DependentRequired == nil {
		return nil
	}
	for _, name := range names {
		for _, need := range n.DependentRequired[name] {
			if _, ok := v[need]; !ok {
				return c.fault("%q is missing, but required with %s", clip(need), c.quote(name))
			}
		}
		if d := n.DependentSchemas[name]; d != nil {
			if f := c.value(d, v, chain+1); f != nil {
				return f
			}
		}
	}
	return nil
}

func (c *check) member(n *jsonschema.Schema, name string, v any) *Fault {
	if n.PropertyNames != nil {
		if f := c.value(n.PropertyNames, name, 0); f != nil {
			return c.fault("property name %s is not allowed", c.quote(name))
		}
	}
	known := false
	if p := n.Properties[name]; p != nil {
		known = true
		if f := c.property(p, name, v); f != nil {
			return f
		}
	}
	for _, p := range n.Patterns {
		if p.Pattern != nil && p.Pattern.MatchString(name) {
			known = true
			if f := c.property(p.Schema, name, v); f != nil {
				return f
			}
		}
	}
	if known || n.Additional == nil {
		return nil
	}
	if n.Additional.Never {
		f := c.fault("unknown property %s", c.quote(name))
		f.Allowed = show(anys(n.Names))
		return f
	}
	return c.property(n.Additional, name, v)
}

func typeOf(v any) jsonschema.Types {
	switch v := v.(type) {
	case nil:
		return jsonschema.Null
	case bool:
		return jsonschema.Boolean
	case float64:
		if v == math.Trunc(v) && !math.IsInf(v, 0) {
			return jsonschema.Integer
		}
		return jsonschema.Number
	case string:
		return jsonschema.String
	case []any:
		return jsonschema.Array
	case map[string]any:
		return jsonschema.Object
	}
	return 0
}

// describe names a set of types: "an object or null".
func describe(types jsonschema.Types) string {
	var names []string
	for i, name := range jsonschema.TypeNames {
		t := jsonschema.Types(1) << i
		switch {
		case types&t == 0, t == jsonschema.Integer && types&jsonschema.Number != 0:
		case t == jsonschema.Null:
			names = append(names, name)
		case strings.ContainsRune("aio", rune(name[0])):
			names = append(names, "an "+name)
		default:
			names = append(names, "a "+name)
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
	for i, name := range names {
		out[i] = name
	}
	return out
}

// clip shortens text that a server chose.
func clip(s string) string { return text.ClipRunes(s, 80) }
