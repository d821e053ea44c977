package review

import (
	"slices"
)

// maxDefinitions is how many definitions of a name are looked through.
const maxDefinitions = 8

// define adds a definition of a name.
func (p *program) define(name string, value *node, at int, fixed bool) {
	if d := p.names[name]; len(d) <= maxDefinitions || value != nil && value.kind == binary && len(d) < 64 {
		p.names[name] = append(d, definition{value, p, at, fixed})
	}
}

// bind defines the names of a target. It takes destructuring apart.
func (p *program) bind(target, value *node, fixed bool) {
	if target == nil {
		return
	}
	part := func(key string, index *node) *node {
		if value == nil {
			return nil
		}
		m := &node{kind: member, text: key, start: target.start, end: target.end, children: []*node{value}}
		if key == "" {
			m.children = append(m.children, index)
		}
		return m
	}
	switch target.kind {
	case word:
		p.define(target.text, value, target.end, fixed)
	case choice: // with a default
		p.bind(target.child(0), value, fixed)
		if d := target.child(1); d != nil && target.text == "=" {
			p.bind(target.child(0), d, false)
		}
	case spread:
		p.bind(target.child(0), nil, false)
	case list:
		for i, c := range target.children {
			p.bind(c, part("", &node{kind: number, text: digits(i), start: target.start, end: target.end}), false)
		}
	case object:
		for _, c := range target.children {
			p.bind(c, value, false)
		}
	case keyword:
		if target.text != "" || target.child(1) != nil {
			p.bind(target.child(0), part(target.text, target.child(1)), false)
		}
	}
}

// collect finds the definitions in a part of the program. Around is the loop or
// comprehension that the part is in.
func (p *program) collect(n, around *node) {
	if n == nil {
		return
	}
	switch n.kind {
	case assign:
		p.collectAssignment(n, around)
	case function:
		if n.text != "" && !n.method {
			p.define(n.text, n, n.start, around == nil)
		}
		for _, parameter := range n.child(0).children {
			p.bind(parameter, nil, false)
		}
		around = n
	case each:
		if n.child(1) != nil {
			p.bind(n.child(0), &node{kind: element, start: n.start, end: n.end, children: []*node{n.children[1]}}, false)
		}
		around = n
	case loop, branch, class:
		around = n
	case call:
		p.collectCall(n, around)
	case unary:
		if c := n.child(0); c != nil && c.kind == word {
			if p.counted == nil {
				p.counted = map[string]bool{}
			}
			p.counted[c.text] = true
		}
	}
	for _, c := range n.children {
		if n.kind == class && c != nil && c.kind == group {
			p.collectMembers(c, n)
			continue
		}
		p.collect(c, around)
	}
}

// collectMembers collects what a class has. Its methods are no names of the program.
func (p *program) collectMembers(n, around *node) {
	for _, c := range n.children {
		if c != nil && c.kind == function {
			c.method = true
		}
		p.collect(c, around)
	}
}

func (p *program) collectAssignment(n, around *node) {
	target, value := n.child(0), n.child(1)
	if target == nil || value == nil {
		return
	}
	if target.kind == member {
		p.mix(target, value)
	}
	fixed := around == nil && n.binding
	if len(n.text) < 2 || n.text[len(n.text)-1] != '=' || slices.Contains([]string{"||=", "??=", "&&=", ":="}, n.text) {
		p.bind(target, value, fixed)
		return
	}
	if target.kind == word {
		p.define(target.text, p.extended(n, target, value, around), n.end, false)
	}
}

// extended returns the value of a name to which a value is added. In a loop over a
// list the value is added for each element; in any other loop the sum is unknown.
func (p *program) extended(n, target, value, around *node) *node {
	switch {
	case around == nil || around.kind != loop && around.kind != each:
	case around.kind == each && len(around.children) == 3:
		value = &node{kind: transform, text: "sum", start: n.start, end: n.end, children: []*node{value,
			{kind: each, start: n.start, end: n.end, children: around.children[:2]}}}
	default:
		return nil
	}
	return &node{kind: binary, text: "+", start: n.start, end: n.end, children: []*node{target, value}}
}

// collectCall gives parameters what a call passes, and follows what is appended to a
// list.
func (p *program) collectCall(n, around *node) {
	callee := n.children[0]
	switch callee.kind {
	case word:
		if len(p.names[callee.text]) > 0 || len(p.passed[callee.text]) < maxDefinitions {
			if p.passed == nil {
				p.passed = map[string][]*node{}
			}
			p.passed[callee.text] = append(p.passed[callee.text], n)
		}
	case function:
		p.pass(callee, n.arguments())
	case member:
		switch callee.text {
		case "append", "set", "add", "push", "unshift", "extend", "update", "insert", "write", "put", "setdefault", "appendleft":
			for _, a := range n.arguments() {
				p.mix(callee, a)
			}
		}
		from := callee.child(0)
		switch callee.text {
		case "append", "push":
			if a := n.argument(0); a != nil && from != nil && from.kind == word {
				one := &node{kind: list, start: a.start, end: a.end, children: []*node{a}}
				p.define(from.text, p.extended(n, from, one, around), n.end, false)
			}
		case "map", "forEach", "flatMap", "filter", "find", "some", "every":
			from = &node{kind: element, start: n.start, end: n.end, children: []*node{from}}
		case "then":
		default:
			return
		}
		if f := n.argument(0); f != nil && f.kind == function && from != nil {
			p.pass(f, []*node{from})
		}
	}
}

// pass gives the parameters of a function the arguments of a call.
func (p *program) pass(f *node, arguments []*node) {
	for i, parameter := range f.child(0).children {
		if i < len(arguments) && arguments[i] != nil && arguments[i].kind != keyword && arguments[i].kind != spread {
			p.bind(parameter, arguments[i], false)
		}
	}
}

// passNamed gives the parameters of the functions that have names what all calls
// pass.
func (p *program) passNamed() {
	for name, calls := range p.passed {
		for _, d := range p.names[name] {
			if d.value != nil && d.value.kind == function && d.owner == p {
				for _, c := range calls[:min(len(calls), maxDefinitions)] {
					p.pass(d.value, c.arguments())
				}
			}
		}
	}
}

// definitions returns the definitions of a name, in this program or around it, and
// whether the name may also be one of the language.
func (p *program) definitions(name string, at int) ([]definition, bool) {
	for q := p; q != nil; q = q.outer {
		if d := q.names[name]; len(d) > 0 {
			fixed := slices.ContainsFunc(d, func(d definition) bool { return d.fixed && (!q.python || d.at <= at || q != p) })
			return d, !fixed && isBuiltin(name)
		}
	}
	return nil, true
}

// isBuiltin reports whether a name of the language matters to a rule. A local variable
// of that name elsewhere in the program does not hide it.
func isBuiltin(name string) bool {
	switch name {
	case "eval", "exec", "compile", "__import__", "getattr", "Function", "require", "globals", "locals", "vars", "globalThis", "Reflect", "process":
		return true
	}
	return false
}

// mix notes what is put into the object at the start of a chain of members.
func (p *program) mix(target, value *node) {
	for target != nil && (target.kind == member || target.kind == call) {
		target = target.child(0)
	}
	if target == nil || value == nil || target.kind != word {
		return
	}
	if p.mixed == nil {
		p.mixed = map[string][]*node{}
	}
	if all := p.mixed[target.text]; len(all) < 64 {
		p.mixed[target.text] = append(all, value)
	}
}
