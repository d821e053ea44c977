package policy

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/wexec/wexec/policy/internal/expr"
)

// Policy is an immutable set of rules, safe for concurrent use. The nil policy
// denies everything.
type Policy struct {
	layers []*layer
	digest string
}

// Digest returns the SHA-256 of the effective policy, in hex. The nil policy has
// the empty digest.
func (p *Policy) Digest() string {
	if p == nil {
		return ""
	}
	return p.digest
}

// all returns the layers; the nil policy has none.
func (p *Policy) all() []*layer {
	if p == nil {
		return nil
	}
	return p.layers
}

// Origin says where a policy comes from, and so what it may widen.
type Origin string

// The origins, from the highest to the lowest.
const (
	System  Origin = "system"
	User    Origin = "user"
	Project Origin = "project"
	Named   Origin = "named" // by --policy
	FromCLI Origin = "flags" // made by FromFlags
)

var origins = []Origin{System, User, Project, Named, FromCLI}

// Layered is one of several policies, with its origin.
type Layered struct {
	Policy *Policy
	Origin Origin
}

// Layer combines policies. Deny and ask rules add up, the smallest of each limit
// applies, and no file widens another: if several files say what is allowed, a
// call passes only if all of them allow it. A file says so for tools if it has
// allow rules or a default, and for each other block (servers, files, network, env,
// languages, reveal_to) if it has the block. Flags allow only what no file
// speaks about.
//
// The order of the arguments affects only messages: they name the highest
// origin that denies. Nil policies are ignored. Without any policy the result is
// nil, which denies everything.
func Layer(policies ...Layered) *Policy {
	var layers []*layer
	for _, origin := range origins {
		for _, p := range policies {
			if p.Origin != origin && (origin != Named || slices.Contains(origins, p.Origin)) {
				continue
			}
			for _, l := range p.Policy.all() {
				c := *l
				c.origin = origin
				layers = append(layers, &c)
			}
		}
	}
	if len(layers) == 0 {
		return nil
	}
	// Calls are counted by the name of a rule. If two files have the same name,
	// the origin distinguishes their rules.
	for i, l := range layers {
		if !slices.ContainsFunc(layers[:i], func(o *layer) bool { return o.file == l.file }) {
			continue
		}
		l.rules = slices.Clone(l.rules)
		for j := range l.rules {
			if l.rules[j].limited {
				l.rules[j].limits.Rule = fmt.Sprintf("%s %d %s", l.origin, i, l.rules[j].limits.Rule)
			}
		}
	}
	return newPolicy(layers)
}

func newPolicy(layers []*layer) *Policy {
	h := sha256.New()
	for _, l := range layers {
		fmt.Fprintf(h, "%s %d %s\n", l.origin, len(l.source), l.base)
		io.WriteString(h, l.source)
		if l.tightening {
			io.WriteString(h, "\ntightens\n")
		}
	}
	return &Policy{layers: layers, digest: hex.EncodeToString(h.Sum(nil))}
}

// Tightening returns the part of a policy that can only forbid: its deny and ask
// rules, what it denies of servers, network and files, its limits, its risk block, its languages and keep. That
// part of a project's policy applies before a person trusts the project. Its ask
// rules apply to calls that another policy allows, and allow none themselves.
func (p *Policy) Tightening() *Policy {
	if p == nil {
		return nil
	}
	var layers []*layer
	for _, l := range p.layers {
		t := &layer{
			file: l.file, origin: l.origin, source: l.source, base: l.base, tightening: true,
			limits: l.limits, languages: l.languages, servers: l.servers, risk: l.risk, reviews: l.reviews, digests: l.digests,
		}
		for _, r := range l.rules {
			if r.effect != Allow {
				t.rules = append(t.rules, r)
			}
		}
		t.index = newIndex(t.rules)
		if l.network != nil {
			t.network = &netRules{deny: l.network.deny}
		}
		if l.files != nil {
			t.files = &fileRules{deny: l.files.deny}
		}
		layers = append(layers, t)
	}
	return newPolicy(layers)
}

// TightenedBy returns the policy with what another one can only forbid: see
// [Policy.Tightening].
func (p *Policy) TightenedBy(other *Policy) *Policy {
	if p == nil || other == nil {
		return p
	}
	return newPolicy(slices.Concat(p.layers, other.Tightening().layers))
}

// Source is the text of one file of a policy.
type Source struct {
	Name string
	Text string
	// Tightening means that only what the file forbids applies: see
	// [Policy.Tightening].
	Tightening bool
}

// Sources returns the files of a policy, the highest origin first. Policies made
// of flags have none.
func (p *Policy) Sources() []Source {
	var out []Source
	for _, l := range p.all() {
		if l.origin != FromCLI {
			out = append(out, Source{l.file, l.source, l.tightening})
		}
	}
	return out
}

// layer is one compiled policy. It is immutable.
type layer struct {
	file   string
	name   string // that the file gives the policy
	origin Origin
	source string // covered by the digest
	base   string // folder at which relative paths begin

	tightening bool // see Policy.Tightening
	byDefault  Effect
	defaultAt  string // file:line of the default, if there is one
	rules      []rule // deny first, then ask, then allow, each in file order
	index      index
	limits     Limits
	risk       *riskRules   // nil: the file does not say
	reviews    bool         // a condition depends on the review of the program
	languages  []string     // nil: all
	servers    []serverRule // nil: the file does not say
	files      *fileRules
	network    *netRules
	env        []string // nil: the file does not say
	secrets    []Secret
	pii        *piiRules
	approvals  Approvals
	audit      Audit
	artifact   bool // a large value is kept as an artifact
	digests    bool // the store keeps digests of runs only
	tests      []Test
}

// grantsTools reports whether a layer says which tools are allowed: nothing that
// it does not allow passes.
func (l *layer) grantsTools() bool {
	return l.origin != FromCLI && (l.defaultAt != "" || len(l.rules) > 0 && l.rules[len(l.rules)-1].effect == Allow)
}

func (p *Policy) grantsTools() bool { return slices.ContainsFunc(p.layers, (*layer).grantsTools) }

// defaultRule returns what a decision by the layer's default names as its rule.
func (l *layer) defaultRule() string { return cmp.Or(l.defaultAt, l.file) }

// rule is one compiled rule for tools.
type rule struct {
	effect      Effect
	tool        Glob
	where       string     // file:line
	when        *expr.Expr // nil: always
	message     string
	messageExpr *expr.Expr // nil: message
	limits      RuleLimit
	limited     bool // limits has something set
	cache       time.Duration
	timeout     time.Duration
	annotations bool     // an allow whose condition depends on what the server says about its tool
	arguments   []string // that condition and message depend on
	approved    bool     // an allow that precedes the ask rules of its layer
	written     string   // the condition
	asking      *Asking  // of an ask rule
	digest      string   // of an ask rule as it is written
	idempotent  bool     // see Decision.Idempotent
	askUnknown  bool     // see Decision.AskUnknown
}

// digestOf returns the digest of what is written in a file, wherever it is there.
func digestOf(written ...any) string {
	h := sha256.New()
	_ = json.NewEncoder(h).Encode(written) // texts and numbers
	return hex.EncodeToString(h.Sum(nil))
}

// Asking is what makes a person be asked about a tool: an ask rule, or the default
// of a file.
type Asking struct {
	File    string
	When    string // condition of the rule as it is written; empty if it has no condition
	Default bool
}

// Asks reports whether a file of the policy still asks about a tool for this reason.
func (p *Policy) Asks(tool string, a Asking) bool {
	return slices.ContainsFunc(p.all(), func(l *layer) bool {
		if a.Default {
			return l.file == a.File && l.byDefault == Ask
		}
		return slices.ContainsFunc(l.rules, func(r rule) bool { return r.asking != nil && *r.asking == a && r.tool.Match(tool) })
	})
}

// Rule describes one rule for tools.
type Rule struct {
	Where  string // file:line
	Effect Effect
	Tool   Glob
	When   string // condition as it is written; empty if it has no condition
	// Approved says that the rule, which allows, precedes the ask rules of its file.
	Approved bool
}

// Rules returns the rules of every layer, the highest origin first: deny, ask,
// allow, each in file order.
func (p *Policy) Rules() []Rule {
	var out []Rule
	for _, l := range p.all() {
		for _, r := range l.rules {
			out = append(out, Rule{r.where, r.effect, r.tool, r.written, r.approved})
		}
	}
	return out
}

// index finds the rules whose patterns match a name by the literal prefixes of
// the patterns.
type index struct {
	byPrefix map[string][]int32
	lengths  []int // of the prefixes, ascending
}

func newIndex(rules []rule) index {
	ix := index{byPrefix: map[string][]int32{}}
	for i := range rules {
		for _, a := range rules[i].tool.alts {
			list := ix.byPrefix[a.prefix]
			if len(list) == 0 || list[len(list)-1] != int32(i) {
				ix.byPrefix[a.prefix] = append(list, int32(i))
			}
			if !slices.Contains(ix.lengths, len(a.prefix)) {
				ix.lengths = append(ix.lengths, len(a.prefix))
			}
		}
	}
	slices.Sort(ix.lengths)
	return ix
}

// find appends the rules whose patterns match a name, in their order.
func (ix *index) find(rules []rule, name string, found []int32) []int32 {
	from := len(found)
	for _, n := range ix.lengths {
		if n > len(name) {
			break
		}
		for _, i := range ix.byPrefix[name[:n]] {
			if rules[i].tool.Match(name) {
				found = append(found, i)
			}
		}
	}
	if len(found)-from > 1 {
		slices.Sort(found[from:])
		found = append(found[:from], slices.Compact(found[from:])...)
	}
	return found
}
