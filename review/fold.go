package review

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// resolveCall resolves what a call returns.
func (p *program) resolveCall(n *node, f *frame) []value {
	callee := n.children[0]
	if callee.kind == member && callee.text != "" {
		var out []value
		for _, o := range p.resolve(callee.child(0), f) {
			if v, ok := p.method(n, o, callee.text, f); ok {
				out = append(out, v...)
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	var out []value
	for _, fn := range p.resolve(callee, f) {
		switch {
		case fn.sort == code:
			out = append(out, p.apply(fn, p.elements(n.arguments(), f), f)...)
		case fn.sort == reference:
			out = append(out, p.calledPath(n, fn, f))
		}
	}
	return out
}

// calledPath resolves a call of a function that the program does not define.
func (p *program) calledPath(n *node, fn value, f *frame) value {
	path := fn.text
	switch path {
	case "require", "import", "__import__", "importlib.import_module", "importlib.__import__", "process.getBuiltinModule":
		v := p.one(n.argument(0), f)
		if v.known() {
			return value{text: moduleName(v.text), made: v.made}
		}
		return value{text: root + ".?"}
	case "getattr", "Reflect.get", "operator.attrgetter":
		if len(n.children) > 2 {
			return p.memberOf(p.one(n.argument(0), f), p.one(n.argument(1), f))
		}
	case "globals", "locals", "vars":
		if path == "vars" && n.argument(0) != nil {
			return p.one(n.argument(0), f)
		}
		return value{text: root}
	case "functools.reduce", "reduce":
		if from, o := p.one(n.argument(1), f), p.one(n.argument(2), f); from.sort == items && p.one(n.argument(0), f).path() == "getattr" && n.argument(2) != nil {
			for _, key := range from.items[:min(len(from.items), maxApplied)] {
				o = p.memberOf(o, key)
			}
			return o
		}
	case "functools.partial", "Object.freeze", "Promise.resolve", "asyncio.run", "Object.assign":
		return p.one(n.argument(0), f)
	}
	if v, ok := p.decoded(path, n, f); ok {
		return v
	}
	if v, ok := p.built(path, p.elements(n.arguments(), f)); ok {
		return v
	}
	if path == "?" || len(path) > maxPath {
		return unknown
	}
	return value{text: strings.TrimSuffix(path, "()") + "()", made: fn.made}
}

// built resolves the functions of the languages that build strings and lists.
func (p *program) built(path string, args []value) (value, bool) {
	if len(args) == 0 {
		return value{}, false
	}
	a := args[0]
	if joinsPaths(path) {
		return p.joinPaths(args)
	}
	switch path {
	case "chr", "String.fromCharCode", "String.fromCodePoint":
		if len(args) == 1 && a.sort == items {
			args = a.items
		}
		var b strings.Builder
		for _, c := range args {
			if c.sort != integer || c.int < 0 || c.int > utf8.MaxRune {
				return unknown, true
			}
			b.WriteRune(rune(c.int)) //nolint:gosec // at most MaxRune
		}
		return value{sort: constant, text: b.String(), made: true}, true
	case "ord":
		if c, size := utf8.DecodeRuneInString(a.text); a.known() && size == len(a.text) {
			return value{sort: integer, int: int64(c), made: true}, true
		}
	case "bytes", "bytearray", "Uint8Array", "Uint8Array.from", "Buffer.from":
		if a.sort != items {
			return a, true
		}
		b := make([]byte, 0, len(a.items))
		for _, c := range a.items {
			if c.sort != integer {
				return unknown, true
			}
			b = append(b, byte(c.int)) //nolint:gosec // a byte is what it means
		}
		return value{sort: constant, text: string(b), made: true}, true
	case "str", "String", "list", "tuple", "Array.from", "reversed", "memoryview":
		if a.sort == constant && path != "str" && path != "String" {
			a = value{sort: items, items: characters(a), made: true}
		}
		if path == "reversed" && a.sort == items {
			a.items = slices.Clone(a.items)
			slices.Reverse(a.items)
		}
		return a, a.sort != reference
	case "int", "parseInt", "Number":
		base := 10
		if len(args) > 1 && args[1].sort == integer && args[1].int >= 0 && args[1].int <= 36 {
			base = int(args[1].int)
		}
		if i, err := strconv.ParseInt(a.text, base, 64); a.known() && err == nil {
			return value{sort: integer, int: i, made: true}, true
		}
		return a, a.sort == integer
	case "len":
		if a.known() {
			return value{sort: integer, int: int64(utf8.RuneCountInString(a.text))}, true
		}
	case "range":
		return countTo(args)
	}
	return value{}, false
}

func countTo(args []value) (value, bool) {
	from, to := int64(0), args[0].int
	if len(args) > 1 {
		from, to = args[0].int, args[1].int
	}
	if slices.ContainsFunc(args, func(v value) bool { return v.sort != integer }) || len(args) > 2 || to-from > maxItems || to-from < 0 {
		return value{}, false
	}
	v := value{sort: items}
	for i := from; i < to; i++ {
		v.items = append(v.items, value{sort: integer, int: i})
	}
	return v, true
}

// method resolves a call of a method of a constant, a list or a function.
func (p *program) method(n *node, o value, name string, f *frame) ([]value, bool) {
	switch {
	case name == "bind" && (o.sort == code || o.sort == reference):
		return []value{o}, true
	case name == "get" && (o.text == root || o.text == "sys.modules") && o.sort == reference, name == "__getattribute__", name == "__getitem__":
		return []value{p.memberOf(o, p.one(n.argument(0), f))}, true
	case name == "map" && (o.sort == items || o.known()):
		return p.mapped(n, o, f), true
	case (name == "call" || name == "apply") && o.sort == code:
		args := p.elements(n.arguments(), f)
		if len(args) > 1 && name == "apply" && args[1].sort == items {
			return p.apply(o, args[1].items, f), true
		}
		return p.apply(o, args[min(1, len(args)):], f), true
	}
	if o.sort == reference || o.sort == code {
		return nil, false
	}
	v, ok := p.methodOf(o, name, p.elements(n.arguments(), f))
	return []value{v}, ok
}

// mapped resolves list.map(f).
func (p *program) mapped(n *node, o value, f *frame) []value {
	if o.sort == constant {
		o.items = characters(o)
	}
	fns := p.resolve(n.argument(0), f)
	out := value{sort: items, made: true}
	for i, item := range o.items {
		switch fn := fns[0]; {
		case fn.sort == code:
			got := p.apply(fn, []value{item, {sort: integer, int: int64(i)}}, f)
			if len(got) == 0 {
				got = []value{unknown}
			}
			out.items = append(out.items, got[0])
		default:
			v, ok := p.built(fn.text, []value{item})
			if !ok {
				v = unknown
			}
			out.items = append(out.items, v)
		}
	}
	return []value{out}
}

// methodOf resolves the methods of strings and lists that hide or build text.
func (p *program) methodOf(o value, name string, args []value) (value, bool) {
	var a, b value
	if len(args) > 0 {
		a = args[0]
	}
	if len(args) > 1 {
		b = args[1]
	}
	if o.sort == items {
		switch name {
		case "join":
			if len(args) == 0 {
				a.text = ","
			}
			return p.joinAll(o.items, a.text), true
		case "reverse", "toReversed":
			o.items = slices.Clone(o.items)
			slices.Reverse(o.items)
			return o, true
		case "concat":
			return value{sort: items, items: append(o.items[:len(o.items):len(o.items)], a.items...), made: true}, a.sort == items
		case "slice":
			return p.sliceOf(o, args), true
		case "pop":
			return p.memberOf(o, value{sort: integer, int: -1}), true
		case "shift":
			return p.memberOf(o, value{sort: integer}), true
		}
		return value{}, false
	}
	if !o.known() {
		return value{}, false
	}
	s := value{sort: constant, made: true}
	switch name {
	case "join":
		if a.known() {
			a = value{sort: items, items: characters(a)}
		}
		return p.joinAll(a.items, o.text), a.sort == items
	case "split":
		return p.split(o, a, len(args))
	case "replace", "replaceAll":
		if !a.known() || !b.known() || a.text == "" || len(b.text) > len(a.text)+8 || !p.spend(len(o.text)) {
			return unknown, true
		}
		s.text = strings.ReplaceAll(o.text, a.text, b.text)
	case "slice", "substring", "substr":
		return p.sliceOf(o, args), true
	case "concat":
		for _, c := range args {
			o = p.concatenate(o, c)
		}
		return o, true
	case "format":
		return p.formatted(o.text, "{}", args), true
	case "strip", "trim":
		s.text = strings.TrimSpace(o.text)
	case "lower", "toLowerCase":
		s.text = strings.ToLower(o.text)
	case "upper", "toUpperCase":
		s.text = strings.ToUpper(o.text)
	case "swapcase":
		s.text = strings.Map(func(c rune) rune {
			if l := strings.ToLower(string(c)); l != string(c) {
				return []rune(l)[0]
			}
			return []rune(strings.ToUpper(string(c)) + "?")[0]
		}, o.text)
	case "charAt", "at":
		return p.memberOf(o, a), true
	case "charCodeAt", "codePointAt":
		if c := p.memberOf(o, a); c.known() && c.text != "" {
			return value{sort: integer, int: int64([]rune(c.text)[0]), made: true}, true
		}
		return unknown, true
	case "repeat":
		return p.operate(&node{text: "*"}, o, a), true
	case "encode", "decode", "toString", "valueOf", "read", "tobytes":
		if a.known() {
			return p.transcoded(o, a.text, name == "encode")
		}
		return o, true
	default:
		return value{}, false
	}
	return s, true
}

func (p *program) split(o, separator value, args int) (value, bool) {
	if args > 0 && !separator.known() {
		return unknown, true
	}
	out := value{sort: items, made: true}
	var parts []string
	switch {
	case args == 0:
		parts = strings.Fields(o.text)
	case separator.text == "":
		return value{sort: items, items: characters(o), made: true}, true
	default:
		parts = strings.SplitN(o.text, separator.text, maxItems)
	}
	for _, s := range parts {
		out.items = append(out.items, value{sort: constant, text: s, made: true})
	}
	return out, true
}

// sliceOf resolves slice and substring with constant bounds.
func (p *program) sliceOf(o value, args []value) value {
	all := o.items
	if o.sort == constant {
		all = characters(o)
	}
	bounds := []int64{0, int64(len(all))}
	for i := range min(2, len(args)) {
		if args[i].sort != integer {
			return unknown
		}
		bounds[i] = args[i].int
		if bounds[i] < 0 {
			bounds[i] += int64(len(all))
		}
		bounds[i] = max(0, min(bounds[i], int64(len(all))))
	}
	cut := all[bounds[0]:max(bounds[0], bounds[1])]
	if o.sort == items {
		return value{sort: items, items: cut, made: true}
	}
	return p.joinAll(cut, "")
}
