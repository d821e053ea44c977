// Package attack tests attempts to escape the sandbox, to circumvent the policy, and
// to read data of others. Each file of testdata is an attempt: a head with its
// purpose and the expected result, and programs. The last program is the attempt;
// those before it prepare it.
package attack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"go.uber.org/goleak"

	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/guests"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/internal/tools/testenv"
)

func TestMain(m *testing.M) {
	// A separate folder for temporary files shows which are left.
	temp, err := os.MkdirTemp("", "wexec-attack-")
	if err = errors.Join(err, os.Setenv("TMPDIR", temp), os.Setenv("WEXEC_CANARY", canary)); err != nil {
		panic(err)
	}
	code := testenv.Tests{M: m}.Run()
	_ = os.RemoveAll(temp)
	os.Exit(code)
}

// attempt is a file of testdata.
type attempt struct {
	name     string
	head     map[string]string
	policy   string
	programs []program
}

type program struct{ name, language, code string }

// keys of a head:
//
//	status   the status of the last run
//	code     its code; empty with ok
//	value    its value as JSON
//	says     a text in the error's message or hint
//	hides    a text that must not occur in the Result or the record
//	touched  the calls that reach the tools over all programs: "shop.echo {}; …",
//	         none if absent, "*" for any
//	asked    a text in the question at the terminal, whose lines are joined with
//	         " | "; "answer" is yes, no or always, or one for each question
//	questions  how many questions a person was asked
//	grants   true if the person may allow what no rule allows
//	form     a text in the question as an MCP client gets it
//	limits   as in a Request, like "args", "session" and "deterministic"
//	workspace  true if the programs see a folder as /workspace, which must not change
var keys = []string{"status", "code", "value", "says", "hides", "touched", "asked", "form", "answer", "questions", "grants", "limits", "args", "session", "deterministic", "workspace"}

func readAttempt(t *testing.T, file string) attempt {
	t.Helper()
	ar, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	a := attempt{name: strings.TrimSuffix(filepath.Base(file), ".txt"), head: map[string]string{}, policy: usual}
	what := false
	for line := range strings.Lines(string(ar.Comment)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			what = true
			continue
		}
		key, value, ok := strings.Cut(line, ":")
		if line == "" {
			continue
		}
		known := false
		for _, k := range keys {
			known = known || k == key
		}
		if !ok || !known {
			t.Fatalf("%s: invalid line in the head: %q", file, line)
		}
		a.head[key] = strings.TrimSpace(value)
	}
	if !what || a.head["status"] == "" {
		t.Fatalf("%s has no purpose or no expected result", file)
	}
	for _, f := range ar.Files {
		if f.Name == "policy.yaml" {
			a.policy = string(f.Data)
			continue
		}
		if f.Name == "policy none" {
			a.policy = "none"
			continue
		}
		language, ok := guests.LanguageOfFile(f.Name)
		if !ok {
			t.Fatalf("%s: unknown kind of program %s", file, f.Name)
		}
		a.programs = append(a.programs, program{f.Name, language, string(f.Data)})
	}
	if len(a.programs) == 0 {
		t.Fatalf("%s has no program", file)
	}
	return a
}

// TestNoAttemptSucceeds runs every attempt on one engine.
func TestNoAttemptSucceeds(t *testing.T) {
	found, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 80 {
		t.Errorf("only %d attempts", len(found))
	}
	w := newWorld(t)
	before := holdings(t)
	goroutines := goleak.IgnoreCurrent()
	eng, err := engine.New(t.Context(), engine.Config{Cache: testenv.Cache()})
	if err != nil {
		t.Fatal(err)
	}
	t.Run("all", func(t *testing.T) {
		for _, file := range found {
			a := readAttempt(t, file)
			t.Run(a.name, func(t *testing.T) {
				t.Parallel()
				a.try(t, eng, w)
			})
		}
	})
	w.untouched(t)
	res, err := eng.Run(t.Context(), engine.Request{Language: "javascript", Code: "1 + 1"})
	if err != nil || string(res.Value) != "2" {
		t.Errorf("after all attempts, a run returns %s: %v", res.Value, err)
	}
	if err := eng.Close(); err != nil {
		t.Error(err)
	}
	http.DefaultClient.CloseIdleConnections()
	if err := goleak.Find(goroutines); err != nil {
		t.Errorf("the attempts left goroutines: %v", err)
	}
	if diff := cmp.Diff(before, holdings(t)); diff != "" {
		t.Errorf("open files, sockets, children and temporary files (-before +after):\n%s", diff)
	}
}

// holdings counts the sockets, other open files, child processes and temporary files
// of this process by kind.
func holdings(t *testing.T) map[string]int {
	t.Helper()
	held := map[string]int{}
	entries, err := os.ReadDir(os.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "Test") { // folders of package testing
			held["temporary "+e.Name()]++
		}
	}
	for _, dir := range []string{"/proc/self/fd", "/dev/fd"} {
		list, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, fd := range list {
			to, err := os.Readlink(filepath.Join(dir, fd.Name()))
			if err != nil {
				continue // the descriptor of this listing
			}
			if kind, _, ok := strings.Cut(to, ":["); ok {
				to = kind
			}
			if !strings.Contains(to, "/fd") {
				held["open "+to]++
			}
		}
		break
	}
	if children, err := filepath.Glob("/proc/self/task/*/children"); err == nil {
		for _, file := range children {
			if data, err := os.ReadFile(file); err == nil && len(data) > 0 {
				held["children"] += len(strings.Fields(string(data)))
			}
		}
	}
	return held
}

func (a attempt) try(t *testing.T, eng *engine.Engine, w *world) {
	var ask *asker
	if answer := a.head["answer"]; answer != "" {
		ask = &asker{answers: strings.Split(answer, ", "), grants: a.head["grants"] == "true"}
	}
	table, v, sink := w.table(t, a.policy, ask)
	var limits engine.Limits
	if text := a.head["limits"]; text != "" {
		if err := json.Unmarshal([]byte(text), &limits); err != nil {
			t.Fatal(err)
		}
	}
	if limits.Time == 0 && a.head["status"] == "ok" {
		limits.Time = 2 * time.Minute // enough on a busy machine
	}
	deterministic, _ := strconv.ParseBool(a.head["deterministic"])
	session := a.head["session"]
	if session != "" {
		session += a.name
	}
	var layer hostfns.Workspace
	if a.head["workspace"] == "true" {
		layer = w.layer(t)
	}
	var res *engine.Result
	for i, p := range a.programs {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		req := engine.Request{Language: p.language, Code: w.fill(p.code), File: p.name, Args: json.RawMessage(a.head["args"]),
			Limits: limits, Table: table, Deterministic: deterministic, Session: session, Workspace: layer,
			Env: map[string]string{"WEXEC_CANARY": canary}}
		var err error
		res, err = eng.Run(ctx, req)
		cancel()
		if i < len(a.programs)-1 && err != nil && !strings.HasPrefix(p.name, "fails") {
			t.Fatalf("prepare with %s: %v", p.name, err)
		}
		a.leaks(t, p.name, res)
	}
	a.judge(t, res)
	v.mu.Lock()
	touched := strings.Join(v.touched, "; ")
	v.mu.Unlock()
	if want := a.head["touched"]; want != "*" && touched != want {
		t.Errorf("reached the tools: %q, want %q", touched, want)
	}
	for _, e := range sink.Events() {
		a.clean(t, "the record", fmt.Sprintf("%+v", e))
	}
	if want := a.head["asked"]; want != "" {
		if ask == nil || !strings.Contains(strings.Join(ask.shown, "\n"), want) {
			t.Errorf("the person was shown %q, want %q", ask.shown, want)
		}
	}
	if want := a.head["questions"]; want != "" && (ask == nil || strconv.Itoa(len(ask.shown)) != want) {
		t.Errorf("the person was asked %d times, want %s: %q", len(ask.shown), want, ask.shown)
	}
	if ask != nil {
		forms := strings.Join(ask.forms, "\n")
		a.clean(t, "the form", forms)
		if !strings.Contains(forms, a.head["form"]) {
			t.Errorf("the client was shown %q, want %q", forms, a.head["form"])
		}
	}
	if ask != nil && a.head["asked"] == "" && len(ask.shown) > 0 && a.head["touched"] == "" {
		t.Logf("shown: %q", ask.shown)
	}
}

// judge compares the last Result with the head.
func (a attempt) judge(t *testing.T, res *engine.Result) {
	t.Helper()
	code, words := "", ""
	if res.Error != nil {
		code, words = string(res.Error.Code), res.Error.Message+"\n"+res.Error.Hint
	}
	if string(res.Status) != a.head["status"] || code != a.head["code"] {
		t.Errorf("status %s code %q, want %s %q\nvalue %.500s\n%.800s\nstdout %.300s", res.Status, code, a.head["status"], a.head["code"], res.Value, words, res.Stdout)
		return
	}
	if want := a.head["says"]; want != "" && !strings.Contains(words, want) {
		t.Errorf("the error says %q, want %q", words, want)
	}
	if want := a.head["value"]; want != "" {
		var x, y any
		if err := json.Unmarshal([]byte(want), &x); err != nil {
			t.Fatalf("the expected value: %v", err)
		}
		if err := json.Unmarshal(res.Value, &y); err != nil {
			t.Errorf("value %.500s: %v", res.Value, err)
		} else if diff := cmp.Diff(x, y); diff != "" {
			t.Errorf("value (-want +got):\n%s", diff)
		}
	}
}

// leaks searches for text that must not occur.
func (a attempt) leaks(t *testing.T, name string, res *engine.Result) {
	t.Helper()
	data, err := json.Marshal(res)
	if err != nil {
		t.Fatal(err)
	}
	a.clean(t, "the Result of "+name, string(data))
	a.clean(t, "the output of "+name, res.Stdout+res.Stderr)
}

func (a attempt) clean(t *testing.T, where, text string) {
	t.Helper()
	host, _ := os.Hostname()
	home, _ := os.UserHomeDir()
	for _, secret := range []string{canary, a.head["hides"], ".go:", "/wexec-tests", "goroutine "} {
		if secret != "" && strings.Contains(text, secret) {
			t.Errorf("%q occurs in %s: %.600s", secret, where, text)
		}
	}
	if len(host) > 4 && host != "localhost" && strings.Contains(text, host) || len(home) > 6 && strings.Contains(text, home) {
		t.Errorf("facts about the machine occur in %s: %.600s", where, text)
	}
}
