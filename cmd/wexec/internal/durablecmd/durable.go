// Package durablecmd runs programs of the command that go on in another process: wexec
// run --durable. They are kept in the data folder.
package durablecmd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wexec/wexec/cmd/wexec/internal/datafolder"
	"github.com/wexec/wexec/cmd/wexec/internal/terminal"
	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/hostfns/approvals"
	"github.com/wexec/wexec/hostfns/workspaces"
)

// Program is what was asked for. It is kept with the run, sealed.
type Program struct {
	Request   engine.Request      `json:"request"`
	Root      string              `json:"root,omitempty"`
	Packages  string              `json:"packages,omitempty"`
	Dir       string              `json:"dir"`
	Workspace string              `json:"workspace,omitempty"` // its id
	Env       map[string]string   `json:"env,omitempty"`       // that the policy allows
	ParkAfter time.Duration       `json:"park_after"`
	Flags     config.Flags        `json:"flags"`
	Policies  []config.PolicyFile `json:"policies,omitempty"`
	Started   time.Time           `json:"started"`
}

// Of returns the program of a request.
func Of(req engine.Request, host *config.Host, settings *config.Settings, flags config.Flags, parkAfter time.Duration) (*Program, error) {
	if req.Session != "" {
		return nil, fault.New(fault.UsageFlag, "--durable has no effect in a session: what a session has is in memory, and cannot be made again").WithHint("remove --durable or --session")
	}
	p := host.Table.Policy()
	env := maps.Clone(req.Env)
	maps.DeleteFunc(env, func(name, _ string) bool { return !p.AllowsEnv(name) })
	workspace := ""
	if w, ok := req.Workspace.(*workspaces.Provider); ok {
		workspace = w.ID()
	}
	asked := Program{Request: req, Workspace: workspace, Root: req.Root, Packages: req.Packages, Dir: req.Dir, Env: env, ParkAfter: parkAfter, Flags: flags,
		Policies: settings.PolicyFiles(), Started: time.Now().UTC()}
	// What runs now is what is decoded later: the journal fits one program only.
	text, err := json.Marshal(asked)
	if err != nil {
		return nil, fault.New(fault.UsageFlag, "args is not valid JSON")
	}
	var kept Program
	if err := json.Unmarshal(text, &kept); err != nil {
		return nil, fault.New(fault.Internal, "decode the program: %w", err)
	}
	return &kept, nil
}

// request returns the request to run.
func (p *Program) request() engine.Request {
	req := p.Request
	req.Root, req.Packages, req.Dir, req.Env, req.ParkAfter = p.Root, p.Packages, p.Dir, p.Env, p.ParkAfter
	req.Trigger, req.Actor = "cli", engine.Actor{Type: "person"}
	return req
}

// Settings loads the configuration as it is now, tightened by the policies as they were
// when the run began.
func (p *Program) Settings(env *config.Environment) (*config.Settings, error) {
	s, err := config.Load(env, p.Flags)
	if err != nil {
		return nil, err
	}
	return s, s.TightenBy(env, p.Policies)
}

// Run is a durable run that this process executes.
type Run struct {
	Request engine.Request

	run     *datafolder.Run
	program *Program
	term    *terminal.Printer
	given   hostfns.Asker // nil: it is new
	mu      sync.Mutex
	asked   map[string]hostfns.Question
}

// Begin keeps a new run. The workspace is nil for a run without one.
func Begin(ctx context.Context, runs datafolder.Runs, p *Program, workspace hostfns.Workspace, term *terminal.Printer) (*Run, error) {
	kept, err := runs.Create(ctx, engine.NewID(), p)
	if err != nil {
		return nil, err
	}
	r := &Run{Request: p.request(), run: kept, program: p, term: term}
	r.Request.ID, r.Request.Journal, r.Request.Signals, r.Request.Workspace = kept.ID, kept, kept, workspace
	// If this process dies, the run is in the list and can go on.
	if err := kept.Park(ctx, r.parked()); err != nil {
		return nil, errors.Join(err, kept.Remove())
	}
	return r, nil
}

// Resume opens a run that is kept.
func Resume(ctx context.Context, runs datafolder.Runs, id string, term *terminal.Printer) (*Run, *Program, error) {
	var p Program
	kept, records, err := runs.Resume(ctx, id, &p)
	if err != nil {
		return nil, nil, err
	}
	r := &Run{Request: p.request(), run: kept, program: &p, term: term}
	r.Request.ID, r.Request.Journal, r.Request.Signals, r.Request.Records = id, kept, kept, records
	if r.given, err = runs.Asker(ctx, id, nobody{}); err != nil {
		return nil, nil, errors.Join(err, kept.Close())
	}
	return r, &p, nil
}

// OpenWorkspace opens the workspace of a run that goes on, until the end of the process.
func (r *Run) OpenWorkspace(s *config.Settings, env *config.Environment) error {
	if r.program.Workspace == "" {
		return nil
	}
	all, err := s.Workspaces(env)
	if err != nil {
		return err
	}
	w, err := all.Open(r.program.Workspace)
	if err != nil {
		return err
	}
	r.Request.Workspace = workspaces.New(w)
	return nil
}

// Close lets other processes go on with a run that was not executed.
func (r *Run) Close() error { return r.run.Close() }

// parked describes the run in the list. The intent is not there: it may have personal
// data, which only the questions show.
func (r *Run) parked() datafolder.ParkedRun {
	return datafolder.ParkedRun{Language: r.program.Request.Language, Started: r.program.Started}
}

// On makes a runner of the request. It keeps the run if that is parked or was
// interrupted, and else removes it.
func (r *Run) On(host *config.Host) func(context.Context, engine.Request) (*engine.Result, error) {
	return func(ctx context.Context, req engine.Request) (*engine.Result, error) {
		req.Asker = asker{r, host.Approvals}
		res, err := host.Engine.Run(ctx, req)
		if kept := r.settle(context.WithoutCancel(ctx), res, err); kept != nil && err == nil {
			code := fault.CodeOf(kept)
			res.Status, res.Error = engine.StatusError, &engine.Error{Code: code, Class: code.Class(), Message: kept.Error(), Hint: fault.HintOf(kept)}
			return res, res.Error
		}
		return res, err
	}
}

// settle keeps or removes a run that left memory.
func (r *Run) settle(ctx context.Context, res *engine.Result, failed error) error {
	class := fault.CodeOf(failed).Class()
	switch {
	case failed == nil && res.Parked != nil:
		p := r.parked()
		p.Until, p.Signals, p.Waiting = res.Parked.Until, res.Parked.Signals, res.Waiting
		r.mu.Lock()
		for _, w := range res.Waiting {
			if q, ok := r.asked[w.ID]; ok {
				p.Questions = append(p.Questions, q)
			}
		}
		r.mu.Unlock()
		err := errors.Join(r.run.Park(ctx, p), r.run.Close())
		if err == nil {
			r.tell(p)
		}
		return err
	case failed == nil, class != fault.ClassCancelled && (r.given == nil || class != fault.ClassUsage && class != fault.ClassInternal):
		return r.run.Remove()
	}
	r.term.Note("the run is kept: go on with it with wexec runs resume %s, or drop it with wexec runs drop %s", r.run.ID, r.run.ID)
	return r.run.Close()
}

// tell prints what a parked run waits for and how it goes on.
func (r *Run) tell(p datafolder.ParkedRun) {
	var waits []string
	answer := ""
	for _, q := range p.Questions {
		waits = append(waits, fmt.Sprintf("for a person to approve %s (%s)", terminal.Visible(q.Tool), q.ID))
		if slices.Contains(q.Via, approvals.Socket) {
			answer = cmp.Or(answer, "wexec approvals approve "+q.ID+", then ")
		}
	}
	for _, name := range p.Signals {
		waits = append(waits, "for the signal "+terminal.Visible(name))
		answer = cmp.Or(answer, "wexec runs signal "+r.run.ID+" "+terminal.Visible(name)+" PAYLOAD, then ")
	}
	if !p.Until.IsZero() && len(waits) == 0 {
		waits = append(waits, "until "+p.Until.Local().Format(time.DateTime))
	}
	r.term.Note("run %s is parked: it waits %s", r.run.ID, strings.Join(waits, ", "))
	r.term.Hint("go on with it: " + answer + "wexec runs resume " + r.run.ID)
}

// nobody is there to ask.
type nobody struct{}

// Ask implements hostfns.Asker.
func (nobody) Ask(context.Context, hostfns.Question) (hostfns.Reply, error) {
	return hostfns.Reply{}, hostfns.ErrNobody
}

// asker has the answers that were given while a run was parked, and asks for others.
// Where nobody is there now, a question waits, and the run is parked.
type asker struct {
	run    *Run
	broker *approvals.Broker
}

// Ask implements hostfns.Asker.
func (a asker) Ask(ctx context.Context, q hostfns.Question) (hostfns.Reply, error) {
	if a.run.given != nil {
		if reply, err := a.run.given.Ask(ctx, q); !errors.Is(err, hostfns.ErrNobody) {
			return reply, err
		}
	}
	a.run.mu.Lock()
	if a.run.asked == nil {
		a.run.asked = map[string]hostfns.Question{}
	}
	a.run.asked[q.ID] = q
	a.run.mu.Unlock()
	reply, err := a.broker.Ask(ctx, q)
	if errors.Is(err, hostfns.ErrNobody) && canWait(q) {
		<-ctx.Done()
		return reply, context.Cause(ctx)
	}
	return reply, err
}

// CanGrant implements hostfns.Granter.
func (a asker) CanGrant() bool { return a.broker.CanGrant() }

// canWait reports whether the policy lets somebody answer a question later: over the
// socket, or at the terminal where the run goes on.
func canWait(q hostfns.Question) bool {
	return slices.Contains(q.Via, approvals.Socket) || slices.Contains(q.Via, approvals.Terminal)
}
