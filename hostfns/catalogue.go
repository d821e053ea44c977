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

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/policy"
	"github.com/wexec/wexec/policy/lint"
)

// derived caches what is computed from a catalogue and pins.
type derived struct {
	mu       sync.Mutex
	view     *catalogue.Catalogue // viewOf without the tools that the policy denies
	viewOf   *catalogue.Catalogue
	viewPins *Pins

	digest     string
	digestOf   *catalogue.Catalogue
	digestPins *Pins

	reviewed string // the digest of the catalogue that the policy was checked against
}

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
	var tools []catalogue.Tool
	for _, l := range lists {
		if l == nil {
			continue
		}
		for _, one := range l.tools {
			tool := one.Tool
			if one.compile(); tool.Warning == "" {
				tool.Warning = strings.Join(one.warnings, "; ")
			}
			tools = append(tools, tool)
		}
	}
	c := catalogue.New(tools).Observing(t.observing())
	if len(errs) == 0 {
		t.catalogue = c
		t.reviewing.Go(func() { t.review(c) })
	}
	return c, errs
}

// Known returns the catalogue of the servers that have listed their tools, and
// whether these are all. It starts none.
func (t *Table) Known() (*catalogue.Catalogue, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.catalogue != nil {
		return t.catalogue, true
	}
	var tools []catalogue.Tool
	complete := true
	for _, name := range t.names {
		l := t.listings[name]
		if l == nil || !l.ready() || l.err != nil {
			complete = false
			continue
		}
		for _, one := range l.tools {
			tools = append(tools, one.Tool)
		}
	}
	return catalogue.New(tools).Observing(t.observing()), complete
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
	t.derived.mu.Lock()
	again := t.derived.reviewed == digest
	t.derived.reviewed = digest
	t.derived.mu.Unlock()
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
	d := &t.derived
	d.mu.Lock()
	defer d.mu.Unlock()
	if pins := t.pins(); d.digestOf != whole || d.digestPins != pins {
		d.digest = whole.Digest()
		var refused strings.Builder
		for _, tool := range whole.Tools() {
			if len(pins.Of(tool.ID())) > 0 {
				if _, changed := pins.Changed(tool); changed {
					refused.WriteString("\n" + tool.ID())
				}
			}
		}
		if refused.Len() > 0 {
			d.digest = audit.Digest([]byte(d.digest + refused.String()))
		}
		d.digestOf, d.digestPins = whole, pins
	}
	return d.digest
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

// Outlook returns the most that the policy allows for a tool, whatever the
// arguments: deny if it denies every call, or if a pin does not match.
func (t *Table) Outlook(tool catalogue.Tool) policy.Effect {
	if _, changed := t.Changed(tool); changed {
		return policy.Deny
	}
	return t.policy.BestEffect(tool.ID())
}

// Changed returns the pin that a tool no longer matches.
func (t *Table) Changed(tool catalogue.Tool) (Pin, bool) { return t.pins().Changed(tool) }

// offered returns a catalogue without the tools that are always denied.
func (t *Table) offered(whole *catalogue.Catalogue) *catalogue.Catalogue {
	d := &t.derived
	d.mu.Lock()
	defer d.mu.Unlock()
	if pins := t.pins(); d.viewOf != whole || d.viewPins != pins {
		d.view = whole.Keep(func(tool catalogue.Tool) bool {
			_, changed := pins.Changed(tool)
			return !changed && t.policy.BestEffect(tool.ID()) != policy.Deny
		})
		d.viewOf, d.viewPins = whole, pins
	}
	return d.view
}

// Ranker rates tools by their meaning, such as with the vectors of a language
// model. The search works without one.
type Ranker interface {
	// Near returns a number for each tool, by ID, that is larger the nearer the
	// tool is to the question. It bounds its own time. After an error the search
	// compares words only.
	Near(ctx context.Context, tools []catalogue.Tool, question string) (map[string]float64, error)
}

// Search finds tools in a view of the catalogue of the table by words and, with
// [Options.Ranker], by meaning.
func (t *Table) Search(ctx context.Context, view *catalogue.Catalogue, q catalogue.Query) catalogue.Found {
	if t.options.Ranker == nil || len(catalogue.Words(catalogue.Asked(q.Text))) == 0 {
		return view.Search(q)
	}
	near, err := t.options.Ranker.Near(ctx, view.Tools(), catalogue.Asked(q.Text))
	if err != nil || len(near) == 0 {
		return view.Search(q)
	}
	probe := q
	probe.Limit, probe.Detail = 1, "name"
	best := defaultScore
	if found := view.Search(probe); len(found.Tools) > 0 {
		best = found.Tools[0].Score
	}
	q.Boost = boosts(near, best)
	return view.Search(q)
}

// The weight of meaning against words.
const (
	defaultScore = 4.0 // the best score by words, if words found nothing
	weight       = 0.9 // of the nearest tool, against the best score by words
	maxNear      = 40  // tools that count as near
	minDeviation = 2.0 // standard deviations from the mean, of a tool that counts as near
)

// boosts turns nearness into scores. It uses how far a tool stands out from the
// others, since the numbers themselves differ between models.
func boosts(near map[string]float64, best float64) map[string]float64 {
	type rated struct {
		id        string
		deviation float64
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
	least := min(minDeviation, 0.6*math.Sqrt(max(0, n-1))) // among few tools none can stand out far
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
