// Package approvals asks users to approve calls and returns their answers.
// A [Broker] asks through prompts, at the terminal
// or through an MCP client, and through a socket that only its owner can open. The
// first answer counts; nothing is approved by default.
package approvals

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/internal/text"
)

// Ways to ask, as in a policy's approvals.via.
const (
	Terminal = "terminal"
	MCP      = "mcp"
	Socket   = "socket"
)

// Broker asks users. It implements [hostfns.Asker].
type Broker struct {
	mu      sync.Mutex
	prompts map[string]*prompt
	open    map[string]*question
	sockets int
}

// prompt is one way to ask.
type prompt struct {
	asker hostfns.Asker
	busy  chan struct{} // holds a value while a question is asked
}

type question struct {
	hostfns.Question
	answer chan hostfns.Reply // buffered, one reply
	once   sync.Once
}

// New makes a broker without a way to ask.
func New() *Broker {
	return &Broker{prompts: map[string]*prompt{}, open: map[string]*question{}}
}

// Offer adds a prompt, Terminal or MCP, and returns a function that removes
// it. A prompt gets one question at a time and must return when its
// context ends. It returns hostfns.ErrNobody if there is no user.
func (b *Broker) Offer(via string, asker hostfns.Asker) (withdraw func()) {
	p := &prompt{asker: asker, busy: make(chan struct{}, 1)}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.prompts[via] = p
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.prompts[via] == p {
			delete(b.prompts, via)
		}
	}
}

// CanGrant implements [hostfns.Granter]: a person at the terminal may be asked
// about what no rule allows.
func (b *Broker) CanGrant() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.prompts[Terminal]
	if p == nil {
		return false
	}
	g, ok := p.asker.(hostfns.Granter)
	return ok && g.CanGrant()
}

// Ask asks a question through all of its ways that are open, and waits
// for the first answer. If none is open it returns
// hostfns.ErrNobody at once.
func (b *Broker) Ask(ctx context.Context, q hostfns.Question) (hostfns.Reply, error) {
	one := &question{Question: q, answer: make(chan hostfns.Reply, 1)}
	b.mu.Lock()
	if b.open[q.ID] != nil {
		b.mu.Unlock()
		return hostfns.Reply{}, fault.New(fault.Internal, "question ID is already in use")
	}
	var ways []string
	prompts := map[string]*prompt{}
	bySocket := false
	for _, via := range q.Via {
		switch p := b.prompts[via]; {
		case via == Socket && b.sockets > 0:
			bySocket = true
		case p != nil && prompts[via] == nil:
			prompts[via] = p
			ways = append(ways, via)
		}
	}
	if len(ways) == 0 && !bySocket {
		b.mu.Unlock()
		return hostfns.Reply{}, hostfns.ErrNobody
	}
	b.open[q.ID] = one
	b.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		cancel()
		b.mu.Lock()
		delete(b.open, q.ID)
		b.mu.Unlock()
	}()

	gone := make(chan error, len(ways))
	for _, via := range ways {
		go func() {
			reply, err := prompts[via].ask(ctx, via, q)
			if err != nil {
				gone <- err
				return
			}
			one.settle(reply)
		}()
	}
	left := len(ways)
	var failed error
	for {
		select {
		case reply := <-one.answer:
			return reply, nil
		case <-ctx.Done():
			return hostfns.Reply{}, ctx.Err()
		case err := <-gone:
			if !errors.Is(err, hostfns.ErrNobody) {
				failed = err
			}
			if left--; left == 0 && !bySocket {
				return hostfns.Reply{}, cmp.Or(failed, hostfns.ErrNobody)
			}
		}
	}
}

// ask waits until the prompt is free and asks. Only the terminal shows
// redacted values.
func (p *prompt) ask(ctx context.Context, via string, q hostfns.Question) (reply hostfns.Reply, err error) {
	select {
	case p.busy <- struct{}{}:
	case <-ctx.Done():
		return hostfns.Reply{}, ctx.Err()
	}
	defer func() { <-p.busy }()
	defer func() {
		if r := recover(); r != nil {
			err = fault.New(fault.Internal, "prompt panicked: %s", fmt.Sprint(r))
		}
	}()
	if ctx.Err() != nil {
		return hostfns.Reply{}, ctx.Err()
	}
	if via != Terminal {
		q = q.Covered()
	}
	reply, err = p.asker.Ask(ctx, q)
	reply.By = cmp.Or(reply.By, via)
	return reply, err
}

func (q *question) settle(r hostfns.Reply) (first bool) {
	q.once.Do(func() { q.answer <- r; first = true })
	return first
}

// List returns the open questions, oldest first.
func (b *Broker) List() []hostfns.Question {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make([]hostfns.Question, 0, len(b.open))
	for _, q := range b.open {
		out = append(out, q.Question)
	}
	slices.SortFunc(out, func(x, y hostfns.Question) int {
		return cmp.Or(x.Since.Compare(y.Since), strings.Compare(x.ID, y.ID))
	})
	return out
}

// Answer answers an open question. It returns usage.flag if the question was
// answered already, is not open, or must not be answered
// this way.
func (b *Broker) Answer(id string, r hostfns.Reply) error {
	b.mu.Lock()
	q := b.open[id]
	b.mu.Unlock()
	if q == nil {
		return fault.New(fault.UsageFlag, "no open question %s", clipped(id)).WithHint("run wexec approvals list")
	}
	if r.By == Socket && !slices.Contains(q.Via, Socket) {
		return fault.New(fault.UsageFlag, "the policy does not allow question %s to be answered over the socket", clipped(id)).
			WithHint("add socket to approvals.via in the policy")
	}
	if !q.settle(r) {
		return fault.New(fault.UsageFlag, "question %s is already answered", clipped(id))
	}
	return nil
}

// clipped returns a short text of a caller, visible on one line.
func clipped(s string) string { return text.Visible(text.Clip(s, 40)) }
