package hostfns

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/journal"
	"github.com/wexec/wexec/policy"
)

// Recorded returns the table of a replay. It answers every call from the record of
// a run by its number; nothing is called, decided or recorded. A call that the
// record does not have, or has with other arguments, ends the replay with
// usage.audit, which names the first difference. Of the providers only one of
// files is used, for the scratch folder. A run that wrote files of the host is
// usage.audit, since a replay would have to write them again.
func Recorded(rec audit.Recording, providers ...Provider) (*Table, error) {
	seen := map[string]bool{}
	var tools []catalogue.Tool
	for _, d := range rec.Decisions {
		if d.Kind == "file" && d.Writes && d.Effect == policy.Allow.String() {
			return nil, fault.New(fault.UsageAudit, "run %s wrote files, which a replay would write again", rec.Run).
				WithHint("replay a run that writes no files of the host")
		}
		server, name, ok := strings.Cut(d.Tool, ".")
		if ok && !seen[d.Tool] && kindOf(d.Tool) == toolCall {
			seen[d.Tool] = true
			tools = append(tools, catalogue.Tool{Server: server, Name: name})
		}
	}
	t, err := NewTable(nil, audit.None(), providers...)
	if err != nil {
		return nil, err
	}
	t.recording = &rec
	t.catalogue = catalogue.New(tools)
	t.identifiers = slices.Clone(rec.Start.Servers)
	return t, nil
}

// replay answers the calls of a run from the record of another.
type replay struct {
	run       *Run
	calls     map[uint64]audit.Call
	decisions map[uint64]audit.Decision // on tools, by call
}

func newReplay(r *Run) replay {
	b := replay{run: r, calls: r.table.recording.Calls, decisions: map[uint64]audit.Decision{}}
	for _, d := range slices.Backward(r.table.recording.Decisions) {
		if d.Kind == "" {
			b.decisions[d.Call] = d // the first of a call
		}
	}
	return b
}

// arguments returns those of a call, as the program wrote them.
func (b replay) arguments(call uint64) []byte {
	if given := b.calls[call].Args; given != nil {
		return given
	}
	return b.decisions[call].Args
}

func (b replay) kindOf(name string) kind { return kindOf(name) }

func (b replay) keepsWaits() bool { return true }

func (b replay) fileTime() func() time.Time { return b.run.startTime() }

// serve answers a call if it is the one in the record.
func (b replay) serve(ctx context.Context, c *call) (Answer, error) {
	r := b.run
	if err := r.Err(); err != nil {
		return Answer{}, err
	}
	name := clean(c.name, 300)
	differs := func(format string, a ...any) (Answer, error) {
		err := fault.New(fault.UsageAudit, format, a...)
		r.fail(err)
		return Answer{}, err
	}
	was, ok := b.calls[c.number]
	if !ok {
		return differs("call %d of %s is not in the record", c.number, name)
	}
	if tool, ok := r.table.catalogue.Lookup(c.name); c.name != was.Tool && name != was.Tool && (!ok || tool.ID() != was.Tool) {
		return differs("call %d is of %s, but the record has %s", c.number, name, was.Tool)
	}
	if then := b.arguments(c.number); !bytes.Equal(c.given, then) {
		return differs("call %d of %s has other arguments than the record: %s instead of %s", c.number, was.Tool, excerpt(c.given), excerpt(then))
	}
	if c.kind != lookupCall {
		info := r.begin(was.Tool, c.number)
		defer r.finish(info, func(info *CallInfo) {
			info.OK, info.Bytes, info.Code = was.OK, was.Bytes, fault.Code(was.Code)
			switch d, ok := b.decisions[c.number]; {
			case ok:
				info.Decision, info.Rule = d.Effect, d.Rule
			case info.Code.Class() == fault.ClassDenied:
				info.Decision = policy.Deny.String()
			case c.kind == nativeCall:
				info.Decision = policy.Allow.String()
			}
		})
	}
	if err := r.spend(int64(len(was.Answer))); err != nil {
		return Answer{}, err
	}
	if was.OK {
		return Answer{Kind: Kind(was.AnswerKind), Data: was.Answer, Checked: true}, nil
	}
	var failed Failure
	if Kind(was.AnswerKind) == Error && json.Unmarshal(was.Answer, &failed) == nil && failed.Code != "" {
		return Answer{}, &failed
	}
	err := fault.New(fault.Code(was.Code), "%s", was.Message)
	if err.Code.Class() == fault.ClassCancelled {
		<-ctx.Done() // the program cancelled it, and does so again
	} else {
		r.fail(err)
	}
	return Answer{}, err
}

// excerpt returns the beginning of arguments for a message.
func excerpt(args []byte) string {
	if len(args) == 0 {
		return "none"
	}
	return clean(string(args), 80)
}

// Unrepeated returns the first call of the record that a replay has not made.
func (r *Run) Unrepeated() (audit.Call, bool) {
	first, found := audit.Call{}, false
	if r.table.recording == nil {
		return first, false
	}
	for n, c := range r.table.recording.Calls {
		if n > r.number.Load() && (!found || n < first.Call) {
			first, found = c, true
		}
	}
	return first, found
}

// durable answers calls from the journal of the run, and those that it does not have
// from providers. While the program repeats what the journal has, nothing reaches the
// outside.
type durable struct {
	live
	log *journal.Log
}

func (b durable) keepsWaits() bool { return true }

func (b durable) fileTime() func() time.Time { return b.run.startTime() }

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
	if intent != nil {
		c.unknown = intent.Times
	}
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
		if c.name == waitCall {
			r.signals.repeat(c.given)
		}
		return Answer{Kind: Kind(was.Kind), Data: was.Answer, Checked: true}, nil
	}
	failed := &Failure{}
	if err := json.Unmarshal(was.Failure, failed); err != nil {
		return b.differs(c, "its failure is damaged")
	}
	return Answer{}, failed
}
