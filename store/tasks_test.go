package store

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/wexec/wexec/fault"
)

// addTask saves a task and its first attempt, which are due at once.
func addTask(t testing.TB, s *Store, tenant, id string, change func(*Task)) {
	t.Helper()
	task := Task{Tenant: tenant, ID: id, Actor: "bot", Plan: []byte("{}")}
	if change != nil {
		change(&task)
	}
	_, _, err := s.AddTask(t.Context(), task, Run{Tenant: tenant, ID: id + "-1", Actor: "bot", Language: "python", Intent: "tidy up"}, Idempotency{})
	check(t, err)
}

func wantTask(t testing.TB, s *Store, tenant, id string, state TaskState, run string) {
	t.Helper()
	if got := must(s.Task(t.Context(), tenant, id))(t); got.State != state || got.Run != run {
		t.Errorf("task %s is %s with run %s, want %s with %s", id, got.State, got.Run, state, run)
	}
}

// again is a step after which an attempt is run once more.
func again(run string, due time.Time) func(Task, TaskEnd) TaskStep {
	return func(task Task, _ TaskEnd) TaskStep {
		return TaskStep{State: TaskQueued, Run: run, Due: due, Attempt: task.Attempt + 1}
	}
}

func endOfTask(task Task, end TaskEnd) TaskStep {
	if end.Cancelled {
		return TaskStep{State: TaskCancelled, Attempt: task.Attempt}
	}
	return TaskStep{State: TaskAccepted, Attempt: task.Attempt, Times: task.Times + 1}
}

func TestATaskFollowsItsAttempts(t *testing.T) {
	both(t, func(t *testing.T, s *Store, c *clock) {
		ctx := t.Context()
		addTask(t, s, "a", "t1", func(x *Task) { x.Name, x.Priority = "nightly", 4 })
		wantTask(t, s, "a", "t1", TaskQueued, "t1-1")
		l, _ := claim(t, s, "me")
		check(t, s.SetState(ctx, l, StateRunning))
		wantTask(t, s, "a", "t1", TaskRunning, "t1-1")
		check(t, s.End(ctx, l, Outcome{Status: "error", Code: fault.UpstreamUnavailable, Next: again("t1-2", c.now().Add(time.Minute))}))
		wantTask(t, s, "a", "t1", TaskQueued, "t1-2")
		if events := must(s.Events(ctx, "a", "t1-1", 0, 10))(t); len(events) != 2 || events[1].Type != "task" {
			t.Errorf("events %v", events)
		}
		if _, got := claim(t, s, "me"); got != "" {
			t.Errorf("claimed %s before it is due", got)
		}
		c.pass(time.Minute + time.Second)
		l, got := claim(t, s, "me")
		if got != "a/t1-2" {
			t.Fatalf("claimed %q", got)
		}
		if run := must(s.Run(ctx, "a", "t1-2"))(t); run.Intent != "tidy up" || run.Language != "python" || run.Task != "t1" || run.Actor != "bot" {
			t.Errorf("the second attempt is %+v", run)
		}
		check(t, s.End(ctx, l, Outcome{Status: "ok", Next: endOfTask}))
		task := must(s.Task(ctx, "a", "t1"))(t)
		if task.State != TaskAccepted || task.Status != "ok" || task.Code != "" || task.Times != 1 || task.Attempt != 2 || task.Ended.IsZero() {
			t.Errorf("the task is %+v", task)
		}
		if runs := must(s.TaskRuns(ctx, "a", "t1", 10))(t); len(runs) != 2 || runs[0].ID != "t1-2" {
			t.Errorf("attempts %+v", runs)
		}
		wantCode(t, s.RetryTask(ctx, "a", "t1", "t1-3"), fault.UsageConflict)
		if _, err := s.Task(ctx, "b", "t1"); err == nil {
			t.Error("another tenant sees the task")
		}
		if r := must(s.Check(ctx))(t); len(r.Faults) > 0 {
			t.Errorf("faults %v", r.Faults)
		}
	})
}

func TestATaskIsCancelledWhereverItIs(t *testing.T) {
	both(t, func(t *testing.T, s *Store, c *clock) {
		ctx := t.Context()
		addTask(t, s, "a", "waits", func(x *Task) { x.Due = c.now().Add(time.Hour) })
		must(s.Cancel(ctx, "a", "waits-1"))(t)
		l, ok, err := s.ClaimLost(ctx, "a", "waits-1", "me")
		if err != nil || !ok {
			t.Fatalf("a run that waits is not claimed: %v", err)
		}
		check(t, s.End(ctx, l, Outcome{Status: "cancelled", Code: fault.Cancelled, Next: endOfTask}))
		wantTask(t, s, "a", "waits", TaskCancelled, "waits-1")
		addTask(t, s, "a", "runs", nil)
		l, _ = claim(t, s, "me")
		must(s.Cancel(ctx, "a", "runs-1"))(t)
		check(t, s.End(ctx, l, Outcome{Status: "ok", Next: endOfTask}))
		wantTask(t, s, "a", "runs", TaskCancelled, "runs-1")
		check(t, s.RetryTask(ctx, "a", "runs", "runs-2"))
		wantTask(t, s, "a", "runs", TaskQueued, "runs-2")
		wantCode(t, s.RetryTask(ctx, "a", "runs", "runs-3"), fault.UsageConflict)
		wantCode(t, s.RetryTask(ctx, "a", "none", "x"), fault.UsageTask)
	})
}

func TestATaskIsTakenOver(t *testing.T) {
	both(t, func(t *testing.T, s *Store, c *clock) {
		ctx := t.Context()
		addTask(t, s, "a", "t", nil)
		first, _ := claim(t, s, "killed")
		check(t, s.SetState(ctx, first, StateRunning))
		c.pass(LeaseTime + time.Second)
		second, got := claim(t, s, "other")
		if got != "a/t-1" || second.Fence != first.Fence+1 {
			t.Fatalf("claimed %q with fence %d", got, second.Fence)
		}
		if err := s.End(ctx, first, Outcome{Status: "ok", Next: endOfTask}); err != ErrLost {
			t.Errorf("the killed process ended the task: %v", err)
		}
		check(t, s.End(ctx, second, Outcome{Status: "ok", Next: endOfTask}))
		wantTask(t, s, "a", "t", TaskAccepted, "t-1")
	})
}

func TestANameIsThatOfOneTask(t *testing.T) {
	both(t, func(t *testing.T, s *Store, c *clock) {
		ctx := t.Context()
		const n = 8
		errs := make([]error, n)
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() {
				id := fmt.Sprint("t", i)
				_, _, errs[i] = s.AddTask(ctx, Task{Tenant: "a", ID: id, Name: "nightly"}, Run{Tenant: "a", ID: id + "-1"}, Idempotency{})
			})
		}
		all.Wait()
		added := 0
		for _, err := range errs {
			if err == nil {
				added++
			}
		}
		if tasks, _, err := s.Tasks(ctx, "a", TaskFilter{Name: "nightly"}); err != nil || added != 1 || len(tasks) != 1 {
			t.Fatalf("%d requests added %d tasks: %v", added, len(tasks), err)
		}
		addTask(t, s, "b", "other", func(x *Task) { x.Name = "nightly" })
		l, _ := claim(t, s, "me")
		check(t, s.End(ctx, l, Outcome{Status: "ok", Next: endOfTask}))
		addTask(t, s, l.Tenant, "next", func(x *Task) { x.Name = "nightly" })
		if runs, _, err := s.Runs(ctx, "a", Filter{}); err != nil || len(runs) > 2 {
			t.Errorf("refused tasks left %d runs: %v", len(runs), err)
		}
	})
}

func TestATaskThatIsSentTwiceIsOne(t *testing.T) {
	both(t, func(t *testing.T, s *Store, c *clock) {
		send := func(id, digest string) (string, bool, error) {
			return s.AddTask(t.Context(), Task{Tenant: "a", ID: id}, Run{Tenant: "a", ID: id + "-1"}, Idempotency{Key: "k", Digest: digest, Keep: time.Hour})
		}
		if id, again, err := send("t1", "x"); id != "t1" || again || err != nil {
			t.Fatalf("the first is %s, %v: %v", id, again, err)
		}
		if id, again, err := send("t2", "x"); id != "t1" || !again || err != nil {
			t.Errorf("the second is %s, %v: %v", id, again, err)
		}
		_, _, err := send("t3", "y")
		wantCode(t, err, fault.UsageConflict)
	})
}

func TestTasksGoWithTheirRuns(t *testing.T) {
	both(t, func(t *testing.T, s *Store, c *clock) {
		ctx := t.Context()
		addTask(t, s, "a", "done", nil)
		l, _ := claim(t, s, "me")
		check(t, s.End(ctx, l, Outcome{Status: "ok", Next: endOfTask}))
		addTask(t, s, "a", "waits", func(x *Task) { x.Name = "secret name" })
		var texts []string
		must(s.Search(ctx, "a", Slice{Until: c.now().Add(time.Hour), Limit: 10}, func(p Part) bool {
			texts = append(texts, string(p.Text))
			return true
		}))(t)
		if !slices.Contains(texts, "secret name") {
			t.Error("a deletion does not see the names of tasks")
		}
		c.pass(48 * time.Hour)
		if n := must(s.Prune(ctx, "a", c.now().Add(-time.Hour)))(t); n != 1 {
			t.Errorf("pruned %d runs", n)
		}
		if tasks, _, err := s.Tasks(ctx, "a", TaskFilter{}); err != nil || len(tasks) != 1 || tasks[0].ID != "waits" {
			t.Errorf("tasks %v: %v", tasks, err)
		}
		if _, _, err := s.Remove(ctx, "a", []string{"waits-1"}, true); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Task(ctx, "a", "waits"); err == nil {
			t.Error("the task of a run that was removed is still there")
		}
	})
}

// TestATenantWithManyTasksDelaysNobody has one tenant with many waiting tasks. The first
// task of another one waits for at most one of them.
func TestATenantWithManyTasksDelaysNobody(t *testing.T) {
	n := 100_000
	if testing.Short() {
		n = 5_000
	}
	both(t, func(t *testing.T, s *Store, c *clock) {
		ctx := t.Context()
		check(t, s.update(ctx, func(tx *Tx) error {
			now := tx.s.micros()
			if _, err := tx.exec(`INSERT INTO runs (tenant, id, state, status, code, actor, token, language, skill, session, intent, words, request, result, summary, created, started, ended, events, task)
				WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < CAST($1 AS BIGINT))
				SELECT 'big', CAST(1000000 + i AS TEXT) || '-1', 'queued', '', '', '', '', 'python', '', '', '', '', `+s.schema("CAST($2 AS BLOB), CAST($2 AS BLOB), CAST($2 AS BLOB)")+`, $3, 0, 0, 0, CAST(1000000 + i AS TEXT) FROM n`,
				n, []byte{}, now); err != nil {
				return err
			}
			if _, err := tx.exec(`INSERT INTO tasks (tenant, id, state, actor, token, name, priority, plan, run, attempt, times, status, code, due, created, updated, ended)
				SELECT tenant, task, 'queued', '', '', '', 9, request, id, 1, 0, '', '', created, created, created, 0 FROM runs WHERE tenant = 'big'`); err != nil {
				return err
			}
			_, err := tx.exec(`INSERT INTO queue (tenant, id, kind, leased, priority, created, due, owner, fence, expires, cancelled, token)
				SELECT tenant, id, 'task', 0, 9, created, created, '', 0, 0, 0, '' FROM runs WHERE tenant = 'big'`)
			return err
		}))
		c.pass(time.Second)
		_, first := claim(t, s, "me") // begun before the other tenant came
		if first == "" {
			t.Fatal("nothing waits")
		}
		addTask(t, s, "small", "t", nil)
		began := time.Now()
		if _, got := claim(t, s, "me"); got != "small/t-1" {
			t.Errorf("after one task of the big tenant %s was claimed", got)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("the claim took %s", took)
		}
	})
}
