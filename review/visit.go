package review

import (
	"context"
	"strings"

	"github.com/wexec/wexec/review/syntax"
)

// visit applies the rules to a part of the program.
func (p *program) visit(n *node, a *around) {
	if n == nil {
		return
	}
	switch n.kind {
	case call:
		p.visitCall(n, a)
	case member, word:
		p.visitName(n, a)
	case text:
		p.visitText(n, a)
	case keyword:
		p.visitNamed(n.text, n.child(0))
		p.visitImplicit(n)
		plain := false // a prototype of the language, or no prototype
		if v := n.child(0); v != nil {
			plain = v.kind == truth || strings.HasSuffix(p.one(v, nil).path(), ".prototype")
		}
		if n.text == "__reduce__" || n.text == "__proto__" && !plain {
			p.find(ruleEscape, Medium, n.start, "an object sets "+n.text)
		}
	case assign:
		p.visitAssignment(n)
	case module:
		p.visitModule(n)
	case function:
		p.visitRecursion(n)
		if n.text == "__reduce__" || n.text == "__reduce_ex__" {
			p.find(ruleDynamic, High, n.start, "a class says what runs when its objects are read")
		}
	case loop, each:
		p.visitLoop(n)
	case binary, template:
		p.visitJoined(n, a)
	}
	inner := &around{n, a}
	for _, c := range n.children {
		p.visit(c, inner)
	}
}

// visitCall applies the rules to what a call may call.
func (p *program) visitCall(n *node, a *around) {
	for _, callee := range p.resolve(n.children[0], nil) {
		if callee.sort != reference {
			continue
		}
		path, shift := callee.text, 0
		_, tool := p.reviewer.toolID(path)
		if name, ok := strings.CutSuffix(path, ".call"); ok && !tool && !strings.HasPrefix(path, "Reflect.") {
			path, shift = name, 1
		} else if name, ok := strings.CutSuffix(path, ".apply"); ok && !tool && !strings.HasPrefix(path, "Reflect.") {
			path, shift = name, 1
		} else if path == "Reflect.apply" || path == "Reflect.construct" || path == "functools.partial" || path == "map" || path == "asyncio.to_thread" || path == "threading.Thread" {
			of := p.one(n.argument(0), nil)
			path, callee.made = of.path(), callee.made || of.made
			shift = 1
			if path == "?" {
				continue
			}
		}
		p.visitCallOf(n, path, shift, callee.made, a)
	}
	p.visitDecoded(n)
	p.visitChosen(n)
	p.visitProxy(n)
	p.visitRegistry(n)
	if c := n.children[0]; c.kind == member && (c.text == "unlink" || c.text == "rmdir" || c.text == "rmtree") && !removes(p.one(c, nil).path()) {
		p.visitRemoval(n, c.text, c.child(0))
	}
}

// visitChosen looks for calls of tools that are chosen from the list of all tools.
func (p *program) visitChosen(n *node) {
	c := n.children[0]
	if c.kind != word && (c.kind != member || c.text != "") && c.kind != call || !strings.Contains(p.one(c, nil).path(), "?") && c.kind != word {
		return
	}
	if v := p.one(c, nil); v.sort == code {
		return
	}
	if p.taintOf(c).tools {
		p.find(ruleObfuscation, High, n.start, "the tool that is called is chosen from all tools at run time: "+p.clip(c))
	}
}

func (p *program) visitCallOf(n *node, path string, shift int, made bool, a *around) {
	p.visitTool(n, path, made, a)
	p.visitSupplies(n, path)
	argument := n.argument(shift)
	e := effectOf(path, p.python)
	if made && (e == runsCode || e == runsCommand || e == escapes) {
		p.find(ruleObfuscation, High, n.start, "the name "+path+" is built at run time")
	}
	switch {
	case e == runsCode && strings.HasSuffix(path, "Function"):
		p.visitCode(n, path, n.child(len(n.children)-1))
	case e == runsCode:
		p.visitCode(n, path, argument)
	case p.constructs(path, n.child(len(n.children)-1)):
		p.find(ruleEscape, High, n.start, "the constructor of functions is reached through an object")
		p.visitCode(n, "Function", n.child(len(n.children)-1))
	case path == "setInterval" && !p.python && !strings.Contains(p.tree.Source, "clearInterval") && p.one(argument, nil).sort == code:
		p.reportRepeated(p.one(argument, nil).node.child(1), "a timer that does not end")
	case (path == "setTimeout" || path == "setInterval") && argument != nil && !p.python:
		if v := p.one(argument, nil); v.sort == constant {
			p.visitCode(n, path, argument)
		}
	case e == unpacks:
		level := Medium
		t := p.taintOf(argument)
		if v := p.one(argument, nil); v.made || v.sort == constant || t.outside {
			level = High
		}
		if t.own && !t.outside {
			break
		}
		p.find(ruleDynamic, level, n.start, path+" may run code of the object that it reads")
	case e == runsCommand:
		p.visitCommand(n, path, shift)
	case e == escapes:
		p.find(ruleEscape, High, n.start, path+" reaches the inside of the interpreter")
	case e == usesFile || e == removesFiles:
		p.visitFile(n, path, e, shift)
	case e == sends:
		p.visitRequest(n, path, shift)
	case path == root+".?" || path == "os.?" || path == "subprocess.?" || path == "child_process.?" || path == "fs.?" || path == "process.?":
		p.find(ruleObfuscation, High, n.start, "the function that is called is chosen at run time: "+p.clip(n.children[0]))
	case strings.HasSuffix(path, ".execute") || strings.HasSuffix(path, ".executescript") || strings.HasSuffix(path, ".executemany") || strings.HasSuffix(path, ".query") || strings.HasSuffix(path, ".raw"):
		for _, v := range p.resolve(argument, nil) {
			if what := destructiveSQL(strings.ToLower(v.text)); v.sort == constant && what != "" {
				p.find(ruleDestructive, High, n.start, "an SQL statement "+what)
			}
		}
	}
	if p.python && (path == "setattr" || path == "delattr") && p.one(argument, nil).path() == root {
		p.find(ruleEscape, High, n.start, "a built-in function is replaced")
	}
	if path == "Object.setPrototypeOf" || path == "Object.defineProperty" {
		if q := p.one(argument, nil).path(); q == root || strings.HasSuffix(q, ".prototype") && isUpper(q) {
			p.find(ruleEscape, High, n.start, "a built-in object is changed")
		}
	}
}

func isUpper(path string) bool { return path != "" && path[0] >= 'A' && path[0] <= 'Z' }

// constructs reports whether a path is the constructor of functions, called with an
// argument.
func (p *program) constructs(path string, argument *node) bool {
	if strings.HasSuffix(path, ".constructor") && p.one(argument, nil).sort == constant && !strings.HasPrefix(path, "this.") {
		return true
	}
	return strings.HasSuffix(path, ".constructor.constructor") || path == "Object.getPrototypeOf().constructor" || strings.HasSuffix(path, ".__proto__.constructor")
}

// visitCode reviews code that a program has in a string.
func (p *program) visitCode(n *node, path string, argument *node) {
	r := p.reviewer
	if r.Context.Parser != nil || argument != nil {
		known := false
		for _, v := range p.resolve(argument, nil) {
			if !v.known() {
				known = false
				break
			}
			known = p.visitNested(n, v.text)
			if !known {
				break
			}
		}
		if known {
			p.find(ruleDynamic, Medium, n.start, path+" runs text as code")
			return
		}
	}
	p.find(ruleDynamic, High, n.start, path+" runs text that is not known before the run as code")
}

// visitNested reviews code in a string, and reports whether it could.
func (p *program) visitNested(at *node, source string) bool {
	r := p.reviewer
	depth := 0
	for q := p; q != nil; q = q.outer {
		depth++
	}
	r.nested += len(source)
	if r.Parser == nil {
		return false
	}
	if depth > maxNested || r.nested > maxText {
		p.limit(at.start, "there is too much code in strings to review")
		return false
	}
	ctx := r.ctx
	if ctx == nil {
		ctx = context.Background()
	}
	language := syntax.JavaScript
	if p.python {
		language = syntax.Python
	}
	tree, err := r.Parser.Parse(ctx, language, source)
	if err != nil || tree == nil || tree.Root == nil {
		return false
	}
	r.program(&program{tree: tree, python: p.python, outer: p, place: at.start, around: at.scope})
	return true
}

// visitCommand applies the rules to the start of a process.
func (p *program) visitCommand(n *node, path string, shift int) {
	p.reviewer.commands = true
	level := Medium
	var command strings.Builder
	for i := shift; i < len(n.arguments()); i++ {
		if n.arguments()[i] != nil && n.arguments()[i].kind == keyword {
			continue
		}
		v := p.one(n.argument(i), nil)
		switch {
		case v.sort == items:
			for _, w := range v.items {
				command.WriteString(written(w) + " ")
			}
		case v.sort == constant:
			command.WriteString(v.text + " ")
		case v.sort == reference && i == shift:
			command.WriteString(hole)
		}
	}
	s := command.String()
	if what := destructiveCommand(s); what != "" {
		p.find(ruleDestructive, Critical, n.start, "a command "+what)
	}
	if what := sensitivePath(s); what != "" {
		p.find(rulePath, High, n.start, "a command names "+what)
	}
	if s == "" || strings.Contains(s, hole) || !harmlessCommand(s) {
		level = High
	}
	for _, h := range hostsIn(s) {
		p.reviewer.name("hosts", h)
	}
	p.find(ruleProcess, level, n.start, path+" starts a process")
}

// visitName applies the rules to a name or a member where it is used as a value.
func (p *program) visitName(n *node, a *around) {
	if mixesScripts(n.text) {
		p.find(ruleObfuscation, High, n.start, "a name has letters of two alphabets")
	}
	if n.kind == word && isInvented(n.text) {
		p.invented++
		if p.invented == 20 {
			p.find(ruleObfuscation, High, n.start, "the names are scrambled")
		}
	}
	key := n.text
	if n.kind == member {
		if key == "" {
			if v := p.one(n.child(1), nil); v.known() {
				key = v.text
			}
		}
		p.visitPlace(n, a)
	}
	if insideName(key) && (n.kind == member || key == "__builtins__" || key == "__import__" && !called(n, a) || key == "__loader__") && !ownInit(n, key) {
		p.find(ruleEscape, High, n.start, key+" reaches the inside of the interpreter")
	}
	if key == "__mro__" || key == "mro" && p.python {
		p.find(ruleEscape, Medium, n.start, key+" shows the classes of the interpreter")
	}
	if called(n, a) || n.kind == member && a != nil && a.parent.kind == member {
		return
	}
	if target(n, a) {
		return
	}
	for _, v := range p.resolve(n, nil) {
		if v.sort != reference {
			continue
		}
		if e := effectOf(v.text, p.python); e == runsCode && v.text != "Function" && v.text != "compile" && !strings.Contains(v.text, "()") || v.text == "os.system" || v.text == "os.popen" {
			p.find(ruleDynamic, High, n.start, v.text+" is passed on")
		}
		p.visitToolName(v, n)
		p.visitEnvironment(v, n)
	}
}

// ownInit reports whether a member is what classes ordinarily use.
func ownInit(n *node, key string) bool {
	o := n.child(0)
	return key == "__self__" || key == "__func__" || o != nil && o.kind == word && (o.text == "self" || o.text == "cls") && key == "__base__"
}

// isInvented reports whether a name is of the kind that obfuscators write.
func isInvented(s string) bool {
	if strings.HasPrefix(s, "_0x") && len(s) >= 5 {
		return true
	}
	return len(s) >= 8 && strings.Trim(s, "IlO01") == ""
}

// called reports whether a node is what a call calls.
func called(n *node, a *around) bool {
	return a != nil && a.parent.kind == call && a.parent.children[0] == n
}

// target reports whether a node is what an assignment assigns, or a name that an import
// binds.
func target(n *node, a *around) bool {
	return a != nil && (a.parent.kind == assign && (a.parent.child(0) == n || a.parent.binding) || a.parent.kind == group && a.up != nil && a.up.parent.kind == function && a.up.parent.child(0) == a.parent)
}

// visitPlace reports members of what every program shares.
func (p *program) visitPlace(n *node, a *around) {
	if a == nil || a.parent.kind != assign || a.parent.child(0) != n {
		return
	}
	q := p.one(n.child(0), nil).path()
	switch {
	case q == root && (isBuiltin(n.text) || isLanguageClass(n.text)) || strings.HasSuffix(q, ".__proto__") || strings.HasSuffix(q, ".prototype") && isUpper(q) && isLanguageClass(q):
		p.find(ruleEscape, High, n.start, "a built-in object is changed")
	case isLanguageClass(q) && n.text != "":
		p.find(ruleEscape, High, n.start, "a built-in object is changed")
	case p.python && isSharedModule(q) && n.text != "" && p.one(a.parent.child(1), nil).sort == code && p.one(a.parent.child(1), nil).node.kind == function:
		p.find(ruleEscape, High, n.start, "a function of the module "+q+" is replaced")
	case q == "tools" || strings.HasPrefix(q, "tools."):
		p.find(ruleEscape, High, n.start, "a tool is replaced")
	}
}

func isLanguageClass(path string) bool {
	switch strings.TrimSuffix(path, ".prototype") {
	case "Object", "Array", "Function", "String", "Promise", "Map", "Set", "JSON", "Error", "RegExp", "Number", "Date":
		return true
	}
	return false
}

// isSharedModule reports whether a module of Python is one that other code relies on.
func isSharedModule(name string) bool {
	switch name {
	case "json", "os", "io", "sys", "re", "ssl", "socket", "hashlib", "subprocess", "requests", "urllib.request", "pickle", "base64", "random", "secrets", "hmac", "builtins", "pathlib", "shutil", "tempfile", "csv", "sqlite3", "http.client", "asyncio", "importlib":
		return true
	}
	return false
}

// visitText applies the rules to a string.
func (p *program) visitText(n *node, a *around) {
	p.visitWritten(n, n.text, a)
	if n.escaped {
		p.find(ruleObfuscation, High, n.start, "a string is written with escapes")
	}
	if what := credentialIn(n.text); what != "" {
		p.find(ruleCredential, High, n.start, "the code has "+what)
	}
	if hidesOutput(n.text) && !compared(a) {
		p.find(ruleHidden, High, n.start, "a text has a part that a person does not see")
	}
	p.visitPayload(n)
}

// visitWritten applies the rules about texts for people or for a later model.
func (p *program) visitWritten(n *node, s string, a *around) {
	if len(s) < 16 || compared(a) {
		return
	}
	if what := plants(s); what != "" {
		p.find(rulePayload, High, n.start, "a text has "+what)
	}
	if orders(s) {
		p.find(ruleComment, High, n.start, "a text instructs a model")
	}
	if lures(s) {
		p.find(ruleExfiltrate, High, n.start, "a text asks for credentials or data at a link")
	}
}

// visitJoined applies the rules about texts to what is joined from constants.
func (p *program) visitJoined(n *node, a *around) {
	if a != nil && a.parent.kind == n.kind && a.parent.text == n.text {
		return // it is a part of what is joined
	}
	for _, v := range p.resolve(n, nil) {
		if v.sort == constant && v.made {
			p.visitJoinedText(n, v, a)
		}
	}
}

func (p *program) visitJoinedText(n *node, v value, a *around) {
	if n.kind == binary && n.text == "/" && !strings.Contains(v.text, "\n") {
		p.visitJoinedPath(n, v.text)
	}
	p.visitWritten(n, v.text, a)
	if what := credentialIn(v.text); what != "" {
		p.find(ruleCredential, High, n.start, "the code has "+what)
	}
	if hidesOutput(v.text) && !compared(a) {
		p.find(ruleHidden, High, n.start, "a text has a part that a person does not see")
	}
}

// compared reports whether a text is only looked for.
func compared(a *around) bool {
	if a == nil {
		return false
	}
	switch n := a.parent; n.kind {
	case binary:
		return n.text != "+" && n.text != "%"
	case call:
		if c := n.children[0]; c.kind == member {
			switch c.text {
			case "includes", "replace", "replaceAll", "split", "indexOf", "startswith", "endswith", "startsWith", "endsWith", "find", "count", "test", "match", "search", "index", "sub", "compile", "findall", "partition", "removeprefix":
				return true
			}
		}
	case group, list:
		return false
	}
	return false
}

// visitNamed looks for a credential in a value with a name.
func (p *program) visitNamed(name string, v *node) {
	if v == nil || !credentialName(name) {
		return
	}
	c := p.one(v, nil)
	if c.known() && credentialValue(c.text) && (v.kind == text || v.kind == template || v.kind == binary || c.made) {
		p.find(ruleCredential, High, v.start, "the code has the value of "+shorten(name))
	}
}

func (p *program) visitAssignment(n *node) {
	t := n.child(0)
	if t == nil {
		return
	}
	if t.kind == word || t.kind == member {
		p.visitNamed(t.text, n.child(1))
	}
	if t.kind == member && (t.text == "src" || t.text == "href") && p.taintOf(n.child(1)).secret {
		p.find(ruleExfiltrate, High, n.start, "data flows into an address")
	}
}

func (p *program) visitModule(n *node) {
	name := n.text
	if skill, ok := strings.CutPrefix(name, "/skills/"); ok {
		skill, _, _ = strings.Cut(skill, ".")
		p.reviewer.name("skills", skill)
		return
	}
	if strings.HasPrefix(name, "/") && !strings.HasPrefix(name, "/mcp-servers") || strings.HasPrefix(name, ".") {
		p.reviewer.name("files", shorten(name))
	}
	if effectOf(name+".x", p.python) == escapes {
		p.find(ruleEscape, High, n.start, "the module "+name+" reaches the inside of the interpreter")
	}
	if strings.HasPrefix(name, "http://") || strings.HasPrefix(name, "https://") || strings.HasPrefix(name, "data:") {
		p.find(ruleDynamic, High, n.start, "code is loaded from elsewhere")
		for _, h := range hostsIn(name) {
			p.reviewer.name("hosts", h)
		}
	}
	if k := moduleKind(name); k != "" && p.reviewer.Profile == Cars {
		p.find(ruleImport, Medium, n.start, "the module "+name+" is for "+k)
	}
}

// visitDecoded reviews what a call decodes from constants.
func (p *program) visitDecoded(n *node) {
	v := p.one(n, nil)
	if v.sort == constant && v.made && len(v.text) >= 16 {
		if what := credentialIn(v.text); what != "" {
			p.find(ruleCredential, High, n.start, "the code has "+what)
		}
		if what := payload(v.text); what != "" {
			p.find(rulePayload, High, n.start, "a constant decodes to "+what)
		}
	}
	switch p.one(n.children[0], nil).path() {
	case "require", "import", "__import__", "importlib.import_module", "process.getBuiltinModule":
		if v.made && moduleKind(v.text) == "processes" {
			p.find(ruleObfuscation, High, n.start, "the name of the module "+v.text+" is built at run time")
		}
		if v.sort == reference && !strings.Contains(v.text, "?") {
			p.visitModule(&node{text: v.text, start: n.start, end: n.end})
		}
	}
}

// visitPayload looks into a constant that encodes something.
func (p *program) visitPayload(n *node) {
	s := n.text
	if len(s) < 24 || len(s) > maxText {
		return
	}
	if data, ok := strings.CutPrefix(s, "data:"); ok {
		head, body, _ := strings.Cut(data, ",")
		if strings.HasPrefix(head, "image/") || strings.HasPrefix(head, "font/") {
			return
		}
		s = body
	}
	for _, encoding := range [...]string{"base64", "hex"} {
		if !encodes(s, encoding) {
			continue
		}
		v, ok := p.transcoded(value{sort: constant, text: s}, encoding, false)
		if !ok || !v.known() && v.sort != constant {
			continue
		}
		if what := payload(v.text); what != "" {
			p.find(rulePayload, High, n.start, "a constant decodes to "+what)
			return
		}
	}
}

// encodes reports whether a text may be written in an encoding.
func encodes(s, encoding string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'f', c >= 'A' && c <= 'F', c == '\n':
		case encoding == "base64" && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '+' || c == '/' || c == '=' || c == '-' || c == '_'):
		default:
			return false
		}
	}
	return true
}

// payload returns what bytes are, if they are a program, an archive or code.
func payload(s string) string {
	for _, f := range [...]struct{ start, what string }{
		{"\x7fELF", "a program"}, {"MZ\x90", "a program"}, {"\x00asm", "a WebAssembly module"}, {"PK\x03\x04", "an archive"}, {"\x1f\x8b\x08", "compressed data"}, {"#!/", "a script"}, {"\xcf\xfa\xed\xfe", "a program"}, {"BZh9", "compressed data"}, {"\xfd7zXZ", "compressed data"}, {"x\x9c", "compressed data"}, {"x\xda", "compressed data"},
	} {
		if strings.HasPrefix(s, f.start) {
			return f.what
		}
	}
	for _, part := range [...]string{"import os", "import subprocess", "import socket", "__import__(", "eval(", "exec(", "require('child_process", "require(\"child_process", "os.system", "subprocess.", "child_process", "new Function(", "<script", "powershell", "/bin/sh", "/bin/bash", "rm -rf", "curl http", "wget http"} {
		if strings.Contains(s, part) {
			return "code"
		}
	}
	return ""
}

// program reviews the tree of a file, or of code in a string.
func (r *reviewer) program(p *program) {
	p.reviewer = r
	if len(p.tree.Source) > MaxSource {
		p.limit(0, "the program is too long to review")
		return
	}
	p.lower()
	if p.deep {
		p.limit(0, "the program is nested too deep to review")
	}
	if p.nodes > maxNodes {
		p.limit(0, "the program has too many parts to review")
	}
	for _, n := range p.broken {
		r.name("unresolved", "syntax: "+p.clip(&node{start: n.Start, end: n.End}))
	}
	p.declare(p.root, &p.scope)
	p.collect(p.root, nil)
	p.passNamed()
	p.reviewText()
	p.visit(p.root, nil)
}
