package hostfns

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/policy"
)

// recording is what the table of a replay answers from.
type recording struct {
	audit.Recording
	decisions map[uint64]*audit.Decision // on tools, by call
}

// arguments are those of a call, as the program wrote them.
func (rec *recording) arguments(call uint64) []byte {
	if given := rec.Calls[call].Args; given != nil {
		return given
	}
	if d := rec.decisions[call]; d != nil {
		return d.Args
	}
	return nil
}

// Recorded makes the table of a replay: every call is answered from the record
// of a run, by its number, and nothing is called, decided or recorded. A call
// that the record does not have, or has with other arguments, ends the replay
// with usage.audit, which names the first difference. Of the providers only
// one of files is asked, for the scratch folder. A run that wrote files of the
// host cannot be repeated without writing them again, which is usage.audit.
func Recorded(rec audit.Recording, providers ...Provider) (*Table, error) {
	r := &recording{Recording: rec, decisions: map[uint64]*audit.Decision{}}
	seen := map[string]bool{}
	var tools []catalogue.Tool
	for i := range rec.Decisions {
		d := &rec.Decisions[i]
		if d.Kind == "file" && d.Writes && d.Effect == "allow" {
			return nil, fault.New(fault.UsageAudit, "run %s wrote files, which a replay would have to write again", rec.Run).
				WithHint("runs that leave the host's files alone can be repeated")
		}
		if d.Kind == "" && r.decisions[d.Call] == nil {
			r.decisions[d.Call] = d
		}
		server, name, ok := strings.Cut(d.Tool, ".")
		if d.Tool == "" || !ok || seen[d.Tool] || strings.HasPrefix(d.Tool, ownPrefix) {
			continue
		}
		seen[d.Tool] = true
		tools = append(tools, catalogue.Tool{Server: server, Name: name})
	}
	t, err := NewTable(nil, audit.None(), providers...)
	if err != nil {
		return nil, err
	}
	t.recording = r
	t.whole = catalogue.New(tools)
	return t, nil
}

// Unrepeated is the first call of the record that a replay has not made.
func (r *Run) Unrepeated() (audit.Call, bool) {
	rec := r.table.recording
	if rec == nil {
		return audit.Call{}, false
	}
	first, found := audit.Call{}, false
	for n, c := range rec.Calls {
		if n > r.number.Load() && (!found || n < first.Call) {
			first, found = c, true
		}
	}
	return first, found
}

// repeat answers a call from the record.
func (r *Run) repeat(ctx context.Context, name string, args []byte, f *flight) (Answer, error) {
	rec := r.table.recording
	differs := func(format string, a ...any) (Answer, error) {
		err := fault.New(fault.UsageAudit, format, a...)
		r.fail(err)
		return Answer{}, err
	}
	was, ok := rec.Calls[f.number]
	if !ok {
		return differs("call %d of %s is not in the record", f.number, clean(name, 200))
	}
	if !r.sameTool(name, was.Tool) {
		return differs("call %d is one of %s, and was one of %s", f.number, clean(name, 200), was.Tool)
	}
	if then := rec.arguments(f.number); !bytes.Equal(args, then) {
		return differs("call %d of %s has other arguments than the record: %s, and had %s", f.number, was.Tool, glimpse(args), glimpse(then))
	}
	if r.table.outward(name) {
		info := r.begin(was.Tool, f.number)
		defer r.finish(info, func(c *CallInfo) {
			c.OK, c.Bytes, c.Code = was.OK, was.Bytes, fault.Code(was.Code)
			switch d := rec.decisions[f.number]; {
			case d != nil:
				c.Decision, c.Rule = d.Effect, d.Rule
			case c.Code.Class() == fault.ClassDenied:
				c.Decision = policy.Deny.String()
			case strings.HasPrefix(name, ownPrefix):
				c.Decision = policy.Allow.String()
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
		<-ctx.Done() // the program gave it up, and does so again
	} else {
		r.fail(err)
	}
	return Answer{}, err
}

// sameTool reports whether a spelling means a recorded tool.
func (r *Run) sameTool(name, was string) bool {
	if name == was || clean(name, 300) == was {
		return true
	}
	t, ok := r.table.whole.Lookup(name)
	return ok && t.ID() == was
}

// glimpse is the beginning of some arguments.
func glimpse(args []byte) string {
	if len(args) == 0 {
		return "none"
	}
	return clean(string(args), 80)
}
