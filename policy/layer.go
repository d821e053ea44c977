package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"

	"github.com/wexec/wexec/internal/units"
)

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

// Layered is one policy of several, with where it comes from.
type Layered struct {
	Policy *Policy
	Origin Origin
}

// Layer puts policies together. Deny and ask rules add up, limits take the
// smallest, and no file widens another: where several files draw the outer line
// of what may be allowed, a call passes only inside all of them. A file draws
// that line where it has allow rules or a default; each other block (files,
// network, env, languages, reveal_to) is drawn where it stands. Flags widen
// what no file has drawn, and nothing else.
//
// The order of the arguments plays no part but for messages: the highest origin
// that denies is named. Nil policies are left out; without any policy the
// result is nil, which denies everything.
func Layer(layers ...Layered) *Policy {
	var all []*layer
	for _, origin := range origins {
		for _, l := range layers {
			if l.Policy == nil || (l.Origin != origin && (origin != Named || slices.Contains(origins, l.Origin))) {
				continue
			}
			for _, one := range l.Policy.layers {
				c := *one
				c.origin = origin
				all = append(all, &c)
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	// Calls are counted by what a rule is called. Where two files have one name,
	// the origin tells their rules apart.
	for i, l := range all {
		if !slices.ContainsFunc(all[:i], func(o *layer) bool { return o.file == l.file }) {
			continue
		}
		l.rules = slices.Clone(l.rules)
		for j := range l.rules {
			if !l.rules[j].limitless {
				l.rules[j].limits.Rule = fmt.Sprintf("%s %d %s", l.origin, i, l.rules[j].limits.Rule)
			}
		}
	}
	return newPolicy(all)
}

func newPolicy(layers []*layer) *Policy {
	h := sha256.New()
	for _, l := range layers {
		fmt.Fprintf(h, "%s %d %s\n", l.origin, len(l.source), l.base)
		io.WriteString(h, l.source)
		if l.tightens {
			io.WriteString(h, "\ntightens\n")
		}
	}
	return &Policy{layers: layers, digest: hex.EncodeToString(h.Sum(nil))}
}

// layer is one policy, compiled. It does not change.
type layer struct {
	file   string
	origin Origin
	source string // what the digest goes over
	base   string // folder that relative paths begin at

	name, description string

	tightens     bool // what it says only forbids: see Tightening
	byDefault    Effect
	defaultAt    string // file:line where the file says so
	rules        []rule // deny first, then ask, then allow, each in file order
	index        index
	conditions   *conditions // nil where the policy has none
	limits       Limits
	languages    []string
	hasLanguages bool
	files        *fileRules
	network      *netRules
	env          []envName
	hasEnv       bool
	secrets      []Secret
	pii          *piiRules
	approvals    Approvals
	audit        Audit
	tests        []Test

	secretsAt [][]position // where each target of each secret stands
	testsAt   []position
}

// draws reports whether a layer says which calls may be allowed at all.
func (l *layer) draws() bool {
	return l.origin != FromCLI && (l.defaultAt != "" || (len(l.rules) > 0 && l.rules[len(l.rules)-1].effect == Allow))
}

// rule is one rule for tools, compiled.
type rule struct {
	effect    Effect
	tool      Glob
	where     string // file:line
	pos       position
	when      *condition // nil: always
	message   string
	says      *condition // messageExpression
	limits    RuleLimit
	cache     units.Duration
	timeout   units.Duration
	rests     bool // an allow whose condition asks what the server says of itself
	limitless bool // limits has nothing set
}

// index finds the rules that fit a name without looking at the others: by the
// literal start of their patterns.
type index struct {
	byPrefix map[string][]int32
	lengths  []int // of the starts, ascending
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

// find appends the rules whose patterns fit a name, in their order.
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
