package tests

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/internal/tools/testenv"
	"github.com/wexec/wexec/policy"
)

// exits are the ways in which text leaves a program. Programs assemble the address,
// so it was not seen on the way in.
var exits = []struct{ name, javascript, python string }{
	{"the value", `return { who: MAIL }`, `return {"who": MAIL}`},
	{"a name in the value", `return { [MAIL]: 1 }`, `return {MAIL: 1}`},
	{"standard output", `console.log("write to " + MAIL)`, `print("write to " + MAIL)`},
	{"standard output in pieces", `console.log("write to " + MAIL.slice(0, 9)); return MAIL.length`, `import sys
for c in MAIL: sys.stdout.write(c)`},
	{"standard error", `console.error("write to " + MAIL)`, "import sys\nprint('write to ' + MAIL, file=sys.stderr)"},
	{"an exception", `throw new Error("no such person: " + MAIL)`, `raise ValueError("no such person: " + MAIL)`},
	{"the name of an exception", `const e = new Error("x"); e.name = MAIL; throw e`, `raise type(MAIL, (Exception,), {})("x")`},
	{"the cause of an exception", `throw new Error("x", { cause: new Error(MAIL) })`, "try:\n    raise ValueError(MAIL)\nexcept ValueError as e:\n    raise KeyError('x') from e"},
	{"a failed tool", `return await tools.crm.fail({ who: MAIL })`, "from tools import crm\nreturn crm.fail(who=MAIL)"},
	{"progress", `progress(1, 2, "at " + MAIL)`, `progress(1, 2, "at " + MAIL)`},
	{"an unknown tool", `return await tools.crm["find " + MAIL]({})`, "import tools\nreturn getattr(tools.crm, 'find ' + MAIL)()"},
	{"base64", `return btoa("write to " + MAIL)`, "import base64\nreturn base64.b64encode(('write to ' + MAIL).encode()).decode()"},
	{"a URL", `return "https://example.org/?to=" + encodeURIComponent(MAIL)`, "from urllib.parse import quote\nreturn 'https://example.org/?to=' + quote(MAIL, safe='')"},
	{"JSON in JSON", `return JSON.stringify({ a: JSON.stringify({ b: MAIL }) })`, "import json\nreturn json.dumps({'a': json.dumps({'b': MAIL})})"},
}

const hiddenMail = "grace.hopper@acme-corp.io"

// TestNothingLeavesWithoutALook checks each exit of a program in both languages:
// Result, streams, events, log and audit.
func TestNothingLeavesWithoutALook(t *testing.T) {
	p, err := policy.Parse("policy.yaml", []byte("version: 1\ntools:\n  allow: ['*']\npii: {mode: tokenize}\naudit: {outputs: full}\n"))
	if err != nil {
		t.Fatal(err)
	}
	type who struct {
		Who string `json:"who"`
	}
	records := new(audit.Memory)
	table, err := hostfns.NewTable(p, records, hostfns.Func("crm.fail", func(_ context.Context, in who) (int, error) {
		return 0, errors.New("nobody is called " + hiddenMail)
	}))
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	table.With(hostfns.Options{Logger: logger})
	e, err := engine.New(t.Context(), engine.Config{Cache: testenv.Cache(), Table: table, Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(e.Close(), table.Close()) })
	for _, x := range exits {
		for language, code := range map[string]string{
			"javascript": "const MAIL = ['grace.hopper', 'acme-corp.io'].join('@')\n" + x.javascript,
			"python":     "MAIL = '@'.join(['grace.hopper', 'acme-corp.io'])\n" + x.python,
		} {
			t.Run(x.name+" in "+language, func(t *testing.T) {
				var mu sync.Mutex
				var events, streams bytes.Buffer
				var out, err lockedBuffer
				res, _ := e.Run(t.Context(), engine.Request{Language: language, Code: code, Output: engine.Output{Stdout: &out, Stderr: &err},
					Progress: func(ev engine.Event) {
						mu.Lock()
						defer mu.Unlock()
						_ = json.NewEncoder(&events).Encode(ev)
					}})
				result, merr := json.Marshal(res)
				if merr != nil {
					t.Fatal(merr)
				}
				mu.Lock()
				streams.Write(events.Bytes())
				mu.Unlock()
				streams.WriteString(out.String() + err.String())
				look(t, "the Result", result)
				look(t, "what was streamed", streams.Bytes())
				look(t, "the log", log.Bytes())
				var kept bytes.Buffer
				for _, ev := range records.Events() {
					if kerr := json.NewEncoder(&kept).Encode(ev); kerr != nil {
						t.Fatal(kerr)
					}
				}
				look(t, "the audit", kept.Bytes())
			})
		}
	}
}

// look searches a text for the address in any encoding.
func look(t *testing.T, where string, text []byte) {
	t.Helper()
	for name, form := range map[string]string{
		"plain": hiddenMail, "by percent": url.QueryEscape(hiddenMail), "without its end": "grace.hopper@acme", "as an escape": `grace.hopper\u0040acme`,
	} {
		if at := bytes.Index(text, []byte(form)); at >= 0 {
			t.Errorf("%s has it %s: …%s", where, name, text[max(0, at-80):min(len(text), at+80)])
		}
	}
	for shift := range 3 {
		// Base64 of a text with the address at any offset.
		b := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + hiddenMail))
		if part := b[(shift+2)/3*4 : len(b)-4]; bytes.Contains(text, []byte(part)) {
			t.Errorf("%s has it in base64: %s", where, text)
		}
	}
}

// lockedBuffer is a buffer for concurrent writers.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
