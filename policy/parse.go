package policy

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/yamldoc"
	"github.com/wexec/wexec/privacy"

	"github.com/wexec/wexec/policy/internal/document"
	"github.com/wexec/wexec/policy/internal/expr"
)

// Parse reads a policy file. Rules and problems are named by name; if it is an
// absolute path, relative paths in the file begin at its folder (see
// [Policy.Resolve]). All problems of the file are reported at once: the error
// has the code usage.policy and wraps [Problems].
func Parse(name string, data []byte) (*Policy, error) {
	c := compiler{Reporter: &yamldoc.Reporter{File: name}}
	if filepath.IsAbs(name) {
		c.base = filepath.Dir(name)
	}
	l := c.layer(document.Read[Limits](c.Reporter, data))
	if err := c.Err(fault.UsagePolicy); err != nil {
		return nil, err
	}
	l.source = string(data)
	return newPolicy([]*layer{l}), nil
}

// Schema returns the JSON Schema (2020-12) of a policy file, for editors.
func Schema() []byte { return document.Schema[Limits]() }

// ParseTests reads a file of test cases: a list, or a mapping with the key
// tests. Problems are reported as by [Parse].
func ParseTests(name string, data []byte) ([]Test, error) {
	c := compiler{Reporter: &yamldoc.Reporter{File: name}}
	tests := c.tests(document.ReadTests(c.Reporter, data))
	if err := c.Err(fault.UsagePolicy); err != nil {
		return nil, err
	}
	return tests, nil
}

// Resolve returns the policy with relative paths beginning at base and those
// with ~ at home. Paths that are resolved already stay. Both folders must be
// absolute or empty.
func (p *Policy) Resolve(base, home string) (*Policy, error) {
	if p == nil {
		return nil, nil
	}
	layers := make([]*layer, len(p.layers))
	for i, l := range p.layers {
		resolved := *l
		if l.files != nil {
			files, err := l.files.resolve(base, home)
			if err != nil {
				return nil, err
			}
			resolved.files = files
			resolved.base += base + "\n" + home
		}
		layers[i] = &resolved
	}
	return newPolicy(layers), nil
}

// compiler compiles the document of one file and reports its problems.
type compiler struct {
	*yamldoc.Reporter
	base string    // folder at which relative paths begin, or ""
	env  *expr.Env // nil if the file has no expressions
}

func (c *compiler) layer(doc *document.File[Limits]) *layer {
	l := &layer{file: c.File, name: doc.Name.V, base: c.base, languages: yamldoc.Values(doc.Languages)}
	if doc.Default.IsSet() {
		l.defaultAt = c.Where(doc.Default.Pos)
		_ = l.byDefault.UnmarshalText([]byte(doc.Default.V)) // already checked
	}
	if doc.Limits != nil {
		l.limits = *doc.Limits
	}
	l.risk = c.risk(doc.Risk)
	l.rules = c.rules(doc)
	l.reviews = slices.ContainsFunc(l.rules, func(r rule) bool {
		return r.when != nil && r.when.UsesReview() || r.messageExpr != nil && r.messageExpr.UsesReview()
	})
	l.index = newIndex(l.rules)
	l.servers = c.servers(doc.Servers)
	if b := doc.Files; b != nil {
		l.files = &fileRules{grants: b.Read != nil || b.Write != nil, read: c.filePatterns(b.Read), write: c.filePatterns(b.Write), deny: c.denyPatterns(b.Deny)}
	}
	if b := doc.Network; b != nil {
		l.network = &netRules{grants: b.Allow != nil, allow: c.hosts(b.Allow, true), deny: c.hosts(b.Deny, false)}
	}
	if b := doc.Env; b != nil {
		for _, name := range b.Allow {
			if name.V == "" || strings.ContainsAny(name.V, "= \x00{}[]") {
				c.Add(name.Pos, "write a name such as TZ or LC_*", "invalid name of an environment variable %q", clip(name.V))
			}
		}
		l.env = yamldoc.Values(b.Allow)
	}
	l.secrets = c.secrets(doc.Secrets)
	if doc.PII != nil {
		l.pii = c.pii(doc.PII)
	}
	if b := doc.Approvals; b != nil {
		l.approvals = Approvals{Via: yamldoc.Values(b.Via), Timeout: time.Duration(b.Timeout.V), Remember: b.Remember.V}
	}
	if b := doc.Audit; b != nil {
		l.audit = Audit{Detail(b.Code.V), Detail(b.Inputs.V), Detail(b.Outputs.V)}
	}
	l.digests = doc.Keep != nil && !*doc.Keep
	l.artifact = doc.Output.V == "artifact"
	l.tests = c.tests(doc.Tests)
	return l
}

// toolGlob reads a pattern for tools.
func (c *compiler) toolGlob(pos yamldoc.Position, text string) Glob {
	g, err := parseToolGlob(text)
	if err != nil {
		c.AddError(pos, err)
	}
	return g
}

// maxRules bounds the rules of one file.
const maxRules = 2500

// rules compiles vars and the tools block.
func (c *compiler) rules(doc *document.File[Limits]) []rule {
	blocks := [...][]document.Rule{Deny: doc.Tools.Deny, Ask: doc.Tools.Ask, Allow: doc.Tools.Allow}
	all := slices.Concat(blocks[:]...)
	if len(all) > maxRules {
		c.Add(yamldoc.Position{}, "", "the file has more than %d rules", maxRules)
		return nil
	}
	if len(doc.Vars) > 0 || slices.ContainsFunc(all, func(b document.Rule) bool { return b.When.IsSet() || b.MessageExpression.IsSet() }) {
		var err error
		if c.env, err = expr.NewEnv(); err != nil {
			c.Add(yamldoc.Position{}, "", "set up conditions: %s", err)
			return nil
		}
		c.env.Variables(c.Reporter, doc.Vars)
	}
	onLine := map[int]int{}
	for _, b := range all {
		onLine[b.Pos.Line]++
	}
	var out []rule
	for effect, list := range blocks {
		for i := range list {
			r := c.rule(Effect(effect), &list[i])
			// Calls are counted by the name of a rule. The column distinguishes
			// several rules on one line.
			if onLine[list[i].Pos.Line] > 1 {
				r.limits.Rule = fmt.Sprintf("%s:%d", r.where, list[i].Pos.Column)
			}
			out = append(out, r)
		}
	}
	return out
}

func (c *compiler) rule(effect Effect, b *document.Rule) rule {
	out := rule{
		effect: effect, where: c.Where(b.Pos), message: b.Message.V,
		cache: time.Duration(b.Cache.V), timeout: time.Duration(b.Timeout.V), approved: b.Approved, written: b.When.V.Text,
		idempotent: b.Idempotent, askUnknown: b.OnUnknown.V == "ask",
	}
	if b.Tool.IsSet() {
		out.tool = c.toolGlob(b.Tool.Pos, b.Tool.V)
	}
	if effect != Allow {
		out.tool = out.tool.AnyServer()
	}
	if b.When.IsSet() {
		out.when = c.env.Condition(c.Reporter, b.When.V)
		out.annotations = effect == Allow && out.when != nil && out.when.UsesAnnotations()
	}
	if b.MessageExpression.IsSet() {
		out.messageExpr = c.env.Message(c.Reporter, b.MessageExpression.V)
		if b.Message.IsSet() {
			c.Add(b.MessageExpression.Pos, "remove one of them", "a rule cannot have both message and messageExpression")
		}
	}
	written := []any{effect, b.Tool.V, b.Message.V, b.Timeout.V, b.Idempotent, b.OnUnknown.V}
	for _, x := range []*expr.Expr{out.messageExpr, out.when} {
		source := ""
		if x != nil && effect == Ask {
			out.arguments = append(out.arguments, x.Arguments()...)
			source = x.Source()
		}
		written = append(written, source)
	}
	if b.Limits != nil {
		out.limits = RuleLimit{
			Calls: int(b.Limits.Calls.V), Rate: Rate(b.Limits.Rate.V), Result: int64(b.Limits.Result.V), Timeout: time.Duration(b.Limits.Timeout.V),
		}
		out.limited = out.limits != RuleLimit{}
		out.limits.Rule = out.where
		written = append(written, b.Limits.Calls.V, b.Limits.Rate.V, b.Limits.Result.V, b.Limits.Timeout.V)
	}
	if effect == Ask {
		out.asking = &Asking{File: c.File, When: b.When.V.Text}
		out.digest = digestOf(written...)
	}
	switch {
	case effect == Deny && (b.Limits != nil || b.Cache.IsSet()):
		c.Add(b.Pos, "move the rule to ask or allow", "a deny rule cannot have limits or cache")
	case effect == Deny && (b.Idempotent || b.OnUnknown.IsSet()):
		c.Add(b.Pos, "move the rule to ask or allow", "a deny rule cannot have idempotent or on_unknown")
	case effect == Ask && b.Cache.IsSet():
		c.Add(b.Cache.Pos, "remove it", "an ask rule cannot have cache: an approved answer is not reused")
	}
	if effect != Allow && b.Approved {
		c.Add(b.Pos, "move the rule to allow", "only an allow rule can be approved")
	}
	if effect != Ask && b.Timeout.IsSet() {
		c.Add(b.Timeout.Pos, "to limit the time of a call, set limits: {timeout: …}", "timeout applies to approvals: only an ask rule can have it")
	}
	return out
}

func (c *compiler) servers(list yamldoc.Map[document.Server]) []serverRule {
	var out []serverRule
	for _, e := range list {
		g, err := ParseGlob(e.Key)
		if err != nil {
			c.AddError(e.KeyPos, err)
		}
		r := serverRule{server: g, features: map[Feature]Effect{}, where: c.Where(e.KeyPos)}
		for feature, v := range map[Feature]yamldoc.Value[string]{
			Elicitation: e.V.Elicitation, Sampling: e.V.Sampling, Resources: e.V.Resources, Prompts: e.V.Prompts,
		} {
			if v.IsSet() {
				var effect Effect
				_ = effect.UnmarshalText([]byte(v.V)) // already checked
				r.features[feature] = effect
			}
		}
		out = append(out, r)
	}
	return out
}

func (c *compiler) filePatterns(list []yamldoc.Value[string]) []filePattern {
	var out []filePattern
	for _, v := range list {
		p, err := parseFilePattern(v.V, c.base, "")
		if err != nil {
			c.AddError(v.Pos, err)
		}
		p.where = c.Where(v.Pos)
		out = append(out, p)
	}
	return out
}

// denyPatterns reads deny patterns. One that begins with **/ denies everywhere,
// not only below the base folder.
func (c *compiler) denyPatterns(list []yamldoc.Value[string]) []filePattern {
	everywhere := slices.Clone(list)
	for i, v := range list {
		if name := filepath.ToSlash(v.V); strings.HasPrefix(name, "**/") {
			everywhere[i].V = "/" + name
		}
	}
	out := c.filePatterns(everywhere)
	for i := range out {
		out[i].text = list[i].V
	}
	return out
}

func (c *compiler) hosts(list []document.Host, allow bool) []NetRule {
	var out []NetRule
	for _, b := range list {
		if !b.Host.IsSet() {
			continue
		}
		rule, err := newNetRule(b.Host.V, c.Where(b.Pos))
		if err != nil {
			c.AddError(b.Host.Pos, err)
			continue
		}
		if allow && slices.Contains(addressClasses, rule.Host) {
			c.Add(b.Host.Pos, "allow an address or a network: 127.0.0.1, 10.0.0.0/8", "%s cannot be allowed: it is a class for deny", rule.Host)
		}
		for _, m := range b.Methods {
			method := strings.ToUpper(m.V)
			if strings.Trim(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != "" || method == "" {
				c.Add(m.Pos, "write GET, POST or the like", "invalid HTTP method %q", clip(m.V))
			}
			rule.Methods = append(rule.Methods, method)
		}
		for _, p := range b.Ports {
			if p.V > 65535 {
				c.Add(p.Pos, "", "invalid port %d", p.V)
			}
			rule.Ports = append(rule.Ports, int(p.V))
		}
		out = append(out, rule)
	}
	return out
}

func (c *compiler) secrets(list []document.Secret) []Secret {
	var out []Secret
	seen := map[string]int{}
	for _, b := range list {
		s := Secret{Name: b.Name.V, From: b.From.V, To: yamldoc.Values(b.To), As: b.As.V, Rule: c.Where(b.Pos)}
		if line, twice := seen[s.Name]; twice && s.Name != "" {
			c.Add(b.Name.Pos, "", "duplicate secret %s, first defined on line %d", clip(s.Name), line)
		}
		seen[s.Name] = b.Name.Pos.Line
		if b.From.IsSet() && !hasPrefixAndMore(s.From, "env:", "file:") {
			c.Add(b.From.Pos, "", "from: must be env:NAME or file:PATH") // not repeated: it may be the secret itself
		}
		if b.As.IsSet() && !hasPrefixAndMore(s.As, "env:", "header:", "arg:") {
			c.Add(b.As.Pos, "", "as: must be env:NAME, arg:NAME or header:NAME: TEXT with {} for the value, not %q", clip(s.As))
		}
		if strings.HasPrefix(s.As, "header:") && !strings.Contains(strings.TrimPrefix(s.As, "header:"), ":") {
			c.Add(b.As.Pos, `write "header:Authorization: Bearer {}"`, "as: a header must have a name and a text")
		}
		if b.To != nil && len(b.To) == 0 {
			c.Add(b.Pos, "", "secret %s has no recipient", clip(s.Name))
		}
		for _, to := range b.To {
			c.recipient(s, to)
		}
		out = append(out, s)
	}
	return out
}

// recipient checks one recipient of a secret, and that the secret can be passed
// to it in its form.
func (c *compiler) recipient(s Secret, to yamldoc.Value[string]) {
	form, _, _ := strings.Cut(s.As, ":")
	if server, ok := strings.CutPrefix(to.V, "server:"); ok {
		switch {
		case server == "":
			c.Add(to.Pos, "write server:NAME", "the server has no name")
		case form == "arg":
			c.Add(to.Pos, "name the tools: server.*", "an argument can be passed to tools, not to a server")
		}
		return
	}
	if host, ok := strings.CutPrefix(to.V, "host:"); ok {
		if _, err := newNetRule(host, ""); err != nil {
			c.AddError(to.Pos, err)
		} else if form != "header" && form != "" {
			c.Add(to.Pos, `write as: "header:NAME: {}"`, "a host can receive a secret only in a header")
		}
		return
	}
	if _, err := parseToolGlob(to.V); err != nil {
		c.AddError(to.Pos, err)
	} else if form != "arg" && form != "" {
		c.Add(to.Pos, "write as: arg:NAME, or to: server:NAME", "a tool can receive a secret only in an argument")
	}
}

func hasPrefixAndMore(s string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool {
		rest, ok := strings.CutPrefix(s, p)
		return ok && strings.TrimSpace(rest) != ""
	})
}

func (c *compiler) tests(list []document.Test) []Test {
	var out []Test
	for _, b := range list {
		t := Test{Rule: c.Where(b.Pos), Tool: b.Tool.V, Args: b.Args}
		if rest, ok := strings.CutPrefix(t.Tool, "mcp__"); ok {
			t.Tool = dotted(rest)
		} else if b.Tool.IsSet() && !strings.Contains(t.Tool, ".") {
			c.Add(b.Tool.Pos, "write server.tool", "invalid name of a tool %q", clip(t.Tool))
		}
		_ = t.Expect.UnmarshalText([]byte(b.Expect.V)) // already checked
		out = append(out, t)
	}
	return out
}

// pii compiles the pii block. Problems that package privacy finds are reported
// at the key that they name.
func (c *compiler) pii(b *document.PersonalData) *piiRules {
	out := &piiRules{kinds: b.Detect != nil, reveals: b.RevealTo != nil}
	places := keyPlaces{"mode": b.Mode.Pos, "level": b.Level.Pos}
	conf := &out.config
	conf.Mode, conf.Level = privacy.Mode(b.Mode.V), b.Level.V
	for _, kind := range places.list("detect", b.Detect) {
		conf.Detect = append(conf.Detect, privacy.Kind(kind))
	}
	conf.Regions = places.list("regions", b.Regions)
	conf.Ignore = places.list("ignore", b.Ignore)
	if b.Fields != nil {
		conf.Fields.Never = places.list("fields.never", b.Fields.Never)
		conf.Fields.Always = places.list("fields.always", b.Fields.Always)
	}
	conf.Patterns = piiMap(places, "patterns", b.Patterns, func(s, _ string) string { return s })
	conf.Lists = piiMap(places, "lists", b.Lists, func(words []yamldoc.Value[string], path string) []string { return places.list(path, words) })
	conf.Modes = piiMap(places, "modes", b.Modes, func(s, _ string) privacy.Mode { return privacy.Mode(s) })
	for _, e := range b.Tools {
		out.tools = append(out.tools, ToolMode{c.toolGlob(e.KeyPos, e.Key), privacy.Mode(e.V)})
	}
	for _, tool := range b.RevealTo {
		out.revealTo = append(out.revealTo, c.toolGlob(tool.Pos, tool.V))
	}
	var kinds []string
	for _, k := range privacy.Kinds() {
		kinds = append(kinds, string(k.Kind))
	}
	for _, p := range conf.Check() {
		hint := p.Hint
		if i, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(p.Path, "detect["), "]")); err == nil {
			hint = cmp.Or(yamldoc.Suggest(string(conf.Detect[i]), kinds), hint)
		}
		c.Add(places.find(p.Path), hint, "%s", p.Message)
	}
	return out
}

// keyPlaces are the positions of keys in the pii block, by their path.
type keyPlaces map[string]yamldoc.Position

// list returns the values of a list and notes their positions.
func (k keyPlaces) list(path string, list []yamldoc.Value[string]) []string {
	for i, v := range list {
		k[fmt.Sprintf("%s[%d]", path, i)] = v.Pos
	}
	return yamldoc.Values(list)
}

// find returns the position of a path, or of the nearest path above it.
func (k keyPlaces) find(path string) yamldoc.Position {
	pos, ok := k[path]
	for !ok && path != "" {
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
		pos, ok = k[path]
	}
	return pos
}

// piiMap converts a mapping and notes the positions of its keys.
func piiMap[From, To any](places keyPlaces, path string, from yamldoc.Map[From], convert func(v From, path string) To) map[string]To {
	if from == nil {
		return nil
	}
	out := map[string]To{}
	for _, e := range from {
		at := path + "." + e.Key
		places[at] = e.Pos
		out[e.Key] = convert(e.V, at)
	}
	return out
}

func (c *compiler) risk(b *document.Risk[Limits]) *riskRules {
	if b == nil {
		return nil
	}
	out := &riskRules{unseen: Allow, profile: b.Profile.V}
	for i, level := range []*document.RiskLevel[Limits]{b.Low, b.Medium, b.High, b.Critical} {
		out.levels[i].Effect = Allow
		if level == nil {
			continue
		}
		where := c.Where(level.Pos)
		r := Risk{Effect: Allow, Rule: where, Reach: Reach(max(0, slices.Index([]string{"policy", "servers", "none"}, level.Network.V))), ReachRule: where}
		switch {
		case level.Ask && level.Deny:
			c.Add(level.Pos, "remove one of them", "a level cannot have both ask and deny")
		case level.Deny:
			r.Effect = Deny
		case level.Ask:
			r.Effect, r.Digest = Ask, digestOf("risk", riskLevels[i], level.Network.V, level.Limits)
		}
		if level.Limits != nil {
			r.Limits = *level.Limits
		}
		out.levels[i] = r
	}
	if b.Unseen.IsSet() {
		_ = out.unseen.UnmarshalText([]byte(b.Unseen.V)) // already checked
		out.unseenAt = c.Where(b.Unseen.Pos)
	}
	return out
}
