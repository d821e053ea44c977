package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/internal/jsonscan"
	"github.com/wexec/wexec/privacy"
)

// document is what a guest reads first, see wasm-modules/ABI.md.
type document struct {
	Code          string            `json:"code"`
	File          string            `json:"file"`
	Args          json.RawMessage   `json:"args"`
	Argv          []string          `json:"argv"`
	Env           map[string]string `json:"env"`
	Servers       []string          `json:"servers"`
	Session       bool              `json:"session"`
	Deterministic bool              `json:"deterministic"`
	Root          string            `json:"root"`
	Packages      string            `json:"packages"`
	Cwd           string            `json:"cwd"`
	Recursion     int               `json:"recursion"`
	Fetch         bool              `json:"fetch"`
	PII           bool              `json:"pii"`
	Check         bool              `json:"check,omitempty"`
}

// runProgram runs the request's code in a guest.
func (j *job) runProgram(r *run) {
	if j.req.Session != "" {
		j.runInSession(r)
		return
	}
	if err := j.prepare(r); err != nil {
		j.failIn(r.ctx, err)
		return
	}
	for try, again := 0, true; again && try < 3; try++ {
		g, err := j.e.guests.get(r.ctx, j.req.Language, j.compiling)
		if err != nil {
			j.failIn(r.ctx, err)
			return
		}
		i, err := g.take(r.ctx, j.limits.Memory)
		if err != nil {
			j.failIn(r.ctx, err)
			return
		}
		if again = j.drive(r, g, i); again && try == 2 {
			j.fail(fault.New(fault.Internal, "the guest %s has no code, however it is loaded", g.name))
		}
		g.discard(i)
	}
}

// prepare turns the code into what the guest takes, and writes its document.
func (j *job) prepare(r *run) error {
	p, err := j.program(r)
	if err != nil {
		return err
	}
	j.source = p
	d := document{
		Code: p.Code, File: p.File, Args: j.req.Args, Argv: j.req.Argv, Env: j.env(),
		Servers: j.servers(), Session: j.req.Session != "", Deterministic: j.req.Deterministic,
		Recursion: j.limits.Recursion, Fetch: j.fetches(), PII: j.veiled(), Check: j.req.Check,
	}
	if len(d.Args) == 0 {
		d.Args = json.RawMessage("null")
	}
	if d.Argv == nil {
		d.Argv = []string{}
	}
	if j.req.Root != "" {
		d.Root = "/app"
	}
	if j.req.Packages != "" {
		d.Packages = "/packages"
	}
	// Relative paths mean the caller's working folder where anything of it may
	// be granted, and the scratch folder where nothing is.
	if d.Cwd = "/tmp"; j.granted() {
		d.Cwd = "/"
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(d); err != nil {
		return fault.New(fault.Internal, "write the guest's input: %w", err)
	}
	r.input = buf.Bytes()
	return nil
}

// granted says whether the policy grants any files of the host.
func (j *job) granted() bool {
	if j.rec != nil {
		return slices.Contains(j.rec.Start.Offers, "granted")
	}
	files := j.table.Policy().Files()
	return len(files.Read)+len(files.Write) > 0
}

// compiling is told when a guest has to be compiled first.
func (j *job) compiling(name string) {
	j.event(Event{Type: EventCompiling, Text: name})
}

// drive ties an instance to the run, runs the program in it, and collects what
// became of it. It is true where the guest turned out to have no code: then
// nothing has happened, and another instance has to do it.
func (j *job) drive(r *run, g *guest, i *instance) (again bool) {
	if err := j.bind(r, g, i); err != nil {
		j.failIn(r.ctx, err)
		return false
	}
	j.event(Event{Type: EventStarted})
	begun := time.Now()
	err := i.call(r)
	if err != nil && g.compiled.skeleton && !r.asked {
		j.unbind(r, i)
		i.broken = true
		j.e.guests.lose(g)
		return true
	}
	j.finish(r, i, begun, err)
	if j.fault == nil {
		j.outcomeOf(r)
	}
	return false
}

// bind gives the run everything that lasts as long as the program runs.
func (j *job) bind(r *run, g *guest, i *instance) error {
	files, err := j.tools.FS()
	if err != nil {
		return err
	}
	r.clock = newClock(j.req.Deterministic)
	r.entropy = entropy(j.req.Deterministic, j.req.Seed)
	switch {
	case j.rec != nil:
		files = j.recall(r, files)
	case j.tools.Kept() && j.session == nil:
		files = j.witness(r, files)
	}
	r.files = &rooted{library: g.library, rest: files, look: j.seen.look}
	switch {
	case r.stdin != nil:
	case j.req.Input != nil:
		r.stdin = bytes.NewReader(j.req.Input)
	case j.req.Stdin != nil:
		r.stdin = j.req.Stdin
	}
	var show func(stream, text string)
	if j.req.Progress != nil {
		show = func(stream, text string) { j.event(Event{Type: EventOutput, Stream: stream, Text: text}) }
	}
	var egress func(stream, text string) string
	if j.veiled() {
		egress = j.tools.Egress
	}
	r.out = newOutputs(j.limits.Output, j.req.Output, egress, show)
	r.time = newDeadline(j.limits.Time, func() { j.cancel(timeOver(j.limits.Time)) })
	r.calls = hostfns.NewCalls(j.tools, hostfns.CallsOptions{
		Ordered: j.req.Deterministic, Order: j.order(), Sleep: r.clock.Sleep, Park: r.park, Resume: r.unpark,
		People: func(only bool) {
			if only {
				r.time.pause()
				j.event(Event{Type: EventWaiting, Text: "a person is asked"})
			} else {
				r.time.resume()
			}
		},
		Compile: func(ctx context.Context, file, code string) (string, error) { return j.module(ctx, r, file, code) },
	})
	if j.req.Progress != nil {
		r.gauge = &gauge{used: &j.fuel, level: i.fuel.Get, tell: func() { j.event(Event{Type: EventFuel}) }, told: time.Now()}
	}
	r.memory = i.main.Memory()
	i.fuel.Set(0)
	i.run = r
	i.mems.limit, i.mems.room, i.mems.armed = j.limits.Memory, r.room, true
	return nil
}

// unbind takes the instance from the run. No call is in flight afterwards.
func (j *job) unbind(r *run, i *instance) {
	i.mems.armed, i.mems.room = false, nil
	r.time.stop()
	r.calls.Close()
	i.run = nil
}

// finish unties the instance and counts what was used.
func (j *job) finish(r *run, i *instance, begun time.Time, err error) {
	took := time.Since(begun)
	j.unbind(r, i)
	r.out.out.close(false)
	r.out.err.close(false)

	u := &j.res.Usage
	level := int64(i.fuel.Get())
	u.Fuel = min(r.tank.Used(level), j.limits.Fuel)
	j.fuel.Store(u.Fuel)
	if i.mems.guest != nil {
		u.MemoryPeak = i.mems.guest.size
	}
	u.GuestMS = max(took-r.parked, 0).Milliseconds()
	j.inTools = r.inTools
	j.res.Stdout, j.res.Stderr = r.out.out.text.String(), r.out.err.text.String()
	switch {
	case err != nil:
		i.broken = true
		f := trapped(err)
		switch {
		case f.Code == fault.Internal && r.ctx.Err() != nil:
			f = interrupted(r.ctx)
		case f.Code == fault.Internal:
			f = broughtDown(f, err)
		}
		j.fail(f)
	case !r.tank.Settle(level):
		i.broken = true
		j.fail(fuelOver(j.limits.Fuel))
	case r.ctx.Err() != nil:
		i.broken = true
		j.fail(interrupted(r.ctx))
	}
}

// outcomeOf reads what the guest handed over.
func (j *job) outcomeOf(r *run) {
	o := r.outcome
	switch {
	case !o.given:
		j.fail(fault.New(fault.Internal, "the guest ended without an outcome"))
	case o.kind == outcomeError:
		j.guestErr = readGuestError(o.data)
	case o.kind == outcomeValue:
		if !jsonscan.Valid(o.data) {
			j.fail(fault.New(fault.Internal, "the guest gave a value that is not JSON"))
			return
		}
		if j.req.Check {
			o.data = j.source.LocateReferences(o.data)
		}
		value, err := j.tools.EgressJSON("value", o.data)
		if err != nil {
			j.fail(err)
			return
		}
		j.res.Value = value
		j.res.reveal = j.tools.Reveal
	}
}

// env is the environment the program sees.
func (j *job) env() map[string]string {
	env := map[string]string{}
	for name, value := range j.req.Env {
		if j.rec != nil || j.table.Policy().AllowsEnv(name) {
			env[name] = value
		}
	}
	return env
}

// servers are the identifiers under which the program reaches servers.
func (j *job) servers() []string {
	if j.rec != nil {
		return j.rec.Start.Servers
	}
	return j.table.Identifiers()
}

// fetches reports whether the program may ask for anything from the network.
func (j *job) fetches() bool {
	if j.rec != nil {
		return slices.Contains(j.rec.Start.Offers, "fetch")
	}
	return len(j.table.Policy().Network().Allow) > 0
}

// veiled reports whether personal data is replaced in what leaves the run.
func (j *job) veiled() bool {
	if j.rec != nil {
		return slices.Contains(j.rec.Start.Offers, "pii")
	}
	mode := j.table.Policy().PII().Mode
	return mode != "" && mode != privacy.Off
}

// offers names what the program finds, as the record keeps it.
func (j *job) offers() []string {
	var out []string
	for name, there := range map[string]bool{
		"app": j.req.Root != "", "packages": j.req.Packages != "", "fetch": j.fetches(), "pii": j.veiled(),
		"granted": j.granted(),
	} {
		if there {
			out = append(out, name)
		}
	}
	return out
}
