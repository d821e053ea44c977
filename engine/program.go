package engine

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"unicode/utf8"

	"github.com/wexec/wexec/engine/internal/sandbox"
	"github.com/wexec/wexec/engine/internal/world"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/guests"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/internal/jsonscan"
	"github.com/wexec/wexec/internal/units"
)

// input is the document that a guest reads first, see wasm-modules/ABI.md.
type input struct {
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

// runProgram compiles the request's code if necessary and runs it in a guest.
func (j *job) runProgram(ctx context.Context) error {
	if err := j.prepare(ctx); err != nil {
		return err
	}
	doc, err := j.input()
	if err != nil {
		return err
	}
	if j.session != nil {
		return j.runInSession(ctx, doc)
	}
	for range 3 {
		g, i, err := j.takeInstance(ctx)
		if err != nil {
			return err
		}
		again, err := j.serve(ctx, g, i, doc)
		g.Discard(i)
		if err != nil || !again {
			return err
		}
	}
	return fault.New(fault.Internal, "load the guest: its code is missing, although it was compiled again")
}

func (j *job) takeInstance(ctx context.Context) (*sandbox.Guest, *sandbox.Instance, error) {
	g, err := j.e.guests.Get(ctx, j.req.Language, j.compiling)
	if err != nil {
		return nil, nil, err
	}
	i, err := g.Take(ctx, j.limits.Memory)
	return g, i, err
}

// input returns the document of the run.
func (j *job) input() ([]byte, error) {
	env, p := j.world.Environment(), j.sources.program
	d := input{
		Code: p.Code, File: p.File, Args: j.req.Args, Argv: j.req.Argv, Env: env.Variables,
		Servers: env.Servers, Session: j.req.Session != "", Deterministic: j.req.Deterministic, Cwd: "/tmp",
		Recursion: j.limits.Recursion, Fetch: env.Has(world.OfferFetch), PII: env.Has(world.OfferPII), Check: j.req.Check,
	}
	if len(d.Args) == 0 {
		d.Args = json.RawMessage("{}")
	}
	if d.Argv == nil {
		d.Argv = []string{}
	}
	if env.Has(world.OfferApp) {
		d.Root = "/app"
	}
	if env.Has(world.OfferPackages) {
		d.Packages = "/packages"
	}
	// Relative paths start at the workspace, at the caller's working folder if files of
	// the host are granted or asked for, and at the scratch folder otherwise.
	if env.Has(world.OfferGranted) {
		d.Cwd = "/"
	}
	if env.Has(world.OfferWorkspace) {
		d.Cwd = "/workspace"
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(d); err != nil {
		return nil, fault.New(fault.Internal, "write the guest's input: %w", err)
	}
	return buf.Bytes(), nil
}

// newHost returns the host of the job's guest.
func (j *job) newHost(ctx context.Context, doc []byte) error {
	o := sandbox.Options{
		Limits: j.limits, World: j.world, Input: doc, Cancel: j.cancel, Tools: j.tools, Ordered: j.req.Deterministic,
		Compile: j.compileModule, Look: j.caching.files.add, Slot: j.slot, Relieve: j.e.sessions.relieve,
		Sinks: sandbox.OutputSinks{Stdout: j.req.Output.Stdout, Stderr: j.req.Output.Stderr},
	}
	if j.world.Environment().Has(world.OfferArtifacts) {
		o.Value = hostfns.MaxKeptValue
	}
	if j.session != nil {
		o.Uptime = j.session.clock(j.req.Deterministic)
	}
	if j.req.Progress != nil {
		o.Observer, o.Sinks.Event = j, j.output
	}
	if j.world.Environment().Has(world.OfferPII) {
		o.Sinks.Filter = j.tools.Egress
	}
	j.durableOptions(&o)
	h, err := sandbox.NewHost(ctx, o)
	if err != nil {
		return err
	}
	j.host = h
	j.e.active.admit(j.active, h)
	j.event(Event{Type: EventStarted})
	return nil
}

// serve runs the program in an instance. It returns true if the guest has no
// code: then nothing has happened, and another instance has to run it.
func (j *job) serve(ctx context.Context, g *sandbox.Guest, i *sandbox.Instance, doc []byte) (again bool, err error) {
	if err := j.newHost(ctx, doc); err != nil {
		return false, err
	}
	end := i.Serve(j.host)
	if end.Fault != nil && g.Stub && j.host.NeverStarted() {
		j.e.guests.LostCode(g)
		return true, nil
	}
	j.collect(end)
	j.caching.chance = j.host.UsedChance(startReadings(j.req.Language))
	if j.fault != nil {
		return false, nil
	}
	switch o := end.Outcome; {
	case !o.Given:
		return false, fault.New(fault.Internal, "the guest ended without an outcome")
	case o.Kind == sandbox.OutcomeError:
		j.guestErr = readGuestError(o.Data)
	case o.Kind == sandbox.OutcomeValue:
		return false, j.setValue(o.Data, o.Large)
	}
	return false, nil
}

// startReadings returns how often the prelude of a language reads the clock
// before the program begins.
func startReadings(language string) int {
	if language == Python {
		return 0
	}
	return 1 // the origin of performance.now
}

// collect puts the end of a guest into the result.
func (j *job) collect(end sandbox.End) {
	u := &j.res.Usage
	u.Fuel, u.MemoryPeak, u.GuestMS = end.Fuel, end.MemoryPeak, end.GuestTime.Milliseconds()
	out := j.host.Outputs
	j.res.Stdout, j.res.Stderr = out.Stdout.String(), out.Stderr.String()
	if end.Fault != nil {
		j.fail(end.Fault)
	}
}

// setValue makes JSON from the guest the value of the result, or its artifact if it is
// too large.
func (j *job) setValue(data []byte, large bool) error {
	if !jsonscan.Valid(data) {
		return fault.New(fault.Internal, "the guest returned a value that is not JSON")
	}
	if j.req.Check {
		data = j.sources.program.LocateReferences(data)
	}
	value, err := j.tools.EgressJSON("value", data)
	if err == nil && large {
		value, err = j.tools.KeepValue(value)
	}
	if err != nil {
		return err
	}
	j.res.Value, j.res.reveal = value, j.tools.Reveal
	return nil
}

// runPlugin calls the request's function of a foreign plugin. It is metered and
// bounded as any guest.
func (j *job) runPlugin(ctx context.Context) error {
	g, functions, err := j.e.guests.Plugin(ctx, j.plugin)
	if err != nil {
		return err
	}
	j.res.Provenance.Guest = g.Digest
	if err := functions.Check(j.req.Function); err != nil {
		return err
	}
	i, err := g.TakeUnpooled(ctx, j.limits.Memory, j.slot, j.e.sessions.relieve)
	if err != nil {
		return err
	}
	defer i.Close(context.Background())
	if err := j.newHost(ctx, nil); err != nil {
		return err
	}
	end := i.ServeFunction(j.host, j.req.Function, j.req.Input, j.req.PluginConfig)
	if j.collect(end); j.fault != nil {
		return nil
	}
	if err := j.host.Outputs.Charge(len(end.Output)); err != nil {
		return err
	}
	return j.setPluginValue(end.Output)
}

// setPluginValue makes the bytes that a plugin returned the value: JSON as it
// is, text as a string, and anything else as bytes.
func (j *job) setPluginValue(output []byte) (err error) {
	switch {
	case len(output) == 0:
	case jsonscan.Valid(output):
		j.res.Value, err = j.tools.EgressJSON("value", output)
		output = j.res.Value
	case utf8.Valid(output):
		text := j.tools.Egress("value", string(output))
		output = []byte(text)
		j.res.Value, err = json.Marshal(text)
	default:
		j.res.Value, err = json.Marshal(map[string]string{"$bytes": base64.StdEncoding.EncodeToString(output)})
	}
	j.res.output, j.res.reveal = output, j.tools.Reveal
	return err
}

// runInSession runs the program in the instance of its session.
func (j *job) runInSession(ctx context.Context, doc []byte) error {
	s := j.session
	for {
		if s.instance == nil {
			var err error
			if s.guest, s.instance, err = j.takeInstance(ctx); err != nil {
				return err
			}
		}
		if have := s.instance.MemorySize(); have > j.limits.Memory {
			return fault.New(fault.LimitMemory, "the session already uses %s of memory, but this run may use only %s", units.FormatSize(have), units.FormatSize(j.limits.Memory)).
				WithHint("allow more with limits.memory: %s, or start another session", units.FormatSize(sandbox.RoundUp(have)))
		}
		again, err := j.serve(ctx, s.guest, s.instance, doc)
		if err != nil || !again {
			return err
		}
		s.discard()
	}
}

// Compile implements guests.Compiler for one job.
func (j *job) Compile(ctx context.Context, r guests.CompileRequest) (guests.CompileResult, error) {
	data, err := j.e.compiler.compile(ctx, r, j.compiling)
	return guests.CompileResult{Output: data}, err
}

// prepare makes the request's code what its guest takes.
func (j *job) prepare(ctx context.Context) error {
	p, err := guests.Prepare(ctx, guests.Source{Language: j.req.Language, Code: j.req.Code, File: j.req.File}, j)
	var s *guests.SyntaxError
	if errors.As(err, &s) {
		j.guestErr = &guestError{Error: Error{Code: fault.GuestSyntax}}
		j.guestErr.refused(s)
	}
	j.sources.program = p
	return err
}

// compileModule compiles a file that the program imports. A goroutine of the
// call runs it, while the program waits without a core.
func (j *job) compileModule(ctx context.Context, file, code string) (string, error) {
	leave, err := j.e.cores.Borrow(ctx)
	if err != nil {
		return "", err
	}
	defer leave()
	p, err := guests.Prepare(ctx, guests.Source{Language: TypeScript, Code: code, File: file}, j)
	s := &j.sources
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		errors.As(err, &s.refused)
		return "", err
	}
	if s.modules == nil {
		s.modules = map[string]guests.Program{}
	}
	s.modules[p.File] = p
	return p.Code, nil
}
