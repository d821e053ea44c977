package hostfns

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
)

// Recorded makes the table of a replay: every call is answered from the record
// of a run, by its number, and nothing is called, decided or recorded. A call
// that the record does not have, or has with other arguments, ends the replay
// with usage.audit, which names the first difference. Of the providers only
// one of files is asked, for the scratch folder. A run that wrote files of the
// host cannot be repeated without writing them again, which is usage.audit.
func Recorded(rec audit.Recording, providers ...Provider) (*Table, error) {
	for _, d := range rec.Decisions {
		if d.Kind == "file" && d.Writes && d.Effect == "allow" {
			return nil, fault.New(fault.UsageAudit, "run %s wrote files, which a replay would have to write again", rec.Run).
				WithHint("runs that leave the host's files alone can be repeated")
		}
	}
	t, err := NewTable(nil, audit.None(), providers...)
	if err != nil {
		return nil, err
	}
	t.recording = &rec
	seen := map[string]bool{}
	var tools []catalogue.Tool
	for _, d := range rec.Decisions {
		server, name, ok := strings.Cut(d.Tool, ".")
		if d.Tool == "" || !ok || seen[d.Tool] || strings.HasPrefix(d.Tool, ownPrefix) {
			continue
		}
		seen[d.Tool] = true
		tools = append(tools, catalogue.Tool{Server: server, Name: name})
	}
	t.whole = catalogue.New(tools)
	return t, nil
}

// repeat answers a call from the record.
func (r *Run) repeat(ctx context.Context, name string, args []byte, f *flight) (Answer, error) {
	rec := r.table.recording
	differs := func(format string, a ...any) (Answer, error) {
		err := fault.New(fault.UsageAudit, format, a...).WithOp("repeat run " + rec.Run)
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
	for i := range rec.Decisions {
		d := &rec.Decisions[i]
		if d.Call == f.number && d.Kind == "" && d.Args != nil && !sameArguments(args, d.Args) {
			return differs("call %d of %s has other arguments than the record", f.number, was.Tool)
		}
	}
	if !strings.HasPrefix(name, ownPrefix) || r.table.own[name] != nil {
		info := r.begin(was.Tool, f.number)
		defer r.finish(info, func(c *CallInfo) {
			c.OK, c.Bytes, c.Code = was.OK, was.Bytes, fault.Code(was.Code)
			for _, d := range rec.Decisions {
				if d.Call == f.number && d.Kind == "" && c.Decision == "" {
					c.Decision, c.Rule = d.Effect, d.Rule
				}
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
	if err.Code.Class() != fault.ClassCancelled {
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

// sameArguments compares what the program gives with what it gave: the record
// also has defaults, and names for what came by position.
func sameArguments(args, was []byte) bool {
	now, err := decode(args)
	if err != nil {
		return string(args) == string(was)
	}
	then, err := decode(was)
	if err != nil {
		return false
	}
	given, ok1 := now.value.(map[string]any)
	recorded, ok2 := then.value.(map[string]any)
	if !ok1 || !ok2 {
		return true // by position: the names are the schema's, which is not at hand
	}
	for name, v := range given {
		if w, ok := recorded[name]; ok && !reflect.DeepEqual(v, w) {
			return false
		}
	}
	return true
}

// readBefore lists the paths of the host that a recorded run was let read.
func readBefore(rec *audit.Recording) []string {
	var out []string
	for _, d := range rec.Decisions {
		if path, ok := strings.CutPrefix(d.Target, "read "); ok && d.Kind == "file" && d.Effect == "allow" {
			out = append(out, path)
		}
	}
	return out
}
