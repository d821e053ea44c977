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
)

// roundTrips is the protocol from which on a server may not ask by itself: its
// questions travel in the answer of a call, and the client calls again.
const roundTrips = "2026-07-28"

// clientAsker asks through the client where it can elicit, and otherwise
// whoever else may be asked. The client is shown tokens, never values.
type clientAsker struct {
	session *mcp.ServerSession
	next    hostfns.Asker
	run     *waitingRun
}

// Ask implements hostfns.Asker.
func (a *clientAsker) Ask(ctx context.Context, q hostfns.Question) (hostfns.Reply, error) {
	r := a.run
	r.mu.Lock()
	r.asked[q.ID] = engine.Waiting{ID: q.ID, Tool: q.Tool, Message: q.Covered().Message, Since: q.Since, Expires: q.Expires}
	r.change()
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		delete(r.asked, q.ID)
		r.change()
		r.mu.Unlock()
	}()
	var ways []hostfns.Asker
	if canElicit(a.session) && through(q, "mcp") {
		ways = append(ways, elicitor{r, takesRoundTrips(a.session)})
	}
	if a.next != nil {
		ways = append(ways, a.next)
	}
	return firstReply(ctx, ways, q)
}

// canElicit reports whether a client can show its person a form.
func canElicit(session *mcp.ServerSession) bool {
	p := session.InitializeParams()
	if p == nil || p.Capabilities == nil || p.Capabilities.Elicitation == nil {
		return false
	}
	e := p.Capabilities.Elicitation
	return e.Form != nil || e.URL == nil
}

func takesRoundTrips(session *mcp.ServerSession) bool {
	p := session.InitializeParams()
	return p != nil && p.ProtocolVersion >= roundTrips
}

// firstReply asks by every way at once; the first answer holds. A way that
// has nobody to ask leaves it to the others.
func firstReply(ctx context.Context, ways []hostfns.Asker, q hostfns.Question) (hostfns.Reply, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type answer struct {
		reply hostfns.Reply
		err   error
	}
	answers := make(chan answer, len(ways))
	for _, w := range ways {
		go func() {
			reply, err := w.Ask(ctx, q)
			answers <- answer{reply, err}
		}()
	}
	err := hostfns.ErrNobody
	for range ways {
		got := <-answers
		if got.err == nil {
			return got.reply, nil
		}
		if !errors.Is(got.err, hostfns.ErrNobody) {
			err = got.err
		}
	}
	return hostfns.Reply{}, err
}

func through(q hostfns.Question, way string) bool {
	return len(q.Via) == 0 || slices.Contains(q.Via, way)
}

// elicitor asks the person at an MCP client.
type elicitor struct {
	run        *waitingRun
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

// formOf is a question as clients show it. It says whether "always" may be
// chosen.
func formOf(q hostfns.Question) (*mcp.ElicitParams, bool) {
	message := fmt.Sprintf("Allow the program to call %s?", q.Tool)
	if q.Message != "" {
		message += "\n" + q.Message
	}
	if q.Intent != "" {
		message += "\nIts goal, in its own words: " + q.Intent
	}
	if len(q.Args) > 0 {
		message += "\nArguments: " + shortened(string(q.Args), 4000)
	}
	choices := []string{"yes", "no"}
	always := q.Remember == "run" || q.Remember == "session"
	if always {
		choices = append(choices, "always")
	}
	return &mcp.ElicitParams{Mode: "form", Message: message, RequestedSchema: map[string]any{
		"type": "object", "required": []string{"answer"},
		"properties": map[string]any{"answer": map[string]any{"type": "string", "enum": choices, "title": "Allow this call"}},
	}}, always
}

// elicit shows the form by the way that the client's protocol has for it.
func (a elicitor) elicit(ctx context.Context, id string, params *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	r := a.run
	r.mu.Lock()
	l := r.listener
	if a.roundTrips {
		f := &form{params: params, answer: make(chan *mcp.ElicitResult, 1)}
		r.forms[id] = f
		r.change()
		r.mu.Unlock()
		defer func() {
			r.mu.Lock()
			delete(r.forms, id)
			r.mu.Unlock()
		}()
		select {
		case res := <-f.answer:
			return res, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	r.mu.Unlock()
	if l == nil {
		return nil, hostfns.ErrNobody
	}
	// The values of the call's context say on which stream the form travels,
	// the question's own context says for how long.
	asking, cancel := context.WithCancelCause(context.WithoutCancel(l.ctx))
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })()
	res, err := l.session.Elicit(asking, params)
	if err != nil {
		return nil, fault.New(fault.DeniedApproval, "the client could not ask: %w", err)
	}
	return res, nil
}
