package store

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/wexec/wexec/fault"
)

// TaskState is how far a task is.
type TaskState string

// The states of a task. A task with one of the last four has ended.
const (
	TaskQueued    TaskState = "queued" // waits until it is due and a server has room
	TaskRunning   TaskState = "running"
	TaskReview    TaskState = "review" // what it changed in a workspace waits for an answer
	TaskAccepted  TaskState = "accepted"
	TaskRejected  TaskState = "rejected"
	TaskFailed    TaskState = "failed"
	TaskCancelled TaskState = "cancelled"
)

// TaskStates returns the states of a task.
func TaskStates() []TaskState {
	return []TaskState{TaskQueued, TaskRunning, TaskReview, TaskAccepted, TaskRejected, TaskFailed, TaskCancelled}
}

// Ended reports whether nothing more happens to a task in this state.
func (s TaskState) Ended() bool { return s != TaskQueued && s != TaskRunning && s != TaskReview }

// Task is work that a client left to a server. Each attempt is a run.
type Task struct {
	Tenant, ID string
	State      TaskState
	Actor      string
	Token      string // id of the token that asked for it
	Name       string // unique among the tasks that have not ended; may be empty
	Priority   int64
	Plan       []byte // JSON: when it is tried again, and when it runs again
	Run        string // its present or last attempt
	Attempt    int64  // of the present occurrence, from 1
	Times      int64  // occurrences that have ended
	Status     string // of the last attempt that has ended
	Code       fault.Code
	Due        time.Time
	Created    time.Time
	Updated    time.Time
	Ended      time.Time // zero: not yet

	Intent, Language string // of the run
}

// TaskEnd is how an attempt of a task ended.
type TaskEnd struct {
	Status    string
	Code      fault.Code
	Cancelled bool // somebody cancelled it
	Review    bool // it changed a workspace
	At        time.Time
}

// TaskStep is what follows an attempt of a task.
type TaskStep struct {
	State   TaskState
	Run     string    // id of the next attempt; empty if the task has ended
	Due     time.Time // of the next attempt
	Attempt int64
	Times   int64
}

// freeName refuses the name of a task that has not ended.
func (tx *Tx) freeName(tenant, name string) error {
	if name == "" {
		return nil
	}
	var other string
	taken, err := tx.row([]any{&other}, `SELECT id FROM tasks WHERE tenant = $1 AND name = $2 AND name <> '' AND ended = 0`, tenant, name)
	if err == nil && taken {
		err = conflict("the task %s has the name %.60q and has not ended", other, name).WithHint("wait for its end, or cancel it")
	}
	return err
}

const taskColumns = `t.tenant, t.id, t.state, t.actor, t.token, t.name, t.priority, t.plan, t.run, t.attempt, t.times, t.status, t.code, t.due, t.created, t.updated, t.ended`

// tasks reads the tasks that a condition selects, as the rows t and their runs r.
func (tx *Tx) tasks(condition string, args ...any) (all []Task, err error) {
	for scan, err := range tx.rows(`SELECT `+taskColumns+`, r.intent, r.language FROM tasks t JOIN runs r ON r.tenant = t.tenant AND r.id = t.run WHERE `+condition, args...) {
		if err != nil {
			return nil, err
		}
		var t Task
		var due, created, updated, ended int64
		if err := scan(&t.Tenant, &t.ID, &t.State, &t.Actor, &t.Token, &t.Name, &t.Priority, &t.Plan, &t.Run, &t.Attempt, &t.Times, &t.Status, &t.Code,
			&due, &created, &updated, &ended, &t.Intent, &t.Language); err != nil {
			return nil, err
		}
		t.Due, t.Created, t.Updated, t.Ended = timeOf(due), timeOf(created), timeOf(updated), timeOf(ended)
		all = append(all, t)
	}
	return all, nil
}

// task reads one task.
func (tx *Tx) task(tenant, id string) (t Task, err error) {
	all, err := tx.tasks(`t.tenant = $1 AND t.id = $2`, tenant, id)
	switch {
	case err != nil:
		return t, err
	case len(all) == 0:
		return t, fault.New(fault.UsageTask, "there is no task %.40q", id).WithHint("list them with wexec task list")
	}
	return all[0], nil
}

// Task returns a task of a tenant.
func (s *Store) Task(ctx context.Context, tenant, id string) (t Task, err error) {
	err = s.look(ctx, func(tx *Tx) error {
		t, err = tx.task(tenant, id)
		return err
	})
	return t, err
}

// TaskFilter selects tasks. Empty fields select all.
type TaskFilter struct {
	State       TaskState
	Actor, Name string
	Before      string // tasks older than this id
	Limit       int    // at most 1,000; 0 means 50
}

// Tasks returns the newest tasks of a tenant that a filter selects. If there may be
// more, the id of the last one continues the list as TaskFilter.Before.
func (s *Store) Tasks(ctx context.Context, tenant string, f TaskFilter) (tasks []Task, more bool, err error) {
	if f.Limit <= 0 {
		f.Limit = 50
	}
	f.Limit = min(f.Limit, 1000)
	condition, args := strings.Builder{}, []any{tenant}
	condition.WriteString(`t.tenant = $1`)
	for _, is := range [][2]string{{"t.state = ", string(f.State)}, {"t.actor = ", f.Actor}, {"t.name = ", f.Name}, {"t.id < ", f.Before}} {
		if is[1] != "" {
			args = append(args, is[1])
			condition.WriteString(" AND " + is[0] + placeholder(len(args)))
		}
	}
	args = append(args, f.Limit+1)
	condition.WriteString(" ORDER BY t.id DESC LIMIT " + placeholder(len(args)))
	err = s.look(ctx, func(tx *Tx) error {
		tasks, err = tx.tasks(condition.String(), args...)
		return err
	})
	if len(tasks) > f.Limit {
		tasks, more = tasks[:f.Limit], true
	}
	return tasks, more, err
}

// RetryTask queues a new attempt, with the id of its run, of a task that has ended and
// was not accepted.
func (s *Store) RetryTask(ctx context.Context, tenant, id, run string) error {
	return s.update(ctx, func(tx *Tx) error {
		t, err := tx.lockedTask(tenant, id)
		switch {
		case err != nil:
			return err
		case !t.State.Ended(), t.State == TaskAccepted:
			return conflict("the task %s is %s", id, t.State).WithHint("tasks that failed or were cancelled are tried again")
		}
		if err := tx.freeName(tenant, t.Name); err != nil {
			return err
		}
		return tx.step(t, TaskStep{State: TaskQueued, Run: run, Attempt: 1, Times: t.Times})
	})
}

// lockedTask reads a task that nobody else changes before the transaction ends.
func (tx *Tx) lockedTask(tenant, id string) (t Task, err error) {
	if _, err := tx.row([]any{new(string)}, `SELECT state FROM tasks WHERE tenant = $1 AND id = $2`+tx.s.lock(), tenant, id); err != nil {
		return t, err
	}
	return tx.task(tenant, id)
}

// DecideTask writes what follows the answer about a task in review.
func (s *Store) DecideTask(ctx context.Context, tenant, id string, next func(Task) TaskStep) error {
	return s.update(ctx, func(tx *Tx) error {
		t, err := tx.lockedTask(tenant, id)
		switch {
		case err != nil:
			return err
		case t.State != TaskReview:
			return conflict("the task %s is %s, not in review", id, t.State)
		}
		return tx.step(t, next(t))
	})
}

// step writes what follows an attempt of a task. The next attempt has the request of
// the last one.
func (tx *Tx) step(t Task, next TaskStep) error {
	now := tx.s.micros()
	due, ended := int64(0), int64(0)
	if next.State.Ended() {
		ended = now
	}
	if next.Run != "" {
		due = max(now, microsOf(next.Due))
		if _, err := tx.exec(`INSERT INTO runs (tenant, id, state, status, code, actor, token, language, skill, session, intent, words, request, result, summary, created, started, ended, events, task)
			SELECT tenant, $3, 'queued', '', '', actor, token, language, skill, session, intent, words, request, $4, $4, $5, 0, 0, 0, task FROM runs WHERE tenant = $1 AND id = $2`,
			t.Tenant, t.Run, next.Run, []byte{}, now); err != nil {
			return err
		}
		if _, err := tx.enqueue(Work{Tenant: t.Tenant, ID: next.Run, Kind: KindTask, Token: t.Token, Priority: t.Priority, Due: timeOf(due)}, ""); err != nil {
			return err
		}
		t.Run = next.Run
	}
	_, err := tx.exec(`UPDATE tasks SET state = $3, run = $4, attempt = $5, times = $6, status = $7, code = $8, due = $9, updated = $10, ended = $11 WHERE tenant = $1 AND id = $2`,
		t.Tenant, t.ID, string(next.State), t.Run, next.Attempt, next.Times, t.Status, string(t.Code), due, now, ended)
	return err
}

// endAttempt does what follows the end of a run, if it is the present attempt of a
// task, and adds an event about it.
func (tx *Tx) endAttempt(l Lease, task string, end TaskEnd, follow func(Task, TaskEnd) TaskStep) error {
	all, err := tx.tasks(`t.tenant = $1 AND t.id = $2 AND t.run = $3`, l.Tenant, task, l.ID)
	if err != nil || len(all) == 0 {
		return err
	}
	t := all[0]
	t.Status, t.Code = end.Status, end.Code
	step := TaskStep{State: TaskFailed, Attempt: t.Attempt, Times: t.Times + 1}
	if follow != nil {
		step = follow(t, end)
	}
	if err := tx.step(t, step); err != nil {
		return err
	}
	data, err := json.Marshal(struct {
		ID      string    `json:"id"`
		State   TaskState `json:"state"`
		Attempt int64     `json:"attempt"`
		Run     string    `json:"run,omitempty"`
		Due     time.Time `json:"due,omitzero"`
	}{t.ID, step.State, step.Attempt, step.Run, step.Due.UTC()})
	if err != nil {
		return fault.New(fault.Internal, "encode an event of a task: %w", err)
	}
	return tx.append(l, []Event{{Type: "task", Data: data}})
}
