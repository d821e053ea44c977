package service

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/store"
	"github.com/wexec/wexec/tasks"
)

// NewTask is a request for a task. The intent of the program is what the task is for.
type NewTask struct {
	Program  Program         `json:"program" jsonschema:"what each attempt runs"`
	Name     string          `json:"name,omitempty" jsonschema:"unique among the tasks that have not ended: another one with the name is refused"`
	Priority int64           `json:"priority,omitempty" jsonschema:"0 to 9; of the tasks of a tenant that are due, the highest is first"`
	At       *time.Time      `json:"at,omitempty" jsonschema:"not before this time"`
	Schedule *tasks.Schedule `json:"schedule,omitempty" jsonschema:"when it runs again and again"`
	Retry    tasks.Retry     `json:"retry,omitzero" jsonschema:"when the program is run again after an error"`
}

// Task is a task as the API shows it.
type Task struct {
	ID       string          `json:"id"`
	State    store.TaskState `json:"state" jsonschema:"queued, running, review, accepted, rejected, failed or cancelled"`
	Intent   string          `json:"intent,omitempty"`
	Language string          `json:"language"`
	Actor    string          `json:"actor,omitempty"`
	Name     string          `json:"name,omitempty" jsonschema:"unique among the tasks that have not ended"`
	Priority int64           `json:"priority" jsonschema:"0 to 9"`
	Schedule *tasks.Schedule `json:"schedule,omitempty"`
	Retry    tasks.Retry     `json:"retry"`
	Run      string          `json:"run" jsonschema:"the run that is its present or last attempt"`
	Attempt  int64           `json:"attempt" jsonschema:"the number of that attempt, from 1; a schedule begins again with 1"`
	Times    int64           `json:"times" jsonschema:"how often it has been done, with or without success"`
	Status   string          `json:"status,omitempty" jsonschema:"of the result of the last attempt that has ended"`
	Code     fault.Code      `json:"code,omitempty" jsonschema:"of the error of that attempt"`
	Due      *time.Time      `json:"due,omitempty" jsonschema:"the present attempt is not before this time"`
	Created  time.Time       `json:"created"`
	Updated  time.Time       `json:"updated"`
	Ended    *time.Time      `json:"ended,omitempty"`
	Runs     []TaskRun       `json:"runs,omitempty" jsonschema:"the newest attempts, in the answer for one task"`
}

// TaskRun is an attempt of a task.
type TaskRun struct {
	ID      string      `json:"id" jsonschema:"the id of the run"`
	State   store.State `json:"state"`
	Status  string      `json:"status,omitempty"`
	Code    fault.Code  `json:"code,omitempty"`
	Created time.Time   `json:"created"`
	Ended   *time.Time  `json:"ended,omitempty"`
}

// Bounds of a task. At most shownAttempts are in the answer for one.
const (
	maxPriority   = 9
	maxAhead      = 10 * 366 * 24 * time.Hour
	shownAttempts = 50
	cancelTries   = 20
)

// check refuses a task that cannot be done, and returns its plan.
func (n *NewTask) check(now time.Time) (plan []byte, due time.Time, err error) {
	if strings.TrimSpace(n.Program.Code) == "" && n.Program.Intent != "" {
		return nil, due, fault.New(fault.UsageTask, "the task has an intent and no program, and this server has no model that writes it").WithHint("set program.code")
	}
	if err := n.Program.check(); err != nil {
		return nil, due, err
	}
	switch {
	case n.Priority < 0 || n.Priority > maxPriority:
		return nil, due, fault.New(fault.UsageTask, "priority must be 0 to %d, not %d", maxPriority, n.Priority)
	case len(n.Name) > maxName || !utf8.ValidString(n.Name) || strings.ContainsFunc(n.Name, unicode.IsControl):
		return nil, due, fault.New(fault.UsageTask, "the name of a task has at most %d bytes, without control characters", maxName)
	case n.Program.Session != "":
		return nil, due, fault.New(fault.UsageTask, "the program of a task cannot use a session").WithHint("keep what it needs as an artifact")
	case n.At != nil && n.At.After(now.Add(maxAhead)):
		return nil, due, fault.New(fault.UsageTask, "at is more than ten years ahead")
	}
	if n.Program.Workspace != "" && n.Schedule != nil {
		return nil, due, fault.New(fault.UsageTask, "a task with a workspace has no schedule, since what it changes is accepted once").WithHint("add a task for each workspace")
	}
	p := tasks.Plan{Retry: n.Retry, Schedule: n.Schedule}
	if err := p.Check(); err != nil {
		return nil, due, err
	}
	switch {
	case n.At != nil:
		due = *n.At
	case n.Schedule != nil:
		if due, err = n.Schedule.Next(now); err != nil {
			return nil, due, err
		}
	}
	if plan, err = json.Marshal(p); err != nil {
		return nil, due, fault.New(fault.UsageTask, "encode the plan of the task: %w", err)
	}
	return plan, due, nil
}

// AddTask accepts a task. Key is chosen by the client, so that a request that is sent
// twice is one task; it may be empty.
func (s *Service) AddTask(ctx context.Context, who Principal, n NewTask, key string) (Task, error) {
	plan, due, err := n.check(time.Now())
	if err != nil {
		return Task{}, err
	}
	if len(key) > maxName {
		return Task{}, fault.New(fault.UsageFlag, "the idempotency key has more than %d bytes", maxName)
	}
	t := s.tenants.get(who.Tenant)
	switch {
	case t == nil:
		return Task{}, fault.New(fault.UsageConfig, "this server has no tenant %s", who.Tenant)
	case !t.Feature("tasks", who.Actor().ID):
		return Task{}, fault.New(fault.DeniedScope, "tasks are off for %s", who.Actor().ID).WithHint("an administrator sets features in the wexec.yaml of the tenant")
	case !t.Table().Policy().Keep():
		return Task{}, fault.New(fault.UsageTask, "the policy keeps no text, so the program of a task cannot wait in the store").WithHint("remove  keep: false  from the policy")
	}
	if err := s.checkWorkspace(who, n.Program.Workspace); err != nil {
		return Task{}, err
	}
	request, _, err := request{Program: n.Program, By: who.Actor(), Tools: who.Tools, Profile: who.Profile, Trigger: "task", Quotas: who.Quotas, Model: who.Model}.stored(ctx)
	if err != nil {
		return Task{}, err
	}
	whole, err := json.Marshal(n)
	if err != nil {
		return Task{}, fault.New(fault.UsageTask, "read the task: %w", err)
	}
	run := store.Run{Tenant: who.Tenant, ID: engine.NewID(), Actor: who.Actor().ID, Token: who.ID, Language: n.Program.Language,
		Intent: n.Program.Intent, Program: n.Program.Code, Request: request}
	task := store.Task{Tenant: who.Tenant, ID: engine.NewID(), Actor: run.Actor, Token: run.Token, Name: n.Name, Priority: n.Priority, Plan: plan, Due: due}
	id, _, err := s.o.Store.AddTask(ctx, task, run, store.Idempotency{Key: key, Digest: textDigest(string(whole)), Keep: keepKeys}, s.tenants.accounts(run, who.Quotas)...)
	if err != nil {
		return Task{}, err
	}
	s.runs.look()
	return s.Task(ctx, who, id)
}

// Task returns a task of the principal's tenant with its newest attempts.
func (s *Service) Task(ctx context.Context, who Principal, id string) (Task, error) {
	t, err := s.o.Store.Task(ctx, who.Tenant, id)
	if err != nil {
		return Task{}, err
	}
	runs, err := s.o.Store.TaskRuns(ctx, who.Tenant, id, shownAttempts)
	out := taskOf(t)
	for _, r := range runs {
		out.Runs = append(out.Runs, TaskRun{ID: r.ID, State: r.State, Status: r.Status, Code: r.Code, Created: r.Created, Ended: timeOrNil(r.Ended)})
	}
	return out, err
}

// Tasks returns the newest tasks of the principal's tenant that a filter selects, and
// the cursor of the next page.
func (s *Service) Tasks(ctx context.Context, who Principal, f store.TaskFilter) (all []Task, next string, err error) {
	found, more, err := s.o.Store.Tasks(ctx, who.Tenant, f)
	all = []Task{}
	for _, t := range found {
		all = append(all, taskOf(t))
	}
	if more {
		next = found[len(found)-1].ID
	}
	return all, next, err
}

// taskOf is a task as the API shows it.
func taskOf(t store.Task) Task {
	var p tasks.Plan
	_ = json.Unmarshal(t.Plan, &p) // written by AddTask
	out := Task{ID: t.ID, State: t.State, Intent: t.Intent, Language: t.Language, Actor: t.Actor, Name: t.Name, Priority: t.Priority, Schedule: p.Schedule, Retry: p.Retry,
		Run: t.Run, Attempt: t.Attempt, Times: t.Times, Status: t.Status, Code: t.Code, Created: t.Created, Updated: t.Updated, Ended: timeOrNil(t.Ended)}
	if !t.State.Ended() {
		out.Due = timeOrNil(t.Due)
	}
	return out
}

func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// CancelTask ends a task of the principal's tenant with its schedule. It reports whether
// the task had not ended yet.
func (s *Service) CancelTask(ctx context.Context, who Principal, id string) (bool, error) {
	for range cancelTries {
		t, err := s.o.Store.Task(ctx, who.Tenant, id)
		switch {
		case err != nil || t.State.Ended():
			return false, err
		case t.State == store.TaskReview:
			return false, fault.New(fault.UsageConflict, "the task %s waits for an answer about what it changed", id).WithHint("accept it or reject it")
		}
		ok, err := s.Cancel(ctx, who, t.Run)
		if ok || err != nil && !errors.Is(err, fault.UsageRun) {
			return ok, err
		}
		// The attempt has ended meanwhile; another one may follow.
		if err := context.Cause(ctx); err != nil {
			return false, err
		}
	}
	return false, fault.New(fault.LimitBusy, "the task %s begins one attempt after the other", id).WithHint("try again")
}

// DecideTask accepts or rejects what a task in review changed in its workspace. If it
// was cut off, the same answer completes it.
func (s *Service) DecideTask(ctx context.Context, who Principal, id string, accept bool) (Task, error) {
	t, err := s.o.Store.Task(ctx, who.Tenant, id)
	switch {
	case err != nil:
		return Task{}, err
	case t.State != store.TaskReview:
		return Task{}, fault.New(fault.UsageConflict, "the task %s is %s, not in review", id, t.State)
	}
	program, err := s.ProgramOf(ctx, who, t.Run)
	if err != nil {
		return Task{}, err
	}
	layers, err := s.Workspaces(who)
	if err != nil {
		return Task{}, err
	}
	decide := layers.Reject
	if accept {
		decide = layers.Accept
	}
	if _, err := decide(ctx, program.Workspace); err != nil {
		return Task{}, err
	}
	if err := s.o.Store.DecideTask(ctx, who.Tenant, id, func(t store.Task) store.TaskStep { return tasks.Decided(t, accept) }); err != nil {
		return Task{}, err
	}
	return s.Task(ctx, who, id)
}

// RetryTask makes a new attempt of a task that ended and was not accepted.
func (s *Service) RetryTask(ctx context.Context, who Principal, id string) (Task, error) {
	if err := s.o.Store.RetryTask(ctx, who.Tenant, id, engine.NewID()); err != nil {
		return Task{}, err
	}
	s.runs.look()
	return s.Task(ctx, who, id)
}
