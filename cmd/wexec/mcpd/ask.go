package mcpd

import (
	"context"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/hostfns/approvals"
	"github.com/wexec/wexec/internal/text"
)

// roundTrips is the first protocol version in which a server may not send
// requests: its questions are in the result of a call, and the client calls
// again.
const roundTrips = "2026-07-28"

// clientAsker asks through the client if it supports elicitation, and at the
// same time through next. The client is shown tokens, never values.
type clientAsker struct {
	session *mcp.ServerSession
	next    hostfns.Asker
	run     *run
}

// Ask implements hostfns.Asker.
func (a *clientAsker) Ask(ctx context.Context, q hostfns.Question) (hostfns.Reply, error) {
	r := a.run
	r.update(func() {
		r.waiting[q.ID] = engine.Waiting{ID: q.ID, Tool: q.Tool, Message: q.Covered().Message, Since: q.Since, Expires: q.Expires}
	})
	defer r.update(func() { delete(r.waiting, q.ID) })
	var askers []hostfns.Asker
	if canElicit(a.session) && (len(q.Via) == 0 || slices.Contains(q.Via, "mcp")) {
		askers = append(askers, elicitor{r, usesRoundTrips(a.session)})
	}
	if a.next != nil {
		askers = append(askers, a.next)
	}
	return approvals.First(askers).Ask(ctx, q)
}

// canElicit reports whether a client can show a form to its person.
func canElicit(session *mcp.ServerSession) bool {
	p := session.InitializeParams()
	if p == nil || p.Capabilities == nil || p.Capabilities.Elicitation == nil {
		return false
	}
	e := p.Capabilities.Elicitation
	return e.Form != nil || e.URL == nil
}

func usesRoundTrips(session *mcp.ServerSession) bool {
	p := session.InitializeParams()
	return p != nil && p.ProtocolVersion >= roundTrips
}

// elicitor asks the person at an MCP client.
type elicitor struct {
	run        *run
	roundTrips bool
}

// Ask implements hostfns.Asker.
func (a elicitor) Ask(ctx context.Context, q hostfns.Question) (hostfns.Reply, error) {
	params, always := formOf(q.Covered())
	res, err := a.elicit(ctx, q.ID, params)
	if err != nil {
		return hostfns.Reply{}, err
	}
	answer, _ := res.Content["answer"].(string)
	if res.Action != "accept" || (answer != "yes" && (answer != "always" || !always)) {
		return hostfns.Reply{By: "mcp", Reason: "the person at the client said no"}, nil
	}
	return hostfns.Reply{Approved: true, Always: answer == "always", By: "mcp"}, nil
}

// formOf is a question as a form. It reports whether the form offers "always".
func formOf(q hostfns.Question) (_ *mcp.ElicitParams, always bool) {
	message := fmt.Sprintf("Allow the program to call %s?", text.Visible(q.Tool))
	for _, line := range approvals.Lines(q, approvals.InForm) {
		message += "\n" + line
	}
	choices := []string{"yes", "no"}
	always = q.Remember == "run" || q.Remember == "session"
	if always {
		choices = append(choices, "always")
	}
	return &mcp.ElicitParams{Mode: "form", Message: message, RequestedSchema: map[string]any{
		"type": "object", "required": []string{"answer"},
		"properties": map[string]any{"answer": map[string]any{"type": "string", "enum": choices, "title": "Allow this call"}},
	}}, always
}

// elicit shows a form.
func (a elicitor) elicit(ctx context.Context, id string, params *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	if a.roundTrips {
		return exchange[*mcp.ElicitResult](ctx, a.run, id, params)
	}
	return request(ctx, a.run, params, (*mcp.ServerSession).Elicit)
}

// exchange leaves a request for the result of a call and waits for the next call.
func exchange[Result mcp.InputResponse](ctx context.Context, r *run, id string, params mcp.InputRequest) (res Result, err error) {
	f := &form{params: params, answer: make(chan mcp.InputResponse, 1)}
	r.update(func() { r.forms[id] = f })
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.forms, id)
	}()
	select {
	case answer := <-f.answer:
		res, ok := answer.(Result)
		if !ok {
			return res, fault.New(fault.DeniedApproval, "the client answered with something else than was requested")
		}
		return res, nil
	case <-ctx.Done():
		return res, context.Cause(ctx)
	}
}

// request sends a request to the client.
func request[Params, Result any](ctx context.Context, r *run, params Params, send func(*mcp.ServerSession, context.Context, Params) (Result, error)) (res Result, err error) {
	r.mu.Lock()
	l := r.listener
	r.mu.Unlock()
	if l == nil {
		return res, hostfns.ErrNobody
	}
	// The context of the call has the stream for the request, that of the question
	// has the time.
	asking, cancel := context.WithCancelCause(context.WithoutCancel(l.ctx))
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })()
	if res, err = send(l.session, asking, params); err != nil {
		return res, fault.New(fault.DeniedApproval, "ask through the client: %w", err)
	}
	return res, nil
}
