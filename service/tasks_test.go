package service

import (
	"strings"
	"testing"
	"time"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/policy"
	"github.com/wexec/wexec/store"
	"github.com/wexec/wexec/tasks"
)

func js(code string) Program {
	return Program{Language: "javascript", Code: code, Intent: "test", Limits: policy.Limits{Time: time.Minute, Fuel: 1e12}}
}

// withToken opens a service whose principal has a token, as tasks need.
func withToken(t *testing.T, running int) lasting {
	t.Helper()
	l := newLasting(t, running)
	secret, _, err := l.CreateToken(t.Context(), l.bot.Token)
	if err != nil {
		t.Fatal(err)
	}
	if l.bot.Token, err = l.store.Token(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	return l
}

// add adds a task.
func (l lasting) add(t *testing.T, n NewTask) Task {
	t.Helper()
	task, err := l.AddTask(t.Context(), l.bot, n, "")
	if err != nil {
		t.Fatal(err)
	}
	return task
}

// until waits until a condition holds for a task.
func (l lasting) until(t *testing.T, id string, what string, holds func(Task) bool) Task {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		task, err := l.Task(t.Context(), l.bot, id)
		if err != nil {
			t.Fatal(err)
		}
		if holds(task) {
			return task
		}
		if time.Now().After(end) {
			t.Fatalf("the task is not %s: %+v", what, task)
		}
	}
}

func ended(task Task) bool { return task.State.Ended() }

func TestATaskRunsItsProgram(t *testing.T) {
	l := withToken(t, 0)
	task := l.add(t, NewTask{Program: js("console.log('done'); 6 * 7"), Priority: 3})
	task = l.until(t, task.ID, "ended", ended)
	run := l.end(t, task.Run)
	if task.State != store.TaskAccepted || task.Times != 1 || string(run.Value) != "42" || run.Stdout != "done\n" || run.Intent != "test" {
		t.Errorf("task %+v, run %+v", task, run)
	}
	if _, err := l.RetryTask(t.Context(), l.bot, task.ID); fault.CodeOf(err) != fault.UsageConflict {
		t.Errorf("a task that was accepted is tried again: %v", err)
	}
	l.empty(t)
}

func TestATaskThatFailsIsTriedAgain(t *testing.T) {
	l := withToken(t, 0)
	task := l.add(t, NewTask{Program: js("throw new Error('no')"), Retry: tasks.Retry{Attempts: 2, Delay: "1ms", Codes: []string{"guest"}}})
	task = l.until(t, task.ID, "ended", ended)
	if task.State != store.TaskFailed || task.Attempt != 2 || len(task.Runs) != 2 || task.Code == "" || task.Status != "error" {
		t.Errorf("the task is %+v", task)
	}
	task, err := l.RetryTask(t.Context(), l.bot, task.ID)
	if err != nil || task.Attempt != 1 || len(task.Runs) != 3 {
		t.Errorf("again: %+v %v", task, err)
	}
	l.until(t, task.ID, "ended", ended)
	l.empty(t)
}

func TestATaskIsCancelled(t *testing.T) {
	l := withToken(t, 0)
	later := time.Now().Add(time.Hour)
	for name, n := range map[string]NewTask{
		"waits":     {Program: js("1"), At: &later},
		"scheduled": {Program: js("1"), Schedule: &tasks.Schedule{Cron: "@yearly"}},
		"runs":      {Program: js("for (;;) {}")},
		"parked":    {Program: js("await waitFor('never')")},
	} {
		task := l.add(t, n)
		if name == "runs" || name == "parked" {
			l.until(t, task.ID, "running", func(x Task) bool { return x.State == store.TaskRunning })
		}
		if ok, err := l.CancelTask(t.Context(), l.bot, task.ID); !ok || err != nil {
			t.Errorf("%s: cancel: %v %v", name, ok, err)
		}
		if task = l.until(t, task.ID, "ended", ended); task.State != store.TaskCancelled || len(task.Runs) != 1 {
			t.Errorf("%s: the task is %+v", name, task)
		}
		if ok, err := l.CancelTask(t.Context(), l.bot, task.ID); ok || err != nil {
			t.Errorf("%s: cancelled twice: %v %v", name, ok, err)
		}
	}
	l.empty(t)
}

// The process that had begun a task was killed: when its lease has expired, this one goes on.
func TestATaskIsTakenOver(t *testing.T) {
	l := withToken(t, 2)
	busy := l.begin(t, "for (;;) {}")
	busy2 := l.begin(t, "for (;;) {}")
	task := l.add(t, NewTask{Program: js("6 * 7")})
	lease, ok, err := l.store.Claim(t.Context(), store.KindTask, "killed")
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	early, err := store.Open(t.Context(), l.address, store.Options{Now: func() time.Time { return time.Now().Add(-time.Minute) }})
	if err != nil {
		t.Fatal(err)
	}
	defer early.Close()
	if _, err := early.Renew(t.Context(), lease); err != nil { // until a time that has passed
		t.Fatal(err)
	}
	for _, id := range []string{busy, busy2} {
		if _, err := l.Cancel(t.Context(), l.bot, id); err != nil {
			t.Fatal(err)
		}
		l.end(t, id)
	}
	if task = l.until(t, task.ID, "ended", ended); task.State != store.TaskAccepted || len(task.Runs) != 1 {
		t.Errorf("the task is %+v", task)
	}
	l.empty(t)
}

func TestTasksThatAreRefused(t *testing.T) {
	l := withToken(t, 0)
	far := time.Now().Add(20 * 366 * 24 * time.Hour)
	for name, n := range map[string]NewTask{
		"only an intent":              {Program: Program{Intent: "tidy up", Language: "python"}},
		"a session":                   {Program: Program{Language: "js", Code: "1", Session: "s"}},
		"a priority":                  {Program: js("1"), Priority: 10},
		"a name":                      {Program: js("1"), Name: "a\x00b"},
		"a long name":                 {Program: js("1"), Name: strings.Repeat("n", 201)},
		"a time":                      {Program: js("1"), At: &far},
		"a schedule with a workspace": {Program: Program{Language: "js", Code: "1", Workspace: "w"}, Schedule: &tasks.Schedule{Cron: "@daily"}},
		"a schedule":                  {Program: js("1"), Schedule: &tasks.Schedule{Cron: "no"}},
		"a retry":                     {Program: js("1"), Retry: tasks.Retry{Attempts: 1000}},
	} {
		if _, err := l.AddTask(t.Context(), l.bot, n, ""); fault.CodeOf(err) != fault.UsageTask {
			t.Errorf("%s: %v", name, err)
		}
	}
	other := l.bot
	other.Tenant = "other"
	task := l.add(t, NewTask{Program: js("1"), Name: "one"})
	if _, err := l.Task(t.Context(), other, task.ID); fault.CodeOf(err) != fault.UsageTask {
		t.Errorf("another tenant sees the task: %v", err)
	}
	if _, err := l.CancelTask(t.Context(), other, task.ID); fault.CodeOf(err) != fault.UsageTask {
		t.Errorf("another tenant cancels the task: %v", err)
	}
}

func TestATaskEndsWithItsToken(t *testing.T) {
	l := withToken(t, 0)
	task := l.add(t, NewTask{Program: js("1"), At: new(time.Now().Add(time.Second)), Schedule: &tasks.Schedule{Cron: "@hourly"}})
	if err := l.store.Revoke(t.Context(), DefaultTenant, l.bot.ID); err != nil {
		t.Fatal(err)
	}
	if task = l.until(t, task.ID, "ended", ended); task.State != store.TaskFailed || task.Code != fault.DeniedToken {
		t.Errorf("the task is %+v", task)
	}
	l.empty(t)
}
