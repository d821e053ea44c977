package jsonschema

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/wexec/wexec/internal/text"
)

// pointer is a JSON pointer: that of the parent and one more step. The top is nil.
type pointer struct {
	parent *pointer
	step   string
}

// String returns the pointer for a warning.
func (p *pointer) String() string {
	if p == nil {
		return "the top"
	}
	var steps []string
	for ; p != nil; p = p.parent {
		steps = append(steps, escape.Replace(p.step[:min(len(p.step), 4*maxShown)]))
	}
	slices.Reverse(steps)
	return text.ClipRunes("/"+strings.Join(steps, "/"), maxShown)
}

var (
	escape   = strings.NewReplacer("~", "~0", "/", "~1")
	unescape = strings.NewReplacer("~1", "/", "~0", "~")
)

// findAnchors records the place of each $anchor.
func (p *parser) findAnchors(v any, at *pointer, depth int) {
	if depth > MaxDepth {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for _, key := range []string{"$anchor", "$dynamicAnchor"} {
			if a, ok := v[key].(string); ok {
				p.anchors[a] = place{v, at}
			}
		}
		if id, ok := v["$id"].(string); ok && strings.HasPrefix(id, "#") {
			p.anchors[id[1:]] = place{v, at}
		}
		for k, sub := range v {
			p.findAnchors(sub, &pointer{at, k}, depth+1)
		}
	case []any:
		for i, sub := range v {
			p.findAnchors(sub, &pointer{at, strconv.Itoa(i)}, depth+1)
		}
	}
}

// refer returns the schema that a reference names, or nil with a warning.
func (p *parser) refer(ref string, at *pointer, depth int) *Schema {
	fragment, ok := strings.CutPrefix(ref, "#")
	if !ok && p.base != "" {
		fragment, ok = strings.CutPrefix(ref, strings.TrimSuffix(p.base, "#")+"#")
	}
	if !ok {
		p.warn("the reference at %s leads out of the schema and is not checked", at)
		return nil
	}
	if plain, err := url.PathUnescape(fragment); err == nil {
		fragment = plain
	}
	if fragment != "" && fragment[0] != '/' {
		to, ok := p.anchors[fragment]
		if !ok {
			p.warn("the reference at %s leads nowhere and is not checked", at)
			return nil
		}
		return p.parse(to.value, to.at, depth+1)
	}
	v, to := p.root, (*pointer)(nil)
	for _, part := range strings.Split(fragment, "/")[1:] {
		part = unescape.Replace(part)
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
			p.warn("the reference at %s leads nowhere and is not checked", at)
			return nil
		}
		to = &pointer{to, part}
	}
	return p.parse(v, to, depth+1)
}
