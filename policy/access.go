package policy

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// DecideFile decides whether a file may be opened. A deny pattern also applies
// to everything below it, and ignores case.
func (p *Policy) DecideFile(req FileRequest) Decision {
	if p == nil && req.Import {
		return Decision{Effect: Allow}
	}
	if p == nil {
		return Decision{Message: "there is no policy, so no file may be opened"}
	}
	parts, ok := fileParts(req.Path)
	if !ok {
		return Decision{Rule: p.file(), Message: "the path must be absolute and clean"}
	}
	granted := false
	for _, l := range p.layers {
		if l.files == nil {
			continue
		}
		granted = granted || l.files.grants
		for i := range l.files.deny {
			if d := &l.files.deny[i]; d.forbids(parts) {
				return Decision{Rule: d.where, Message: fmt.Sprintf("the policy denies files under %s", d.text)}
			}
		}
	}
	if req.Import {
		return Decision{Effect: Allow}
	}
	verb := "read"
	if req.Write {
		verb = "written"
	}
	rule := ""
	for _, l := range p.layers {
		if l.files == nil || !l.decides(l.files.grants, granted) {
			continue
		}
		allowed := l.files.allows(parts, req.Write)
		if allowed == nil {
			return Decision{Rule: l.file, Message: fmt.Sprintf("no rule allows this file to be %s", verb)}
		}
		rule = cmp.Or(rule, allowed.where)
	}
	if rule == "" {
		return Decision{Rule: p.file(), Message: fmt.Sprintf("no rule allows any file to be %s", verb)}
	}
	return Decision{Effect: Allow, Rule: rule}
}

// fileParts splits a path that is absolute and clean.
func fileParts(file string) (parts []string, ok bool) {
	name := filepath.ToSlash(file)
	if !filepath.IsAbs(file) || path.Clean(name) != name || strings.ContainsRune(name, 0) {
		return nil, false
	}
	return splitPath(name), true
}

// decides reports whether a block of a layer says what is allowed: a file does if
// its block has a list for that, and flags do if no file does.
func (l *layer) decides(grants, granted bool) bool {
	if l.origin == FromCLI {
		return !granted
	}
	return grants
}

// DecideFeature decides whether a server may ask for something that the client has,
// or whether something that the server has may be used. It may if a file allows it, and no file that has a servers block does not.
func (p *Policy) DecideFeature(server string, feature Feature) Decision {
	var final Decision
	decided, granted := false, false
	for _, l := range p.all() {
		effect, rule, digest := Allow, "", ""
		for _, r := range l.servers {
			if e, ok := r.features[feature]; ok && r.server.Match(server) && (rule == "" || e < effect) {
				effect, rule, digest = e, r.where, ""
				if e == Ask {
					digest = digestOf("feature", feature, r.server.String())
				}
			}
		}
		if rule == "" {
			if l.servers == nil || l.tightening {
				continue
			}
			effect, rule, digest = Deny, l.file, ""
		}
		if !decided || effect < final.Effect {
			final = Decision{Effect: effect, Rule: rule, Digest: digest}
		}
		decided, granted = true, granted || !l.tightening
	}
	if !granted {
		final.Effect = Deny
	}
	if final.Effect == Deny {
		final.Message = fmt.Sprintf("no rule allows server %s to use %s", server, feature)
		if feature.OfServer() {
			final.Message = fmt.Sprintf("no rule allows the %s of server %s", feature, server)
		}
	}
	return final
}

// DecideNetwork decides whether a request may be made. Allow with a zero IP means
// to resolve the name and decide again for each address. An address that is not
// public is allowed only by a rule that names it by address or as localhost, and
// never if private is denied.
func (p *Policy) DecideNetwork(req NetRequest) Decision {
	if p == nil {
		return Decision{Message: "there is no policy, so no host may be reached"}
	}
	host, addr, err := cleanHost(req.Host)
	if err != nil {
		return Decision{Rule: p.file(), Message: err.Error()}
	}
	if req.IP.IsValid() {
		addr = req.IP.Unmap().WithZone("")
	}
	granted := false
	for _, l := range p.layers {
		if l.network == nil {
			continue
		}
		granted = granted || l.network.grants
		for _, r := range l.network.deny {
			if r.covers(host, addr) && r.appliesTo(req, false) {
				return Decision{Rule: r.Rule, Message: fmt.Sprintf("the policy denies %s", r.Host)}
			}
		}
	}
	rule := ""
	for _, l := range p.layers {
		if l.network == nil || !l.decides(l.network.grants, granted) {
			continue
		}
		r, why := l.network.allows(host, addr, req)
		if r == nil {
			return Decision{Rule: l.file, Message: why}
		}
		rule = cmp.Or(rule, r.Rule)
	}
	if rule == "" {
		return Decision{Rule: p.file(), Message: fmt.Sprintf("no rule allows the host %s", clip(host))}
	}
	return Decision{Effect: Allow, Rule: rule}
}

// DecideLanguage decides whether programs may be written in a language.
func (p *Policy) DecideLanguage(language string) Decision {
	for _, l := range p.all() {
		if l.languages == nil || slices.Contains(l.languages, language) {
			continue
		}
		why := "the policy files together allow no language"
		if all := p.Languages(); len(all) > 0 {
			why = "the policy allows only " + strings.Join(all, ", ")
		}
		return Decision{Rule: l.file, Message: why}
	}
	return Decision{Effect: Allow}
}

// AllowsEnv reports whether programs may read an environment variable.
func (p *Policy) AllowsEnv(name string) bool {
	allowed := false
	for _, l := range p.all() {
		if l.env == nil {
			continue
		}
		if allowed = slices.ContainsFunc(l.env, func(pattern string) bool { return matchWildcards(pattern, name) }); !allowed {
			return false
		}
	}
	return allowed
}
