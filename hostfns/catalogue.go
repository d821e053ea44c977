package hostfns

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wexec/wexec/policy/lint"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/policy"
	"github.com/wexec/wexec/privacy"
)

// Catalogue returns the tools of every server, starting those that are not
// running. It leaves out servers that fail, and returns their errors.
func (t *Table) Catalogue(ctx context.Context) (*catalogue.Catalogue, []error) {
	lists := make([]*listing, len(t.names))
	errs := make([]error, len(t.names))
	var wg sync.WaitGroup
	for i, name := range t.names {
		wg.Go(func() { lists[i], errs[i] = t.list(ctx, name) })
	}
	wg.Wait()
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })

	t.mu.Lock()
	defer t.mu.Unlock()
	if t.catalogue != nil && len(errs) == 0 {
		return t.catalogue, nil
	}
	c := t.gather(lists)
	if len(errs) == 0 {
		t.catalogue = c
		t.reviewing.Go(func() { t.review(c) })
	}
	return c, errs
}

// Seen returns since when the tools of a catalogue are defined as they are, by
// server.tool. Tools that are not new may be missing.
func (t *Table) Seen(c *catalogue.Catalogue) map[string]time.Time {
	if t.options.Seen == nil || c == nil {
		return nil
	}
	return t.options.Seen(c)
}

// Known returns the catalogue of the servers that have listed their tools, and
// whether these are all. It starts none.
func (t *Table) Known() (*catalogue.Catalogue, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.catalogue != nil {
		return t.catalogue, true
	}
	var lists []*listing
	for _, name := range t.names {
		if l := t.listings[name]; l != nil && l.ready() && l.err == nil {
			lists = append(lists, l)
		}
	}
	return t.gather(lists), len(lists) == len(t.names)
}

// gather returns the catalogue of listings, which may be nil. It makes a new one
// only if the listings differ from those of the last call. The lock is held.
func (t *Table) gather(lists []*listing) *catalogue.Catalogue {
	lists = slices.DeleteFunc(lists, func(l *listing) bool { return l == nil })
	if t.gathered != nil && slices.Equal(lists, t.gatheredFrom) {
		return t.gathered
	}
	parts := make([]*catalogue.Catalogue, len(lists))
	for i, l := range lists {
		parts[i] = l.cat
	}
	c := catalogue.Join(parts...)
	if t.options.Learned != nil {
		c = c.WithLearned(t.options.Learned.Of)
	}
	t.gathered, t.gatheredFrom = c, lists
	return c
}

// Warning returns why part of the definition of a tool is not used, or "". It
// compiles the schemas of the tool.
func (t *Table) Warning(tool catalogue.Tool) string {
	t.mu.Lock()
	l := t.listings[tool.Server]
	t.mu.Unlock()
	if tool.Warning != "" || l == nil || !l.ready() {
		return tool.Warning
	}
	one := l.find(tool.Name)
	if one == nil {
		return ""
	}
	one.compile()
	return strings.Join(one.warnings, "; ")
}

// Offered returns the tools of a catalogue of the table without those that the
// policy always denies and those that do not match their pins.
func (t *Table) Offered(whole *catalogue.Catalogue) *catalogue.Catalogue {
	return t.derive(whole).offered()
}

// review checks the policy against a catalogue, once for each, and logs what it
// finds, such as a rule for a tool that does not exist.
func (t *Table) review(c *catalogue.Catalogue) {
	if t.policy == nil || t.options.Logger == nil {
		return
	}
	defer func() {
		if r := recover(); r != nil {
			t.log().Error("check the policy against the tools", "panic", fmt.Sprint(r))
		}
	}()
	digest := c.Digest()
	t.mu.Lock()
	again := t.reviewed == digest
	t.reviewed = digest
	t.mu.Unlock()
	if again {
		return
	}
	levels := map[lint.Severity]slog.Level{lint.SeverityError: slog.LevelWarn, lint.SeverityWarning: slog.LevelInfo}
	for _, f := range lint.Check(t.policy, c) {
		level, ok := levels[f.Severity]
		if !ok {
			level = slog.LevelDebug
		}
		t.log().Log(context.Background(), level, "finding in the policy",
			"at", fmt.Sprintf("%s:%d:%d", f.File, f.Line, f.Column), "finding", f.Message, "hint", f.Hint)
	}
}

// Digest returns the digest of the catalogue if every server has listed its
// tools, else "". It differs when tools are refused because of pins.
func (t *Table) Digest() string {
	t.mu.Lock()
	whole := t.catalogue
	t.mu.Unlock()
	if whole == nil {
		if len(t.names) > 0 {
			return ""
		}
		whole = t.spellings // empty
	}
	return t.derive(whole).digest()
}

// derive returns what follows from a catalogue and the pins.
func (t *Table) derive(whole *catalogue.Catalogue) *derived {
	pins := t.pins()
	t.mu.Lock()
	defer t.mu.Unlock()
	if d := t.derived; d != nil && d.catalogue == whole && d.pins == pins {
		return d
	}
	changed := func(tool catalogue.Tool) bool { _, changed := pins.Changed(tool); return changed }
	t.derived = &derived{
		catalogue: whole, pins: pins,
		offered: sync.OnceValue(func() *catalogue.Catalogue {
			return whole.Keep(func(tool catalogue.Tool) bool {
				return !changed(tool) && t.policy.BestEffect(tool.ID()) != policy.Deny
			})
		}),
		digest: sync.OnceValue(func() string {
			digest, refused := whole.Digest(), ""
			for _, tool := range whole.Tools() {
				if changed(tool) {
					refused += "\n" + tool.ID()
				}
			}
			if refused == "" {
				return digest
			}
			return audit.Digest([]byte(digest + refused))
		}),
	}
	return t.derived
}

// Digests returns the digests of the listings of servers and that of the pins. A
// server that has not listed its tools is missing; one whose tools have changed
// since has an empty digest.
func (t *Table) Digests() (servers map[string]string, pins string) {
	servers = map[string]string{}
	t.mu.Lock()
	for _, name := range t.names {
		switch l := t.listings[name]; {
		case l != nil && l.ready() && l.err == nil:
			servers[name] = l.digest()
		case t.stale[name]:
			servers[name] = ""
		}
	}
	t.mu.Unlock()
	if list := t.pins().List(); len(list) > 0 {
		var b strings.Builder
		for _, p := range list {
			b.WriteString(p.Tool + "\n" + p.SHA256 + "\n")
		}
		pins = audit.Digest([]byte(b.String()))
	}
	return servers, pins
}

// BestEffect returns the most that the policy allows for a tool, whatever the
// arguments: deny if it denies every call, or if a pin does not match.
func (t *Table) BestEffect(tool catalogue.Tool) policy.Effect {
	if _, changed := t.Changed(tool); changed {
		return policy.Deny
	}
	return t.policy.BestEffect(tool.ID())
}

// Changed returns the pin that a tool no longer matches.
func (t *Table) Changed(tool catalogue.Tool) (Pin, bool) { return t.pins().Changed(tool) }

// resolve finds a tool by any spelling of its name. It starts only the servers
// that the name may mean.
func (t *Table) resolve(ctx context.Context, name string) (*resolvedTool, error) {
	const maxResolved = 10_000
	t.mu.Lock()
	tool := t.resolved[name]
	t.mu.Unlock()
	if tool != nil {
		return tool, nil
	}
	tool, err := t.lookup(ctx, name)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.resolved) < maxResolved && t.listings[tool.Server] == tool.listing {
		t.resolved[strings.Clone(name)] = tool
	}
	return tool, nil
}

// lookup finds a tool by its ID, else by another spelling. In both, the longest
// name of a server that fits goes first, and a server has all names that begin with
// its own.
func (t *Table) lookup(ctx context.Context, name string) (*resolvedTool, error) {
	var failed error
	find := func(server string, find func(*listing) *resolvedTool) *resolvedTool {
		l, err := t.list(ctx, server)
		if err != nil {
			failed = err
			return nil
		}
		return find(l)
	}
	splits := splits(name)
	for _, split := range splits {
		if t.servers[split.server] == nil {
			continue
		}
		if tool := find(split.server, func(l *listing) *resolvedTool { return l.find(split.tool) }); tool != nil {
			return tool, nil
		}
	}
	for _, split := range splits {
		server, ok := t.spellings.Server(split.server)
		if !ok {
			continue
		}
		if tool := find(server, func(l *listing) *resolvedTool {
			meant, ok := l.cat.Lookup(catalogue.Identifier(server) + "." + split.tool)
			if !ok {
				return l.find(split.tool)
			}
			return l.find(meant.Name)
		}); tool != nil {
			return tool, nil
		}
		if server == split.server {
			break
		}
	}
	if failed != nil {
		return nil, failed
	}
	for _, split := range splits {
		if server, ok := t.spellings.Server(split.server); ok {
			if f := t.refused(server, split.tool); f != nil {
				return nil, f
			}
		}
	}
	return nil, t.unknown(name)
}

// stragglerTime is how long a search waits for servers that are starting.
const stragglerTime = 10 * time.Second

// FeatureOf returns the feature of servers that a tool made by the host uses, by its
// name, or "".
func FeatureOf(tool string) policy.Feature {
	switch tool {
	case "list_resources", "list_resource_templates", "read_resource":
		return policy.Resources
	case "list_prompts", "get_prompt":
		return policy.Prompts
	}
	return ""
}

// refused returns the error of a tool that the host does not make because the policy
// does not allow its feature, or nil.
func (t *Table) refused(server, tool string) *Failure {
	feature := FeatureOf(tool)
	if feature == "" {
		return nil
	}
	d := t.effective().DecideFeature(server, feature)
	if d.Effect != policy.Deny {
		return nil
	}
	return &Failure{Code: fault.DeniedTool, Tool: server + "." + tool, Rule: d.Rule, Message: feature.Refused(server) + ": " + d.Message, Hint: feature.Hint(server)}
}

// FeatureTools returns the tools that the host makes for a feature, of those servers
// whose feature the policy allows. It starts these, and leaves out servers that fail
// or are slow.
func (t *Table) FeatureTools(ctx context.Context, feature policy.Feature, servers ...string) []catalogue.Tool {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(t.options.Straggler, stragglerTime))
	defer cancel()
	found := make([][]catalogue.Tool, len(servers))
	var wg sync.WaitGroup
	for i, server := range servers {
		if t.effective().DecideFeature(server, feature).Effect == policy.Deny {
			continue
		}
		wg.Go(func() {
			l, err := t.list(ctx, server)
			if err != nil {
				return
			}
			for _, one := range l.tools {
				if one.Method != "" && FeatureOf(one.Name) == feature && t.BestEffect(one.Tool) != policy.Deny {
					found[i] = append(found[i], one.Tool)
				}
			}
		})
	}
	wg.Wait()
	return slices.Concat(found...)
}

type split struct{ server, tool string }

// splits returns the ways to split a name into server and tool, the longest server
// first: names of servers may have dots.
func splits(name string) []split {
	const most = 16
	var out []split
	for _, name := range slices.Compact([]string{name, strings.TrimPrefix(name, "tools.")}) {
		for i := range len(name) {
			if name[i] == '.' && i > 0 && i+1 < len(name) {
				out = append(out, split{name[:i], name[i+1:]})
			}
		}
	}
	if rest, ok := strings.CutPrefix(name, "mcp__"); ok {
		for i := 1; i+2 < len(rest); i++ {
			if rest[i:i+2] == "__" {
				out = append(out, split{rest[:i], rest[i+2:]})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b split) int { return cmp.Compare(len(a.server), len(b.server)) })
	out = out[:min(most, len(out))]
	slices.Reverse(out)
	return out
}

// unknown returns the error for a name that no tool has, with a suggestion from
// what is listed already.
func (t *Table) unknown(name string) *Failure {
	f := &Failure{Code: fault.ToolUnknown, Tool: clean(name, 200), Message: "there is no tool " + clean(name, 200)}
	known, _ := t.Known()
	if near := known.Nearest(name, 3); len(near) > 0 {
		f.Hint = "did you mean " + strings.Join(near, ", ") + "?"
		return f
	}
	server, _, _ := strings.Cut(name, ".")
	switch near := catalogue.NearestOf(server, t.identifiers); {
	case near != "" && near != server:
		f.Hint = "did you mean the server " + near + "?"
	case len(t.names) == 0:
		f.Hint = "no servers are configured: a file with mcpServers names some"
	default:
		f.Hint = "search_tools finds tools by words; the servers are " + strings.Join(firstOf(t.identifiers, 20), ", ")
	}
	return f
}

// Search finds tools in a view of the catalogue of the table by words and, with
// [Options.Ranker], by meaning. It waits for a core after the ranker has answered.
// Without q.Keep, all tools are kept, and those found have the decision of the policy.
// The error is that of core, or of [catalogue.Catalogue.Search].
func (t *Table) Search(ctx context.Context, view *catalogue.Catalogue, q catalogue.Query, core Core) (catalogue.Found, error) {
	var rate func() map[string]float64
	if t.options.Ranker != nil && len(catalogue.Words(catalogue.Asked(q.Text))) > 0 {
		rate, _ = t.options.Ranker.Near(ctx, view.Tools(), catalogue.Asked(q.Text)) // an error leaves the words
	}
	return t.searchRated(ctx, view, q, core, rate)
}

// searchRated searches by words, and by the numbers of a ranker if rate is not nil.
func (t *Table) searchRated(ctx context.Context, view *catalogue.Catalogue, q catalogue.Query, core Core, rate func() map[string]float64) (catalogue.Found, error) {
	leave, err := core.enter(ctx)
	if err != nil {
		return catalogue.Found{}, err
	}
	defer leave()
	if rate != nil {
		if q.Spend != nil {
			if err := q.Spend(toolCost * int64(len(view.Tools()))); err != nil {
				return catalogue.Found{}, err
			}
		}
		probe := q
		probe.Limit, probe.Detail = 1, "name"
		found, err := view.Search(ctx, probe)
		if err != nil {
			return found, err
		}
		best := defaultScore
		if len(found.Tools) > 0 {
			best = found.Tools[0].Score
		}
		q.Boost = boosts(rate(), best)
	}
	found, err := view.Search(ctx, q)
	if q.Keep == nil {
		for i, e := range found.Tools {
			found.Tools[i].Decision = t.policy.BestEffect(e.Name).String()
		}
	}
	return found, err
}

// Core waits for a core for work of the host, and returns what gives it back. A nil
// Core does not wait.
type Core func(ctx context.Context) (leave func(), err error)

func (c Core) enter(ctx context.Context) (leave func(), err error) {
	if c == nil {
		return func() {}, nil
	}
	return c(ctx)
}

// Cover returns what replaces personal data in texts that a client reads. The values
// are those that the texts were kept with; kept tells that they were kept by a run.
func (t *Table) Cover(values []privacy.Issued, kept bool, core Core) (*Cover, error) {
	d, err := t.detector()
	if err != nil {
		return nil, err
	}
	return &Cover{vault: privacy.Restored(d, values), off: t.policy.PII().Mode == privacy.Off, kept: kept, core: core.enter}, nil
}

// toolCost is the charge for reading one entry of a list of tools, in bytes.
const toolCost = 64

// The weight of meaning against words.
const (
	defaultScore = 4.0 // the best score by words, if words found nothing
	weight       = 0.9 // of the nearest tool, against the best score by words
	maxNear      = 40  // tools that count as near
	minDeviation = 2.0 // standard deviations from the mean, of a tool that counts as near
)

// boosts turns nearness into scores. It uses the distance of a tool from the
// mean, since the numbers themselves differ between models.
func boosts(near map[string]float64, best float64) map[string]float64 {
	type rated struct {
		id        string
		deviation float64
	}
	if len(near) == 0 {
		return nil
	}
	var sum, squares float64
	for _, v := range near {
		sum += v
		squares += v * v
	}
	n := float64(len(near))
	mean := sum / n
	sigma := math.Sqrt(max(0, squares/n-mean*mean))
	if sigma < 1e-9 {
		return nil
	}
	least := min(minDeviation, 0.6*math.Sqrt(max(0, n-1))) // few tools cannot deviate far
	var all []rated
	for id, v := range near {
		if d := (v - mean) / sigma; d >= least {
			all = append(all, rated{id, d})
		}
	}
	slices.SortFunc(all, func(a, b rated) int {
		return cmp.Or(cmp.Compare(b.deviation, a.deviation), cmp.Compare(a.id, b.id))
	})
	out := map[string]float64{}
	for _, one := range all[:min(maxNear, len(all))] {
		out[one.id] = weight * best * one.deviation / all[0].deviation
	}
	return out
}
