package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"io"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/wexec/wexec/internal/jsonnum"
	"github.com/wexec/wexec/internal/jsonschema"
)

// Check returns the first way in which a value, with the numbers of package
// jsonnum, does not match the schema, or nil. The path of a fault starts with
// name. With an error of the Spender or [ErrTooMuch] nothing is known. Properties of
// the top object that are listed as later may be missing.
func (s *Schema) Check(name string, v any, w Work, later ...string) (*Fault, error) {
	if s == nil {
		return nil, nil
	}
	return s.check(v, check{path: append(make([]byte, 0, 64), name...), later: later, work: w})
}

// CheckMasked is Check for a value with secret parts. A fault shows names of
// properties and facts about values only where masked has them too, which is the
// same value with something else instead of the secrets.
func (s *Schema) CheckMasked(name string, v, masked any, w Work, later ...string) (*Fault, error) {
	if s == nil {
		return nil, nil
	}
	return s.check(v, check{path: append(make([]byte, 0, 64), name...), later: later, work: w, hiding: true, masked: masked})
}

func (s *Schema) check(v any, c check) (*Fault, error) {
	f := c.value(s.root, v, 0)
	if c.err == nil {
		c.flush()
	}
	if c.err != nil {
		return nil, c.err
	}
	return f, nil
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

// value checks v against n. chain counts the schemas since the last step into the
// value: it is bounded because a schema may refer to itself.
func (c *check) value(n *jsonschema.Schema, v any, chain int) *Fault {
	if chain > jsonschema.MaxDepth || c.depth > jsonschema.MaxDepth {
		c.err = cmp.Or(c.err, ErrTooMuch)
	}
	if !c.spend(visit) {
		return nil
	}
	if n.Never {
		return c.fault("no value is allowed")
	}
	if p, ok := v.(*Partial); ok {
		return c.partial(n, p, chain)
	}
	if f := c.typed(n, v); f != nil {
		return f
	}
	if n.Ref != nil {
		if f := c.value(n.Ref, v, chain+1); f != nil {
			return f
		}
	}
	if n.Const != nil && !c.equal(*n.Const, v) {
		f := c.fault("expected another value")
		f.values = []any{*n.Const}
		return f
	}
	if n.Enum != nil && !slices.ContainsFunc(n.Enum, func(e any) bool { return c.equal(e, v) }) {
		f := c.fault("must be one of %d values", len(n.Enum))
		f.values = n.Enum
		return f
	}
	var f *Fault
	switch v := v.(type) {
	case float64, json.Number:
		f = c.number(n, v)
	case string:
		f = c.string(n, v)
	case []any:
		f = c.array(n, v)
	case map[string]any:
		if f = c.object(n, v, false); f == nil {
			f = c.dependents(n, v, chain)
		}
	}
	if f != nil {
		return f
	}
	return c.logic(n, v, chain)
}

// typed checks the type of v.
func (c *check) typed(n *jsonschema.Schema, v any) *Fault {
	k := typeOf(v)
	if n.Types == 0 || n.Types&k != 0 {
		return nil
	}
	f := c.fault("expected %s, got %s", describe(n.Types), describe(k))
	f.types = n.Types
	return f
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
		if fits > 1 && c.err == nil {
			return c.fault("matches %d of the alternatives, but must match exactly one", fits)
		}
	}
	if n.Not != nil && c.value(n.Not, v, chain+1) == nil && c.err == nil {
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
		if c.err != nil {
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
		if p, ok := v.(*Partial); ok {
			v = p.known
		}
		f := c.fault("expected %s, got %s", describe(types), describe(typeOf(v)))
		f.types = types
		return f, 0
	}
	return best, 0
}

// number checks a number of package jsonnum.
func (c *check) number(n *jsonschema.Schema, v any) *Fault {
	switch {
	case n.Minimum != nil && jsonnum.Compare(v, n.Minimum) < 0:
		return c.fault("expected at least %v", n.Minimum)
	case n.Maximum != nil && jsonnum.Compare(v, n.Maximum) > 0:
		return c.fault("expected at most %v", n.Maximum)
	case n.ExclusiveMinimum != nil && jsonnum.Compare(v, n.ExclusiveMinimum) <= 0:
		return c.fault("expected more than %v", n.ExclusiveMinimum)
	case n.ExclusiveMaximum != nil && jsonnum.Compare(v, n.ExclusiveMaximum) >= 0:
		return c.fault("expected less than %v", n.ExclusiveMaximum)
	case n.MultipleOf != nil && !c.isMultiple(v, n.MultipleOf):
		return c.fault("expected a multiple of %v", n.MultipleOf)
	}
	return nil
}

// isMultiple reports whether v is a multiple of a number. A float64 is nearly one,
// as 0.3 is of 0.1.
func (c *check) isMultiple(v, of any) bool {
	x, ok1 := v.(float64)
	y, ok2 := of.(float64)
	if ok1 && ok2 {
		q := x / y
		return !math.IsInf(q, 0) && math.Abs(q-math.Round(q)) <= 1e-9*max(1, math.Abs(q))
	}
	c.spend(1000) // numbers of up to 309 digits
	a, ok1 := new(big.Rat).SetString(fmt.Sprint(v))
	b, ok2 := new(big.Rat).SetString(fmt.Sprint(of))
	return ok1 && ok2 && a.Quo(a, b).IsInt()
}

func (c *check) string(n *jsonschema.Schema, v string) *Fault {
	if n.MinLength != nil || n.MaxLength != nil {
		if !c.spend(len(v) / 8) {
			return nil
		}
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
	if n.Pattern != nil && !c.matches(n.Pattern, v) {
		return c.fault("does not match the pattern %s", clip(n.Pattern.String()))
	}
	return nil
}

// matches matches a pattern in time that is linear in its cost and the length of
// the text.
func (c *check) matches(p *jsonschema.Pattern, v string) bool {
	if len(v)*p.Cost < interval {
		return c.spend(visit+len(v)*p.Cost) && p.MatchString(v)
	}
	return p.MatchReader(&counted{c: c, text: v, cost: p.Cost}) && c.err == nil
}

// counted reads a text for a pattern, as long as the check may go on.
type counted struct {
	c    *check
	text string
	cost int
}

// ReadRune returns the next character.
func (r *counted) ReadRune() (rune, int, error) {
	if len(r.text) == 0 || !r.c.spend(r.cost) {
		return 0, 0, io.EOF
	}
	c, n := utf8.DecodeRuneInString(r.text)
	r.text = r.text[n:]
	return c, n, nil
}

func (c *check) array(n *jsonschema.Schema, v []any) *Fault {
	if f := c.items(n, v); f != nil || c.err != nil {
		return f
	}
	if n.Contains != nil {
		var hits float64
		for i, e := range v {
			if c.item(n.Contains, i, e) == nil {
				hits++
			}
			if c.err != nil {
				return nil
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

// items checks the number of items and each of them.
func (c *check) items(n *jsonschema.Schema, v []any) *Fault {
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
		if c.err != nil {
			return nil
		}
	}
	return nil
}

func (c *check) uniqueItems(v []any) *Fault {
	if !c.spend(len(v)) {
		return nil
	}
	seed := maphash.MakeSeed()
	seen := make(map[uint64]int, len(v)) // items by their hash, or the next free number
	for i, e := range v {
		h := c.hash(seed, e)
		for {
			j, ok := seen[h]
			if !ok {
				break
			}
			if c.equal(v[j], e) {
				return c.fault("expected unique items, but items %d and %d are equal", j, i)
			}
			h++
		}
		if c.err != nil {
			return nil
		}
		seen[h] = i
	}
	return nil
}

// object checks the properties of an object. An open one may have others too.
func (c *check) object(n *jsonschema.Schema, v map[string]any, open bool) *Fault {
	for _, name := range n.Required {
		c.spend(1 + len(name)/8)
		if _, ok := v[name]; !ok && !open {
			if c.depth == 0 && slices.Contains(c.later, name) {
				continue
			}
			f := c.fault("%q is missing", clip(name))
			f.names = n.Names
			return f
		}
	}
	l := float64(len(v))
	switch {
	case n.MinProperties != nil && l < *n.MinProperties && !open:
		return c.fault("expected at least %v properties, got %v", *n.MinProperties, l)
	case n.MaxProperties != nil && l > *n.MaxProperties:
		return c.fault("expected at most %v properties, got %v", *n.MaxProperties, l)
	}
	if n.Properties == nil && n.Patterns == nil && n.Additional == nil && n.PropertyNames == nil {
		return nil
	}
	var few [16]string
	for _, name := range c.sorted(v, few[:0]) {
		if f := c.member(n, name, v[name]); f != nil {
			return f
		}
		if c.err != nil {
			return nil
		}
	}
	return nil
}

// dependents checks what the properties of an object require of it.
func (c *check) dependents(n *jsonschema.Schema, v map[string]any, chain int) *Fault {
	if n.DependentSchemas == nil && n.DependentRequired == nil {
		return nil
	}
	for _, name := range c.sorted(v, nil) {
		for _, need := range n.DependentRequired[name] {
			c.spend(1 + len(need)/8)
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
		if p.Pattern != nil && c.matches(p.Pattern, name) {
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
		f.names = n.Names
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
	case json.Number:
		return jsonschema.Integer
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
