package hostfns

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/policy"
)

// lookupFunc answers a lookup: a call of the prelude that reaches nothing outside
// the host.
type lookupFunc = func(*call, context.Context) (Answer, error)

var lookups = map[string]lookupFunc{
	"wexec:names":    (*call).names,
	"wexec:search":   (*call).search,
	"wexec:describe": (*call).describe,
	"wexec:read":     (*call).readStream,
	"wexec:close":    (*call).closeStream,
	"wexec:progress": (*call).reportProgress,
	"wexec:pii":      (*call).inspectToken,
	"wexec:compile":  (*call).compileModule,
}

// inOrder reports whether the call takes part in the order of an ordered run.
// Lookups do not, except for reads, which return what earlier calls sent.
func (c *call) inOrder() bool { return c.kind != lookupCall || c.name == "wexec:read" }

// maxLookup is the number of bytes of arguments of a lookup. The host does the
// work, which no fuel and no deadline bounds.
const maxLookup = 64 << 10

// decode decodes the arguments of a lookup.
func (c *call) decode(into any) *Failure {
	if len(c.given) == 0 {
		return nil
	}
	if err := json.Unmarshal(c.given, into); err != nil {
		return &Failure{Code: fault.ToolInvalidArgs, Message: "decode the arguments: " + clean(err.Error(), 300)}
	}
	return nil
}

func encode(v any) (Answer, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return Answer{}, &Failure{Code: fault.Internal, Message: "encode the answer: " + err.Error()}
	}
	return Answer{Kind: JSON, Data: data, Checked: true}, nil
}

// stragglerTime is how long a search waits for servers that are starting.
const stragglerTime = 10 * time.Second

// catalogue returns the tools that the policy does not deny. It leaves out servers
// that cannot be reached.
func (r *Run) catalogue(ctx context.Context) *catalogue.Catalogue {
	waiting, cancel := context.WithTimeoutCause(ctx, cmp.Or(r.table.options.Straggler, stragglerTime),
		fault.New(fault.UpstreamUnavailable, "a server takes too long to list its tools"))
	defer cancel()
	whole, errs := r.table.Catalogue(waiting)
	for _, err := range errs {
		r.warn(clean(err.Error(), 500))
		r.cacheable(0) // the result may differ once the server is there
	}
	view := r.table.offered(whole)
	if r.facts.Deterministic {
		view = view.Observing(nil) // learned types change between runs
	}
	return view
}

// names lists the identifiers of the servers, or of the tools of one.
func (c *call) names(ctx context.Context) (Answer, error) {
	var in struct{ Server string }
	if f := c.decode(&in); f != nil {
		return Answer{}, f
	}
	t := c.run.table
	if in.Server == "" {
		return encode(append([]string{}, t.identifiers...))
	}
	server, ok := t.spellings.Server(in.Server)
	if !ok {
		return Answer{}, t.unknown(in.Server)
	}
	l, err := t.list(ctx, server)
	if err != nil {
		return Answer{}, failureOf(err, server)
	}
	out, pins := []string{}, t.pins()
	for _, tool := range l.tools {
		if _, changed := pins.broken(tool.id, tool.definition); !changed && t.policy.BestEffect(tool.id) != policy.Deny {
			out = append(out, l.cat.Name(tool.Tool))
		}
	}
	slices.Sort(out)
	return encode(out)
}

// search finds tools.
func (c *call) search(ctx context.Context) (Answer, error) {
	var in struct {
		Query, Detail string
		Limit         int
	}
	if f := c.decode(&in); f != nil {
		return Answer{}, f
	}
	r := c.run
	view := r.catalogue(ctx)
	if err := r.Err(); err != nil { // it may have ended during the wait
		return Answer{}, err
	}
	q := catalogue.Query{
		Text: in.Query, Detail: in.Detail, Limit: min(max(in.Limit, 0), 200), Lang: r.facts.Language,
		Keep: func(t catalogue.Tool) string { return r.table.policy.BestEffect(t.ID()).String() },
	}
	if r.facts.Deterministic {
		return encode(view.Search(q)) // a Ranker may change its mind
	}
	return encode(r.table.Search(ctx, view, q))
}

// describe describes one tool.
func (c *call) describe(ctx context.Context) (Answer, error) {
	var in struct{ Name string }
	if f := c.decode(&in); f != nil {
		return Answer{}, f
	}
	t := c.run.table
	view := c.run.catalogue(ctx)
	e, ok := view.Describe(in.Name, "full", c.run.facts.Language)
	if !ok {
		known, _ := t.Known()
		if tool, ok := known.Lookup(in.Name); ok {
			if pin, changed := t.Changed(tool); changed {
				return Answer{}, pin.failure(tool.ID())
			}
		}
		return Answer{}, t.unknown(in.Name)
	}
	if tool, ok := view.Lookup(in.Name); ok {
		e.Decision = t.policy.BestEffect(tool.ID()).String()
	}
	return encode(e)
}

// reportProgress forwards the progress of the program.
func (c *call) reportProgress(context.Context) (Answer, error) {
	var in struct {
		Done, Total float64
		Text        string
	}
	if f := c.decode(&in); f != nil {
		return Answer{}, f
	}
	c.run.progress("")(in.Done, in.Total, in.Text)
	return null(), nil
}

// inspectToken answers what a program may know of the value of a token: its kind,
// whether two are equal, and the domain of an address.
func (c *call) inspectToken(context.Context) (Answer, error) {
	var in struct {
		Op     string
		Values []string
	}
	if f := c.decode(&in); f != nil {
		return Answer{}, f
	}
	if need := map[string]int{"kind": 1, "equal": 2, "domain": 1}[in.Op]; need == 0 || len(in.Values) != need {
		return Answer{}, &Failure{Code: fault.ToolInvalidArgs, Message: "op must be kind or domain with one value, or equal with two"}
	}
	d := c.run.redactor
	switch {
	case in.Op == "equal" && d == nil:
		return encode(in.Values[0] == in.Values[1])
	case in.Op == "equal":
		return encode(d.vault.Equal(in.Values[0], in.Values[1]))
	case in.Op == "domain" && d == nil:
		_, domain, _ := strings.Cut(in.Values[0], "@")
		return encode(domain)
	case in.Op == "domain":
		return encode(d.vault.Domain(in.Values[0]))
	case d == nil:
		return null(), nil
	}
	if k := d.vault.Kind(in.Values[0]); k != "" {
		return encode(string(k))
	}
	return null(), nil
}

// compileModule compiles a TypeScript file to JavaScript. The program has read the
// file already; the compiler has its own limits.
func (c *call) compileModule(ctx context.Context) (Answer, error) {
	if c.compile == nil {
		return Answer{}, &Failure{Code: fault.ToolUnknown, Tool: c.name, Message: "there is no call " + c.name}
	}
	var in struct{ File, Code string }
	if f := c.decode(&in); f != nil {
		return Answer{}, f
	}
	text, err := c.compile(ctx, in.File, in.Code)
	if err == nil {
		return Answer{Kind: Text, Data: []byte(text)}, nil
	}
	var known *fault.Error
	if errors.As(err, &known) && known.Code == fault.GuestSyntax {
		return Answer{}, &Failure{Code: known.Code, Message: known.Message, Hint: known.Hint}
	}
	return Answer{}, err
}
