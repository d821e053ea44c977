package review

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// resolve returns what an expression may be. There is at least one value.
func (p *program) resolve(n *node, f *frame) []value {
	r := p.reviewer
	if n == nil {
		return []value{unknown}
	}
	if r.steps++; r.steps > maxSteps {
		p.limit(n.start, "the names and constants take too much work to resolve")
		return []value{unknown}
	}
	if r.level == 0 && len(r.active) == 0 {
		r.turn++
		r.begun = r.steps
	}
	if n.resolved || f == nil && n.turn == r.turn && r.steps-r.begun > maxPrecise {
		return n.memo
	}
	if r.level++; r.level > maxLevels {
		r.level--
		r.partial++
		return []value{unknown}
	}
	partial := r.partial
	out := p.evaluate(n, f)
	r.level--
	if len(out) == 0 {
		out = []value{unknown}
	}
	out = out[:min(len(out), maxValues)]
	if f == nil && (partial == r.partial || r.level == 0 && len(r.active) == 0) {
		n.memo, n.resolved = out, true
	} else if f == nil {
		n.memo, n.turn = out, r.turn
	}
	return out
}

// one returns the first value of an expression.
func (p *program) one(n *node, f *frame) value { return p.resolve(n, f)[0] }

func (p *program) evaluate(n *node, f *frame) []value {
	switch n.kind {
	case word:
		return p.resolveName(n, f)
	case text:
		return []value{{sort: constant, text: n.text}}
	case number:
		if i, err := strconv.ParseInt(strings.ReplaceAll(n.text, "_", ""), 0, 64); err == nil {
			return []value{{sort: integer, int: i}}
		}
	case template:
		return p.resolveTemplate(n, f)
	case member:
		return p.resolveMember(n, f)
	case call:
		return p.resolveCall(n, f)
	case binary:
		return cross(p.resolve(n.child(0), f), p.resolve(n.child(1), f), func(x, y value) value { return p.operate(n, x, y) })
	case unary:
		if v := p.one(n.child(0), f); v.sort == integer && n.text == "-" {
			return []value{{sort: integer, int: -v.int}}
		}
	case choice:
		switch n.text {
		case ",":
			return p.resolve(n.child(0), f)
		case "&&", "and":
			return p.resolve(n.child(1), f)
		}
		return append(p.resolve(n.child(0), f), p.resolve(n.child(1), f)...)
	case list:
		return []value{{sort: items, items: p.elements(n.children, f)}}
	case object, function, class:
		return []value{{sort: code, node: n, owner: p}}
	case assign:
		return p.resolve(n.child(1), f)
	case module:
		return []value{{text: moduleName(n.text)}}
	case element:
		var out []value
		for _, v := range p.resolve(n.child(0), f) {
			if v.sort == items {
				out = append(out, v.items[:min(len(v.items), maxValues)]...)
				if len(v.items) > maxValues {
					out = append(out, unknown)
				}
			}
		}
		return out
	case transform:
		return []value{p.resolveTransform(n, f)}
	}
	return nil
}

// elements resolves the elements of a list.
func (p *program) elements(nodes []*node, f *frame) []value {
	var out []value
	for _, c := range nodes {
		if len(out) >= maxItems {
			break
		}
		if c != nil && c.kind == spread {
			if v := p.one(c.child(0), f); v.sort == items {
				out = append(out, v.items...)
			} else if v.known() {
				out = append(out, characters(v)...)
			} else {
				out = append(out, unknown)
			}
			continue
		}
		out = append(out, p.one(c, f))
	}
	return out
}

// resolveName resolves a name through its definitions. While one of them is resolved,
// the same name means the definition before it.
func (p *program) resolveName(n *node, f *frame) []value {
	name := p.variable(n.text, n)
	if v, ok := f.lookup(name); ok {
		return []value{v}
	}
	defs, builtin := p.definitions(n)
	r := p.reviewer
	before, busy := r.active[name]
	if busy {
		r.partial++
		if before == 0 {
			return nil
		}
		defs = defs[max(0, before-1):before]
		builtin = false
	}
	var out []value
	if builtin {
		out = append(out, value{text: globalName(n.text, p.python)})
	}
	for i := len(defs) - 1; i >= 0 && len(out) < maxValues; i-- {
		d := defs[i]
		if d.value == nil {
			out = append(out, unknown)
			continue
		}
		at := i
		if busy {
			at = before - 1
		}
		r.active[name] = at
		out = append(out, d.owner.resolve(d.value, f)...)
		if busy {
			r.active[name] = before
		} else {
			delete(r.active, name)
		}
	}
	return out
}

// globalName returns the path of a name of the language.
func globalName(name string, python bool) string {
	switch name {
	case "window", "global", "globalThis", "top", "frames":
		if !python {
			return root
		}
	case "self":
		if !python {
			return root
		}
	case "builtins", "__builtins__", "__builtin__":
		return root
	}
	return name
}

// moduleName returns the path of a module.
func moduleName(s string) string {
	s = strings.TrimPrefix(s, "node:")
	switch s {
	case "builtins", "__builtin__":
		return root
	case "fs/promises":
		return "fs"
	}
	if len(s) > maxPath || s == "" {
		return "?"
	}
	return s
}

// property returns the path of a member of a path.
func property(path, key string) string {
	switch key {
	case "default", "__dict__":
		return path
	case "promises":
		if path == "fs" {
			return path
		}
	case "modules":
		if path == "sys" {
			return "sys.modules"
		}
	}
	if path == root || path == "sys.modules" {
		if key == "?" {
			return path + ".?"
		}
		return globalName(moduleName(key), false)
	}
	if len(path)+len(key) > maxPath {
		return "?"
	}
	return path + "." + key
}

func (p *program) resolveMember(n *node, f *frame) []value {
	if n.text != "" && n.child(0) != nil {
		if v := p.ownMember(n.child(0), n.text); v != nil && len(v.definitions) == 1 && v.definitions[0].value != nil {
			d := v.definitions[0]
			out := slices.Clone(d.owner.resolve(d.value, f))
			for i := range out {
				out[i].bound = out[i].sort == code && out[i].node == d.value
			}
			return out
		}
	}
	objects := p.resolve(n.child(0), f)
	if n.text != "" {
		return cross(objects, []value{{sort: constant, text: n.text}}, p.memberOf)
	}
	if key := n.child(1); key != nil && key.kind == slice {
		var out []value
		for _, o := range objects {
			out = append(out, p.cut(o, key, f))
		}
		return out
	}
	return cross(objects, p.resolve(n.child(1), f), p.memberOf)
}

// memberOf returns the member of an object by its key.
func (p *program) memberOf(o, key value) value {
	switch {
	case key.sort == integer && (o.sort == items || o.known()):
		all := o.items
		if o.sort == constant {
			all = characters(o)
		}
		i := key.int
		if i < 0 {
			i += int64(len(all))
		}
		if i >= 0 && i < int64(len(all)) {
			return all[i]
		}
		return unknown
	case o.sort == code && key.known():
		if v, ok := p.entry(o, key.text); ok {
			return v
		}
		if o.node.kind == function && key.text == "constructor" {
			return value{text: "Function", made: true}
		}
	}
	name := "?"
	if key.known() && key.text != "" {
		name = key.text
	}
	if p.python && name == "parent" && o.known() {
		return value{sort: constant, text: parentOf(o.text), made: true}
	}
	return value{text: property(o.path(), name), made: o.made && o.sort == reference || key.made}
}

// entry returns an entry of an object of the program.
func (p *program) entry(o value, key string) (value, bool) {
	if o.node.kind != object {
		return value{}, false
	}
	for _, c := range o.node.children {
		if c != nil && c.kind == keyword && c.text == key {
			return o.owner.one(c.child(0), nil), true
		}
	}
	return value{}, false
}

// cut resolves a slice of a constant or a list.
func (p *program) cut(o value, key *node, f *frame) value {
	all := o.items
	switch {
	case o.known():
		all = characters(o)
	case o.sort != items:
		return unknown
	}
	bound := func(i int, otherwise int64) int64 {
		if key.child(i) == nil {
			return otherwise
		}
		v := p.one(key.child(i), f)
		if v.sort != integer {
			return math.MinInt64
		}
		if v.int < 0 && i < 2 {
			v.int += int64(len(all))
		}
		return v.int
	}
	step := bound(2, 1)
	from, to := bound(0, 0), bound(1, int64(len(all)))
	if step < 0 {
		from, to = bound(0, int64(len(all))-1), bound(1, -1)
	}
	if step == 0 || step == math.MinInt64 || from == math.MinInt64 || to == math.MinInt64 {
		return unknown
	}
	var out []value
	for i := from; (step > 0 && i < to || step < 0 && i > to) && len(out) < maxItems; i += step {
		if i >= 0 && i < int64(len(all)) {
			out = append(out, all[i])
		} else if i < -maxItems || i > 2*maxItems {
			break
		}
	}
	if o.sort == items {
		return value{sort: items, items: out, made: true}
	}
	return p.joinAll(out, "")
}

func (p *program) resolveTemplate(n *node, f *frame) []value {
	out := []value{{sort: constant}}
	for _, c := range n.children {
		if c != nil {
			out = cross(out, p.resolve(c, f), p.concatenate)
		}
	}
	return out
}

// resolveTransform resolves a comprehension over one list.
func (p *program) resolveTransform(n *node, f *frame) value {
	if len(n.children) != 2 || n.children[1] == nil || n.children[1].kind != each || n.children[0] == nil {
		return unknown
	}
	target, from := n.children[1].child(0), p.one(n.children[1].child(1), f)
	if from.known() {
		from = value{sort: items, items: characters(from)}
	}
	if from.sort != items || target == nil {
		return unknown
	}
	var out []value
	for _, v := range from.items {
		inner := &frame{names: map[*variable]value{}, up: f, depth: depthOf(f) + 1}
		inner.bind(p, target, v)
		out = append(out, p.one(n.children[0], inner))
	}
	if n.text == "sum" {
		return p.joinAll(out, "")
	}
	return value{sort: items, items: out, made: true}
}

func depthOf(f *frame) int {
	if f == nil {
		return 0
	}
	return f.depth
}

// bind gives the names of a target a value.
func (f *frame) bind(p *program, target *node, v value) {
	switch {
	case target == nil:
	case target.kind == word:
		f.names[p.variableOf(target)] = v
	case target.kind == choice:
		f.bind(p, target.child(0), v)
	case target.kind == list && v.sort == items:
		for i, c := range target.children {
			if i < len(v.items) {
				f.bind(p, c, v.items[i])
			}
		}
	}
}

// apply resolves a call of a function of the program.
func (p *program) apply(fn value, arguments []value, f *frame) []value {
	if depthOf(f) > maxApplied || fn.node.kind != function {
		return nil
	}
	again := 0
	for g := f; g != nil; g = g.up {
		if g.of == fn.node {
			again++
		}
	}
	if again > 0 { // a function that calls itself is not followed
		p.reviewer.partial++
		return []value{unknown}
	}
	if fn.bound {
		arguments = append([]value{unknown}, arguments...)
	}
	inner := &frame{names: map[*variable]value{}, of: fn.node, up: f, depth: depthOf(f) + 1}
	for i, parameter := range fn.node.child(0).children {
		if i < len(arguments) {
			inner.bind(fn.owner, parameter, arguments[i])
		}
	}
	var out []value
	for _, expression := range results(fn.node.child(1), nil) {
		if len(out) < maxValues {
			out = append(out, fn.owner.resolve(expression, inner)...)
		}
	}
	return out
}

// results returns what the return statements of a body return.
func results(n *node, out []*node) []*node {
	if n == nil || n.kind == function || len(out) >= maxValues {
		return out
	}
	if n.kind == result {
		return append(out, n.child(0))
	}
	for _, c := range n.children {
		out = results(c, out)
	}
	return out
}
