package review

import (
	slash "path"
	"strconv"
	"strings"
)

// written returns a value as it is in a string.
func written(v value) string {
	switch v.sort {
	case constant:
		return v.text
	case integer:
		return strconv.FormatInt(v.int, 10)
	}
	return hole
}

// spend counts the bytes of a constant that is made.
func (p *program) spend(bytes int) bool {
	p.reviewer.texts += bytes
	if p.reviewer.texts > maxTexts {
		p.limit(0, "the program makes too many or too large constants")
		return false
	}
	return true
}

// joinAll joins texts with a separator.
func (p *program) joinAll(parts []value, separator string) value {
	size := 0
	for _, part := range parts {
		size += len(written(part)) + len(separator)
	}
	if size > maxText || !p.spend(size) {
		return unknown
	}
	var b strings.Builder
	for i, part := range parts {
		if i > 0 {
			b.WriteString(separator)
		}
		b.WriteString(written(part))
	}
	return value{sort: constant, text: b.String(), made: true}
}

// concatenate joins two values as text.
func (p *program) concatenate(x, y value) value {
	a, b := written(x), written(y)
	if len(a)+len(b) > maxText {
		p.limit(0, "a constant is too large to review")
		return unknown
	}
	if !p.spend(len(a) + len(b)) {
		return unknown
	}
	return value{sort: constant, text: a + b, made: a != "" && b != "" || x.made || y.made}
}

// operate resolves a binary operator.
func (p *program) operate(n *node, x, y value) value {
	switch {
	case n.text == "+" && x.sort == items && y.sort == items && len(x.items)+len(y.items) <= maxItems:
		return value{sort: items, items: append(x.items[:len(x.items):len(x.items)], y.items...)}
	case n.text == "+" && (x.sort == constant || y.sort == constant):
		return p.concatenate(x, y)
	case n.text == "/" && p.python && (x.sort == constant || y.sort == constant):
		v, _ := p.joinPaths([]value{x, y})
		return v
	case n.text == "*" && x.known() && y.sort == integer && y.int >= 0:
		if int64(len(x.text)) > 0 && y.int > maxText/int64(len(x.text)) || !p.spend(len(x.text)*int(min(y.int, maxText))) {
			return unknown
		}
		return value{sort: constant, text: strings.Repeat(x.text, int(min(y.int, maxText))), made: true}
	case n.text == "%" && x.known():
		args := []value{y}
		if y.sort == items {
			args = y.items
		}
		return p.formatted(x.text, "%s", args)
	case x.sort == integer && y.sort == integer:
		return arithmetic(n.text, x.int, y.int)
	}
	return unknown
}

// formatted puts values where a text has a mark.
func (p *program) formatted(s, mark string, values []value) value {
	var b strings.Builder
	for _, v := range values {
		before, after, ok := strings.Cut(s, mark)
		if !ok {
			break
		}
		b.WriteString(before)
		b.WriteString(written(v))
		s = after
		if b.Len() > maxText {
			return unknown
		}
	}
	b.WriteString(s)
	if !p.spend(b.Len()) {
		return unknown
	}
	return value{sort: constant, text: b.String(), made: true}
}

func arithmetic(op string, x, y int64) value {
	v := value{sort: integer, made: true}
	switch {
	case op == "+":
		v.int = x + y
	case op == "-":
		v.int = x - y
	case op == "*":
		v.int = x * y
	case op == "^":
		v.int = x ^ y
	case op == "&":
		v.int = x & y
	case op == "|":
		v.int = x | y
	case op == "%" && y > 0:
		v.int = x % y
	case (op == "//" || op == "/") && y > 0:
		v.int = x / y
	case op == ">>" && y >= 0 && y < 64:
		v.int = x >> y
	case op == "<<" && y >= 0 && y < 32:
		v.int = x << y
	case op == "**" && y >= 0 && y < 20:
		for v.int = 1; y > 0; y-- {
			v.int *= x
		}
	default:
		return unknown
	}
	return v
}

// characters returns the characters of a constant.
func characters(v value) []value {
	var out []value
	for _, c := range v.text[:min(len(v.text), maxItems)] {
		out = append(out, value{sort: constant, text: string(c), made: true})
	}
	return out
}

// cross applies do to all pairs, at most maxValues.
func cross(xs, ys []value, do func(x, y value) value) []value {
	var out []value
	for _, x := range xs {
		for _, y := range ys {
			if len(out) < maxValues {
				out = append(out, do(x, y))
			}
		}
	}
	return out
}

// joinsPaths reports whether a function makes a path of its arguments.
func joinsPaths(path string) bool {
	switch path {
	case "path.join", "path.resolve", "path.posix.join", "os.path.join", "posixpath.join", "Path", "pathlib.Path", "pathlib.PurePath", "pathlib.PosixPath":
		return true
	}
	return false
}

// joinPaths joins paths. An absolute path replaces what is before it.
func (p *program) joinPaths(parts []value) (value, bool) {
	known := false
	var from int
	for i, v := range parts {
		known = known || v.sort == constant
		if v.sort == constant && strings.HasPrefix(v.text, "/") {
			from = i
		}
	}
	if !known {
		return value{}, false
	}
	v := p.joinAll(parts[from:], "/")
	v.text = strings.ReplaceAll(v.text, "//", "/")
	return v, v.sort == constant
}

// parentOf returns the folder of a path.
func parentOf(path string) string {
	if strings.HasSuffix(path, hole) {
		return path + "/.."
	}
	return slash.Dir(path)
}
