package engine

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tetratelabs/wazero/sys"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/engine/internal/sandbox"
	"github.com/wexec/wexec/engine/internal/world"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/guests"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/internal/journal"
	"github.com/wexec/wexec/internal/jsonscan"
	"github.com/wexec/wexec/internal/text"
	"github.com/wexec/wexec/policy"
	"github.com/wexec/wexec/privacy"
	"github.com/wexec/wexec/review"
)

// job is one call of Run, from its request to its result.
type job struct {
	e      *Engine
	req    Request
	table  *hostfns.Table
	world  world.World
	plugin []byte // module of a foreign plugin
	res    *Result

	active   *activeRun
	cancel   context.CancelCauseFunc
	tools    *hostfns.Run
	limits   Limits
	slot     *sandbox.Slot
	reviewed *review.Assessment // nil: the program was not reviewed
	host     *sandbox.Host      // of the guest that runs the program
	session  *session
	sources  sources
	caching  caching
	log      *journal.Log // of a durable run; or nil
	fault    *fault.Error // why the run failed, if the program did not say so itself
	guestErr *guestError  // the program's own failure

	eventMu sync.Mutex
	silent  bool // the listener heard that the run is done
}

func newResult(id string) *Result {
	now := time.Now().UTC()
	return &Result{RunID: cmp.Or(id, newID(now)), Status: StatusOK, Started: now, Cache: "off"}
}

// maxValueDepth is the deepest nesting of what enters and leaves a program, as
// the guests have it.
const maxValueDepth = 900

// checkArgs validates the arguments of a program.
func checkArgs(args json.RawMessage) error {
	if len(args) == 0 {
		return nil
	}
	s := jsonscan.New(args)
	for s.Next() {
		if s.Depth() > maxValueDepth {
			return fault.New(fault.UsageFlag, "args is nested more than %d levels deep", maxValueDepth)
		}
	}
	if s.Err() != nil {
		return fault.New(fault.UsageFlag, "args is not valid JSON")
	}
	return nil
}

// check validates the request.
func (j *job) check() error {
	r := &j.req
	if err := r.Limits.Check(); err != nil {
		return err
	}
	if err := checkArgs(r.Args); err != nil {
		return err
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
	j.plugin, err = readRegular(path, maxPlugin)
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

// readRegular reads a regular file of at most n bytes.
func readRegular(path string, n int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > n {
		return nil, errors.New("not a regular file of the expected size")
	}
	data := make([]byte, info.Size())
	_, err = io.ReadFull(f, data)
	return data, err
}

// open records the start of the run.
func (j *job) open(ctx context.Context) error {
	r := &j.req
	guest := j.e.guests.Digest(r.Language)
	if r.Plugin != "" {
		guest = digest(j.plugin)
	}
	log, err := j.openJournal(guest)
	if err != nil {
		return err
	}
	if j.world == nil {
		j.world = world.NewLive(world.Options{Journal: log, Deterministic: r.Deterministic, Seed: r.Seed, Stdin: r.stdin(), Environment: j.environment()})
	}
	env := j.world.Environment()
	j.res.Provenance = Provenance{Code: digest([]byte(r.Code)), Args: digest(r.Args), Policy: j.table.Policy().Digest(), Guest: guest}
	info := hostfns.RunInfo{
		ID: j.res.RunID, Limits: r.Limits, Asker: r.Asker, Client: r.Client, Root: r.Root, Packages: r.Packages, Workspace: r.Workspace, Dir: r.Dir, DryRun: r.DryRun,
		Durable: j.durable(log), Signals: j.req.Signals, Progress: j.progress, Calling: j.callBegins, Called: j.callEnded,
		Start: audit.Start{
			Version: j.e.config.Version, Language: r.Language, File: r.File, Plugin: r.Plugin, Function: r.Function,
			Code: []byte(r.Code), Args: audit.Blob(r.Args), Argv: r.Argv, Input: r.Input,
			Intent: r.Intent, Trigger: cmp.Or(r.Trigger, "api"), Actor: audit.Actor{ID: r.Actor.ID, Type: r.Actor.Type},
			Session: r.Session, Deterministic: r.Deterministic, Clock: j.world.Started(), Seed: j.world.Seed(),
			Env: env.Pairs(), Offers: slices.Clone(env.Offers), GuestSHA256: guest,
		},
	}
	info.Review = reviewOf(j.reviewed)
	if j.session != nil {
		info.Session, info.Start.Generation = j.session.shared, j.session.generation
	}
	tools, err := j.table.Open(ctx, info)
	if err != nil {
		return err
	}
	j.tools, j.limits, j.caching.files.root = tools, tools.Limits(), r.Root
	j.showReview()
	if tools.Kept() && j.session == nil && log == nil {
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
		world.OfferApp: j.req.Root != "", world.OfferPackages: j.req.Packages != "" || j.table.Packages() != nil, world.OfferFetch: len(p.Network().Allow) > 0,
		world.OfferWorkspace: j.req.Workspace != nil,
		world.OfferArtifacts: j.table.KeepsValues() && !j.req.DryRun && !j.req.Check,
		world.OfferPII:       mode != "" && mode != privacy.Off, world.OfferGranted: len(files.Read)+len(files.Write) > 0 || !j.req.DryRun && j.table.CanGrant(j.req.Asker),
	} {
		if there {
			e.Offers = append(e.Offers, offer)
		}
	}
	return e
}

// openJournal prepares a durable run. Without a journal the log is nil.
func (j *job) openJournal(guest string) (*journal.Log, error) {
	r := &j.req
	if r.Journal == nil {
		if len(r.Records) > 0 {
			return nil, fault.New(fault.UsageRun, "go on with run %s: the request has no journal to write to", j.res.RunID)
		}
		return nil, nil
	}
	refuse := func(what string) error {
		return fault.New(fault.UsageRun, "keep a journal of run %s: %s", j.res.RunID, what).WithHint("run the program without a journal")
	}
	switch {
	case r.Session != "":
		return nil, refuse("it is in a session")
	case r.Plugin != "" || r.Check || r.DryRun:
		return nil, refuse("only programs that run have one")
	}
	program := sha256.New()
	if err := json.NewEncoder(program).Encode([]any{r.Language, r.Code, r.File, r.Args, r.Argv, r.Input, r.Seed}); err != nil {
		return nil, fault.New(fault.UsageFlag, "args is not valid JSON")
	}
	seed := make([]byte, 32)
	_, _ = rand.Read(seed)
	log, err := journal.Open(r.Journal, journal.Start{
		Run: j.res.RunID, Program: [32]byte(program.Sum(nil)), Guest: guest, Clock: time.Now(), Seed: seed, Deterministic: r.Deterministic,
	}, r.Records)
	if err != nil {
		return nil, err
	}
	j.log = log
	log.Observe = j.observe
	return log, nil
}

// observe returns what is kept with each record of the journal.
func (j *job) observe() (shared json.RawMessage, shown [2]int64, spent time.Duration) {
	shown = j.log.Shown()
	if h := j.host; h != nil {
		shown = [2]int64{max(shown[0], h.Outputs.Stdout.Shown()), max(shown[1], h.Outputs.Stderr.Shown())}
		spent = h.Spent()
	}
	return j.tools.KeepState(), shown, spent
}

// durableOptions adds what the host of a durable run needs.
func (j *job) durableOptions(o *sandbox.Options) {
	if j.log == nil {
		return
	}
	o.Spent, o.Shown = j.log.Spent(), j.log.Shown()
	if d := j.req.Delivered; d != nil {
		o.Shown = [2]int64{d.Stdout, d.Stderr}
	}
	o.Sleep = func(ctx context.Context, d time.Duration) error {
		after := j.req.ParkAfter
		if after <= 0 || d <= after || j.req.Deterministic {
			return j.world.Sleep(ctx, d)
		}
		return j.log.SleepOrPark(ctx, d, after, func(until time.Time) {
			j.tools.Park(until)
		})
	}
}

// parked reports whether the run left memory, and notes it in the result.
func (j *job) parked() bool {
	if j.log == nil || !j.log.Parked() {
		return false
	}
	j.fault, j.guestErr, j.res.Error, j.res.Value = nil, nil, nil, nil
	j.res.Status = StatusWaiting
	j.res.Parked = &Parked{Until: j.log.Until()}
	for _, q := range j.log.Questions() {
		if q.Signal != "" {
			j.res.Parked.waitFor(q.Signal, q.Expires)
			continue
		}
		j.res.Waiting = append(j.res.Waiting, Waiting{ID: q.ID, Tool: q.Tool, Message: q.Message, Since: q.Since, Expires: q.Expires})
	}
	slices.SortFunc(j.res.Waiting, func(a, b Waiting) int { return strings.Compare(a.ID, b.ID) })
	return true
}

// durable returns the options of the calls of a durable run.
func (j *job) durable(log *journal.Log) *hostfns.Durable {
	if log == nil {
		return nil
	}
	return &hostfns.Durable{Log: log, After: j.req.ParkAfter}
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

// ulid has the alphabet of run ids, in which no letter looks like a digit.
var ulid = base32.NewEncoding("0123456789ABCDEFGHJKMNPQRSTVWXYZ")

// NewID returns an id for a run, for hosts that must know it before [Engine.Run].
func NewID() string { return newID(time.Now()) }

// newID returns a ULID: 48 bits of milliseconds and 80 random bits, so that ids
// sort by time.
func newID(at time.Time) string {
	var b [20]byte // 32 bits more than the id, for a whole number of letters
	binary.BigEndian.PutUint64(b[2:], uint64(at.UnixMilli()))
	_, _ = rand.Read(b[10:])
	return ulid.EncodeToString(b[:])[6:]
}

// sources are the programs of a run as guests take them.
type sources struct {
	program guests.Program

	mu      sync.Mutex
	modules map[string]guests.Program // imported files that were compiled
	refused *guests.SyntaxError       // of the last one that was not
}

// event sends an event to the request's listener.
func (j *job) event(e Event) {
	if j.req.Progress == nil {
		return
	}
	j.eventMu.Lock()
	defer j.eventMu.Unlock()
	if j.silent { // a guest that others wait for too is still compiled
		return
	}
	j.silent = e.Type == EventDone
	e.Run, e.Time = j.res.RunID, time.Now().UTC()
	if j.host != nil {
		e.Fuel = j.host.Fuel()
	}
	j.req.Progress(e)
}

func (j *job) queued(before int)        { j.event(Event{Type: EventQueued, Count: before}) }
func (j *job) compiling(guest string)   { j.event(Event{Type: EventCompiling, Text: guest}) }
func (j *job) output(name, text string) { j.event(Event{Type: EventOutput, Stream: name, Text: text}) }

// Computed implements the observer of package sandbox.
func (j *job) Computed() { j.event(Event{Type: EventFuel}) }

// AskingPeople implements the observer of package sandbox.
func (j *job) AskingPeople() {
	j.event(Event{Type: EventWaiting, Text: "waiting for a person's answer"})
}

func (j *job) progress(p hostfns.Progress) {
	j.event(Event{Type: EventProgress, Text: p.Text, Done: p.Done, Total: p.Total})
}

func (j *job) callBegins(c hostfns.CallInfo) {
	j.event(Event{Type: EventCalling, Text: c.Tool, Number: c.Number})
}

func (j *job) callEnded(c hostfns.CallInfo) {
	call := callOf(c)
	j.event(Event{Type: EventCall, Call: &call, Number: c.Number})
}

func callOf(c hostfns.CallInfo) Call {
	return Call{Tool: c.Tool, Decision: c.Decision, Rule: c.Rule, MS: c.Time.Milliseconds(), Bytes: c.Bytes, OK: c.OK, Code: c.Code}
}

// failure returns the error that the caller sees.
func (j *job) failure() *Error {
	if f := j.fault; f != nil {
		e := newError(f)
		var exit *sys.ExitError
		if errors.As(f, &exit) {
			e.Exit = int(exit.ExitCode() & 0xff)
		}
		if j.tools != nil {
			e.eachText(j.egress)
		}
		return e
	}
	g := j.guestErr
	if s := j.sources.refused; s != nil && g.Line == 0 && g.Message == s.Error() {
		g.refused(s)
	}
	g.locate(j.sources.program)
	for _, p := range j.sources.modules {
		g.locate(p)
	}
	e := g.Error
	e.Class, e.Excerpt = g.Code.Class(), excerpt(g.Text, g.Line, g.Column)
	e.eachText(j.egress)
	return &e
}

// egress returns a text of an error without personal data, of at most limit bytes.
func (j *job) egress(s string, limit int) string {
	return text.Clip(j.tools.Egress("error", s), limit)
}

// review reviews the program if the policy depends on it. A replay is not reviewed again.
func (j *job) review(ctx context.Context) error {
	p, r := j.table.Policy(), &j.req
	if j.world != nil || r.Check || !p.Reviews() {
		return nil
	}
	if r.Plugin != "" {
		a := review.Unparsed("a plugin is compiled code")
		j.reviewed = &a
		return nil
	}
	tools, _ := j.table.Catalogue(ctx) // a server that fails has no tools that can be called
	var err error
	j.reviewed, err = j.e.Review(ctx, Reviewing{r.Language, r.Code, r.Intent, r.Actor, p.ReviewProfile(), tools, j.table.Seen(tools)})
	return err
}

// reviewOf returns a review as the gate takes it.
func reviewOf(a *review.Assessment) *hostfns.Review {
	if a == nil {
		return nil
	}
	out := &hostfns.Review{Level: string(a.Level), Findings: []string{}, Capabilities: policy.Capabilities(a.Capabilities)}
	for _, f := range a.Findings {
		out.Findings = append(out.Findings, fmt.Sprintf("%d:%d: %s: %s: %s", f.Line, f.Column, f.Level, f.Rule, f.Message))
		out.Rules = append(out.Rules, f.Rule)
	}
	slices.Sort(out.Rules)
	out.Rules = slices.Compact(out.Rules)
	return out
}

// showReview puts the review into the result, without personal data.
func (j *job) showReview() {
	if j.reviewed == nil {
		return
	}
	show := func(s string) string { return j.tools.Egress("review", s) }
	a := *j.reviewed
	a.Findings = slices.Clone(a.Findings)
	for i := range a.Findings {
		a.Findings[i].Message = show(a.Findings[i].Message)
	}
	c := &a.Capabilities
	for _, list := range []*[]string{&c.Tools, &c.Hosts, &c.Files, &c.Skills, &c.Unresolved} {
		*list = slices.Clone(*list)
		for i := range *list {
			(*list)[i] = show((*list)[i])
		}
	}
	j.res.Review = &a
}
