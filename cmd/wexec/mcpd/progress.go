package mcpd

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/engine"
)

// listener is the call that receives progress.
type listener struct {
	ctx     context.Context
	session *mcp.ServerSession
	token   any
	progress
}

// progress counts the events of a call. MCP requires that it only increases,
// although the tools and the program count from the start each.
type progress struct {
	at    float64 // of the last event
	from  float64 // where the current count began
	done  float64 // of the current count
	total float64 // of the current count; 0: unknown
}

// next counts an event and returns how far the call is, and of how much.
func (p *progress) next(e engine.Event) (at, total float64) {
	switch {
	case e.Type != engine.EventProgress || e.Total <= 0:
		p.at, p.from = p.at+1, p.from+1
	case e.Total == p.total && e.Done > p.done:
		p.done, p.at = e.Done, p.from+e.Done
	default: // another count
		p.from, p.done, p.total = p.at, max(e.Done, 0), e.Total
		p.at += p.done
	}
	if p.total == 0 {
		return p.at, 0
	}
	return p.at, max(p.from+p.total, p.at)
}

// send sends an event as notifications of progress and log, with the id of the run
// for a client whose connection is cut later. A client that cannot be reached
// misses it.
func (l *listener) send(run string, e engine.Event) {
	message, level := eventMessage(e)
	meta := mcp.Meta{"run_id": run}
	if l.token != nil {
		at, total := l.next(e)
		_ = l.session.NotifyProgress(l.ctx, &mcp.ProgressNotificationParams{Meta: meta, ProgressToken: l.token, Progress: at, Total: total, Message: message})
	}
	_ = l.session.Log(l.ctx, &mcp.LoggingMessageParams{Meta: meta, Logger: "wexec", Level: level, Data: message})
}

// eventMessage is an event for clients, or "" for one that they do not receive.
func eventMessage(e engine.Event) (string, mcp.LoggingLevel) {
	switch {
	case e.Type == engine.EventStarted:
		return "the program runs", "debug"
	case e.Type == engine.EventQueued:
		return fmt.Sprintf("queued behind %d runs", e.Count), "info"
	case e.Type == engine.EventCompiling:
		return "compiling " + e.Text + ", once on this machine", "info"
	case e.Type == engine.EventCall && e.Call != nil && e.Call.OK:
		return fmt.Sprintf("%s answered in %d ms", e.Call.Tool, e.Call.MS), "info"
	case e.Type == engine.EventCall && e.Call != nil:
		return fmt.Sprintf("%s failed: %s", e.Call.Tool, e.Call.Code), "warning"
	case e.Type == engine.EventProgress && e.Total > 0:
		return strings.TrimSpace(fmt.Sprintf("%g of %g %s", e.Done, e.Total, e.Text)), "info"
	case e.Type == engine.EventProgress:
		return e.Text, "info"
	case e.Type == engine.EventWaiting:
		return "waiting for a person: " + e.Text, "notice"
	}
	return "", ""
}
