package mcpd

import (
	"context"
	"errors"
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
	return firstReply(ctx, askers, q)
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

// firstReply asks all askers at once and returns the first reply. Askers that
// have nobody to ask are ignored.
func firstReply(ctx context.Context, askers []hostfns.Asker, q hostfns.Question) (hostfns.Reply, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type answer struct {
		reply hostfns.Reply
		err   error
	}
	answers := make(chan answer, len(askers))
	for _, asker := range askers {
		go func() {
			reply, err := asker.Ask(ctx, q)
			answers <- answer{reply, err}
		}()
	}
	err := hostfns.ErrNobody
	for range askers {
		a := <-answers
		if a.err == nil {
			return a.reply, nil
		}
		if !errors.Is(a.err, hostfns.ErrNobody) {
			err = a.err
		}
	}
	return hostfns.Reply{}, err
}

// elicitor asks the person at an MCP client.
type elicitor struct {
	run        *run
	roundTrips bool
}

// Ask implements hostfns.Asker.
func (a elicitor) Ask(ctx context.Context, q hostfns.Question) (hostfns.Reply, error) {
	params, always := formOf(q.Covered())
	elicit := a.request
	if a.roundTrips {
		elicit = a.exchange
	}
	res, err := elicit(ctx, q.ID, params)
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

// exchange leaves the form for the result of a call and waits for the next call.
func (a elicitor) exchange(ctx context.Context, id string, params *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	r, f := a.run, &form{params: params, answer: make(chan *mcp.ElicitResult, 1)}
	r.update(func() { r.forms[id] = f })
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.forms, id)
	}()
	select {
	case res := <-f.answer:
		return res, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// request sends the form to the client.
func (a elicitor) request(ctx context.Context, _ string, params *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	a.run.mu.Lock()
	l := a.run.listener
	a.run.mu.Unlock()
	if l == nil {
		return nil, hostfns.ErrNobody
	}
	// The context of the call has the stream for the form, that of the question
	// has the time.
	asking, cancel := context.WithCancelCause(context.WithoutCancel(l.ctx))
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })()
	res, err := l.session.Elicit(asking, params)
	if err != nil {
		return nil, fault.New(fault.DeniedApproval, "ask through the client: %w", err)
	}
	return res, nil
}
