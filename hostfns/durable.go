package hostfns

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"time"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns/internal/queue"
	"github.com/wexec/wexec/internal/journal"
	"github.com/wexec/wexec/policy"
)

// Durable are the options of a run with a journal.
type Durable struct {
	// Log is the journal.
	Log *journal.Log
	// After is how long the run waits for people and timers until it parks. Zero: it
	// does not.
	After time.Duration
}

// durable answers calls from the journal of the run, and those that it does not have
// from providers. While the program repeats what the journal has, nothing reaches the
// outside.
type durable struct {
	live
	log *journal.Log
}

func (b durable) keepsWaits() bool { return true }

func (b durable) serve(ctx context.Context, c *call) (Answer, error) {
	was, intent := b.log.Begin(c.number)
	asked := c.name
	if intent != nil && was == nil && intent.Args != journal.Digest(c.given) {
		return b.differs(c, "it has other arguments")
	}
	if was != nil {
		return b.repeat(c, was)
	}
	if b.log.Replaying() {
		if c.ticket == nil {
			return b.differs(c, "the program ended before its records do")
		}
		select {
		case <-b.log.Live():
		case <-ctx.Done():
			return Answer{}, c.cancelled()
		}
	}
	c.unknown = intent != nil
	a, err := b.live.serve(ctx, c)
	kept := journal.Call{Number: c.number, Name: asked, Args: journal.Digest(c.given), Kind: uint8(a.Kind), Answer: a.Data}
	if err != nil {
		f, ok := err.(*Failure)
		if !ok {
			return a, err
		}
		kept.Failure, _ = json.Marshal(f)
	}
	if c.info != nil {
		b.run.mu.Lock()
		kept.Tool, kept.Decision, kept.Rule, kept.Code = c.info.Tool, c.info.Decision, c.info.Rule, string(c.info.Code)
		b.run.mu.Unlock()
	}
	if c.counted && c.sent {
		kept.Sent = true
		for _, l := range c.decision.Limits {
			kept.Rules = append(kept.Rules, l.Rule)
		}
	}
	b.log.End(kept)
	if c.intended {
		if failed := b.log.Sync(b.run.uncancelled); failed != nil {
			b.run.fail(failed)
			return Answer{}, failed
		}
	}
	return a, err
}

// differs ends a run whose program does not do what its journal has.
func (b durable) differs(c *call, why string) (Answer, error) {
	err := differsFromJournal(b.run.info.ID, fmt.Sprintf("call %d of %s: %s", c.number, clean(c.name, 100), why))
	b.run.fail(err)
	return Answer{}, err
}

func differsFromJournal(run, why string) *fault.Error {
	return fault.New(fault.UsageRun, "go on with run %s: the program does not do what its journal has: %s", run, why).WithHint("run the program again")
}

// repeat answers a call from the journal.
func (b durable) repeat(c *call, was *journal.Call) (Answer, error) {
	r := b.run
	if err := r.Err(); err != nil {
		return Answer{}, err
	}
	if c.name != was.Name || journal.Digest(c.given) != was.Args {
		return b.differs(c, "the journal has another call")
	}
	if c.kind != lookupCall {
		info := r.begin(was.Tool, c.number)
		defer r.finish(info, func(info *CallInfo) {
			info.OK, info.Bytes, info.Code = was.Failure == nil, int64(len(was.Answer)), fault.Code(was.Code)
			info.Decision, info.Rule = was.Decision, was.Rule
		})
	}
	if was.Sent {
		limits := policy.RuleLimits{}
		for _, name := range was.Rules {
			limits = append(limits, policy.RuleLimit{Rule: name})
		}
		r.session.mu.Lock()
		r.session.count(was.Tool, limits, 1)
		r.session.mu.Unlock()
	}
	r.cacheable(0)
	if err := r.spend(int64(len(was.Answer))); err != nil {
		return Answer{}, err
	}
	if was.Failure == nil {
		return Answer{Kind: Kind(was.Kind), Data: was.Answer, Checked: true}, nil
	}
	failed := &Failure{}
	if err := json.Unmarshal(was.Failure, failed); err != nil {
		return b.differs(c, "its failure is damaged")
	}
	return Answer{}, failed
}

// intend keeps that a call is about to change something, before it is sent. A call that
// was about to in another process, and has no answer, is sent again only if that does no
// harm.
func (c *call) intend(ctx context.Context) error {
	d := c.run.info.Durable
	if d == nil || c.kind == lookupCall || c.kind == toolCall && !c.tool.writes() {
		return nil
	}
	if c.unknown && !c.tool.repeatable() {
		return &Failure{Code: fault.ToolUnknownOutcome, Tool: c.name,
			Message: c.name + " was called before the run was interrupted, and it is not known whether it did its work",
			Hint:    "find out with a tool that reads, then call it again or go on"}
	}
	if err := d.Log.Intend(ctx, journal.Intent{Number: c.number, Tool: c.name, Args: journal.Digest(c.given)}); err != nil {
		if ctx.Err() == nil {
			c.run.fail(err)
		}
		return err
	}
	c.intended = true
	return nil
}

// repeatable reports whether the tool may be called again with the same arguments.
func (t *resolvedTool) repeatable() bool {
	a := t.Annotations
	return a.Idempotent != nil && *a.Idempotent || !t.writes()
}

// questionID returns the id of a question. It is the same in each process of a durable
// run, as long as the rule asks the same.
func (c *inquiry) questionID(random string) string {
	if c.run.info.Durable == nil {
		return "q_" + random
	}
	sum := sha256.New()
	_ = json.NewEncoder(sum).Encode([]any{c.run.info.ID, c.number, c.kind, c.decision.Rule, c.decision.Message, c.decision.Asking, c.args})
	return "q_" + base32.StdEncoding.EncodeToString(sum.Sum(nil))[:12]
}

// keepState returns what the calls of the run share, as the journal keeps it.
func (r *Run) keepState() json.RawMessage {
	state := r.session.State()
	state.ByRule, state.ByTool = nil, nil // they are counted again with the calls
	data, err := json.Marshal(state)
	if err != nil {
		return nil
	}
	return data
}

// KeepState returns what the calls of the run share, for its journal.
func (r *Run) KeepState() json.RawMessage { return r.keepState() }

// restoreState makes the session of a run that goes on.
func restoreState(d *Durable) (*Session, error) {
	var state SessionState
	if data := d.Log.Shared(); data != nil {
		if err := json.Unmarshal(data, &state); err != nil {
			return nil, fault.New(fault.UsageRun, "go on with a run: its journal is damaged").WithHint("run the program again")
		}
	}
	return RestoreSession("", state, true), nil
}

// durableQueue returns the options of the queue of a durable run, or nil.
func (r *Run) durableQueue() *queue.Durable {
	d := r.info.Durable
	if d == nil {
		return nil
	}
	return &queue.Durable{
		After: d.After, Park: r.Park, Left: d.Log.Left,
		Differs: func() { r.fail(differsFromJournal(r.info.ID, "it waits for another call")) },
	}
}

// Park ends a durable run in this process. It goes on in another one, at the latest at
// until; zero: there is no such time.
func (r *Run) Park(until time.Time) {
	if err := r.info.Durable.Log.Park(r.uncancelled, until); err != nil {
		r.fail(err)
		return
	}
	r.fail(fault.New(fault.Cancelled, "the run has parked"))
}
