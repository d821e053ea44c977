package review

import (
	"slices"
	"strings"

	"github.com/wexec/wexec/catalogue"
)

// reportRepeated reports what a part of the program that never ends changes or sends.
func (p *program) reportRepeated(body *node, where string) {
	p.within(body, 0, func(c *node) {
		for _, v := range p.resolve(c.children[0], nil) {
			path := v.path()
			if v.sort == constant {
				path = "?"
			}
			if id, ok := p.reviewer.toolID(path); ok {
				_, name, _ := strings.Cut(id, ".")
				if catalogue.NameWrites(name) || strings.Contains(id, "?") || outward(name) {
					p.find(ruleWriteLoop, High, c.start, id+" is called in "+where)
				}
				continue
			}
			switch e := effectOf(path, p.python); {
			case e == sends, e == runsCommand, e == usesFile && p.writesFile(c, path):
				p.find(ruleWriteLoop, High, c.start, path+" is called in "+where)
			}
		}
	})
}

// writesFile reports whether a call of a path writes a file.
func (p *program) writesFile(n *node, path string) bool {
	name := path[strings.LastIndexByte(path, '.')+1:]
	if name == "open" {
		for _, c := range n.arguments()[min(1, len(n.arguments())):] {
			if c != nil && c.kind == keyword {
				c = c.child(0)
			}
			if v := p.one(c, nil); v.known() && len(v.text) < 4 && strings.ContainsAny(v.text, "wax") {
				return true
			}
		}
		return false
	}
	for _, part := range [...]string{"write", "append", "mkdir", "makedirs", "symlink", "copy"} {
		if strings.HasPrefix(strings.ToLower(name), part) {
			return true
		}
	}
	return false
}

// visitRecursion looks for changes in a function that calls itself in any case.
func (p *program) visitRecursion(n *node) {
	body := n.child(1)
	if body != nil {
		p.within(body, 3, func(c *node) {
			if path := p.one(c.children[0], nil).path(); path != "multiprocessing.Process" && path != "multiprocessing.context.Process" {
				return
			}
			for _, a := range c.arguments() {
				if v := p.one(a.child(0), nil); a != nil && a.kind == keyword && a.text == "target" && v.sort == code && v.node == n {
					p.find(ruleProcess, High, c.start, "a process starts itself again")
				}
			}
		})
	}
	if body != nil && p.comesAgain(n, body) {
		p.reportRepeated(body, "a function that calls itself without end")
	}
}

// comesAgain reports whether a function calls itself, or passes itself on, before
// anything in it decides what it does.
func (p *program) comesAgain(f, body *node) bool {
	statements := []*node{body}
	if body.kind == group {
		statements = body.children
	}
	for _, s := range statements {
		again := false
		if !p.conditional(s) {
			p.within(s, 2, func(c *node) {
				for _, part := range c.children {
					if v := p.one(part, nil); part != nil && (part.kind == word || part.kind == member) && v.sort == code && v.node == f {
						again = true
					}
				}
			})
		}
		if again {
			return true
		}
		if p.decides(s) {
			return false
		}
	}
	return false
}

// decides reports whether a statement may leave its function or go on in another way.
func (p *program) decides(n *node) bool {
	if n == nil || n.kind == function {
		return false
	}
	switch n.kind {
	case branch, exit, loop, each, result:
		return true
	case group:
		if strings.HasPrefix(n.text, "switch") || strings.HasPrefix(n.text, "match") || strings.HasPrefix(n.text, "try") {
			return true
		}
	}
	return slices.ContainsFunc(n.children, p.decides)
}

// conditional reports whether a part of a program may do one thing or another.
func (p *program) conditional(n *node) bool {
	if n == nil || n.kind == function {
		return false
	}
	switch n.kind {
	case branch, exit, loop, each, transform:
		return true
	case choice:
		if n.text != "=" && n.text != "," {
			return true
		}
	case group:
		if strings.HasPrefix(n.text, "switch") || strings.HasPrefix(n.text, "match") {
			return true
		}
	}
	for _, c := range n.children {
		if p.conditional(c) {
			return true
		}
	}
	return false
}

// unchanged reports whether a condition compares constants with names that the program
// gives one constant.
func (p *program) unchanged(n *node) bool {
	if n == nil || n.kind != binary || n.text == "" || len(n.children) != 2 {
		return false
	}
	names := 0
	for _, c := range n.children {
		switch {
		case c == nil:
			return false
		case c.kind == text, c.kind == number, c.kind == truth, c.kind == word && c.text == "undefined":
		case c.kind == word:
			v := p.variable(c.text, c)
			if v == nil || v.counted || len(v.definitions) != 1 || v.definitions[0].value == nil {
				return false
			}
			if k := v.definitions[0].value.kind; k != text && k != number && k != truth {
				return false
			}
			names++
		default:
			return false
		}
	}
	return names > 0
}

// removes reports whether a function removes a file or a folder.
func removes(path string) bool {
	switch path {
	case "os.remove", "os.unlink", "os.rmdir", "shutil.rmtree", "fs.rm", "fs.rmSync", "fs.rmdir", "fs.rmdirSync", "fs.unlink", "fs.unlinkSync", "Deno.remove", "Deno.removeSync", "os.removedirs", "fs.truncate", "fs.truncateSync", "os.truncate":
		return true
	}
	return false
}

// visitRemoval reports that files are removed that the program only finds when it runs.
func (p *program) visitRemoval(n *node, what string, path *node) {
	if strings.HasSuffix(what, "rmdir") || strings.HasSuffix(what, "rmdirSync") {
		return // it removes what is empty
	}
	switch t := p.taintOf(path); {
	case t.tree:
		p.find(ruleDestructive, High, n.start, what+" removes all files of a folder and the folders in it")
	case t.listed:
		p.find(ruleDestructive, Medium, n.start, what+" removes the files of a folder")
	}
}

// visitOverwritten reports that all files of a folder are written over and renamed.
func (p *program) visitOverwritten(n *node, path string, file *node) {
	if !p.taintOf(file).tree {
		return
	}
	r := p.reviewer
	name := path[strings.LastIndexByte(path, '.')+1:]
	r.moved = r.moved || strings.HasPrefix(name, "rename") || name == "replace"
	r.rewritten = r.rewritten || p.writesFile(n, path)
	if r.moved && r.rewritten {
		p.find(ruleDestructive, High, n.start, "all files of a folder and the folders in it are written over and renamed")
	}
}
