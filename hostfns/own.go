package hostfns

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/policy"
	"github.com/wexec/wexec/privacy"
)

// ownPrefix begins the names of the prelude's own calls.
const ownPrefix = "wexec:"

// outward reports whether a call may reach outside: a tool's, or one of the
// prelude's own that a provider answers. A replay has none of those providers.
func (t *Table) outward(name string) bool {
	if !strings.HasPrefix(name, ownPrefix) || t.own[name] != nil {
		return true
	}
	switch name {
	case "wexec:names", "wexec:search", "wexec:describe", "wexec:read", "wexec:close", "wexec:progress", "wexec:pii", "wexec:compile":
		return false
	}
	return t.recording != nil
}

// maxLookUp bounds, in bytes, what one of the prelude's own calls is given to
// look up: it is done by the host, which no fuel and no deadline stops.
const maxLookUp = 64 << 10

// ownCall answers the prelude's own calls. Those that look something up are
// answered here and need no decision; those that reach outside go to a
// provider, which asks the gate for each effect.
func (r *Run) ownCall(ctx context.Context, name string, args []byte, f *flight) (Answer, error) {
	var a Answer
	var err error
	if len(args) > maxLookUp && !r.table.outward(name) && name != "wexec:compile" {
		return Answer{}, &Failure{Code: fault.ToolInvalidArgs, Tool: name,
			Message: fmt.Sprintf("%d bytes are more than is looked up at once, which is %d", len(args), maxLookUp)}
	}
	switch name {
	case "wexec:names":
		a, err = r.names(ctx, args)
	case "wexec:search":
		a, err = r.search(ctx, args)
	case "wexec:describe":
		a, err = r.describe(ctx, args)
	case "wexec:read":
		f.turn.toDecide(ctx)
		a, err = r.readStream(ctx, args)
	case "wexec:close":
		a, err = r.closeStream(args)
	case "wexec:progress":
		a, err = r.tellProgress(args)
	case "wexec:pii":
		a, err = r.pii(args)
	case "wexec:compile":
		a, err = compileOwn(ctx, args, f)
	default:
		return r.provided(ctx, name, args, f)
	}
	if recorded := r.recordOwn(name, f.number, args, a, err); recorded != nil {
		return Answer{}, recorded
	}
	if err != nil {
		r.cacheable(0)
		return Answer{}, err
	}
	if err := r.spend(int64(len(a.Data))); err != nil {
		return Answer{}, err
	}
	return a, nil
}

// compileOwn answers with a TypeScript file made JavaScript. The program has
// read the file already; what the compiler may use is its own.
func compileOwn(ctx context.Context, args []byte, f *flight) (Answer, error) {
	if f.compile == nil {
		return Answer{}, &Failure{Code: fault.ToolUnknown, Tool: "wexec:compile", Message: "there is no call wexec:compile"}
	}
	var in struct{ File, Code string }
	if bad := readOwn(args, &in); bad != nil {
		return Answer{}, bad
	}
	text, err := f.compile(ctx, in.File, in.Code)
	if err == nil {
		return Answer{Kind: Text, Data: []byte(text)}, nil
	}
	var known *fault.Error
	if errors.As(err, &known) && known.Code == fault.GuestSyntax {
		return Answer{}, &Failure{Code: known.Code, Message: known.Message, Hint: known.Hint}
	}
	return Answer{}, err
}

// recordOwn keeps the answer of a look-up where everything of a run is kept: a
// replay answers from it.
func (r *Run) recordOwn(name string, number uint64, args []byte, a Answer, err error) error {
	if !r.Kept() {
		return nil
	}
	call := &audit.Call{Call: number, Tool: name, OK: err == nil, Args: args, Bytes: int64(len(a.Data)), AnswerKind: int(a.Kind), Answer: a.Data}
	var f *Failure
	if errors.As(err, &f) {
		failed := f.answer()
		call.Code, call.Message, call.AnswerKind, call.Answer = string(f.Code), f.Message, int(failed.Kind), failed.Data
	} else if err != nil {
		call.Code = string(fault.CodeOf(err))
	}
	return r.record(audit.Event{Call: call})
}

// provided hands one of the prelude's calls to its provider, with the same
// budget, the same bounds and the same record as a tool's.
func (r *Run) provided(ctx context.Context, name string, args []byte, f *flight) (Answer, error) {
	p := r.table.own[name]
	if p == nil {
		return Answer{}, &Failure{Code: fault.ToolUnknown, Tool: clean(name, 100), Message: "there is no call " + clean(name, 100)}
	}
	q := r.newRequest(name, f)
	q.given, q.entry = args, &entry{tool: catalogue.Tool{Server: name}, provider: p, id: name}
	answer, err := func() (Answer, error) {
		f.turn.toDecide(ctx)
		doc, err := decode(args)
		values, ok := doc.value.(map[string]any)
		if err != nil || !ok {
			return Answer{}, q.entry.invalid("the arguments are no JSON object", "")
		}
		q.args = arguments{raw: args, values: values}
		if !doc.exact {
			if f := q.args.rewrite(q.entry); f != nil {
				return Answer{}, f
			}
		}
		q.values, q.revealed = values, q.args.raw
		// What leaves by the network is revealed where the policy names the
		// call, as for any tool.
		if q.revealed, err = r.veil.reveal(q.args.raw); err != nil {
			return Answer{}, q.entry.invalid("the tokens in the arguments cannot be read", "")
		}
		q.decision = policy.Decision{Effect: policy.Allow}
		if r.info.DryRun {
			f.turn.hasDecided()
			f.turn.toDeliver(ctx)
			r.cacheable(0)
			return null(), nil
		}
		// The gate's decisions count nothing, so the next call need not wait for
		// them.
		f.turn.hasDecided()
		a, err := q.make(ctx)
		if !f.turn.toDeliver(ctx) {
			return q.unheard(ctx, a, err)
		}
		if err != nil {
			return Answer{}, err
		}
		return q.admitRaw(a)
	}()
	if err != nil {
		f.turn.hasDecided()
		f.turn.toDeliver(ctx)
	}
	outcome := policy.Decision{Effect: policy.Allow}
	if f := (*Failure)(nil); errors.As(err, &f) && f.Code.Class() == fault.ClassDenied {
		outcome = policy.Decision{Effect: policy.Deny, Rule: f.Rule}
	}
	r.finishDecision(q.info, name, outcome)
	return q.end(answer, err)
}

// admitRaw lets the answer of one of the prelude's calls in. Its bytes only
// pass through: they are covered when they leave for the agent.
func (q *request) admitRaw(a Answer) (Answer, error) {
	r := q.run
	if f := q.sound(&a); f != nil {
		closeBody(a)
		return Answer{}, f
	}
	if err := r.spend(int64(len(a.Data))); err != nil {
		closeBody(a)
		return Answer{}, err
	}
	if a.Body != nil {
		data, err := r.keepStream(a)
		if err != nil {
			return Answer{}, failureOf(err, q.name)
		}
		a.Data, a.Body = data, nil
	}
	r.cacheable(0)
	return a, nil
}

// readOwn reads the arguments of one of the prelude's calls.
func readOwn(args []byte, into any) *Failure {
	if len(args) == 0 {
		args = []byte("{}")
	}
	if err := json.Unmarshal(args, into); err != nil {
		return &Failure{Code: fault.ToolInvalidArgs, Message: "the arguments cannot be read: " + clean(err.Error(), 300)}
	}
	return nil
}

func reply(v any) (Answer, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return Answer{}, &Failure{Code: fault.Internal, Message: "an answer cannot be written"}
	}
	return Answer{Kind: JSON, Data: data, Checked: true}, nil
}

// stragglers is how long a search waits for a server that is starting.
const stragglers = 10 * time.Second

// visible is the catalogue without what the policy denies outright. Servers
// that cannot be reached are missing.
func (r *Run) visible(ctx context.Context) *catalogue.Catalogue {
	waiting, cancel := context.WithTimeoutCause(ctx, cmp.Or(r.table.options.Straggler, stragglers),
		fault.New(fault.UpstreamUnavailable, "a server takes too long to list its tools"))
	defer cancel()
	whole, errs := r.table.Catalogue(waiting)
	for _, err := range errs {
		r.warn(clean(err.Error(), 500))
		r.cacheable(0) // with that server the value may be another
	}
	view := r.table.visible(whole)
	if r.facts.Deterministic {
		view = view.Observing(nil) // what was learned in between must not show
	}
	return view
}

// visible keeps the view of a catalogue, which is the same for every run.
func (t *Table) visible(whole *catalogue.Catalogue) *catalogue.Catalogue {
	t.viewing.Lock()
	defer t.viewing.Unlock()
	if pins := t.pins(); t.viewOf != whole || t.viewPins != pins {
		t.view = whole.Keep(func(tool catalogue.Tool) bool {
			_, changed := pins.Changed(tool)
			return !changed && t.outlook(tool) != policy.Deny
		})
		t.viewOf, t.viewPins = whole, pins
	}
	return t.view
}

func (r *Run) names(ctx context.Context, args []byte) (Answer, error) {
	var in struct{ Server string }
	if f := readOwn(args, &in); f != nil {
		return Answer{}, f
	}
	out := []string{}
	if in.Server == "" {
		return reply(append(out, r.table.Identifiers()...))
	}
	server, ok := r.table.spelled.Server(in.Server)
	if !ok {
		return Answer{}, r.table.unknown(in.Server)
	}
	l, err := r.table.list(ctx, server)
	if err != nil {
		return Answer{}, failureOf(err, server)
	}
	pins := r.table.pins()
	for _, e := range l.entries {
		if _, changed := pins.broken(e.id, e.definitionSum); !changed && r.table.outlook(e.tool) != policy.Deny {
			out = append(out, l.cat.Name(e.tool))
		}
	}
	slices.Sort(out)
	return reply(out)
}

func (r *Run) search(ctx context.Context, args []byte) (Answer, error) {
	var in struct {
		Query, Detail string
		Limit         int
	}
	if f := readOwn(args, &in); f != nil {
		return Answer{}, f
	}
	view := r.visible(ctx)
	if err := r.Err(); err != nil { // many may have waited for the catalogue
		return Answer{}, err
	}
	q := catalogue.Query{
		Text: in.Query, Detail: in.Detail, Limit: min(max(in.Limit, 0), 200), Lang: r.facts.Language,
		Keep: func(t catalogue.Tool) string { return r.table.outlook(t).String() },
	}
	if r.facts.Deterministic {
		return reply(view.Search(q)) // an endpoint may answer otherwise tomorrow
	}
	return reply(r.table.Search(ctx, view, q))
}

func (r *Run) describe(ctx context.Context, args []byte) (Answer, error) {
	var in struct{ Name string }
	if f := readOwn(args, &in); f != nil {
		return Answer{}, f
	}
	view := r.visible(ctx)
	e, ok := view.Describe(in.Name, "full", r.facts.Language)
	if !ok {
		known, _ := r.table.Known()
		if t, there := known.Lookup(in.Name); there {
			if pin, changed := r.table.Changed(t); changed {
				return Answer{}, changedSince(pin, t.ID())
			}
		}
		return Answer{}, r.table.unknown(in.Name)
	}
	if t, ok := view.Lookup(in.Name); ok {
		e.Decision = r.table.outlook(t).String()
	}
	return reply(e)
}

func (r *Run) tellProgress(args []byte) (Answer, error) {
	var in struct {
		Done, Total float64
		Text        string
	}
	if f := readOwn(args, &in); f != nil {
		return Answer{}, f
	}
	r.progress("")(in.Done, in.Total, in.Text)
	return null(), nil
}

// pii answers what code may know of a value behind a token: its kind, whether
// two are equal, the domain of an address.
func (r *Run) pii(args []byte) (Answer, error) {
	var in struct {
		Op     string
		Values []string
	}
	if f := readOwn(args, &in); f != nil {
		return Answer{}, f
	}
	need := map[string]int{"kind": 1, "equal": 2, "domain": 1}[in.Op]
	if need == 0 || len(in.Values) != need {
		return Answer{}, &Failure{Code: fault.ToolInvalidArgs, Message: "the helper is kind, equal or domain, with its values"}
	}
	if r.veil == nil {
		switch in.Op {
		case "equal":
			return reply(in.Values[0] == in.Values[1])
		case "domain":
			_, domain, _ := strings.Cut(in.Values[0], "@")
			return reply(domain)
		}
		return null(), nil
	}
	switch in.Op {
	case "equal":
		return reply(r.veil.vault.Equal(in.Values[0], in.Values[1]))
	case "domain":
		return reply(r.veil.vault.Domain(in.Values[0]))
	}
	if k := r.veil.vault.Kind(in.Values[0]); k != "" {
		return reply(string(k))
	}
	return null(), nil
}

// Egress replaces personal data in text that leaves for the agent, and records
// that it did. Where is value, stdout, stderr, error or progress.
func (r *Run) Egress(where, text string) string {
	out, counts := r.veil.text(text)
	if len(counts.Kinds) > 0 {
		if r.recordPrivacy(0, "", where, r.veil.pii.Mode, counts) != nil {
			return ""
		}
	}
	return out
}

// EgressJSON is Egress for a JSON document. An error means that the policy
// blocks what stands in it.
func (r *Run) EgressJSON(where string, doc []byte) ([]byte, error) {
	if r.veil == nil || r.veil.pii.Mode == privacy.Off || len(doc) == 0 {
		return doc, nil
	}
	out, counts, err := r.veil.vault.EgressJSON(doc, r.veil.pii.Mode)
	r.veil.add(counts)
	if len(counts.Kinds) > 0 {
		if recorded := r.recordPrivacy(0, "", where, r.veil.pii.Mode, counts); recorded != nil {
			return nil, recorded
		}
	}
	if err != nil {
		return nil, fault.New(fault.DeniedTool, "the %s holds personal data, which the policy blocks", where)
	}
	return out, nil
}

// Reveal gives text its values back, for a Go host.
func (r *Run) Reveal(text string) string {
	if r.veil == nil {
		return text
	}
	return r.veil.vault.Reveal(text)
}

// covered is text for the program or the record, without personal data.
func (r *Run) covered(s string) string {
	if s == "" {
		return s
	}
	out, _ := r.veil.text(s)
	return out
}

func (r *Run) recordPrivacy(call uint64, tool, where string, mode privacy.Mode, counts privacy.Counts) error {
	plain := make(map[string]int, len(counts.Kinds))
	for k, n := range counts.Kinds {
		plain[string(k)] = n
	}
	return r.record(audit.Event{Privacy: &audit.Privacy{Call: call, Tool: tool, Where: where, Mode: string(mode), Counts: plain, Fields: counts.Fields}})
}

// Waiting lists the questions of the run that people have not answered.
func (r *Run) Waiting() []Question {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]Question, 0, len(r.asked))
	for _, q := range r.asked {
		out = append(out, q)
	}
	slices.SortFunc(out, func(a, b Question) int { return a.Since.Compare(b.Since) })
	return out
}

func (r *Run) noteAsked(q Question) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asked == nil {
		r.asked = map[string]Question{}
	}
	r.asked[q.ID] = q
}

func (r *Run) forgetAsked(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.asked, id)
}

// streamLimit bounds one read of a stream.
const streamLimit = 8 << 20

// streamPatience is how long a stream may say nothing.
const streamPatience = 2 * time.Minute
