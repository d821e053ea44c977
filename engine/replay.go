package engine

import (
	"context"
	"encoding/binary"
	"io"
	"slices"
	"strings"
	"time"

	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/policy"
)

// Replay runs a recorded program again. Every call is answered from the
// record, and so is every look at the clock, at standard input and at files:
// no tool is called, no file of the host is opened and nothing is recorded. Of
// the providers only one of files is asked, for the program's scratch folder;
// a run that had one needs one.
//
// The result is the one of the replay, in the words of the record where both
// are the same. An error of the code usage.audit says where the replay took
// another course than the record: status, value, output, the calls with their
// names, arguments and order, the looks at files, and fuel are compared, and
// the first difference is named. Of the same code is a run that cannot be
// repeated, because not everything of it was kept, or because its clock or its
// caller ended it.
func (e *Engine) Replay(ctx context.Context, rec audit.Recording, providers ...hostfns.Provider) (*Result, error) {
	err := repeatable(&rec)
	var table *hostfns.Table
	if err == nil {
		table, err = hostfns.Recorded(rec, providers...)
	}
	if err != nil {
		return (&Result{RunID: newID(time.Now()), Started: time.Now().UTC(), Cache: "off"}).unlike(faultOf(err))
	}
	s := rec.Start
	off := false
	req := Request{
		Language: s.Language, Code: string(s.Code), File: s.File, Args: []byte(s.Args), Argv: s.Argv, Intent: s.Intent,
		Deterministic: s.Deterministic, Cache: &off, Actor: Actor{ID: s.Actor.ID, Type: s.Actor.Type}, Trigger: s.Trigger,
		Table: table, Env: map[string]string{},
		Limits: policy.LimitRecord(s.Limits).Limits(),
		Plugin: s.Plugin, Function: s.Function,
	}
	if s.Plugin != "" {
		req.PluginDigest = s.GuestSHA256
	}
	if len(s.Args) == 0 {
		req.Args = nil
	}
	if s.Input != nil {
		req.Input = []byte(s.Input)
	}
	if len(s.Seed) == 8 {
		req.Seed = binary.BigEndian.Uint64(s.Seed)
	}
	// The names are no paths here: the record answers what is asked of them.
	if slices.Contains(s.Offers, "app") {
		req.Root = recordedFolder
	}
	if slices.Contains(s.Offers, "packages") {
		req.Packages = recordedFolder
	}
	for _, pair := range s.Env {
		name, value, _ := strings.Cut(pair, "=")
		req.Env[name] = value
	}
	return e.run(ctx, req, &rec)
}

// recordedFolder stands for a folder that a recorded run had.
const recordedFolder = "recorded"

// repeatable says why a run cannot be repeated.
func repeatable(rec *audit.Recording) error {
	not := func(hint, why string) error {
		return fault.New(fault.UsageAudit, "run %s cannot be repeated: %s", rec.Run, why).WithHint("%s", hint)
	}
	switch code := fault.Code(rec.End.Code); {
	case !rec.Start.Keep.Full():
		return not("record runs with  audit: {code: full, inputs: full, outputs: full}  in the policy",
			"its code, inputs and outputs were not all kept")
	case rec.Start.Session != "":
		return not("runs without a session can be repeated", "it went on from earlier runs of its session, which are not in its record")
	case rec.End.Cache == "hit":
		return not("repeat the run that gave the value first", "its value came from the result cache")
	case code == fault.LimitTime, code == fault.LimitBusy, code.Class() == fault.ClassCancelled, code.Class() == fault.ClassInternal:
		return not("", "it was ended from outside ("+rec.End.Code+"), at a point that no record has")
	case rec.End.World == nil:
		return not("", "what it saw was not kept")
	case len(rec.End.World.Dropped) > 0:
		return not("", "it saw more than is kept of "+words(rec.End.World.Dropped))
	}
	return nil
}

// recall lets a replay see what the recorded run saw. The scratch folder is in
// files.
func (j *job) recall(r *run, files experimentalsys.FS) experimentalsys.FS {
	s, saw := &j.rec.Start, j.rec.End.World
	if !s.Deterministic {
		r.clock = &clock{virtual: true, start: s.Clock}
		for _, d := range saw.Clock {
			r.clock.showed = append(r.clock.showed, time.Duration(d))
		}
		if len(s.Seed) == 32 {
			r.entropy = seeded([32]byte(s.Seed))
		}
	}
	if len(saw.Reads) > 0 {
		r.stdin = &recalledInput{rest: saw.Input, reads: saw.Reads}
	}
	if !slices.Contains(s.Offers, "files") {
		return nil
	}
	j.repeated = &recall{scratch: files, looks: saw.Files, differs: func(f *fault.Error) { j.cancel(f) }}
	return j.repeated
}

// witness has everything kept that the run sees.
func (j *job) witness(r *run, files experimentalsys.FS) experimentalsys.FS {
	r.witness = &witness{}
	if !j.req.Deterministic {
		r.clock.start, r.clock.by = j.began, r.witness
		r.entropy = seeded(j.seed)
	}
	if files == nil {
		return nil
	}
	return &watched{files, r.witness}
}

// order is that in which answers were delivered to the recorded run.
func (j *job) order() []uint64 {
	if j.rec == nil {
		return nil
	}
	return slices.Clone(j.rec.End.Order)
}

// recalledInput is a standard input that was read before, in the same pieces.
type recalledInput struct {
	rest  []byte
	reads []int
}

func (i *recalledInput) Read(p []byte) (int, error) {
	if len(i.reads) == 0 {
		return 0, io.EOF
	}
	n := copy(p, i.rest[:min(i.reads[0], len(i.rest))])
	i.rest = i.rest[n:]
	if i.reads[0] -= n; i.reads[0] <= 0 || n == 0 {
		i.reads = i.reads[1:]
	}
	return n, nil
}

// compare finds the first difference between a replay and its record, and
// gives the result in the record's words where there is none. No event of the
// replay follows it.
func (j *job) compare(order []uint64) *fault.Error {
	rec, res := j.rec, j.res
	end := &rec.End
	differs := func(what, now, then string) *fault.Error {
		return fault.New(fault.UsageAudit, "the replay has another %s: %s, and the record %s", what, now, then)
	}
	if j.fault != nil && j.fault.Code == fault.UsageAudit {
		return j.fault
	}
	if j.fault != nil && j.fault.Code.Class() == fault.ClassCancelled {
		return j.fault
	}
	code, message, exit := "", "", 0
	if e := res.Error; e != nil {
		code, message, exit = string(e.Code), e.Message, e.Exit
	}
	if call, ok := j.tools.Unrepeated(); ok {
		return fault.New(fault.UsageAudit, "call %d of %s is in the record alone", call.Call, call.Tool)
	}
	if f := j.repeated.left(); f != nil {
		return f
	}
	veiled := slices.Contains(rec.Start.Offers, "pii")
	same := func(now, then string) bool { return now == then || (veiled && unveils(now, then)) }
	switch {
	case string(res.Status) != end.Status:
		return differs("status", string(res.Status)+" "+code, end.Status+" "+end.Code)
	case code != end.Code || exit != end.Exit:
		return differs("error", code, end.Code)
	case !same(message, end.Message):
		return differs("message", clip(message, 200), clip(end.Message, 200))
	case !same(string(res.Value), string(end.Value)):
		at := firstDifference(string(res.Value), string(end.Value))
		return differs("value", around(string(res.Value), at), around(string(end.Value), at))
	case !same(res.Stdout, string(end.Stdout)):
		at := firstDifference(res.Stdout, string(end.Stdout))
		return differs("output", around(res.Stdout, at), around(string(end.Stdout), at))
	case !same(res.Stderr, string(end.Stderr)):
		at := firstDifference(res.Stderr, string(end.Stderr))
		return differs("error output", around(res.Stderr, at), around(string(end.Stderr), at))
	case !slices.Equal(order, end.Order):
		return differs("order of answers", numbers(order), numbers(end.Order))
	case res.Usage.Fuel != end.Usage.Fuel:
		f := differs("use of fuel", count(res.Usage.Fuel), count(end.Usage.Fuel))
		if res.Provenance.Guest != rec.Start.GuestSHA256 {
			return f.WithHint("the interpreter is another one than the recorded one, and costs differ between them")
		}
		return f
	}
	if len(end.Value) > 0 {
		res.Value = []byte(end.Value)
	}
	res.Stdout, res.Stderr = string(end.Stdout), string(end.Stderr)
	return nil
}

// unlike makes the result one that ended with a fault.
func (r *Result) unlike(f *fault.Error) (*Result, error) {
	r.Error = &Error{Code: f.Code, Class: f.Code.Class(), Message: f.Message, Hint: f.Hint, cause: f}
	r.Status = statusOf(r.Error)
	return r, r.Error
}

// unveils reports whether a text is the one in which tokens stand for personal
// data: it has the same words in the same order around them.
func unveils(text, tokens string) bool {
	rest, first := text, true
	for {
		from, to := token(tokens)
		if from < 0 {
			break
		}
		words := tokens[:from]
		at := strings.Index(rest, words)
		if at < 0 || (first && at != 0) || (!first && at == 0) {
			return false
		}
		rest, tokens, first = rest[at+len(words):], tokens[to:], false
	}
	if first {
		return rest == tokens
	}
	return len(rest) > len(tokens) && strings.HasSuffix(rest, tokens)
}

// token finds the first token, such as [EMAIL_1], of a text; -1: there is none.
func token(s string) (from, to int) {
	for at := 0; ; {
		n := strings.IndexByte(s[at:], '[')
		if n < 0 {
			return -1, -1
		}
		from = at + n
		for to = from + 1; to < len(s) && (s[to] >= 'A' && s[to] <= 'Z' || s[to] >= '0' && s[to] <= '9' || s[to] == '_'); to++ {
		}
		if to > from+2 && to < len(s) && s[to] == ']' {
			return from, to + 1
		}
		at = from + 1
	}
}

// firstDifference is the first byte at which two texts differ.
func firstDifference(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// around is what stands at a place of a text.
func around(s string, at int) string {
	if s == "" {
		return "none"
	}
	from := max(0, at-30)
	out := clip(s[from:], 100)
	if from > 0 {
		out = "…" + out
	}
	return out
}

func numbers(list []uint64) string {
	var out []string
	for i, n := range list {
		if i == 20 {
			out = append(out, "…")
			break
		}
		out = append(out, count(int64(n)))
	}
	return strings.Join(out, " ")
}
