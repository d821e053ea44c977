package httpd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wexec/wexec/service"
	"github.com/wexec/wexec/store"
)

// until waits until a task has ended.
func (a *api) untilTaskEnds(id string) (task service.Task) {
	a.t.Helper()
	for end := time.Now().Add(time.Minute); task.ID == "" || !task.State.Ended(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			a.t.Fatalf("the task has not ended: %+v", task)
		}
		a.call("reader", "GET", "/v1/tasks/"+id, "").is(200, &task)
	}
	return task
}

func TestATaskIsAddedListedCancelledAndTriedAgain(t *testing.T) {
	a := newAPI(t, nil)
	const body = `{"program":{"language":"js","code":"return 6 * 7","intent":"multiply"},"name":"one","priority":3,"schedule":{"cron":"0 0 1 1 *","zone":"Europe/Berlin"}}`
	var task, again service.Task
	a.call("agent", "POST", "/v1/tasks", body, "Idempotency-Key", "k").is(201, &task)
	a.call("agent", "POST", "/v1/tasks", body, "Idempotency-Key", "k").is(201, &again)
	if task.ID != again.ID || task.State != store.TaskQueued || task.Due == nil || task.Intent != "multiply" || task.Actor != "bot" || len(task.Runs) != 1 {
		t.Errorf("%+v, sent again: %s", task, again.ID)
	}
	a.call("agent", "POST", "/v1/tasks", body, "Idempotency-Key", "other").problem(409, "usage.conflict")
	a.call("reader", "POST", "/v1/tasks", body).problem(403, "denied.scope")
	var page struct{ Tasks []service.Task }
	a.call("reader", "GET", "/v1/tasks?state=queued&name=one", "").is(200, &page)
	if len(page.Tasks) != 1 || page.Tasks[0].ID != task.ID {
		t.Errorf("%+v", page)
	}
	a.call("other", "GET", "/v1/tasks", "").is(200, &page)
	if len(page.Tasks) != 0 {
		t.Errorf("another tenant sees %+v", page)
	}
	for _, path := range []string{"GET /v1/tasks/", "POST /v1/tasks/*/cancel", "POST /v1/tasks/*/retry"} {
		method, path, _ := strings.Cut(path, " ")
		if !strings.Contains(path, "*") {
			path += "*"
		}
		a.call("other", method, strings.Replace(path, "*", task.ID, 1), "").problem(404, "usage.task")
	}
	a.call("agent", "POST", "/v1/tasks/"+task.ID+"/retry", "").problem(409, "usage.conflict")
	var out struct{ Cancelled bool }
	a.call("agent", "POST", "/v1/tasks/"+task.ID+"/cancel", "").is(200, &out)
	if task = a.untilTaskEnds(task.ID); !out.Cancelled || task.State != store.TaskCancelled {
		t.Errorf("%+v %+v", out, task)
	}
	// The schedule of a task that is tried again goes on.
	a.call("agent", "POST", "/v1/tasks/"+task.ID+"/retry", "").is(200, &task)
	for end := time.Now().Add(time.Minute); task.Times == 0 && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		a.call("reader", "GET", "/v1/tasks/"+task.ID, "").is(200, &task)
	}
	if task.State != store.TaskQueued || task.Status != "ok" || len(task.Runs) != 3 {
		t.Errorf("%+v", task)
	}
	var run shownRun
	a.call("reader", "GET", "/v1/runs/"+task.Runs[1].ID, "").is(200, &run)
	if string(run.Value) != "42" {
		t.Errorf("%+v", run)
	}
}

func TestAHostileTaskIsRefused(t *testing.T) {
	a := newAPI(t, nil)
	for body, code := range map[string]string{
		`{"program":{"language":"js","code":"1"},"schedule":{"cron":"* * * *"}}`:                                      "usage.task",
		`{"program":{"language":"js","code":"1"},"schedule":{"cron":"0 0 31 2 *"}}`:                                   "usage.task",
		`{"program":{"language":"js","code":"1"},"schedule":{"cron":"@daily","zone":"../../../etc/passwd"}}`:          "usage.task",
		`{"program":{"language":"js","code":"1"},"schedule":{"cron":"` + strings.Repeat("0,", 1<<20) + `0 * * * *"}}`: "usage.task",
		`{"program":{"language":"js","code":"1"},"name":"a\u0000b"}`:                                                  "usage.task",
		`{"program":{"language":"js","code":"1"},"name":"` + strings.Repeat("n", 1000) + `"}`:                         "usage.task",
		`{"program":{"language":"js","code":"1"},"priority":99}`:                                                      "usage.task",
		`{"program":{"language":"js","code":"1"},"retry":{"attempts":1000000}}`:                                       "usage.task",
		`{"program":{"language":"js","code":"1"},"retry":{"factor":1e308}}`:                                           "usage.task",
		`{"program":{"language":"js","code":"1"},"retry":{"codes":["<script>"]}}`:                                     "usage.task",
		`{"program":{"intent":"tidy up","language":"","code":""}}`:                                                    "usage.task",
		`{"program":{"language":"js","code":"1","session":"s"}}`:                                                      "usage.task",
		`{"program":{"language":"cobol","code":"1"}}`:                                                                 "usage.language",
		`{"program":{"language":"js","code":"1"},"workspace":"/etc"}`:                                                 "usage.flag",
	} {
		if got := a.call("agent", "POST", "/v1/tasks", body); len(got.body) > 1000 {
			t.Errorf("%.80s: an answer of %d bytes", body, len(got.body))
		} else {
			got.problem(400, code)
		}
	}
}

func TestATaskInReviewIsAcceptedOrRejected(t *testing.T) {
	a, base := newFolderAPI(t, map[string]string{"notes.md": "one\n"})
	for answer, want := range map[string]string{"accept": "one\ntwo\n", "reject": "one\n"} {
		if err := os.WriteFile(filepath.Join(base, "notes.md"), []byte("one\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		var w shownWorkspace
		a.call("agent", "POST", "/v1/workspaces", `{"folder":"site"}`).is(201, &w)
		var task service.Task
		a.call("agent", "POST", "/v1/tasks", `{"program":{"language":"py","code":"open('notes.md', 'a').write('two\\n')","workspace":"`+w.ID+`"}}`).is(201, &task)
		for end := time.Now().Add(time.Minute); task.State != store.TaskReview; time.Sleep(20 * time.Millisecond) {
			if task.State.Ended() || time.Now().After(end) {
				t.Fatalf("the task is not in review: %+v", task)
			}
			a.call("reader", "GET", "/v1/tasks/"+task.ID, "").is(200, &task)
		}
		path := "/v1/tasks/" + task.ID
		a.call("agent", "POST", path+"/cancel", "").problem(409, "usage.conflict")
		a.call("agent", "POST", path+"/accept", "").problem(403, "denied.scope")
		a.call("admin", "POST", path+"/"+answer, "").is(200, &task)
		if !task.State.Ended() || task.Ended == nil || string(task.State) != answer+"ed" {
			t.Errorf("%s: %+v", answer, task)
		}
		a.call("admin", "POST", path+"/"+answer, "").problem(409, "usage.conflict")
		if data, err := os.ReadFile(filepath.Join(base, "notes.md")); err != nil || string(data) != want {
			t.Errorf("%s: the folder has %q %v", answer, data, err)
		}
	}
	if r, err := a.store.Check(t.Context()); err != nil || len(r.Faults) > 0 {
		t.Errorf("%v %v", r.Faults, err)
	}
}
