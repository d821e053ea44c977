package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
)

// testCache is a cache folder that outlives the test, so that the guests are
// compiled once a day and not once a test.
func testCache(t testing.TB) string {
	t.Helper()
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "wexec-test")
}

// newReal makes an engine with the real guests.
func newReal(t testing.TB, c Config) *Engine {
	t.Helper()
	c.Cache = testCache(t)
	e, err := open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func TestOneAndOneIsTwoInEveryLanguage(t *testing.T) {
	e := newReal(t, Config{})
	for _, language := range []string{JavaScript, TypeScript, Python} {
		res, err := e.Run(context.Background(), Request{Language: language, Code: "1+1"})
		wantValue(t, res, err, "2")
	}
}

// answering is a provider whose tools give one answer.
type answering struct {
	hostfns.Provider
	answer hostfns.Answer
}

func (a answering) Call(context.Context, hostfns.Call) (hostfns.Answer, error) { return a.answer, nil }

func TestEveryLanguageReadsTheSameTextOfAnAnswer(t *testing.T) {
	for _, c := range []struct {
		answer hostfns.Answer
		want   string
	}{
		{hostfns.Answer{Kind: hostfns.Text, Data: []byte("x\xff\xfey\xc3")}, "\"x\ufffdy\ufffd\""},
		{hostfns.Answer{Kind: hostfns.JSON, Data: []byte("{\"a\xed\xa0\x80\": \"x\xff\xfey\"}")}, "{\"a\ufffd\":\"x\ufffdy\"}"},
		{hostfns.Answer{Kind: hostfns.JSON, Data: []byte(`["\ud800", "\ud83d\ude00"]`)}, `["\ud800","😀"]`},
	} {
		e := newReal(t, Config{Table: newTable(t, audit.None(), answering{add(), c.answer})})
		for language, code := range map[string]string{JavaScript: "return await tools.math.add({a: 1, b: 2})", Python: "return await tools.math.add(a=1, b=2)"} {
			res, err := e.Run(t.Context(), Request{Language: language, Code: code})
			wantValue(t, res, err, c.want)
		}
	}
}

func TestErrorsPointIntoTheProgramOfEveryLanguage(t *testing.T) {
	e := newReal(t, Config{})
	for language, code := range map[string]string{
		JavaScript: "const a = 1;\n\nnull.name",
		TypeScript: "interface A { b: number }\n\nconst a: A = null as any; a.b",
		Python:     "a = 1\n\nNone.name",
	} {
		_, err := e.Run(context.Background(), Request{Language: language, Code: code})
		var x *Error
		if !errors.As(err, &x) || x.Code != fault.GuestException || x.Line != 3 || x.Column == 0 || !strings.Contains(x.Excerpt, "^") {
			t.Errorf("%s: %+v", language, x)
		}
		_, err = e.Run(context.Background(), Request{Language: language, Code: "let x = = 1 ]\n"})
		if !errors.As(err, &x) || x.Code != fault.GuestSyntax || x.Line != 1 {
			t.Errorf("%s: %+v", language, x)
		}
	}
}

func TestTheInterpreterGivesTheSameAnswerForTheSameFuel(t *testing.T) {
	if testing.Short() {
		t.Skip("short: runs on the slow interpreter")
	}
	native, slow := newReal(t, Config{}), newReal(t, Config{Interpreter: true})
	off := false
	for language, code := range map[string]string{
		JavaScript: "let s = 0; for (let i = 0; i < 3000; i++) s += Math.random(); [s, Date.now(), [3,1,2].sort(), JSON.stringify({a: s})]",
		Python:     "import random, time\n[random.random() for i in range(50)] + [time.time(), sorted({3, 1, 2}), hash('x')]",
	} {
		req := Request{Language: language, Code: code, Deterministic: true, Seed: 3, Cache: &off}
		a, err := native.Run(context.Background(), req)
		if err != nil {
			t.Fatal(err)
		}
		b, err := slow.Run(context.Background(), req)
		if err != nil {
			t.Fatal(err)
		}
		c, err := native.Run(context.Background(), req)
		if err != nil {
			t.Fatal(err)
		}
		if string(a.Value) != string(b.Value) || a.Usage.Fuel != b.Usage.Fuel || string(a.Value) != string(c.Value) || a.Usage.Fuel != c.Usage.Fuel {
			t.Errorf("%s: %s for %d, interpreted %s for %d, again %s for %d", language,
				a.Value, a.Usage.Fuel, b.Value, b.Usage.Fuel, c.Value, c.Usage.Fuel)
		}
	}
}

func TestExtismsOwnOutputIsRefused(t *testing.T) {
	e := newTiny(t, Config{})
	t.Setenv("EXTISM_ENABLE_WASI_OUTPUT", "1")
	_, err := tiny(t, e, "v 1")
	wantCode(t, err, fault.UsageConfig)
}

func TestHostileTypeScriptEndsInTheSandbox(t *testing.T) {
	if testing.Short() {
		t.Skip("short: takes tens of seconds")
	}
	e := newReal(t, Config{})
	for name, code := range map[string]string{
		"parentheses": strings.Repeat("(", 200_000),
		"negations":   strings.Repeat("!", 200_000),
	} {
		res, err := e.Run(context.Background(), Request{Language: TypeScript, Code: code})
		if class := fault.CodeOf(err).Class(); class != fault.ClassGuest && class != fault.ClassLimit {
			t.Errorf("%s: %v (%s) %s", name, err, fault.CodeOf(err), res.Value)
		}
	}
	res, err := e.Run(context.Background(), Request{Language: TypeScript, Code: "const a: number = 2; a"})
	wantValue(t, res, err, "2")
}

func TestJavaScriptAndTypeScriptShareASession(t *testing.T) {
	e := newReal(t, Config{})
	for _, step := range []struct{ language, code, want string }{
		{JavaScript, "globalThis.n = 40; function twice(x) { return 2 * x }", "40"},
		{TypeScript, "const m: number = twice(n) + 2; m", "82"},
		{JavaScript, "n + 1", "41"},
	} {
		res, err := e.Run(context.Background(), Request{Language: step.language, Code: step.code, Session: "s"})
		wantValue(t, res, err, step.want)
	}
	_, err := e.Run(context.Background(), Request{Language: Python, Code: "1", Session: "s"})
	wantCode(t, err, fault.UsageSession)
}

func TestARunWithoutFilesSeesAReadOnlyRoot(t *testing.T) {
	e := newReal(t, Config{})
	res, err := e.Run(context.Background(), Request{Language: Python, Code: "import os, errno\ntry:\n    open('/tmp/x', 'w')\n    r = 'written'\nexcept OSError as e:\n    r = errno.errorcode[e.errno]\nr"})
	if err != nil || string(res.Value) == `"written"` || string(res.Value) == `"ENOSYS"` {
		t.Fatalf("%s %v", res.Value, err)
	}
}

func TestConfigurationProblemsAreReportedTogether(t *testing.T) {
	_, err := New(context.Background(), Config{Running: -1, Memory: -1, SessionRuns: -1})
	wantCode(t, err, fault.UsageConfig)
	for _, word := range []string{"Running", "Memory", "sessions"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%s is missing in %v", word, err)
		}
	}
	e, err := New(context.Background(), Config{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
	res, err := e.Run(context.Background(), Request{Language: "js", Code: "1"})
	wantCode(t, err, fault.Cancelled)
	if res == nil || res.Error == nil {
		t.Error("no result")
	}
}

func TestAProgramThatEndsItsInterpreterIsToldApartFromAFaultOfOurs(t *testing.T) {
	e := newReal(t, Config{})
	for code, want := range map[string]fault.Code{
		"import os\nos._exit(3)": fault.GuestExit,
		"import os\nos.abort()":  fault.GuestException,
	} {
		res, err := e.Run(t.Context(), Request{Language: Python, Code: code})
		if !errors.Is(err, want) || (want == fault.GuestExit && res.Error.Exit != 3) {
			t.Errorf("%q ends with %v, %+v", code, err, res.Error)
		}
	}
	if res, err := e.Run(t.Context(), Request{Language: Python, Code: "1 + 1"}); err != nil || string(res.Value) != "2" {
		t.Errorf("the run after gives %s: %v", res.Value, err)
	}
}
