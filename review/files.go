package review

import (
	slash "path"
	"strings"
)

// visitFile applies the rules to a call that takes a path.
func (p *program) visitFile(n *node, path string, e effect, shift int) {
	if joinsPaths(path) && len(n.arguments()) > 1 {
		if v := p.one(n, nil); v.sort == constant {
			p.visitJoinedPath(n, v.text)
		}
	}
	if removes(path) {
		p.visitRemoval(n, path, n.argument(shift))
	}
	p.visitOverwritten(n, path, n.argument(shift))
	for i := shift; i < min(len(n.arguments()), shift+2); i++ {
		if path == "open" && i > shift {
			break
		}
		argument := n.argument(i)
		if argument == nil {
			continue
		}
		for _, v := range p.resolve(argument, nil) {
			if v.sort != constant {
				if e == removesFiles && i == shift {
					p.find(ruleDestructive, Medium, n.start, path+" removes a folder that is not known before the run")
				} else if i == shift && (v.sort == reference && (v.text == "?" || strings.Contains(v.text, "?"))) {
					p.reviewer.name("unresolved", "file: "+p.clip(argument))
				}
				continue
			}
			p.visitPath(argument, v.text)
			if e == removesFiles {
				if wide(v.text) {
					p.find(ruleDestructive, Critical, n.start, path+" removes "+shorten(v.text))
				}
			}
		}
	}
}

// wide reports whether removing a folder removes more than a program's own files.
func wide(path string) bool {
	s := strings.TrimSuffix(strings.ReplaceAll(path, `\`, "/"), "/")
	if s == "" || s == "." || s == "*" || s == "~" || strings.HasPrefix(s, "~/") || s == "/workspace" || s == "/mcp-servers" || strings.HasPrefix(s, "..") || strings.Contains(s, ":") {
		return true
	}
	return strings.HasPrefix(s, "/") && !strings.HasPrefix(s, "/tmp/") && !strings.HasPrefix(s, "/workspace/") && s != "/tmp"
}

// visitPath applies the rules to the path of a file.
func (p *program) visitPath(at *node, path string) {
	shown := strings.ReplaceAll(path, hole, "*")
	if path != "" && !strings.Contains(path, "\n") && strings.Trim(shown, "*") != "" && !hasCredential(path) {
		p.reviewer.name("files", shorten(shown))
	}
	if what := sensitivePath(path); what != "" {
		p.find(rulePath, High, at.start, "the path of "+what)
		return
	}
	s := strings.ReplaceAll(strings.ReplaceAll(strings.ToLower(path), `\`, "/"), "%2e", ".")
	s = strings.ReplaceAll(s, "%2f", "/")
	switch n := strings.Count(s, "../"); {
	case n >= 2, n == 1 && s != strings.ToLower(path), strings.Contains(s, "/../"), strings.Contains(s, "....//"):
		p.find(rulePath, High, at.start, "a path that leaves its folder")
	case n == 1:
		p.find(rulePath, Medium, at.start, "a path that leaves its folder")
	}
}

// visitJoinedPath applies the rules to a path that is made of parts.
func (p *program) visitJoinedPath(at *node, path string) {
	if strings.Count(path+"/", "../") < 2 {
		path = slash.Clean(path)
	}
	if clean := slash.Clean(path); sensitivePath(clean) != "" {
		path = clean
	}
	p.visitPath(at, path)
}
