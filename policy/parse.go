package policy

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cel.dev/cel-go/cel"
	celast "cel.dev/cel-go/common/ast"

	"github.com/wexec/wexec/privacy"
)

// Parse reads a policy file. The name is what rules and faults are called by;
// where it is an absolute path, relative paths in the file begin at its folder
// (see [Policy.Resolve]). All that is wrong with the file is told at once: the
// error has the code usage.policy and wraps [Faults].
func Parse(name string, data []byte) (*Policy, error) {
	r := &reporter{file: name}
	var doc document
	decode(r, data, &doc)
	base := ""
	if filepath.IsAbs(name) {
		base = filepath.Dir(name)
	}
	l := r.layer(&doc, base)
	if err := r.err(); err != nil {
		return nil, err
	}
	l.source = string(data)
	return newPolicy([]*layer{l}), nil
}

// Resolve gives the policy with relative paths beginning at base, and those
// with ~ at home. Paths that begin at a folder already stay. Both have to be
// absolute or empty.
func (p *Policy) Resolve(base, home string) (*Policy, error) {
	if p == nil {
		return nil, nil
	}
	layers := make([]*layer, len(p.layers))
	r := &reporter{}
	for i, l := range p.layers {
		c := *l
		r.file = l.file
		if l.files != nil {
			files := *l.files
			again := func(list []filePattern) []filePattern {
				out := slices.Clone(list)
				for i := range out {
					if out[i].relative {
						out[i] = r.filePattern(at[string]{out[i].text, out[i].pos}, base, home)
					}
				}
				return out
			}
			files.read, files.write, files.deny = again(files.read), again(files.write), again(files.deny)
			c.files = &files
			c.base += base + "\n" + home
		}
		layers[i] = &c
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	return newPolicy(layers), nil
}

// layer compiles a document.
func (r *reporter) layer(doc *document, base string) *layer {
	l := &layer{file: r.file, name: doc.Name.V, description: doc.Description.V, base: base}
	if doc.Default.set() {
		l.defaultAt = r.where(doc.Default.Pos)
		_ = l.byDefault.UnmarshalText([]byte(doc.Default.V)) // the words were checked
	}
	r.rules(l, doc)
	l.limits = doc.Limits.limits()
	l.hasLanguages = doc.Languages != nil
	l.languages = values(doc.Languages)
	if b := doc.Files; b != nil {
		l.files = &fileRules{drawn: b.Read != nil || b.Write != nil}
		for _, p := range b.Read {
			l.files.read = append(l.files.read, r.filePattern(p, base, ""))
		}
		for _, p := range b.Write {
			l.files.write = append(l.files.write, r.filePattern(p, base, ""))
		}
		for _, p := range b.Deny {
			written := p.V
			// **/name denies wherever it stands, and not below base alone.
			if strings.HasPrefix(filepath.ToSlash(p.V), "**/") {
				p.V = "/" + filepath.ToSlash(p.V)
			}
			deny := r.filePattern(p, base, "")
			deny.text = written
			l.files.deny = append(l.files.deny, deny)
		}
	}
	if b := doc.Network; b != nil {
		l.network = &netRules{drawn: b.Allow != nil, allow: r.hosts(b.Allow, true), deny: r.hosts(b.Deny, false)}
	}
	if b := doc.Env; b != nil {
		l.hasEnv = b.Allow != nil
		for _, e := range b.Allow {
			if e.V == "" || strings.ContainsAny(e.V, "= \x00{}[]") {
				r.add(e.Pos, "write a name such as TZ, or LC_*", "%q is no name of an environment variable", clip(e.V))
			}
			l.env = append(l.env, envName{e.V, r.where(e.Pos), e.Pos})
		}
	}
	r.secrets(l, doc.Secrets)
	if doc.PII != nil {
		l.pii = r.pii(doc.PII)
	}
	if b := doc.Approvals; b != nil {
		l.approvals = Approvals{Via: values(b.Via), Timeout: time.Duration(b.Timeout.V), Remember: b.Remember.V}
		if b.Via != nil && l.approvals.Via == nil {
			l.approvals.Via = []string{}
		}
	}
	if b := doc.Audit; b != nil {
		l.audit = Audit{Detail(b.Code.V), Detail(b.Inputs.V), Detail(b.Outputs.V)}
	}
	l.tests = r.tests(doc.Tests)
	for _, b := range doc.Tests {
		l.testsAt = append(l.testsAt, b.Tool.Pos)
	}
	return l
}

func (r *reporter) where(pos position) string { return fmt.Sprintf("%s:%d", r.file, pos.line) }

func values[T any](list []at[T]) []T {
	var out []T
	for _, v := range list {
		out = append(out, v.V)
	}
	return out
}

func positions[T any](list []at[T]) []position {
	var out []position
	for _, v := range list {
		out = append(out, v.Pos)
	}
	return out
}

// maxRules bounds the rules of one file.
const maxRules = 2500

// rules compiles vars and the tools block.
func (r *reporter) rules(l *layer, doc *document) {
	tools := doc.Tools
	if tools == nil {
		tools = &toolsBlock{}
	}
	blocks := []struct {
		effect Effect
		list   []ruleBlock
	}{{Deny, tools.Deny}, {Ask, tools.Ask}, {Allow, tools.Allow}}
	need := len(doc.Vars) > 0
	for _, b := range blocks {
		for _, rb := range b.list {
			need = need || rb.When.set() || rb.MessageExpression.set()
		}
	}
	if need {
		c, err := newConditions(zones{"UTC": time.UTC}, anyArgs, nil)
		if err != nil {
			r.add(position{}, "", "conditions cannot be set up: %s", err)
			return
		}
		c.compileVars(r, doc.Vars)
		l.conditions = c
	}
	if len(tools.Deny)+len(tools.Ask)+len(tools.Allow) > maxRules {
		r.add(position{}, "", "there are more than %d rules", maxRules)
		return
	}
	onLine := map[int]int{}
	for _, b := range blocks {
		for i := range b.list {
			onLine[b.list[i].Pos.line]++
		}
	}
	for _, b := range blocks {
		for i := range b.list {
			one := r.rule(l, b.effect, &b.list[i])
			// Calls are counted by what a rule is called: of several on one line
			// each has its column.
			if onLine[one.pos.line] > 1 {
				one.limits.Rule = fmt.Sprintf("%s:%d", one.where, one.pos.column)
			}
			l.rules = append(l.rules, one)
		}
	}
	l.index = newIndex(l.rules)
}

func (r *reporter) rule(l *layer, effect Effect, b *ruleBlock) rule {
	out := rule{
		effect: effect, tool: b.Tool.V, where: r.where(b.Pos), pos: b.Pos, message: b.Message.V,
		cache: b.Cache.V, timeout: b.Timeout.V, limitless: true,
	}
	if b.Tool.set() && b.Tool.V.text != "" {
		if _, err := parseToolGlob(b.Tool.V.text); err != nil {
			r.fail(b.Tool.Pos, err)
		}
	}
	if effect != Allow {
		out.tool = out.tool.everySplit()
	}
	if b.When.set() {
		out.when = l.conditions.compile(r, b.When.V, cel.BoolType)
		out.rests = effect == Allow && out.when != nil && l.conditions.restsOnNotes(out.when)
	}
	if b.MessageExpression.set() {
		out.says = l.conditions.compile(r, b.MessageExpression.V, cel.StringType)
		if b.Message.set() {
			r.add(b.MessageExpression.Pos, "keep one", "a rule has message or messageExpression, not both")
		}
	}
	if b.Limits != nil {
		out.limits = RuleLimit{
			Rule: out.where, Calls: int(b.Limits.Calls.V), Rate: Rate(b.Limits.Rate.V),
			Result: int64(b.Limits.Result.V), Timeout: time.Duration(b.Limits.Timeout.V),
		}
		out.limitless = out.limits == RuleLimit{Rule: out.where}
	}
	if effect == Deny && (b.Limits != nil || b.Cache.set()) {
		r.add(b.Pos, "move it to a rule under ask or allow", "a denied call has no limits and no cache")
	}
	if effect == Ask && b.Cache.set() {
		r.add(b.Cache.Pos, "take it out", "an answer that a person approved is not used again")
	}
	if effect != Ask && b.Timeout.set() {
		r.add(b.Timeout.Pos, "the time a call may take is limits: {timeout: …}", "timeout is how long an approval is waited for, and stands under ask")
	}
	return out
}

// restsOnNotes reports whether a condition asks what a server says of its own
// tool, itself or through variables.
func (c *conditions) restsOnNotes(cond *condition) bool {
	found := false
	celast.PreOrderVisit(cond.tree.NativeRep().Expr(), celast.NewExprVisitor(func(e celast.Expr) {
		if e.Kind() == celast.SelectKind && e.AsSelect().FieldName() == "annotations" {
			found = true
		}
	}))
	for _, name := range varsIn(cond.tree) {
		for i := range c.vars {
			if c.vars[i].name == name && c.vars[i].cond != nil && !found {
				found = c.restsOnNotes(c.vars[i].cond)
			}
		}
	}
	return found
}

func (r *reporter) filePattern(p at[string], base, home string) filePattern {
	out, err := parseFilePattern(p.V, base, home)
	if err != nil {
		r.fail(p.Pos, err)
	}
	out.where, out.pos = r.where(p.Pos), p.Pos
	return out
}

func (r *reporter) hosts(list []hostBlock, allow bool) []NetRule {
	var out []NetRule
	for _, b := range list {
		if !b.Host.set() {
			continue
		}
		rule, err := newNetRule(b.Host.V, r.where(b.Pos))
		if err != nil {
			r.fail(b.Host.Pos, err)
			continue
		}
		rule.pos = b.Pos
		if allow && slices.Contains(addressClasses, rule.Host) {
			r.add(b.Host.Pos, "name the address or the network: 127.0.0.1, 10.0.0.0/8", "%s cannot be allowed as a whole", rule.Host)
		}
		for _, m := range b.Methods {
			name := strings.ToUpper(m.V)
			if !isName(strings.ReplaceAll(name, "-", "_")) {
				r.add(m.Pos, "write GET, POST and the like", "%q is no HTTP method", clip(m.V))
			}
			rule.Methods = append(rule.Methods, name)
		}
		for _, p := range b.Ports {
			if p.V > 65535 {
				r.add(p.Pos, "", "%d is no port", p.V)
			}
			rule.Ports = append(rule.Ports, int(p.V))
		}
		out = append(out, rule)
	}
	return out
}

func (r *reporter) secrets(l *layer, list []secretBlock) {
	seen := map[string]position{}
	for _, b := range list {
		s := Secret{Name: b.Name.V, From: b.From.V, To: values(b.To), As: b.As.V, Rule: r.where(b.Pos)}
		if before, twice := seen[s.Name]; twice && s.Name != "" {
			r.add(b.Name.Pos, "", "the secret %s stands twice, first on line %d", clip(s.Name), before.line)
		}
		seen[s.Name] = b.Name.Pos
		if b.From.set() && !hasPrefixAndMore(s.From, "env:", "file:") {
			r.add(b.From.Pos, "write env:NAME or file:PATH", "%q says not where the secret is found", clip(s.From))
		}
		if b.As.set() && !hasPrefixAndMore(s.As, "env:", "header:", "arg:") {
			r.add(b.As.Pos, "write env:NAME, header:NAME: TEXT with {} or arg:NAME", "%q says not how the secret is given", clip(s.As))
		}
		if strings.HasPrefix(s.As, "header:") && !strings.Contains(strings.TrimPrefix(s.As, "header:"), ":") {
			r.add(b.As.Pos, `write "header:Authorization: Bearer {}"`, "a header has a name and a text")
		}
		if b.To != nil && len(b.To) == 0 {
			r.add(b.Pos, "", "the secret %s goes nowhere", clip(s.Name))
		}
		for _, to := range b.To {
			r.secretTarget(s, to)
		}
		l.secrets = append(l.secrets, s)
		l.secretsAt = append(l.secretsAt, positions(b.To))
	}
}

// secretTarget checks who a secret goes to, and that it can be given there.
func (r *reporter) secretTarget(s Secret, to at[string]) {
	kind, _, _ := strings.Cut(s.As, ":")
	switch {
	case strings.HasPrefix(to.V, "server:"):
		if to.V == "server:" {
			r.add(to.Pos, "write server:NAME", "the server has no name")
		} else if kind == "arg" {
			r.add(to.Pos, "name the tools: server.*", "an argument goes to tools and not to a server")
		}
	case strings.HasPrefix(to.V, "host:"):
		if _, err := newNetRule(strings.TrimPrefix(to.V, "host:"), ""); err != nil {
			r.fail(to.Pos, err)
		} else if kind != "header" && kind != "" {
			r.add(to.Pos, `give it as "header:NAME: {}"`, "a host gets secrets in headers alone")
		}
	default:
		if _, err := parseToolGlob(to.V); err != nil {
			r.fail(to.Pos, err)
		} else if kind != "arg" && kind != "" {
			r.add(to.Pos, "give it as arg:NAME, or to server:NAME", "tools get secrets in arguments alone")
		}
	}
}

func hasPrefixAndMore(s string, prefixes ...string) bool {
	for _, p := range prefixes {
		if rest, ok := strings.CutPrefix(s, p); ok && strings.TrimSpace(rest) != "" {
			return true
		}
	}
	return false
}

func (r *reporter) tests(list []testBlock) []Test {
	var out []Test
	for _, b := range list {
		t := Test{Rule: r.where(b.Pos), Tool: b.Tool.V, Args: b.Args}
		if b.Tool.set() && !strings.Contains(t.Tool, ".") && !strings.HasPrefix(t.Tool, "mcp__") {
			r.add(b.Tool.Pos, "write server.tool", "%q names no tool", clip(t.Tool))
		}
		if rest, ok := strings.CutPrefix(t.Tool, "mcp__"); ok {
			t.Tool = undress(rest)
		}
		_ = t.Expect.UnmarshalText([]byte(b.Expect.V)) // the words were checked
		out = append(out, t)
	}
	return out
}

// pii makes the configuration of a pii block. What privacy finds wrong with it
// is told at the place of the key it names.
func (r *reporter) pii(b *piiBlock) *piiRules {
	out := &piiRules{kinds: b.Detect != nil, reveals: b.RevealTo != nil, revealTo: values(b.RevealTo), revealAt: positions(b.RevealTo)}
	c := &out.config
	c.Mode, c.Level = privacy.Mode(b.Mode.V), b.Level.V
	places := map[string]position{"mode": b.Mode.Pos, "level": b.Level.Pos}
	note := func(path string, pos position) { places[path] = pos }
	for i, k := range b.Detect {
		c.Detect = append(c.Detect, privacy.Kind(k.V))
		note(fmt.Sprintf("detect[%d]", i), k.Pos)
	}
	c.Regions = listed(b.Regions, "regions", note)
	c.Ignore = listed(b.Ignore, "ignore", note)
	if b.Fields != nil {
		c.Fields.Never = listed(b.Fields.Never, "fields.never", note)
		c.Fields.Always = listed(b.Fields.Always, "fields.always", note)
	}
	for _, e := range b.Patterns {
		if c.Patterns == nil {
			c.Patterns = map[string]string{}
		}
		c.Patterns[e.Key] = e.V
		note("patterns."+e.Key, e.Pos)
	}
	for _, e := range b.Lists {
		if c.Lists == nil {
			c.Lists = map[string][]string{}
		}
		c.Lists[e.Key] = listed(e.V, "lists."+e.Key, note)
		note("lists."+e.Key, e.Pos)
	}
	for _, e := range b.Modes {
		if c.Modes == nil {
			c.Modes = map[string]privacy.Mode{}
		}
		c.Modes[e.Key] = privacy.Mode(e.V)
		note("modes."+e.Key, e.Pos)
	}
	for _, e := range b.Tools {
		g, err := parseToolGlob(e.Key)
		if err != nil {
			r.fail(e.KeyPos, err)
		}
		out.tools = append(out.tools, ToolMode{g, privacy.Mode(e.V)})
		out.toolsAt = append(out.toolsAt, e.KeyPos)
	}
	for _, g := range b.RevealTo {
		if g.V.text == "" {
			continue
		}
		if _, err := parseToolGlob(g.V.text); err != nil {
			r.fail(g.Pos, err)
		}
	}
	for _, p := range c.Check() {
		pos, ok := places[p.Path]
		for path := p.Path; !ok && path != ""; pos, ok = places[path] {
			path = path[:max(strings.LastIndexAny(path, ".["), 0)]
		}
		hint := p.Hint
		if strings.HasPrefix(p.Path, "detect[") {
			word := strings.Trim(p.Message[strings.LastIndexByte(p.Message, ' ')+1:], `"`)
			if near := meant(word, strings.Split(strings.TrimPrefix(hint, "kinds: "), ", ")); near != "" {
				hint = near
			}
		}
		r.add(pos, hint, "%s", p.Message)
	}
	return out
}

func listed(list []at[string], path string, note func(string, position)) []string {
	for i, v := range list {
		note(fmt.Sprintf("%s[%d]", path, i), v.Pos)
	}
	return values(list)
}
