package apiclient

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/service"
	"github.com/wexec/wexec/store"
)

// Runner runs programs on a server and reports what they do as an engine does.
type Runner struct {
	Client *Client
	Asker  hostfns.Asker // asks the person at the terminal; nil without a terminal
}

// Bounds of a run on a server.
const (
	maxInput   = 8 << 20          // of standard input, and of the request as a whole
	confirming = 20 * time.Second // how long the end of an interrupted run is waited for
)

// errWaiting ends the following of a run that waits for people, of whom none is here.
var errWaiting = errors.New("the run waits")

// Run runs a program until it ends, or until it waits for a person who is not here:
// then the status of the result is waiting, and there is no error. When the context
// ends, the server cancels the run.
func (r Runner) Run(ctx context.Context, req engine.Request) (*engine.Result, error) {
	began := time.Now().UTC()
	failed := func(id string, err error) (*engine.Result, error) {
		code := fault.CodeOf(err)
		return &engine.Result{RunID: id, Status: engine.StatusError, Started: began, Cache: "off",
			Error: &engine.Error{Code: code, Class: code.Class(), Message: err.Error(), Hint: fault.HintOf(err)}}, err
	}
	program, err := programOf(req)
	if err != nil {
		return failed("", err)
	}
	run, err := r.Client.Submit(ctx, program, rand.Text())
	switch {
	case err != nil && ctx.Err() != nil:
		return failed("", fault.New(fault.Cancelled, "%w; whether the server runs the program is not known", err).WithHint("see wexec ps --server %s", r.Client.Address()))
	case err != nil:
		return failed("", err)
	}
	f := &following{Runner: r, run: run.RunID, req: req, asked: map[string]context.CancelFunc{}}
	f.ctx, f.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	defer f.stop(nil)
	defer context.AfterFunc(ctx, func() { f.interrupt(context.Cause(ctx)) })()
	err = r.Client.Events(f.ctx, run.RunID, 0, true, f.event)
	f.stop(nil)
	f.asking.Wait()
	switch {
	case errors.Is(err, errWaiting):
		if run, err = r.Client.Run(ctx, run.RunID); err != nil {
			return failed(f.run, err)
		}
		return &run.Result, nil
	case err != nil:
		return failed(f.run, fault.New(fault.CodeOf(err), "follow run %s: %w", f.run, err).WithHint("see how it goes on: wexec logs %s --follow --server %s", f.run, r.Client.Address()))
	}
	if f.res.Error != nil {
		return &f.res, f.res.Error
	}
	return &f.res, nil
}

// programOf is what a server is sent of a request. Standard input is read to its end.
func programOf(req engine.Request) (service.Program, error) {
	p := service.Program{Language: req.Language, Code: req.Code, File: req.File, Argv: req.Argv, Args: req.Args, Intent: req.Intent, Limits: req.Limits,
		Deterministic: req.Deterministic, Cache: req.Cache, Session: req.Session, Dry: req.DryRun}
	if req.Stdin == nil {
		return p, nil
	}
	data, err := io.ReadAll(io.LimitReader(req.Stdin, maxInput+1))
	switch {
	case err != nil:
		return p, fault.New(fault.UsageFile, "read standard input: %w", err)
	case len(data) > maxInput:
		return p, fault.New(fault.UsageFile, "standard input is larger than %d MiB, the most that a server takes", maxInput>>20)
	case !utf8.Valid(data):
		return p, fault.New(fault.UsageFile, "standard input is not UTF-8, which a server requires").WithHint("encode it, such as with base64")
	}
	p.Input = string(data)
	return p, nil
}

// following is a run on a server whose events are reported here.
type following struct {
	Runner
	run  string
	req  engine.Request
	ctx  context.Context // of requests; ends when the run is no longer followed
	stop context.CancelCauseFunc
	res  engine.Result // at the end

	asking sync.WaitGroup
	mu     sync.Mutex
	asked  map[string]context.CancelFunc // withdraws a question
}

// interrupt cancels the run at the server and leaves it some time to end.
func (f *following) interrupt(why error) {
	ctx, cancel := context.WithTimeout(f.ctx, confirming)
	defer cancel()
	if _, err := f.Client.Cancel(ctx, f.run); err != nil {
		f.stop(fault.New(fault.Cancelled, "%w; the server did not confirm the end: %w", why, err))
		return
	}
	<-ctx.Done()
	f.stop(fault.New(fault.Cancelled, "%w; the server did not confirm the end", why))
}

// event reports an event of the run.
func (f *following) event(e store.Event) error {
	step := engine.Event{Run: f.run, Time: time.Now()}
	var data struct {
		Stream, Text string // output
		Number       uint64 // call
		ID           string // approval
		State        string // approval, state
	}
	if e.Type == "end" {
		if err := json.Unmarshal(e.Data, &f.res); err != nil {
			return f.Client.unavailable("the result cannot be read: %w", err)
		}
		step.Type, step.Text, step.Fuel = engine.EventDone, string(f.res.Status), f.res.Usage.Fuel
		f.report(step)
		return nil
	}
	if err := json.Unmarshal(e.Data, &data); err != nil {
		return f.Client.unavailable("an event cannot be read: %w", err)
	}
	switch e.Type {
	case "output":
		step.Type, step.Stream, step.Text = engine.EventOutput, data.Stream, data.Text
		to := f.req.Output.Stdout
		if data.Stream == "stderr" {
			to = f.req.Output.Stderr
		}
		if to != nil {
			if _, err := io.WriteString(to, data.Text); err != nil {
				return err
			}
		}
	case "call":
		step.Type, step.Number, step.Call = engine.EventCall, data.Number, &engine.Call{}
		if err := json.Unmarshal(e.Data, step.Call); err != nil {
			return f.Client.unavailable("a call cannot be read: %w", err)
		}
	case "approval":
		f.question(data.ID, store.Answer(data.State))
		return nil
	case "state":
		switch store.State(data.State) {
		case store.StateRunning:
			step.Type = engine.EventStarted
		case store.StateWaiting:
			step.Type, step.Text = engine.EventWaiting, "waiting for a person's answer"
			if f.Asker == nil {
				f.report(step)
				return errWaiting
			}
		case store.StateParked:
			return errWaiting
		default:
			return nil
		}
	default:
		return nil
	}
	f.report(step)
	return nil
}

func (f *following) report(step engine.Event) {
	if f.req.Progress != nil {
		f.req.Progress(step)
	}
}

// question asks the person at the terminal, or withdraws a question that was answered
// elsewhere.
func (f *following) question(id string, state store.Answer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if withdraw := f.asked[id]; withdraw != nil && state != store.AnswerWaiting {
		withdraw()
		delete(f.asked, id)
	}
	if f.asked[id] != nil || state != store.AnswerWaiting || f.Asker == nil {
		return
	}
	ctx, withdraw := context.WithCancel(f.ctx)
	f.asked[id] = withdraw
	f.asking.Go(func() {
		if err := f.ask(ctx, id); err != nil && ctx.Err() == nil {
			f.stop(err)
		}
	})
}

// ask asks a question and sends the answer. It returns errWaiting if the answer of
// nobody here counts.
func (f *following) ask(ctx context.Context, id string) error {
	all, err := f.Client.Approvals(ctx)
	if err != nil {
		return err
	}
	for _, a := range all {
		if a.ID != id {
			continue
		}
		if !a.MayAnswer {
			return errWaiting
		}
		reply, err := f.Asker.Ask(ctx, questionOf(a))
		if err != nil {
			return errWaiting // the terminal was closed, or the question withdrawn
		}
		if err := f.Client.Decide(ctx, id, reply); !errors.Is(err, fault.UsageConflict) {
			return err // a conflict means that another answer was first
		}
	}
	return nil
}
