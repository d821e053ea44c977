package lint

import (
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strings"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/internal/text"
	"github.com/wexec/wexec/internal/yamldoc"
	"github.com/wexec/wexec/policy"
	"github.com/wexec/wexec/policy/internal/document"
)

// checkPattern finds patterns, and alternatives of them, that match no tool.
func (c *checker) checkPattern(r *rule, matches []catalogue.Tool) {
	if !c.hasCatalogue {
		return
	}
	if len(matches) == 0 {
		c.add(SeverityError, TopicUnknownTool, r.Pos, c.suggestTool(r.glob.String()), "%s matches no tool", r.glob)
		return
	}
	alternatives := r.glob.Alternatives()
	for _, a := range alternatives {
		if len(alternatives) > 1 && !slices.ContainsFunc(matches, func(t catalogue.Tool) bool { return a.Match(t.ID()) }) {
			c.add(SeverityWarning, TopicUnknownTool, r.Pos, c.suggestTool(a.String()), "%s of %s matches no tool", a, r.glob)
		}
	}
}

// suggestTool returns a hint with the tool that a pattern may have meant.
func (c *checker) suggestTool(pattern string) string {
	folded := glob(strings.ToLower(pattern))
	for _, t := range c.tools {
		if folded.Match(strings.ToLower(t.ID())) {
			return "did you mean " + t.ID() + "? case matters"
		}
	}
	server, tool, _ := strings.Cut(pattern, ".")
	var servers, tools []string
	for _, s := range c.servers {
		servers = append(servers, s.Name)
	}
	if !strings.ContainsAny(server, "*?{") && !slices.Contains(servers, server) {
		hint := "there is no server " + server
		if near := yamldoc.Suggest(server, servers); near != "" {
			hint += "; " + near
		}
		return hint
	}
	for _, t := range c.tools {
		if t.Server == server {
			tools = append(tools, t.Name)
		}
	}
	if near := catalogue.NearestOf(strings.Trim(tool, "*?"), tools); near != "" {
		return "did you mean " + server + "." + near + "?"
	}
	return ""
}

// checkDead finds rules that never decide because of another rule.
func (c *checker) checkDead(r *rule, i int, matches []catalogue.Tool) {
	if r.never {
		return // reported by checkTruth
	}
	for j := range c.file.rules {
		o := &c.file.rules[j]
		if j == i || !o.always || !o.glob.Covers(r.glob) {
			continue
		}
		severity, topic := SeverityWarning, TopicDeadRule
		var hint, message string
		switch {
		case o.effect == policy.Deny && r.effect != policy.Deny:
			hint, message = "remove one of them", "the rule never decides: %s always denies %s"
		case o.effect == policy.Deny && (j < i || r.when != nil):
			hint, message = "remove it", "the rule has no effect: %s always denies %s"
		case o.effect == policy.Ask && r.effect == policy.Allow && !r.Approved:
			hint, message = "remove one of them", "the rule allows nothing: %s always asks for %s"
		case o.effect == policy.Allow && r.effect == policy.Allow && r.when != nil:
			topic, hint = TopicWideAllow, "remove the other rule, or make this condition a deny rule"
			message = "the condition restricts nothing: %s allows %s without a condition"
		case o.effect == policy.Allow && r.effect == policy.Allow && !r.restrictsCalls() && (j < i || !r.glob.Covers(o.glob)):
			severity, hint, message = SeverityNote, "remove it", "the rule has no effect: %s always allows %s"
		default:
			continue
		}
		c.add(severity, topic, r.Pos, hint, message, o.where, o.glob)
		return
	}
	if r.effect != policy.Deny && len(matches) > 0 && !slices.ContainsFunc(matches, func(t catalogue.Tool) bool { return !c.alwaysDenied(t) }) {
		c.add(SeverityWarning, TopicDeadRule, r.Pos, "", "the rule never decides: every tool that %s matches is always denied", r.glob)
	}
}

// alwaysDenied reports whether any file denies a tool without a condition.
func (c *checker) alwaysDenied(t catalogue.Tool) bool {
	return slices.ContainsFunc(c.files, func(f *file) bool {
		return slices.ContainsFunc(f.rules, func(r rule) bool { return r.effect == policy.Deny && r.when == nil && r.glob.Match(t.ID()) })
	})
}

// checkWide finds allow rules that allow more than the deny and ask rules next
// to them intend.
func (c *checker) checkWide(r *rule, matches []catalogue.Tool) {
	if r.when != nil || !strings.ContainsAny(r.glob.String(), "*?") {
		return
	}
	for _, a := range r.glob.Alternatives() {
		switch server := strings.TrimRight(a.String(), "*"); {
		case server == "":
			c.add(SeverityWarning, TopicWideAllow, r.Pos, "name the servers, or add a condition", "the rule allows every tool of every server, including future ones")
		case strings.HasSuffix(server, ".") && !strings.ContainsAny(server, "*?"):
			c.add(SeverityNote, TopicWideAllow, r.Pos, "name the tools: server.{get,list}_*", "the rule allows every tool of %s, including future ones", strings.TrimSuffix(server, "."))
		}
	}
	for _, t := range matches {
		declared := t.Annotations.Destructive != nil && *t.Annotations.Destructive
		if !declared && !catalogue.NameDestroys(t.Name) {
			continue
		}
		restricted, intent := c.restrictions(t)
		switch {
		case restricted:
		case intent != nil:
			c.add(SeverityWarning, TopicWideAllow, r.Pos, fmt.Sprintf("deny %s too, or allow less", t.ID()),
				"%s stops %s, but %s allows %s", intent.where, intent.glob, r.glob, t.ID())
		case declared:
			c.add(SeverityWarning, TopicWideAllow, r.Pos, "deny it, ask for it, or name it in a separate rule",
				"%s allows %s, which its server declares destructive", r.glob, t.ID())
		}
	}
}

// restrictions reports whether a deny or ask rule applies to a tool, and returns
// the first that shows that destructive tools of its server are not wanted.
func (c *checker) restrictions(t catalogue.Tool) (restricted bool, intent *rule) {
	wildcards := strings.NewReplacer("*", " ", "?", " ", "{", " ", "}", " ")
	for i := range c.file.rules {
		o := &c.file.rules[i]
		if o.effect == policy.Allow {
			continue
		}
		restricted = restricted || o.glob.Match(t.ID())
		if intent == nil && o.when == nil && catalogue.NameDestroys(wildcards.Replace(o.glob.String())) && o.glob.MatchesServer(t.Server) {
			intent = o
		}
	}
	return restricted, intent
}

// checkWideGrants finds hosts, files and variables that grant more than anybody
// intends.
func (c *checker) checkWideGrants() {
	if n := c.file.doc.Network; n != nil {
		for _, h := range n.Allow {
			host := strings.ToLower(strings.TrimSuffix(strings.TrimSpace(h.Host.V), "."))
			name := strings.TrimPrefix(host, "*.")
			prefix, err := netip.ParsePrefix(strings.Trim(host, "[]"))
			switch {
			case strings.Trim(host, "*.") == "":
				c.add(SeverityWarning, TopicWideAllow, h.Pos, "name the hosts", "programs may reach every public host and send it what they have read")
			case err == nil && prefix.Bits() == 0:
				c.add(SeverityWarning, TopicWideAllow, h.Pos, "name the hosts", "programs may reach every address, including those of this machine")
			case name != host && !strings.Contains(name, "."):
				c.add(SeverityWarning, TopicWideAllow, h.Pos, "name the hosts", "programs may reach every host under .%s", name)
			}
		}
	}
	if f := c.file.doc.Files; f != nil {
		for _, p := range slices.Concat(f.Read, f.Write) {
			if p.V == "~" || p.V == "~/" || p.V == "~/**" || slices.ContainsFunc(glob(p.V).Alternatives(), matchesRoot) {
				c.add(SeverityWarning, TopicWideAllow, p.Pos, "name the folder", "%s includes keys, passwords and programs", p.V)
			}
		}
	}
	if e := c.file.doc.Env; e != nil {
		for _, name := range e.Allow {
			if strings.Trim(name.V, "*") == "" {
				c.add(SeverityWarning, TopicWideAllow, name.Pos, "name the variables", "programs may read the whole environment, including tokens")
			}
		}
	}
}

// matchesRoot reports whether a pattern for files begins at the root folder.
func matchesRoot(pattern policy.Glob) bool {
	rest, absolute := strings.CutPrefix(path.Clean(pattern.String()), "/")
	first, _, _ := strings.Cut(rest, "/")
	return absolute && (first == "" || strings.ContainsAny(first, "*?"))
}

// checkOtherPatterns checks patterns for tools outside of the tools block.
func (c *checker) checkOtherPatterns() {
	check := func(pos yamldoc.Position, pattern string) {
		if len(c.matching(glob(pattern))) == 0 {
			c.add(SeverityError, TopicUnknownTool, pos, c.suggestTool(pattern), "%s matches no tool", pattern)
		}
	}
	if b := c.file.doc.PII; b != nil {
		for _, g := range b.RevealTo {
			check(g.Pos, g.V)
		}
		for _, e := range b.Tools {
			check(e.KeyPos, e.Key)
		}
	}
	for _, s := range c.file.doc.Secrets {
		for _, to := range s.To {
			if name, ok := strings.CutPrefix(to.V, "server:"); ok {
				if !slices.ContainsFunc(c.servers, func(s catalogue.Server) bool { return s.Name == name }) {
					c.add(SeverityWarning, TopicUnknownTool, to.Pos, c.suggestTool(name), "secret %s goes to server %s, which does not exist", s.Name.V, text.Clip(name, 60))
				}
			} else if !strings.HasPrefix(to.V, "host:") {
				check(to.Pos, to.V)
			}
		}
	}
	for _, t := range c.file.doc.Tests {
		name := t.Tool.V
		if alternatives := glob(name).Alternatives(); len(alternatives) == 1 {
			name = alternatives[0].String() // mcp__server__tool is server.tool
		}
		if !slices.ContainsFunc(c.tools, func(tool catalogue.Tool) bool { return tool.ID() == name }) {
			c.add(SeverityError, TopicUnknownTool, t.Tool.Pos, c.suggestTool(name), "unknown tool %s", text.Clip(name, 60))
		}
	}
}

// checkRisk finds levels of the risk block that change nothing, because a level applies
// to those above it too, and networks that programs never reach.
func (c *checker) checkRisk() {
	b := c.file.doc.Risk
	if b == nil {
		return
	}
	reaches := []string{"", "policy", "servers", "none"}
	var ask, deny bool
	var limits policy.Limits
	reach := 1
	below := ""
	for i, level := range []*document.RiskLevel[policy.Limits]{b.Low, b.Medium, b.High, b.Critical} {
		if level == nil {
			continue
		}
		name := []string{"low", "medium", "high", "critical"}[i]
		next, changes := limits, level.Deny || level.Ask && !ask
		if level.Limits != nil {
			next = limits.Tighten(*level.Limits)
			changes = changes || next != limits
		}
		at := max(1, slices.Index(reaches, level.Network.V))
		changes = changes || at > reach
		switch {
		case deny:
			c.add(SeverityWarning, TopicDeadRule, level.Pos, "remove it", "the level %s has no effect: the level %s denies programs already", name, below)
		case !changes:
			c.add(SeverityWarning, TopicDeadRule, level.Pos, "remove it, or make it stricter", "the level %s has no effect: it is not stricter than what applies below it", name)
		}
		if !deny && level.Deny {
			below = name
		}
		ask, deny, limits, reach = ask || level.Ask, deny || level.Deny, next, max(reach, at)
		if n := c.file.doc.Network; i == 0 && at > 1 && n != nil && len(n.Allow) > 0 {
			c.add(SeverityWarning, TopicDeadRule, level.Network.Pos, "put it in a higher level, or remove the hosts", "programs of every level have network: %s, so they never reach %s", level.Network.V, n.Allow[0].Host.V)
		}
	}
}
