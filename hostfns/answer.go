package hostfns

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns/internal/guard"
	"github.com/wexec/wexec/hostfns/internal/scrub"
	"github.com/wexec/wexec/hostfns/internal/streams"
	"github.com/wexec/wexec/hostfns/schema"
	"github.com/wexec/wexec/internal/journal"
	"github.com/wexec/wexec/internal/jsonnum"
	"github.com/wexec/wexec/internal/jsonscan"
	"github.com/wexec/wexec/internal/text"
	"github.com/wexec/wexec/privacy"
)

// send calls the provider. It returns when the context ends or the rule's time is
// up, whatever the provider does.
func (c *call) send(ctx context.Context) (err error) {
	r := c.run
	if c.kind == lookupCall {
		if c.answer, err = c.lookup(c, ctx); err != nil && ctx.Err() != nil && failureIn(err) == nil {
			return c.cancelled()
		}
		return err
	}
	if c.name == waitCall {
		return c.awaitSignal(ctx)
	}
	if !r.enter(ctx) {
		return c.cancelled()
	}
	defer r.leave()
	sending, handoff, limit := ctx, c.ticket.Handoff(), c.decision.Limits.Timeout()
	if limit > 0 {
		var cancel context.CancelFunc
		sending, cancel = context.WithTimeoutCause(ctx, limit, fault.ToolTimeout)
		defer cancel()
		handoff = nil // it abandons a task at the end of the run only
	}
	c.sent = true
	c.gate.run, c.gate.call, c.gate.tool, c.gate.of, c.gate.ctx = r, c.number, c.name, c, sending
	d := &delivery{run: r, ctx: sending, values: c.values, provider: c.tool.provider, call: Call{
		Run: r.info.ID, Number: c.number, Server: c.tool.Server, Tool: c.tool.Name, Args: c.outgoing.raw, Secrets: c.secrets, Progress: r.progress(c.name, c.values), Gate: &c.gate,
	}}
	if c.tool.keeps {
		d.call.Values = values{c}
	}
	if c.kind == nativeCall {
		d.call.Compute = c.enter
	}
	if r.workers.Do(sending, handoff, d) {
		c.answer, err = d.answer, d.err
	} else {
		err = sending.Err()
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return c.cancelled()
	case sending.Err() != nil:
		return &Failure{Code: fault.ToolTimeout, Tool: c.name, Rule: c.decision.Rule,
			Message: fmt.Sprintf("%s took longer than %s", c.name, limit), Hint: "ask it for less at once"}
	case endsRun(err):
		r.fail(err)
		return err
	}
	c.toolText = true
	f := failureOf(err, c.name, &r.table.given)
	if err := r.spend(int64(len(f.Message) + len(f.Hint))); err != nil {
		return err
	}
	return f
}

// Bounds of a wait for a signal.
const (
	maxSignalName = 100
	maxSignalWait = 366 * 24 * time.Hour
	maxSignal     = 1 << 20 // bytes of a payload
)

// awaitSignal waits for the next signal with a name. Its payload is the answer. Calls
// that wait for the same name get the signals in turn.
func (c *call) awaitSignal(ctx context.Context) error {
	r := c.run
	failed := func(code fault.Code, hint, format string, args ...any) error {
		return &Failure{Code: code, Tool: "wait_for", Message: fmt.Sprintf(format, args...), Hint: hint}
	}
	var in signalArgs
	if err := json.Unmarshal(c.args.raw, &in); err != nil {
		return failed(fault.ToolInvalidArgs, "", "decode the arguments of wait_for: %s", clean(err.Error(), 300))
	}
	wait := maxSignalWait
	if in.Timeout != nil {
		if !(*in.Timeout >= 0) {
			return failed(fault.ToolInvalidArgs, "", "the timeout of wait_for is not a number of seconds from 0")
		}
		wait = time.Duration(min(*in.Timeout, maxSignalWait.Seconds()) * float64(time.Second))
	}
	switch {
	case in.Name == "" || len(in.Name) > maxSignalName || !isPlainName(in.Name):
		return failed(fault.ToolInvalidArgs, "use letters and the signs - _ . :", "invalid name of a signal: %s", clean(in.Name, 80))
	case r.info.Signals == nil:
		return failed(fault.ToolFailed, "run the program with wexec serve", "wait for the signal %s: nobody can send signals to this run", in.Name)
	}
	s := r.signals.of(in.Name)
	if s == nil {
		return failed(fault.ToolInvalidArgs, "use fewer names", "the run waits for more than %d names of signals", maxSignalNames)
	}
	now := time.Now()
	open := journal.Question{ID: fmt.Sprintf("signal %d", c.number), Signal: in.Name, Since: now, Expires: now.Add(wait)}
	if d := r.info.Durable; d != nil {
		open = d.Log.Ask(open)
		defer func() {
			if ctx.Err() == nil {
				d.Log.Answered(open.ID)
			}
		}()
	}
	if d := r.info.Durable; d != nil && d.After > 0 { // a run that does not park waits within its time limit
		c.ticket.SetAsking(true)
		defer c.ticket.SetAsking(false)
	}
	waiting, cancel := context.WithDeadline(ctx, open.Expires)
	defer cancel()
	var payload json.RawMessage
	err := context.Cause(waiting)
	select {
	case s.turn <- struct{}{}:
		received := s.received
		payload, err = guard.Call(waiting, func() (json.RawMessage, error) {
			return r.info.Signals.Await(waiting, r.info.ID, in.Name, received)
		})
		if err == nil {
			s.received++
		}
		<-s.turn
	case <-waiting.Done():
	}
	switch {
	case ctx.Err() != nil:
		return c.cancelled()
	case waiting.Err() != nil && payload == nil:
		return failed(fault.ToolTimeout, "", "no signal %s came within %s", in.Name, wait)
	case err != nil:
		return failed(fault.ToolFailed, "", "wait for the signal %s: %s", in.Name, r.shown(err.Error(), maxMessage))
	case len(payload) > maxSignal:
		return failed(fault.ToolTooLarge, "", "the signal %s has %d bytes, more than %d", in.Name, len(payload), maxSignal)
	}
	c.answer = Answer{Kind: JSON, Data: payload}
	return r.spend(int64(len(payload)))
}

// delivery is a call at its provider. If the provider hangs, the delivery is
// abandoned with its goroutine, so the call must not read it then.
type delivery struct {
	run      *Run
	ctx      context.Context
	provider Provider
	call     Call
	values   *scrub.Scrubber // of the call

	answer Answer
	err    error
}

// Run calls the provider, which may panic or end its goroutine.
func (d *delivery) Run() {
	returned := false
	defer func() {
		if !returned {
			p := recover()
			d.answer, d.err = Answer{}, fault.New(fault.ToolFailed, "the provider of the tool panicked")
			d.run.table.log().Error("panic in a provider", "server", d.call.Server, "tool", d.call.Tool, "panic", d.run.shown(d.values.Text(fmt.Sprint(p)), maxMessage), "stack", string(debug.Stack()))
		}
		if d.ctx.Err() != nil && d.answer.Body != nil {
			closeBody(d.answer)
			d.answer, d.err = Answer{}, d.ctx.Err()
		}
	}()
	d.answer, d.err = d.provider.Call(d.ctx, d.call)
	returned = true
}

// enter waits until one more call of the run may be at its provider. It returns
// false if the context ends before.
func (r *Run) enter(ctx context.Context) bool {
	select {
	case r.slots <- struct{}{}: // without a call of Done, which allocates
		return true
	default:
	}
	select {
	case r.slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (r *Run) leave() { <-r.slots }

// accept checks, bounds, counts and redacts the answer. It is null if the guest
// no longer waits for it.
func (c *call) accept(ctx context.Context) error {
	r, a := c.run, &c.answer
	if c.kind == lookupCall {
		return r.spend(int64(len(a.Data)))
	}
	if !c.ticket.WaitDue(ctx) {
		closeBody(*a)
		c.answer = null()
		return nil
	}
	r.table.scrub(a)
	if err := c.check(a); err != nil {
		closeBody(*a)
		return err
	}
	if c.kind == toolCall || c.name == waitCall {
		if err := c.redact(ctx, a); err != nil {
			closeBody(*a)
			return err
		}
	}
	streamed := a.Body != nil
	if streamed {
		if err := r.keepStream(a); err != nil {
			return failureOf(err, c.name, &r.table.given)
		}
	}
	r.cacheable(c.decision.Cache)
	if !streamed && c.kind == toolCall {
		r.table.options.Learned.Observe(c.tool.Tool, *a)
	}
	return nil
}

// check checks the answer against its kind and its limits.
func (c *call) check(a *Answer) error {
	if what := malformed(a); what != "" {
		return &Failure{Code: fault.ToolFailed, Tool: c.name, Message: c.name + " answered with " + what}
	}
	size := int64(len(a.Data))
	if limit := c.decision.Limits.Result(); limit > 0 && size > limit {
		return &Failure{Code: fault.ToolTooLarge, Tool: c.name, Rule: c.decision.Rule, Hint: c.tool.paging(),
			Message: fmt.Sprintf("%s answered with %d bytes, more than the %d that its rule allows", c.name, size, limit)}
	}
	return c.run.spend(size)
}

// malformed returns what is wrong with an answer, or "". It replaces what is not
// valid UTF-8 with U+FFFD, so that all guests get the same text.
func malformed(a *Answer) string {
	switch a.Kind {
	case JSON, Content:
		if len(a.Data) == 0 {
			a.Data = []byte("null")
		}
		if !a.Checked && !jsonscan.Valid(a.Data) {
			return "invalid JSON"
		}
		a.Data = validUTF8(a.Data)
	case Text:
		if !a.Checked {
			a.Data = validUTF8(a.Data)
		}
	case Bytes:
	default:
		return "an unknown kind of answer"
	}
	return ""
}

func validUTF8(data []byte) []byte {
	if utf8.Valid(data) {
		return data
	}
	return bytes.ToValidUTF8(data, []byte("�"))
}

// redact removes personal data. The run is charged for its memory: the values in the
// vault, and the findings.
func (c *call) redact(ctx context.Context, a *Answer) error {
	r, received := c.run, a.Data
	var counts privacy.Counts
	var mode privacy.Mode
	var err error
	if c.tool.keeps {
		counts, mode, err = r.redactor.reissue(ctx, r, r.table.detector, a, c.name)
	} else {
		counts, mode, err = r.redactor.answer(ctx, r, a, c.name)
	}
	if mode != privacy.Off {
		switch err := cmp.Or(ctx.Err(), r.charge(r.redactor.growth())); {
		case endsRun(err):
			return err
		case err != nil:
			return failureOf(err, c.name, &r.table.given)
		}
	}
	if len(counts.Kinds) > 0 {
		for i, f := range counts.Fields {
			counts.Fields[i] = c.values.Text(f)
		}
		if recorded := r.recordPrivacy(c.number, c.name, "answer", mode, counts); recorded != nil {
			return recorded
		}
	}
	if clean := c.values.Bytes(a.Data); !c.values.Empty() && !bytes.Equal(clean, a.Data) {
		a.Data, a.Checked = clean, false
		if what := malformed(a); what != "" {
			return &Failure{Code: fault.ToolFailed, Tool: c.name, Message: c.name + " answered with personal data in a form that cannot be replaced"}
		}
	}
	if err != nil {
		return &Failure{Code: fault.ToolFailed, Tool: c.name, Hint: "the policy blocks personal data from this tool",
			Message: c.name + " answered with personal data, which the policy blocks"}
	}
	c.checkOutput(ctx, a, received)
	return nil
}

// checkOutput warns of an answer that, as it was received, does not match the
// output schema. The warning shows no name that was redacted.
func (c *call) checkOutput(ctx context.Context, a *Answer, received []byte) {
	const maxChecked = 64 << 10
	if a.Kind != JSON || len(c.tool.OutputSchema) == 0 || len(received) > maxChecked {
		return
	}
	if _, ok := c.tool.provider.(*function); ok {
		return // its schema is that of its type
	}
	c.tool.compile()
	v, err := jsonnum.Decode(received)
	if err != nil {
		return
	}
	check := c.beginCheck(ctx)
	defer check.end()
	work := schema.Work{Size: len(received), Spender: check}
	f, _ := c.tool.output.Check("answer", v, work)
	if f != nil && !bytes.Equal(received, a.Data) {
		redacted, _ := jsonnum.Decode(a.Data)
		f, _ = c.tool.output.CheckMasked("answer", v, redacted, work)
	}
	if f != nil {
		c.run.warn(c.name + " answered with something else than its output schema declares: " + c.run.shown(f.Error(), 500))
	}
}

func closeBody(a Answer) {
	if a.Body != nil {
		_ = a.Body.Close()
	}
}

// Bounds of a value that is kept as an artifact, and of what is shown of it.
const (
	MaxKeptValue = 16 << 20
	maxPreview   = 2000 // bytes
	maxShape     = 8 << 10
)

// KeepValue keeps the value of a program, which is too large for its result, by a call of
// artifacts.put. It returns what the result has instead: the artifact, the beginning of
// the value and the names and types of its fields.
func (r *Run) KeepValue(value []byte) ([]byte, error) {
	in := struct {
		Name string `json:"name"`
		Type string `json:"type"`
		Data string `json:"data"`
	}{"value.txt", "text/plain; charset=utf-8", ""}
	isText := json.Unmarshal(value, &in.Data) == nil
	if !isText { // on lines, so that it can be read and searched by lines
		var lines bytes.Buffer
		if err := json.Indent(&lines, value, "", " "); err != nil {
			return nil, fault.New(fault.Internal, "write the value as an artifact: %w", err)
		}
		in.Name, in.Type, in.Data = "value.json", "application/json", lines.String()
	}
	if err := r.charge(int64(2 * len(in.Data))); err != nil {
		return nil, err
	}
	args, err := json.Marshal(in)
	if err != nil {
		return nil, fault.New(fault.Internal, "write the value as an artifact: %w", err)
	}
	answer, err := r.Call(r.ctx, "artifacts.put", args)
	if f, ok := err.(*Failure); ok {
		return nil, fault.New(fault.LimitOutput, "the run's value has %d bytes, more than its output may have, and cannot be kept as an artifact: %s", len(value), f.Message).
			WithHint("return less, or let the policy allow artifacts.put")
	}
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	if err := json.Unmarshal(answer.Data, &out); err != nil {
		return nil, fault.New(fault.Internal, "read the answer of artifacts.put: %w", err)
	}
	out["preview"] = text.Clip(in.Data, maxPreview)
	if !isText {
		var learned catalogue.LearnedType
		if learned.Add(value); len(learned.Schema()) <= maxShape {
			out["shape"] = learned.Schema()
		}
	}
	return json.Marshal(out)
}

// keepStream keeps the body of an answer for the run, and adds its number to the
// object of the answer as "body".
func (r *Run) keepStream(a *Answer) error {
	id, err := r.streams.Add(a.Body)
	if err != nil {
		return fault.New(fault.ToolFailed, "more than %d streams are open", streams.Max).WithHint("read or close the bodies of responses")
	}
	head := bytes.TrimSpace(a.Data)
	if len(head) < 2 || head[0] != '{' {
		head = []byte("{}")
	}
	out := strconv.AppendInt([]byte(`{"body":`), id, 10)
	if rest := bytes.TrimSpace(head[1:]); rest[0] != '}' {
		out = append(out, ',')
	}
	a.Data, a.Body = append(out, head[1:]...), nil
	return nil
}

// values implements [Values] for a call.
type values struct{ c *call }

// maxInner is how many values within each other are looked for.
const maxInner = 4

// Issued implements [Values].
func (x values) Issued(texts ...[]byte) (all []privacy.Issued) {
	d := x.c.run.redactor
	if d == nil {
		return nil
	}
	count := d.vault.Count()
	for range maxInner {
		found := d.vault.Issued(count, texts...)
		if len(found) == len(all) {
			break
		}
		all = found
		for _, one := range found {
			texts = append(texts, []byte(one.Value))
		}
	}
	return all
}

// Cover implements [Values].
func (x values) Cover(kept []privacy.Issued, byRun bool) (*Cover, error) {
	r := x.c.run
	c, err := r.table.Cover(kept, byRun, x.c.enter)
	if err == nil {
		c.off = r.redactor == nil || r.redactor.pii.ModeOf(x.c.name) == privacy.Off
		c.charge = r.charge
	}
	return c, err
}
