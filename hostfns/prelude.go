package hostfns

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns/internal/guard"
	"github.com/wexec/wexec/hostfns/internal/streams"
	"github.com/wexec/wexec/policy"
)

var lookups = map[string]lookupFunc{
	"wexec:names":    decoding((*call).names),
	"wexec:search":   decoding((*call).search),
	"wexec:describe": decoding((*call).describe),
	"wexec:read":     decoding((*call).readStream),
	"wexec:close":    decoding((*call).closeStream),
	"wexec:progress": decoding((*call).reportProgress),
	"wexec:pii":      decoding((*call).inspectToken),
	"wexec:compile":  decoding((*call).compileModule),
}

// maxLookup is the number of bytes of arguments of a lookup. The host does the
// work, which no fuel and no deadline bounds.
const maxLookup = 64 << 10

// decoding returns a lookup whose arguments are decoded from JSON, and whose
// result is an [Answer] or encoded as JSON.
func decoding[In any](f func(*call, context.Context, In) (any, error)) lookupFunc {
	return func(c *call, ctx context.Context) (Answer, error) {
		var in In
		if len(c.given) > 0 {
			if err := json.Unmarshal(c.given, &in); err != nil {
				return Answer{}, &Failure{Code: fault.ToolInvalidArgs, Message: "decode the arguments: " + clean(err.Error(), 300)}
			}
		}
		out, err := f(c, ctx, in)
		if err != nil {
			return Answer{}, err
		}
		if a, ok := out.(Answer); ok {
			return a, nil
		}
		data, err := json.Marshal(out)
		if err != nil {
			return Answer{}, &Failure{Code: fault.Internal, Message: "encode the answer: " + err.Error()}
		}
		return Answer{Kind: JSON, Data: data, Checked: true}, nil
	}
}

// whole returns the tools of all servers but those that cannot be reached.
func (r *Run) whole(ctx context.Context) *catalogue.Catalogue {
	waiting, cancel := context.WithTimeoutCause(ctx, cmp.Or(r.table.options.Straggler, stragglerTime),
		fault.New(fault.UpstreamUnavailable, "a server takes too long to list its tools"))
	defer cancel()
	whole, errs := r.table.Catalogue(waiting)
	for _, err := range errs {
		r.warn(r.shown(err.Error(), 500))
		r.cacheable(0) // the result may differ once the server is there
	}
	return whole
}

// offered returns the tools of a catalogue that the policy does not deny.
func (r *Run) offered(whole *catalogue.Catalogue) *catalogue.Catalogue {
	view := r.table.Offered(whole)
	if r.facts.Deterministic {
		view = view.WithLearned(nil) // learned types change between runs
	}
	return view
}

// enter waits for a core for work of the host, as the guest would, and for the end of
// other such work of the run: many calls of a run take no more cores than one. It is a
// [Core].
func (c *call) enter(ctx context.Context) (func(), error) {
	select {
	case c.run.computing <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	leave, err := c.core.enter(ctx)
	if err != nil {
		<-c.run.computing
		return nil, err
	}
	return func() {
		leave()
		<-c.run.computing
	}, nil
}

// names lists the identifiers of the servers, or of the tools of one.
func (c *call) names(ctx context.Context, in struct{ Server string }) (any, error) {
	t := c.run.table
	if in.Server == "" {
		return append([]string{}, t.identifiers...), nil
	}
	server, ok := t.spellings.Server(in.Server)
	if !ok {
		return nil, t.unknown(in.Server)
	}
	l, err := t.list(ctx, server)
	if err != nil {
		return nil, failureOf(err, server, &t.given)
	}
	leave, err := c.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	if err := c.run.charge(toolCost * int64(len(l.tools))); err != nil {
		return nil, err
	}
	out, pins := []string{}, t.pins()
	for _, tool := range l.tools {
		if _, changed := pins.broken(tool.id, tool.definition); !changed && t.policy.BestEffect(tool.id) != policy.Deny {
			out = append(out, l.cat.Name(tool.Tool))
		}
	}
	slices.Sort(out)
	return out, nil
}

// search finds tools.
func (c *call) search(ctx context.Context, in struct {
	Query, Detail string
	Limit         int
}) (any, error) {
	r := c.run
	whole := r.whole(ctx)
	leave, err := c.enter(ctx)
	if err != nil {
		return nil, err
	}
	view := r.offered(whole)
	leave()
	q := catalogue.Query{
		Text: in.Query, Detail: in.Detail, Limit: min(max(in.Limit, 0), 200), Lang: r.facts.Language, Spend: r.charge,
	}
	if r.facts.Deterministic { // a Ranker may change its mind
		return r.table.searchRated(ctx, view, q, c.enter, nil)
	}
	return r.table.Search(ctx, view, q, c.enter)
}

// describe describes one tool.
func (c *call) describe(ctx context.Context, in struct{ Name string }) (any, error) {
	t := c.run.table
	whole := c.run.whole(ctx)
	leave, err := c.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	view := c.run.offered(whole)
	if tool, ok := view.Lookup(in.Name); ok {
		if err := c.run.charge(int64(len(tool.InputSchema) + len(tool.OutputSchema))); err != nil {
			return nil, err
		}
		e, _ := view.Describe(tool.ID(), "full", c.run.facts.Language)
		e.Decision = t.policy.BestEffect(tool.ID()).String()
		return e, nil
	}
	if tool, ok := whole.Lookup(in.Name); ok {
		if pin, changed := t.Changed(tool); changed {
			return nil, pin.failure(tool.ID())
		}
	}
	if err := c.run.charge(toolCost * int64(len(whole.Tools()))); err != nil {
		return nil, err
	}
	return nil, t.unknown(in.Name)
}

// reportProgress forwards the progress of the program.
func (c *call) reportProgress(_ context.Context, in struct {
	Done, Total float64
	Text        string
}) (any, error) {
	c.run.progress("", nil)(in.Done, in.Total, in.Text)
	return null(), nil
}

// inspectToken answers what a program may know of the value of a token: its kind,
// whether two are equal, and the domain of an address.
func (c *call) inspectToken(_ context.Context, in struct {
	Op     string
	Values []string
}) (any, error) {
	if need := map[string]int{"kind": 1, "equal": 2, "domain": 1}[in.Op]; need == 0 || len(in.Values) != need {
		return nil, &Failure{Code: fault.ToolInvalidArgs, Message: "op must be kind or domain with one value, or equal with two"}
	}
	d := c.run.redactor
	switch {
	case in.Op == "equal" && d == nil:
		return in.Values[0] == in.Values[1], nil
	case in.Op == "equal" && d.vault.IsToken(in.Values[0]) != d.vault.IsToken(in.Values[1]):
		// Otherwise a program could guess a value, without a limit.
		return nil, &Failure{Code: fault.ToolInvalidArgs, Message: "cannot compare a token with a text that is not a token",
			Hint: "compare two tokens"}
	case in.Op == "equal":
		return d.vault.Equal(in.Values[0], in.Values[1]), nil
	case in.Op == "domain" && d == nil:
		_, domain, _ := strings.Cut(in.Values[0], "@")
		return domain, nil
	case in.Op == "domain":
		return d.vault.Domain(in.Values[0]), nil
	case d == nil:
		return null(), nil
	}
	if k := d.vault.Kind(in.Values[0]); k != "" {
		return string(k), nil
	}
	return null(), nil
}

// compileModule compiles a TypeScript file to JavaScript. The program has read the
// file already; the compiler has its own limits.
func (c *call) compileModule(ctx context.Context, in struct{ File, Code string }) (any, error) {
	if c.compile == nil {
		return nil, &Failure{Code: fault.ToolUnknown, Tool: c.name, Message: "there is no call " + c.name}
	}
	text, err := c.compile(ctx, in.File, in.Code)
	if err == nil {
		return Answer{Kind: Text, Data: []byte(text)}, nil
	}
	var known *fault.Error
	if errors.As(err, &known) && known.Code == fault.GuestSyntax {
		return nil, &Failure{Code: known.Code, Message: known.Message, Hint: known.Hint}
	}
	return nil, err
}

// readStream answers "wexec:read" with the next bytes of a stream. No bytes are
// the end.
func (c *call) readStream(ctx context.Context, in struct {
	Stream int64
	Max    int
}) (any, error) {
	c.ticket.WaitPrevious(ctx)
	data, err := c.run.streams.Read(ctx, in.Stream, in.Max)
	var panicked *guard.Panic
	switch {
	case err == nil:
		return Answer{Kind: Bytes, Data: data, Checked: true}, nil
	case c.run.Err() != nil:
		return nil, c.run.Err()
	case errors.Is(err, streams.ErrUnknown):
		return nil, &Failure{Code: fault.ToolInvalidArgs, Message: "there is no open stream with this number"}
	case errors.Is(err, streams.ErrTimeout):
		return nil, &Failure{Code: fault.ToolTimeout, Message: "the rest of the response did not arrive in time"}
	case ctx.Err() != nil:
		return nil, c.cancelled()
	case endsRun(err):
		c.run.fail(err)
		return nil, err
	case errors.As(err, &panicked):
		c.run.table.log().Error("panic in the body of a response", "panic", c.run.shown(fmt.Sprint(panicked), maxMessage), "stack", string(panicked.Stack))
		return nil, &Failure{Code: fault.ToolFailed, Message: "read the response: the provider panicked"}
	}
	return nil, failureOf(err, c.name, &c.run.table.given)
}

// closeStream answers "wexec:close".
func (c *call) closeStream(_ context.Context, in struct{ Stream int64 }) (any, error) {
	c.run.streams.Close(in.Stream)
	return null(), nil
}

func kindOf(name string) kind {
	switch {
	case !strings.HasPrefix(name, preludePrefix):
		return toolCall
	case lookups[name] != nil:
		return lookupCall
	}
	return nativeCall
}
