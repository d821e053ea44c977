package jsonschema

import (
	"net/url"
	"strconv"
	"strings"
)

// findAnchors records the pointer of each $anchor.
func (p *parser) findAnchors(v any, at string, depth int) {
	if depth > MaxDepth {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for _, key := range []string{"$anchor", "$dynamicAnchor"} {
			if a, ok := v[key].(string); ok {
				p.anchors[a] = at
			}
		}
		if id, ok := v["$id"].(string); ok && strings.HasPrefix(id, "#") {
			p.anchors[id[1:]] = at
		}
		for k, sub := range v {
			p.findAnchors(sub, at+"/"+escape.Replace(k), depth+1)
		}
	case []any:
		for i, sub := range v {
			p.findAnchors(sub, at+"/"+strconv.Itoa(i), depth+1)
		}
	}
}

// refer returns the schema that a reference names, or nil with a warning.
func (p *parser) refer(ref, at string, depth int) *Schema {
	fragment, ok := strings.CutPrefix(ref, "#")
	if !ok && p.base != "" {
		fragment, ok = strings.CutPrefix(ref, strings.TrimSuffix(p.base, "#")+"#")
	}
	if !ok {
		p.warn("the reference at %s leads out of the schema and is not checked", place(at))
		return nil
	}
	if plain, err := url.PathUnescape(fragment); err == nil {
		fragment = plain
	}
	if fragment != "" && fragment[0] != '/' {
		if fragment, ok = p.anchors[fragment]; !ok {
			p.warn("the reference at %s leads nowhere and is not checked", place(at))
			return nil
		}
	}
	v, pointer := p.root, ""
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
			p.warn("the reference at %s leads nowhere and is not checked", place(at))
			return nil
		}
		pointer += "/" + escape.Replace(part)
	}
	return p.parse(v, pointer, depth+1)
}
