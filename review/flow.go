package review

import (
	"slices"
	"strings"

	"github.com/wexec/wexec/catalogue"
)

// toolID returns the tool that a path names, and whether it names one.
func (r *reviewer) toolID(path string) (string, bool) {
	rest, ok := strings.CutPrefix(path, "tools.")
	rest = strings.TrimPrefix(rest, "aio.")
	if !ok {
		if rest, ok = strings.CutPrefix(path, "/mcp-servers/"); ok {
			rest = strings.NewReplacer(".ts", "", "/", ".", "index.", "").Replace(rest)
			if parts := strings.Split(rest, "."); len(parts) > 2 && parts[1] == parts[2] {
				rest = parts[0] + "." + parts[1]
			}
		}
	}
	if !ok {
		if r.Tools == nil || strings.Count(path, ".") != 1 {
			return "", false
		}
		server, _, _ := strings.Cut(path, ".")
		if _, known := r.Tools.Server(server); !known {
			return "", false
		}
		rest = path
	}
	if strings.Count(rest, ".") != 1 || strings.Contains(rest, "()") {
		return "", false
	}
	if r.Tools != nil && !strings.Contains(rest, "?") {
		if t, found := r.Tools.Lookup(rest); found {
			return t.ID(), true
		}
	}
	return rest, true
}

// visitToolName notes a tool or a skill that a reference names.
func (p *program) visitToolName(v value, n *node) {
	r := p.reviewer
	path := strings.TrimPrefix(v.text, "tools.")
	if skill, ok := strings.CutPrefix(path, "skills."); ok && skill != "" && !strings.Contains(skill, "()") {
		if skill == "?" {
			r.name("unresolved", p.clip(n))
		} else {
			skill, _, _ = strings.Cut(skill, ".")
			r.name("skills", skill)
		}
		return
	}
	if v.text == "tools.?" || v.text == "tools.?.?" {
		r.name("unresolved", p.clip(n))
		return
	}
	id, ok := r.toolID(v.text)
	switch {
	case !ok:
	case strings.Contains(id, "?"):
		r.name("unresolved", p.clip(n))
	default:
		r.name("tools", id)
	}
}

// visitTool applies the rules to a call of a tool.
func (p *program) visitTool(n *node, path string, made bool, a *around) {
	r := p.reviewer
	p.visitToolName(value{text: path}, n.children[0])
	id, ok := r.toolID(path)
	if !ok {
		return
	}
	_, name, _ := strings.Cut(id, ".")
	writes, destroys := catalogue.NameWrites(name), deletes(name)
	if r.Tools != nil {
		if t, found := r.Tools.Lookup(id); found {
			if h := t.Annotations.ReadOnly; h != nil {
				writes, destroys = !*h, destroys && !*h
			}
			if h := t.Annotations.Destructive; h != nil && writes {
				destroys = *h
			}
		}
	}
	r.uses = append(r.uses, use{id, writes || destroys, destroys, p, n})
	if at, known := r.Changed[id]; known && !r.Now.IsZero() && r.Now.Sub(at) < newFor {
		p.find(ruleNewTool, Medium, n.start, id+" was added or changed less than 5 minutes ago")
	}
	p.visitToolArguments(n, id)
	p.visitAuthority(n, id, a)
	if made && (writes || destroys) && !strings.Contains(id, "?") {
		p.find(ruleObfuscation, High, n.start, "the name of the tool "+id+" is built at run time")
	}
	if destroys && repeated(a) {
		p.find(ruleDestructive, High, n.start, id+" deletes in a loop")
	} else if destroys {
		p.find(ruleDestructive, Medium, n.start, id+" deletes")
	}
	if outward(name) || writes && personalAddress(p, n) {
		p.visitMessage(n, id, a)
	}
}

// repeated reports whether a node is in a loop, or in a function that a loop or map
// calls.
func repeated(a *around) bool {
	for ; a != nil; a = a.up {
		switch a.parent.kind {
		case loop, each, transform:
			return true
		case function:
			if a.up != nil && a.up.parent.kind == call && a.up.parent.children[0].kind == member {
				switch a.up.parent.children[0].text {
				case "map", "forEach", "flatMap":
					return true
				}
			}
		}
	}
	return false
}

// visitToolArguments applies the rules to what a tool is given.
func (p *program) visitToolArguments(n *node, id string) {
	for _, argument := range n.arguments() {
		entries := []*node{argument}
		if v := p.one(argument, nil); v.sort == code && v.node.kind == object {
			entries = v.node.children
		}
		for _, e := range entries {
			if e == nil || e.kind != keyword {
				continue
			}
			for _, v := range p.resolve(e.child(0), nil) {
				p.visitToolArgument(e, id, v)
			}
		}
	}
}

func (p *program) visitToolArgument(e *node, id string, v value) {
	if v.sort == items {
		p.visitWords(e, id, v)
	}
	if v.sort != constant || e.child(0) == nil {
		return
	}
	key := e.text
	if key == "" {
		key = p.one(e.child(1), nil).text
	}
	switch strings.ToLower(key) {
	case "command", "cmd", "script", "shell", "bash", "sql", "query", "statement", "code":
		if what := destructiveCommand(v.text); what != "" {
			p.find(ruleDestructive, High, e.start, "an argument of a tool "+what)
		}
	case "path", "file", "filename", "filepath", "file_path", "uri", "source", "destination", "dir", "directory", "folder":
		p.visitPath(e, v.text)
	}
}

// visitLoop looks for tools that write in a loop that does not end.
func (p *program) visitLoop(n *node) {
	body := n.child(len(n.children) - 1)
	switch n.kind {
	case loop:
		if !p.alwaysTrue(n.child(0), body) || leaves(body) {
			return
		}
	case each:
		if len(n.children) < 3 || !p.endless(n.child(1)) || leaves(body) {
			return
		}
	}
	p.reportRepeated(body, "a loop that does not end")
}

// visitWords applies the rules to a command that is a list of words.
func (p *program) visitWords(at *node, id string, v value) {
	command, _, _ := strings.Cut(id, ".")
	for _, w := range v.items[:min(len(v.items), 64)] {
		command += " " + written(w)
	}
	switch strings.ToLower(at.text) {
	case "args", "argv", "arguments", "command", "cmd", "flags", "options", "params":
		if what := destructiveCommand(command); what != "" {
			p.find(ruleDestructive, High, at.start, "an argument of a tool "+what)
		}
	}
}

// within calls do for the calls in a part of the program, and in the functions of the
// program that it calls.
func (p *program) within(n *node, depth int, do func(*node)) {
	if n == nil || depth > 3 {
		return
	}
	if n.kind == call {
		do(n)
		if f := p.one(n.children[0], nil); f.sort == code && f.node.kind == function && f.owner == p {
			p.within(f.node.child(1), depth+1, do)
		}
	}
	for _, c := range n.children {
		p.within(c, depth, do)
	}
}

// alwaysTrue reports whether a condition never changes to false.
func (p *program) alwaysTrue(n, body *node) bool {
	if n == nil {
		return true
	}
	switch n.kind {
	case truth:
		return n.text == "true"
	case number:
		return strings.Trim(n.text, "0.") != ""
	case text:
		return n.text != ""
	case list, object:
		return !p.python || len(n.children) > 0
	case unary:
		return (n.text == "!" || n.text == "not") && p.alwaysFalse(n.child(0))
	case binary:
		x, y := p.one(n.child(0), nil), p.one(n.child(1), nil)
		if x.sort == integer && y.sort == integer && n.child(0).kind != word && n.child(1).kind != word && (n.text == "<" && x.int < y.int || n.text == ">" && x.int > y.int) {
			return true
		}
		return p.unchanged(n) || n.child(0) != nil && n.child(1) != nil && n.child(0).kind != word && x.sort == integer && y.sort == integer && x.int == y.int && strings.Contains(n.text, "=")
	case word:
		defs, _ := p.definitions(n)
		return len(defs) == 1 && defs[0].value != nil && defs[0].value != n && p.alwaysTrue(defs[0].value, body)
	case choice:
		return n.text == "||" || n.text == "or" && (p.alwaysTrue(n.child(0), body) || p.alwaysTrue(n.child(1), body))
	}
	return false
}

func (p *program) alwaysFalse(n *node) bool {
	return n != nil && (n.kind == truth && n.text != "true" || n.kind == number && n.text == "0")
}

// endless reports whether an iterable has no end, or so many elements that it makes no
// difference.
func (p *program) endless(n *node) bool {
	if n == nil || n.kind != call {
		return false
	}
	switch path := p.one(n.children[0], nil).path(); path {
	case "itertools.count", "itertools.cycle", "itertools.repeat":
		return path != "itertools.repeat" || len(n.children) == 2
	case "iter":
		return len(n.children) == 3
	case "enumerate", "tqdm":
		return p.endless(p.source(n.argument(0)))
	case "zip":
		for _, c := range n.arguments() {
			if !p.endless(p.source(c)) {
				return false
			}
		}
		return len(n.children) > 1
	case "range":
		v := p.one(n.child(len(n.children)-1), nil)
		return v.sort == integer && v.int >= 100_000
	}
	return false
}

// source returns the one expression that is assigned to a name, or the expression itself.
func (p *program) source(n *node) *node {
	if n != nil && n.kind == word {
		if v := p.variable(n.text, n); v != nil && len(v.definitions) == 1 && v.definitions[0].owner == p {
			return v.definitions[0].value
		}
	}
	return n
}

// leaves reports whether a loop has a way out.
func leaves(n *node) bool {
	if n == nil || n.kind == function || n.kind == class {
		return false
	}
	if n.kind == exit || n.kind == result && strings.HasPrefix(n.text, "return") || n.kind == result && strings.HasPrefix(n.text, "yield") {
		return true
	}
	if n.kind == branch && n.child(0) != nil && n.child(0).kind == truth && n.child(0).text != "true" {
		return false
	}
	if n.kind == call && n.children[0].kind == member && n.children[0].text == "exit" || n.kind == call && n.children[0].kind == word && (n.children[0].text == "exit" || n.children[0].text == "quit") {
		return true
	}
	return slices.ContainsFunc(n.children, leaves)
}

// taint is what flows into a value.
type taint struct {
	secret   bool // the whole environment, a secret or a sensitive file
	variable bool // a variable of the environment
	personal bool
	whole    bool // personal data as text, not a count or a field of them
	contents bool // what is in a file or a document of a tool
	outside  bool // an answer of a tool or of another machine, or an argument
	own      bool // an object that the program packed itself
	listed   bool // the names of files in a folder
	tree     bool // the names of files in a folder and the folders in it
	tools    bool // the names of all tools, or the tools

	sensitive bool // personal data that nobody shows: salaries, accounts, diagnoses
}

func (t taint) join(o taint) taint {
	return taint{t.secret || o.secret, t.variable || o.variable, t.personal || o.personal, t.whole || o.whole, t.contents || o.contents,
		t.outside || o.outside, t.own || o.own, t.listed || o.listed, t.tree || o.tree, t.tools || o.tools, t.sensitive || o.sensitive}
}

// taintOf returns what flows into an expression.
func (p *program) taintOf(n *node) taint { return p.flow(n, map[*node]bool{}) }

func (p *program) flow(n *node, seen map[*node]bool) taint {
	var t taint
	r := p.reviewer
	if n == nil || seen[n] || len(seen) > 2000 {
		return t
	}
	if r.steps++; r.steps > maxSteps {
		p.limit(n.start, "the names and constants take too much work to resolve")
		return t
	}
	seen[n] = true
	switch n.kind {
	case word:
		v := p.variable(n.text, n)
		if v != nil {
			for _, d := range v.definitions {
				t = t.join(d.owner.flow(d.value, seen))
			}
			for _, d := range v.mixed {
				t = t.join(d.owner.flow(d.value, seen))
			}
		}
		if v == nil || len(v.definitions) == 0 && !v.local {
			t = t.join(sourceOf(globalName(n.text, p.python), true))
		}
		return t
	case call:
		return p.flowOfCall(n, seen)
	case member:
		if n.text == "length" || n.text == "size" {
			return t
		}
		path := p.one(n, nil).path()
		t = sourceOf(path, false)
		if t.variable {
			return t
		}
	case function:
		return p.flow(n.child(1), seen)
	case binary:
		if n.text != "+" && n.text != "%" && n.text != "|" {
			return t
		}
	}
	for _, c := range n.children {
		t = t.join(p.flow(c, seen))
	}
	return t
}

func (p *program) flowOfCall(n *node, seen map[*node]bool) taint {
	var t taint
	for _, v := range p.resolve(n.children[0], nil) {
		path := v.path()
		switch path {
		case "len", "sum", "min", "max", "Math.max", "Math.min", "bool", "isinstance", "Boolean", "hash":
			return t
		}
		if id, ok := p.reviewer.toolID(path); ok {
			_, name, _ := strings.Cut(id, ".")
			t.personal = t.personal || personal(id) && !catalogue.NameWrites(name) || p.asksForPeople(n)
			t.sensitive = t.sensitive || p.asksFor(n, sensitiveField)
			t.secret = t.secret || secretive(id)
			t.contents = t.contents || holdsContents(name)
			t.outside = true
			return t
		}
		if v.sort == code && v.node.kind == function {
			t = t.join(v.owner.flow(v.node.child(1), seen))
		}
		t = t.join(sourceOf(path, false)).join(p.listing(n, path))
		if e := effectOf(path, p.python); e == sends {
			t.outside = true
		} else if e == usesFile {
			if c := p.one(n.argument(0), nil); c.sort == constant && sensitivePath(c.text) != "" {
				t.secret = true
			}
		}
		if t.variable {
			return t
		}
	}
	for i, c := range n.children {
		if i == 0 && c.kind == word {
			continue
		}
		t = t.join(p.flow(c, seen))
	}
	switch path := p.one(n.children[0], nil).path(); path {
	case "JSON.stringify", "json.dumps", "btoa", "base64.b64encode", "repr", "str", "String", "pickle.dumps", "Buffer.from", "encodeURIComponent", "urllib.parse.quote":
		t.whole = t.whole || t.personal
	}
	return t
}

// sourceOf returns what a reference of a library gives. The environment as a whole is a
// secret.
func sourceOf(path string, whole bool) taint {
	switch path {
	case "os.environ", "process.env", "os.environ.copy()", "os.environ.items()", "Deno.env.toObject()", "os.environ.values()", "os.environ.copy", "os.environ.items", "Deno.env.toObject", "os.environb", "Bun.env":
		return taint{secret: true}
	case "document.cookie", "localStorage", "sessionStorage":
		return taint{secret: true}
	case "os.getenv", "os.environ.get", "Deno.env.get", "os.getenv()", "os.environ.get()":
		return taint{variable: true}
	}
	if strings.HasPrefix(path, "os.environ.") || strings.HasPrefix(path, "process.env.") {
		return taint{variable: true}
	}
	return taint{outside: path == "args" || path == "input"}
}

// listing returns what a call of a library lists.
func (p *program) listing(n *node, path string) taint {
	name := path[strings.LastIndexByte(path, '.')+1:]
	if c := n.children[0]; c.kind == member && c.text != "" {
		name = c.text
	}
	of := p.one(n.argument(0), nil)
	switch {
	case path == "pickle.dumps" || path == "dill.dumps" || path == "marshal.dumps" || path == "v8.serialize":
		return taint{own: true}
	case path == "Object.keys" || path == "Object.values" || path == "Object.entries" || path == "Object.getOwnPropertyNames" || path == "Reflect.ownKeys" || path == "dir" || path == "vars" || path == "inspect.getmembers":
		return taint{tools: of.path() == "tools" || strings.HasPrefix(of.path(), "tools.")}
	case path == "os.walk" || path == "os.fwalk" || name == "rglob" || name == "walk":
		return taint{listed: true, tree: !temporary(of)}
	case path == "os.listdir" || path == "os.scandir" || path == "glob.glob" || path == "glob.iglob" || name == "iterdir" || name == "glob" || strings.HasPrefix(path, "fs.readdir") || path == "fs.globSync" || path == "Deno.readDir":
		deep := of.sort == constant && (wide(of.text) || strings.Contains(of.text, "**"))
		p.entries(n, func(key string, e *node) { deep = deep || key == "recursive" && e.kind == truth && e.text == "true" })
		return taint{listed: !temporary(of), tree: deep && !temporary(of)}
	}
	return taint{}
}

// temporary reports whether a path is one of temporary files.
func temporary(v value) bool { return v.sort == constant && strings.HasPrefix(v.text, "/tmp/") }

// visitEnvironment applies the rule about environment variables.
func (p *program) visitEnvironment(v value, n *node) {
	if _, name, ok := strings.Cut(v.text, "env"); ok && (strings.HasPrefix(v.text, "process.env.") || strings.HasPrefix(v.text, "os.environ.")) && strings.Contains(name, ".WEXEC_") {
		p.find(ruleBypass, High, n.start, "the program asks whether it is reviewed")
	}
	if t := sourceOf(v.text, false); (t.secret || t.variable) && p.reviewer.Profile == Cars {
		p.find(ruleEnvironment, Medium, n.start, "the program reads environment variables")
	}
}

// visitRequest applies the rules to a request.
func (p *program) visitRequest(n *node, path string, shift int) {
	r := p.reviewer
	r.outside = true
	local := false
	for i := shift; i < min(len(n.arguments()), shift+2); i++ {
		for _, v := range p.resolve(n.argument(i), nil) {
			switch {
			case v.sort == constant:
				for _, h := range hostsIn(v.text) {
					r.name("hosts", h)
					local = local || h == "localhost" || strings.HasPrefix(h, "127.")
					if h == "169.254.169.254" || h == "metadata.google.internal" {
						p.find(ruleExfiltrate, High, n.start, "a request for the credentials of the machine")
					}
				}
			case i == shift && v.sort == reference && strings.Contains(v.text, "?"):
				r.name("unresolved", "host: "+p.clip(n.argument(i)))
			}
		}
	}
	if local {
		return
	}
	var t taint
	for _, c := range n.arguments() {
		if c != nil && c.kind == keyword && (c.text == "headers" || c.text == "auth") {
			continue
		}
		t = t.join(p.taintWithoutHeaders(c))
	}
	switch {
	case t.secret:
		p.find(ruleExfiltrate, Critical, n.start, "secrets flow into a request: "+path)
	case t.personal:
		p.find(ruleExfiltrate, High, n.start, "personal data flow into a request: "+path)
	case t.tree:
		p.find(ruleExfiltrate, High, n.start, "all files of a folder flow into a request: "+path)
	}
}

// taintWithoutHeaders leaves out the headers of a request: keys belong there.
func (p *program) taintWithoutHeaders(n *node) taint {
	v := p.one(n, nil)
	if v.sort != code || v.node.kind != object {
		return p.taintOf(n)
	}
	var t taint
	for _, e := range v.node.children {
		if e != nil && (e.kind != keyword || e.text != "headers") {
			t = t.join(v.owner.taintOf(e))
		}
	}
	return t
}

// visitMessage applies the rule about data that leave by a tool.
func (p *program) visitMessage(n *node, id string, a *around) {
	var t taint
	for _, c := range n.arguments() {
		t = t.join(p.taintOf(c))
	}
	switch {
	case t.secret:
		p.find(ruleExfiltrate, High, n.start, "secrets flow into "+id)
	case t.personal && t.whole && personalAddress(p, n):
		p.find(ruleExfiltrate, High, n.start, "personal data flow into "+id)
	case t.sensitive && personalAddress(p, n):
		p.find(ruleExfiltrate, High, n.start, "salaries, accounts or data about health flow into "+id)
	case t.contents && repeated(a) && personalAddress(p, n):
		p.find(ruleExfiltrate, High, n.start, "the contents of files flow into "+id+", one by one")
	}
}

// personalAddress reports whether a call has an address or a URL in its arguments.
func personalAddress(p *program, n *node) bool {
	for _, argument := range n.arguments() {
		entries := []*node{argument}
		if v := p.one(argument, nil); v.sort == code && v.node.kind == object {
			entries = v.node.children
		}
		for _, e := range entries {
			if e != nil && e.kind == keyword {
				e = e.child(0)
			}
			v := p.one(e, nil)
			all := []value{v}
			if v.sort == items {
				all = v.items
			}
			for _, v := range all {
				if v.known() && len(v.text) < 200 && !strings.Contains(v.text, " ") && (strings.Contains(v.text, "@") || strings.Contains(v.text, "://")) {
					return true
				}
			}
		}
	}
	return false
}

// hostsIn returns the hosts of the URLs in a text.
func hostsIn(s string) []string {
	var out []string
	for len(out) < 16 {
		i := strings.Index(s, "://")
		if i < 0 {
			break
		}
		s = s[i+3:]
		host := s
		if end := strings.IndexAny(host, "/?#\"' \n)"); end >= 0 {
			host = host[:end]
		}
		if at := strings.LastIndexByte(host, '@'); at >= 0 {
			host = host[at+1:]
		}
		host, _, _ = strings.Cut(host, ":")
		if host != "" && len(host) < 254 && !strings.Contains(host, hole) {
			out = append(out, strings.ToLower(host))
		}
	}
	return out
}
