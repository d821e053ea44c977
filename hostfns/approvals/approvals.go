// Package approvals puts questions to people and brings back their answers.
// A [Broker] knows the ways to ask: prompts that a door offers, at the terminal
// or through an MCP client, and a socket that only its owner can open. The
// first answer holds; nothing is ever approved by default.
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

// The ways to ask, as a policy names them.
const (
	Terminal = "terminal"
	MCP      = "mcp"
	Socket   = "socket"
)

// Broker asks people. It implements hostfns.Asker.
type Broker struct {
	mu      sync.Mutex
	prompts map[string]*prompt
	open    map[string]*question
	sockets int
}

// prompt is one way to ask that a door offers.
type prompt struct {
	asker hostfns.Asker
	turn  chan struct{} // one question at a time
}

type question struct {
	hostfns.Question
	answer chan hostfns.Reply // of one
	once   sync.Once
}

// New makes a broker that has nobody to ask yet.
func New() *Broker {
	return &Broker{prompts: map[string]*prompt{}, open: map[string]*question{}}
}

// Offer adds a way to ask, Terminal or MCP, and gives back how to take it away
// again. A prompt is asked one question at a time and must return when its
// context ends. It returns hostfns.ErrNobody where nobody is there.
func (b *Broker) Offer(via string, asker hostfns.Asker) (withdraw func()) {
	p := &prompt{asker: asker, turn: make(chan struct{}, 1)}
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

// Ask puts a question by every way that it names and that is open, and waits
// for the first answer. Where there is no such way it returns
// hostfns.ErrNobody at once.
func (b *Broker) Ask(ctx context.Context, q hostfns.Question) (hostfns.Reply, error) {
	one := &question{Question: q, answer: make(chan hostfns.Reply, 1)}
	b.mu.Lock()
	if b.open[q.ID] != nil {
		b.mu.Unlock()
		return hostfns.Reply{}, fault.New(fault.Internal, "a question is asked twice")
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

// ask asks by one prompt when it is free. Only a person at the terminal sees
// values.
func (p *prompt) ask(ctx context.Context, via string, q hostfns.Question) (reply hostfns.Reply, err error) {
	select {
	case p.turn <- struct{}{}:
	case <-ctx.Done():
		return hostfns.Reply{}, ctx.Err()
	}
	defer func() { <-p.turn }()
	defer func() {
		if r := recover(); r != nil {
			err = fault.New(fault.Internal, "the prompt failed: %s", fmt.Sprint(r))
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

// List lists the questions that are open, the oldest first.
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

// Answer answers an open question. The first answer holds: a second is
// usage.flag, and so is one to a question that is not open any more, or that
// may not be answered by that way.
func (b *Broker) Answer(id string, r hostfns.Reply) error {
	b.mu.Lock()
	q := b.open[id]
	b.mu.Unlock()
	if q == nil {
		return fault.New(fault.UsageFlag, "there is no open question %s", clipped(id)).WithHint("wexec approvals list shows what is open")
	}
	if r.By == Socket && !slices.Contains(q.Via, Socket) {
		return fault.New(fault.UsageFlag, "the policy does not let question %s be answered from here", clipped(id)).
			WithHint("name socket under approvals.via of the policy")
	}
	if !q.settle(r) {
		return fault.New(fault.UsageFlag, "question %s is answered already", clipped(id))
	}
	return nil
}

// Visible returns text with invisible characters written out, see [text.Visible].
// Line feeds and tabs stay if lines is true.
func Visible(s string, lines bool) string {
	if lines {
		return text.VisibleLines(s)
	}
	return text.Visible(s)
}

func clipped(s string) string {
	if len(s) > 40 {
		s = s[:40] + "…"
	}
	return Visible(s, false)
}
