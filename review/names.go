package review

import (
	"slices"
)

// maxDefinitions is how many definitions of a name are looked through.
const maxDefinitions = 8

// declareAll declares the names of a target.
func (s *scope) declareAll(target *node) {
	switch {
	case target == nil:
	case target.kind == word:
		s.declare(target.text)
	case target.kind == choice, target.kind == spread, target.kind == keyword:
		s.declareAll(target.child(0))
	case target.kind == list, target.kind == object:
		for _, c := range target.children {
			s.declareAll(c)
		}
	}
}

// variable returns what a name means at a node, in this program or around it, or nil.
func (p *program) variable(name string, at *node) *variable {
	from := at.scope
	for q := p; q != nil; from, q = q.around, q.outer {
		if from == nil {
			from = &q.scope
		}
		for s := from; s != nil; s = s.up {
			if v := s.names[name]; v != nil && (s.kind != ofClass || s == from || !q.python) {
				return v
			}
		}
	}
	return nil
}

// ownMember returns what the class around a node has under a name, if the node is the
// object of the class.
func (p *program) ownMember(object *node, name string) *variable {
	if !p.python || object.kind != word {
		return nil
	}
	own := p.variable(object.text, object)
	for s := object.scope; s != nil && own != nil; s = s.up {
		if s.kind == ofClass {
			if s.names["this"] == own {
				return s.names[name]
			}
			return nil
		}
	}
	return nil
}

// variableOf is variable. A name that is declared nowhere becomes one of the program.
func (p *program) variableOf(target *node) *variable {
	if v := p.variable(target.text, target); v != nil {
		return v
	}
	return p.scope.declare(target.text)
}

// declare finds the scopes in a part of the program, and their names.
func (p *program) declare(n *node, s *scope) {
	if n == nil {
		return
	}
	n.scope = s
	switch n.kind {
	case assign:
		if p.python || n.binding {
			s.function().declareAll(n.child(0))
		}
	case function:
		if n.text != "" && !n.method {
			s.function().declare(n.text)
		}
		class := s
		s = s.inner(ofFunction)
		for i, parameter := range n.child(0).children {
			if i == 0 && p.python && class.kind == ofClass && parameter != nil && parameter.kind == word {
				s.names = map[string]*variable{parameter.text: class.declare("this")}
				continue
			}
			s.declareAll(parameter)
		}
	case class:
		s = s.inner(ofClass)
		s.declare("this")
	case transform:
		s = s.inner(ofTransform)
	case each:
		if !p.python {
			s = s.inner(ofBlock)
		}
		if p.python || n.text != "" {
			s.declareAll(n.child(0))
		}
	case group:
		s = p.declareGroup(n, s)
	}
	for _, c := range n.children {
		p.declare(c, s)
	}
}

// declareGroup declares what a group of statements does, and returns its scope.
func (p *program) declareGroup(n *node, s *scope) *scope {
	switch n.text {
	case "variable_declaration", "lexical_declaration":
		to := s
		if n.text == "variable_declaration" {
			to = s.function()
		}
		for _, c := range n.children {
			if c != nil && c.kind == assign {
				to.declareAll(c.child(0))
			}
		}
	case "global_statement", "nonlocal_statement":
		if s.wide == nil {
			s.wide = map[string]bool{}
		}
		for _, c := range n.children {
			if c != nil && s.kind == ofFunction {
				s.wide[c.text] = true
			}
		}
	case "statement_block", "for_statement", "switch_body":
		return s.inner(ofBlock)
	case "catch_clause":
		s = s.inner(ofBlock)
		s.declareAll(n.child(0))
	}
	return s
}

// define adds a definition of a name.
func (p *program) define(v *variable, value *node, at int, fixed bool) {
	if d := v.definitions; len(d) <= maxDefinitions || value != nil && value.kind == binary && len(d) < 64 {
		v.definitions = append(d, definition{value, p, at, fixed})
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
		p.define(p.variableOf(target), value, target.end, fixed)
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
		if n.text != "" && (!n.method || p.python) {
			p.define(p.variableOf(n), n, n.start, around == nil)
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
		if c := n.child(0); c != nil && c.kind == word && (n.text == "++" || n.text == "--") {
			p.variableOf(c).counted = true
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
		p.define(p.variableOf(target), p.extended(n, target, value, around), n.end, false)
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
		if v := p.variable(callee.text, callee); v != nil {
			if v.calls == nil {
				p.called = append(p.called, v)
			}
			if len(v.calls) < maxDefinitions {
				v.calls = append(v.calls, n)
			}
		}
	case function:
		p.pass(callee, n.arguments())
	case member:
		switch callee.text {
		case "append", "set", "add", "push", "unshift", "extend", "update", "insert", "write", "put", "setdefault", "appendleft", "writerow", "writerows", "writestr":
			for _, a := range n.arguments() {
				p.mix(callee, a)
			}
		}
		from := callee.child(0)
		switch callee.text {
		case "append", "push":
			if a := n.argument(0); a != nil && from != nil && from.kind == word {
				one := &node{kind: list, start: a.start, end: a.end, children: []*node{a}}
				p.define(p.variableOf(from), p.extended(n, from, one, around), n.end, false)
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
	for _, v := range p.called {
		for _, d := range v.definitions {
			if d.value != nil && d.value.kind == function && d.owner == p {
				for _, c := range v.calls {
					p.pass(d.value, c.arguments())
				}
			}
		}
	}
}

// definitions returns the definitions of a name, in this program or around it, and
// whether the name may also be one of the language: a variable of the program may get
// its value later or never.
func (p *program) definitions(n *node) ([]definition, bool) {
	v := p.variable(n.text, n)
	if v == nil {
		return nil, true
	}
	d := v.definitions
	fixed := v.local || slices.ContainsFunc(d, func(d definition) bool { return d.fixed && (!p.python || d.at <= n.start || d.owner != p) })
	return d, !fixed && (len(d) == 0 || isBuiltin(n.text))
}

// isBuiltin reports whether a name of the language matters to a rule.
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
	v := p.variableOf(target)
	if len(v.mixed) < 64 {
		v.mixed = append(v.mixed, definition{value: value, owner: p})
	}
	for _, d := range v.definitions { // a writer passes it on to what it writes to
		if d.value == nil || d.value.kind != call || d.owner != p {
			continue
		}
		if to := d.value.argument(0); to != nil && to.kind == word {
			if w := p.variable(to.text, to); w != nil && w != v && len(w.mixed) < 64 {
				w.mixed = append(w.mixed, definition{value: value, owner: p})
			}
		}
	}
}
