package mcpd

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/internal/text"
	"github.com/wexec/wexec/policy"
)

// Feature implements hostfns.Client. The client is told which tool asks, so that
// no form of a server passes for a question of wexec.
func (a *clientAsker) Feature(ctx context.Context, feature policy.Feature, tool string, params json.RawMessage) (json.RawMessage, error) {
	id, who := "f_"+rand.Text()[:12], text.Visible(tool)
	wait := engine.Waiting{ID: id, Tool: tool, Message: fmt.Sprintf("%s waits for %s", who, feature), Since: time.Now().UTC()}
	roundTrips := usesRoundTrips(a.session)
	switch feature {
	case policy.Elicitation:
		if !canElicit(a.session) {
			return nil, hostfns.ErrNobody
		}
		var p mcp.ElicitParams
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, err
		}
		p.Mode, p.Message = "form", fmt.Sprintf("The tool %s asks (the answer goes to its server):\n%s", who, p.Message)
		a.run.update(func() { a.run.waiting[id] = wait })
		defer a.run.update(func() { delete(a.run.waiting, id) })
		return encoded(elicitor{a.run, roundTrips}.elicit(ctx, id, &p))
	case policy.Sampling:
		if !canSample(a.session) {
			return nil, hostfns.ErrNobody
		}
		var p mcp.CreateMessageParams
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, err
		}
		if roundTrips {
			return encoded(exchange[mcp.InputResponse](ctx, a.run, id, &p))
		}
		return encoded(request(ctx, a.run, &p, (*mcp.ServerSession).CreateMessage))
	}
	return nil, hostfns.ErrNobody
}

// encoded returns a result as JSON.
func encoded(res any, err error) (json.RawMessage, error) {
	if err != nil {
		return nil, err
	}
	return json.Marshal(res)
}

// canSample reports whether a client lets servers use its model.
func canSample(session *mcp.ServerSession) bool {
	p := session.InitializeParams()
	return p != nil && p.Capabilities != nil && p.Capabilities.Sampling != nil
}
