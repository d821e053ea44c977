package schema

import (
	"fmt"

	"github.com/wexec/wexec/internal/jsonnum"
	"github.com/wexec/wexec/internal/jsonschema"
)

// Partial is a value of which parts are not known, such as arguments that a program
// computes. A check finds a fault in it only if every value that it may turn out to be
// has one.
type Partial struct {
	// known is a list or an object with values that may be partial too, or nil if
	// nothing is known of the value.
	known any
	open  bool // the object may have other properties
}

// ReadPartial reads a value from its form in JSON: a literal has its own, {} is a
// value of which nothing is known, and {"fields": {…}, "open": true} is an object that
// may have other properties than these. A value that is known in full is no *Partial.
func ReadPartial(form []byte) (any, error) {
	doc, err := jsonnum.Decode(form)
	if err != nil {
		return nil, err
	}
	v, _, err := readPartial(doc, 0)
	return v, err
}

// readPartial returns the value of a form, and whether all of it is known.
func readPartial(form any, depth int) (v any, whole bool, err error) {
	if depth > jsonschema.MaxDepth {
		return &Partial{}, false, nil
	}
	open := false
	whole = true
	read := func(form any) (v any) {
		var known bool
		if err == nil {
			v, known, err = readPartial(form, depth+1)
			whole = whole && known
		}
		return v
	}
	switch form := form.(type) {
	case []any:
		for i, item := range form {
			form[i] = read(item)
		}
		v = form
	case map[string]any:
		if len(form) == 0 {
			return &Partial{}, false, nil
		}
		fields, ok := form["fields"].(map[string]any)
		if !ok {
			return nil, false, fmt.Errorf("an object has no fields")
		}
		for name, field := range fields {
			fields[name] = read(field)
		}
		open, _ = form["open"].(bool)
		v = fields
	default:
		return form, true, nil
	}
	if whole && !open {
		return v, true, err
	}
	return &Partial{known: v, open: open}, false, err
}

// Object returns the properties that are known of an object, and whether it may have
// others. It returns false for other values.
func Object(v any) (fields map[string]any, open, ok bool) {
	if p, is := v.(*Partial); is {
		v, open = p.known, p.open
	}
	fields, ok = v.(map[string]any)
	return fields, open, ok
}

// partial checks what is known of a value. It ignores the keywords that
// depend on the rest: enum, const, not, if, contains, dependencies.
func (c *check) partial(n *jsonschema.Schema, p *Partial, chain int) *Fault {
	if p.known == nil {
		return nil
	}
	f := c.typed(n, p.known)
	if f == nil && n.Ref != nil {
		f = c.value(n.Ref, p, chain+1)
	}
	if f != nil {
		return f
	}
	switch v := p.known.(type) {
	case []any:
		f = c.items(n, v)
	case map[string]any:
		f = c.object(n, v, p.open)
	}
	for _, sub := range n.AllOf {
		if f == nil {
			f = c.value(sub, p, chain+1)
		}
	}
	for _, of := range [][]*jsonschema.Schema{n.AnyOf, n.OneOf} {
		if f == nil && len(of) > 0 {
			f, _ = c.branches(of, p, chain, true)
		}
	}
	return f
}
