package review

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// reviewText applies the rules that read the text of a program: comments, size,
// characters.
func (p *program) reviewText() {
	source := p.tree.Source
	if utf8.RuneCountInString(source) > 10_000 && p.reviewer.Profile == Cars {
		p.find(ruleSize, Medium, 0, "the code has more than 10,000 characters")
	}
	if at := trojan(source); at >= 0 {
		p.find(ruleObfuscation, High, at, "the code has characters that are not visible or that change the direction of text")
	}
	if bare(source) {
		p.find(ruleObfuscation, High, 0, "the code is written almost without letters")
	}
	p.reviewComments()
}

// reviewComments applies the rules about comments. Comments that follow each other
// are one.
func (p *program) reviewComments() {
	for i := 0; i < len(p.comments); {
		start := p.comments[i].start
		var b strings.Builder
		end := start
		for ; i < len(p.comments) && strings.TrimSpace(p.tree.Source[min(end, p.comments[i].start):p.comments[i].start]) == "" && b.Len() < maxText; i++ {
			b.WriteString(strings.Trim(p.comments[i].text, "/*#\"' \t\r\n<!->") + " ")
			end = p.comments[i].start + len(p.comments[i].text)
		}
		s := strings.ToLower(strings.Join(strings.FieldsFunc(b.String(), func(c rune) bool {
			return !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '@' && c != '-' && c != '\''
		}), " "))
		if words := bypass(s); words != "" {
			p.find(ruleBypass, High, start, "a comment has the words \""+words+"\"")
		}
		if instructs(s) {
			p.find(ruleComment, High, start, "a comment instructs who reads it: \""+p.clipText(b.String())+"\"")
		}
	}
}

func (p *program) clipText(s string) string {
	if hasCredential(s) {
		return "…"
	}
	return shorten(s)
}

// visitImplicit looks for tools that a conversion of an object calls.
func (p *program) visitImplicit(n *node) {
	switch n.text {
	case "toString", "valueOf", "toJSON", "__str__", "__repr__", "__format__":
	default:
		return
	}
	for _, v := range p.resolve(n.child(0), nil) {
		if v.sort != code || v.node.kind != function {
			continue
		}
		v.owner.within(v.node.child(1), 1, func(c *node) {
			if id, ok := p.reviewer.toolID(v.owner.one(c.children[0], nil).path()); ok {
				p.find(ruleObfuscation, High, n.start, id+" is called when an object becomes text")
			}
		})
	}
}

// visitProxy looks for proxies that choose what is called.
func (p *program) visitProxy(n *node) {
	if p.python || n.text != "new" || p.one(n.children[0], nil).path() != "Proxy" {
		return
	}
	v := p.one(n.argument(1), nil)
	if v.sort != code || v.node.kind != object {
		return
	}
	tools := p.taintOf(n.argument(0)).tools
	for _, o := range p.resolve(n.argument(0), nil) {
		tools = tools || o.path() == "tools" || strings.HasPrefix(o.path(), "tools.")
	}
	var in func(m *node) bool
	in = func(m *node) bool {
		if m == nil {
			return false
		}
		if m.kind == member && m.text == "" && m.child(1) != nil && (m.child(1).kind == call || m.child(1).kind == template || m.child(1).kind == binary) {
			return true
		}
		return slices.ContainsFunc(m.children, in)
	}
	if tools && in(v.node) {
		p.find(ruleObfuscation, High, n.start, "an object calls other tools than the names in the code say")
	}
}
