package hostfns

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns/internal/streams"
	"github.com/wexec/wexec/internal/jsonscan"
)

// accept checks, bounds, counts and redacts the answer. If nobody waits for it any
// more it is null.
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
	if err := c.check(a); err != nil {
		closeBody(*a)
		return err
	}
	if c.kind == toolCall {
		if err := c.redact(a); err != nil {
			closeBody(*a)
			return err
		}
	}
	streamed := a.Body != nil
	if streamed {
		if err := r.keepStream(a); err != nil {
			return failureOf(err, c.name)
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

// malformed returns what is wrong with an answer, or "". It repairs text that is
// not valid UTF-8.
func malformed(a *Answer) string {
	switch a.Kind {
	case JSON, Content:
		if len(a.Data) == 0 {
			a.Data = []byte("null")
		}
		if !a.Checked && !jsonscan.Valid(a.Data) {
			return "invalid JSON"
		}
	case Text:
		if !a.Checked && !utf8.Valid(a.Data) {
			a.Data = bytes.ToValidUTF8(a.Data, []byte("�"))
		}
	case Bytes:
	default:
		return "an unknown kind of answer"
	}
	return ""
}

// redact removes secrets and personal data.
func (c *call) redact(a *Answer) error {
	r := c.run
	c.checkOutput(a)
	if a.Kind != Bytes {
		a.Data = removeSecrets(a.Data, c.secrets)
	}
	counts, mode, err := r.redactor.answer(a, c.name)
	if len(counts.Kinds) > 0 {
		if recorded := r.recordPrivacy(c.number, c.name, "answer", mode, counts); recorded != nil {
			return recorded
		}
	}
	if err != nil {
		return &Failure{Code: fault.ToolFailed, Tool: c.name, Hint: "the policy blocks personal data from this tool",
			Message: c.name + " answered with personal data, which the policy blocks"}
	}
	return nil
}

// checkOutput warns of an answer that does not match the output schema.
func (c *call) checkOutput(a *Answer) {
	const maxChecked = 64 << 10
	if a.Kind != JSON || len(c.tool.OutputSchema) == 0 || len(a.Data) > maxChecked {
		return
	}
	c.tool.compile()
	var v any
	if json.Unmarshal(a.Data, &v) != nil {
		return
	}
	if f, _ := c.tool.output.Check("answer", v); f != nil {
		c.run.warn(c.name + " answered with something else than its output schema declares: " + clean(f.Error(), 500))
	}
}

// paging returns how to ask a tool for less, by the names of its arguments.
func (t *resolvedTool) paging() string {
	var found []string
	for _, name := range t.schema().Properties() {
		switch strings.ToLower(strings.ReplaceAll(name, "_", "")) {
		case "limit", "perpage", "pagesize", "maxresults", "first", "count", "top", "page", "cursor", "offset",
			"after", "pagetoken", "nextcursor", "fields", "select", "since", "query", "head", "maxlength", "startindex":
			found = append(found, clean(name, 80))
		}
	}
	if len(found) == 0 {
		return "ask for less; " + t.signature()
	}
	return "ask for less at once with " + strings.Join(found, ", ")
}

func closeBody(a Answer) {
	if a.Body != nil {
		_ = a.Body.Close()
	}
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

// readStream answers "wexec:read" with the next bytes of a stream. No bytes are
// the end.
func (c *call) readStream(ctx context.Context) (Answer, error) {
	var in struct {
		Stream int64
		Max    int
	}
	if f := c.decode(&in); f != nil {
		return Answer{}, f
	}
	c.ticket.WaitPrevious(ctx)
	data, err := c.run.streams.Read(ctx, in.Stream, in.Max)
	switch {
	case err == nil:
		return Answer{Kind: Bytes, Data: data, Checked: true}, nil
	case c.run.Err() != nil:
		return Answer{}, c.run.Err()
	case errors.Is(err, streams.ErrUnknown):
		return Answer{}, &Failure{Code: fault.ToolInvalidArgs, Message: "there is no open stream with this number"}
	case errors.Is(err, streams.ErrTimeout):
		return Answer{}, &Failure{Code: fault.ToolTimeout, Message: "the rest of the response did not arrive in time"}
	case ctx.Err() != nil:
		return Answer{}, c.cancelled()
	case endsRun(err):
		c.run.fail(err)
		return Answer{}, err
	}
	return Answer{}, failureOf(err, c.name)
}

// closeStream answers "wexec:close".
func (c *call) closeStream(context.Context) (Answer, error) {
	var in struct{ Stream int64 }
	if f := c.decode(&in); f != nil {
		return Answer{}, f
	}
	c.run.streams.Close(in.Stream)
	return null(), nil
}
