package hostfns

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
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
