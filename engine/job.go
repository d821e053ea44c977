package engine

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/engine/internal/guestcache"
	"github.com/wexec/wexec/engine/internal/sandbox"
	"github.com/wexec/wexec/engine/internal/tokens"
	"github.com/wexec/wexec/engine/internal/world"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/guests"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/internal/jsonscan"
	"github.com/wexec/wexec/internal/text"
	"github.com/wexec/wexec/policy"
	"github.com/wexec/wexec/privacy"
)

// job is one call of Run, from its request to its result.
type job struct {
	e      *Engine
	req    Request
	table  *hostfns.Table
	world  world.World
	plugin []byte // module of a foreign plugin
	res    *Result

	cancel   context.CancelCauseFunc
	tools    *hostfns.Run
	limits   Limits
	slot     *sandbox.Slot
	host     *sandbox.Host // of the guest that runs the program
	session  *session
	sources  sources
	caching  caching
	fault    *fault.Error // why the run failed, if the program did not say so itself
	guestErr *guestError  // the program's own failure

	eventMu sync.Mutex
}

// Run runs a program. The result is never nil: output and usage survive a
// failure. The error is nil if the program succeeded, else an [*Error], the same
// as the result's; errors.Is tells its code.
//
//	res, err := e.Run(ctx, engine.Request{Language: "python", Code: "1+1"})
//	if errors.Is(err, fault.LimitFuel) { … }
//
// Cancelling ctx ends the program.
func (e *Engine) Run(ctx context.Context, req Request) (*Result, error) { return e.run(ctx, req, nil) }

// run runs a program in a world; nil is the live one.
func (e *Engine) run(ctx context.Context, req Request, w world.World) (*Result, error) {
	j := &job{e: e, req: req, world: w, table: req.Table, res: newResult(req.ID)}
	if j.table == nil {
		j.table = e.table
	}
	if err := e.enter(); err != nil {
		j.fail(err)
		return j.done()
	}
	defer e.live.Done()
	ctx, j.cancel = context.WithCancelCause(ctx)
	defer j.cancel(nil)
	defer context.AfterFunc(e.ctx, func() { j.cancel(context.Cause(e.ctx)) })()
	j.do(ctx)
	return j.done()
}

func newResult(id string) *Result {
	r := &Result{RunID: id, Status: StatusOK, Started: time.Now().UTC(), Cache: "off"}
	if id == "" {
		r.RunID = newID(r.Started)
	}
	return r
}

// do runs the job and leaves its outcome in it.
func (j *job) do(ctx context.Context) {
	defer func() {
		if p := recover(); p != nil {
			j.e.log.Error("panic in a run", "run", j.res.RunID, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			j.fail(fault.New(fault.Internal, "the engine failed"))
		}
	}()
	if err := j.check(); err != nil {
		j.fail(err)
		return
	}
	if j.req.Session != "" {
		var err error
		if j.session, err = j.e.sessions.enter(sessionKey{j.table, j.req.Actor.ID, j.req.Session}, j.req.Language); err != nil {
			j.fail(err)
			return
		}
	}
	if err := j.open(ctx); err != nil {
		j.fail(err)
		j.leaveSession()
		return
	}
	ctx = j.tools.Context()
	if !j.fromCache(ctx) {
		j.execute(ctx)
	}
	j.close(ctx)
}

// check validates the request.
func (j *job) check() error {
	r := &j.req
	if err := r.Limits.Check(); err != nil {
		return err
	}
	if len(r.Args) > 0 && !jsonscan.Valid(r.Args) {
		return fault.New(fault.UsageFlag, "args is not valid JSON")
	}
	if r.Plugin != "" {
		if r.Code != "" || r.Session != "" {
			return fault.New(fault.UsageFlag, "a plugin takes neither code nor a session")
		}
		if r.Function == "" {
			return fault.New(fault.UsageFlag, "the request names no function of the plugin")
		}
		return j.readPlugin()
	}
	var err error
	if r.Language, err = Language(r.Language); err != nil {
		return err
	}
	if d := j.table.Policy().DecideLanguage(r.Language); d.Effect != policy.Allow {
		return fault.New(fault.DeniedLanguage, "programs in %s are not allowed: %s", r.Language, d.Message).WithHint("decided by %s", d.Rule)
	}
	return nil
}

// maxPlugin bounds the module of a foreign plugin.
const maxPlugin = 64 << 20

// readPlugin reads the module of a foreign plugin and checks its digest.
func (j *job) readPlugin() (err error) {
	path, want := j.req.Plugin, j.req.PluginDigest
	j.plugin, err = guestcache.ReadFile(path, maxPlugin)
	if os.IsNotExist(err) {
		return fault.New(fault.UsageFile, "read the plugin: no file at %s", path)
	}
	if err != nil {
		return fault.New(fault.UsageFile, "read the plugin: %w", err)
	}
	if sum := digest(j.plugin); want != "" && !strings.EqualFold(want, sum) {
		return fault.New(fault.UsageFile, "the plugin has the digest %s, not %s", sum, text.Clip(want, 64)).
			WithHint("approve this file, or restore the approved one")
	}
	return nil
}

// open records the start of the run.
func (j *job) open(ctx context.Context) error {
	r := &j.req
	if j.world == nil {
		j.world = world.NewLive(world.Options{Deterministic: r.Deterministic, Seed: r.Seed, Stdin: r.stdin(), Environment: j.environment()})
	}
	env := j.world.Environment()
	guest := j.e.guests.Digest(r.Language)
	if r.Plugin != "" {
		guest = digest(j.plugin)
	}
	j.res.Provenance = Provenance{Code: digest([]byte(r.Code)), Args: digest(r.Args), Policy: j.table.Policy().Digest(), Guest: guest}
	info := hostfns.RunInfo{
		ID: j.res.RunID, Limits: r.Limits, Asker: r.Asker, Root: r.Root, Packages: r.Packages, Dir: r.Dir, DryRun: r.DryRun,
		Progress: j.progress, Calling: j.callBegins, Called: j.callEnded,
		Start: audit.Start{
			Version: j.e.config.Version, Language: r.Language, File: r.File, Plugin: r.Plugin, Function: r.Function,
			Code: []byte(r.Code), Args: audit.Blob(r.Args), Argv: r.Argv, Input: r.Input,
			Intent: r.Intent, Trigger: r.trigger(), Actor: audit.Actor{ID: r.Actor.ID, Type: r.Actor.Type},
			Session: r.Session, Deterministic: r.Deterministic, Clock: j.world.Started(), Seed: j.world.Seed(),
			Env: env.Pairs(), Offers: slices.Clone(env.Offers), GuestSHA256: guest,
		},
	}
	if j.session != nil {
		info.Session = j.session.shared
	}
	tools, err := j.table.Open(ctx, info)
	if err != nil {
		return err
	}
	j.tools, j.limits, j.caching.files.root = tools, tools.Limits(), r.Root
	if tools.Kept() && j.session == nil {
		j.world.Record()
	}
	return nil
}

// environment returns what the policy lets the program see.
func (j *job) environment() world.Environment {
	p := j.table.Policy()
	e := world.Environment{Variables: map[string]string{}, Servers: j.table.Identifiers()}
	for name, value := range j.req.Env {
		if p.AllowsEnv(name) {
			e.Variables[name] = value
		}
	}
	mode, files := p.PII().Mode, p.Files()
	for offer, there := range map[string]bool{
		world.OfferApp: j.req.Root != "", world.OfferPackages: j.req.Packages != "", world.OfferFetch: len(p.Network().Allow) > 0,
		world.OfferPII: mode != "" && mode != privacy.Off, world.OfferGranted: len(files.Read)+len(files.Write) > 0,
	} {
		if there {
			e.Offers = append(e.Offers, offer)
		}
	}
	return e
}

// execute waits for a core and runs the program.
func (j *job) execute(ctx context.Context) {
	j.e.sessions.relieve()
	slot, err := j.e.cores.Enter(ctx, j.req.Actor.ID, j.queued)
	if err != nil {
		j.failIn(ctx, err)
		return
	}
	j.slot = slot
	defer slot.Leave()
	if j.req.Plugin != "" {
		err = j.runPlugin(ctx)
	} else {
		err = j.runProgram(ctx)
	}
	if err != nil {
		j.failIn(ctx, err)
	}
}

// fail notes why the job failed. The first reason counts.
func (j *job) fail(err error) {
	if j.fault == nil && j.guestErr == nil && err != nil {
		j.fault = faultOf(err)
	}
}

// failIn is fail for an error that may follow from the end of ctx.
func (j *job) failIn(ctx context.Context, err error) {
	if f := sandbox.Interrupted(ctx); f != nil {
		err = f
	}
	j.fail(err)
}

// close records the end, and counts what the run used.
func (j *job) close(ctx context.Context) {
	if j.fault != nil || j.guestErr != nil {
		j.res.Error = j.failure()
		j.res.Value = nil
	}
	j.res.Status = statusOf(j.res.Error)
	u := &j.res.Usage
	u.WallMS = time.Since(j.res.Started).Milliseconds()
	u.ResultSize = int64(len(j.res.Value) + len(j.res.Stdout) + len(j.res.Stderr))
	end := audit.End{
		Status: string(j.res.Status), Cache: j.res.Cache,
		Value: audit.Blob(j.res.Value), Stdout: []byte(j.res.Stdout), Stderr: []byte(j.res.Stderr),
		Usage: audit.Usage{Fuel: u.Fuel, MemoryPeak: u.MemoryPeak, WallMS: u.WallMS, GuestMS: u.GuestMS, Output: u.ResultSize},
	}
	if e := j.res.Error; e != nil {
		end.Code, end.Message, end.Exit = string(e.Code), e.Message, e.Exit
	}
	if j.host != nil {
		end.World = j.world.Seen()
	}
	sum, err := j.tools.Close(ctx, end)
	if err != nil && j.res.Error == nil {
		// Nothing of a run may be shown without a record of its end.
		j.res.Value, j.res.Stdout, j.res.Stderr = nil, "", ""
		j.fault = faultOf(err)
	}
	end.Order = sum.Order
	recorded, difference := j.world.Verify(&end, j.fault, j.tools.Unrepeated)
	switch {
	case difference != nil:
		j.res.Value = nil
		j.res.failWith(difference)
	case recorded != nil:
		j.res.Stdout, j.res.Stderr = string(recorded.Stdout), string(recorded.Stderr)
		if len(recorded.Value) > 0 {
			j.res.Value = []byte(recorded.Value)
		}
	}
	j.count(sum)
	if err == nil {
		j.store(sum.Cacheable)
	}
	if j.caching.release != nil {
		j.caching.release()
	}
	if j.table == j.e.table {
		j.e.cache.noteCatalogue(j.table)
	}
	j.leaveSession()
}

// count puts what the host functions counted into the result.
func (j *job) count(s hostfns.Summary) {
	res, u := j.res, &j.res.Usage
	res.Calls = slices.Grow(res.Calls, len(s.Calls))
	for _, c := range s.Calls {
		res.Calls = append(res.Calls, callOf(c))
	}
	if len(s.Found) > 0 {
		res.Privacy = &Privacy{Mode: s.Mode, Counts: s.Found}
	}
	res.Provenance.Tools, res.Provenance.AuditHead = s.Tools, s.AuditHead
	if res.Value != nil {
		res.Provenance.Value = digest(res.Value)
	}
	u.ToolCalls, u.ToolBytes = s.ToolCalls, s.ToolBytes
	if j.host != nil {
		u.TokensInTools = j.host.ToolTokens()
	}
	u.TokensOut = tokens.Estimate(res.Value) + tokens.Estimate([]byte(res.Stdout)) + tokens.Estimate([]byte(res.Stderr))
	if s.ToolCalls > 0 && u.TokensInTools > 0 {
		saved := max(0, 1-float64(u.TokensOut)/float64(u.TokensInTools))
		u.ContextSavings = &saved
	}
	for _, w := range s.Warnings {
		j.e.log.Warn(w, "run", res.RunID)
	}
}

// done ends the job.
func (j *job) done() (*Result, error) {
	if j.res.Error == nil && (j.fault != nil || j.guestErr != nil) {
		j.res.Error = j.failure()
	}
	j.res.Status = statusOf(j.res.Error)
	j.event(Event{Type: EventDone, Text: string(j.res.Status)})
	if j.res.Error != nil {
		return j.res, j.res.Error
	}
	return j.res, nil
}

// digest returns the SHA-256 of b in hex.
func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// crockford is the alphabet of run ids. It has no letter that looks like a
// digit.
const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// newID returns a ULID: 48 bits of milliseconds and 80 random bits, so that ids
// sort by time.
func newID(at time.Time) string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	ms := uint64(at.UnixMilli())
	binary.BigEndian.PutUint16(b[:2], uint16(ms>>32))
	binary.BigEndian.PutUint32(b[2:6], uint32(ms))
	var out [26]byte
	hi, lo := binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])
	for i := len(out) - 1; i >= 0; i-- {
		out[i] = crockford[lo&31]
		lo = lo>>5 | hi<<59
		hi >>= 5
	}
	return string(out[:])
}

// sources are the programs of a run as guests take them.
type sources struct {
	program guests.Program

	mu      sync.Mutex
	modules map[string]guests.Program // imported files that were compiled
	refused *guests.SyntaxError       // of the last one that was not
}
