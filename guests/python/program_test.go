package python_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestEveryFormOfAProgramHasItsResult(t *testing.T) {
	for _, c := range []struct{ name, code, want string }{
		{"expression", "1 + 1", "2"},
		{"return", "x = 3\nif x:\n    return {'a': x}\nreturn 0", `{"a":3}`},
		{"return in a loop", "for i in range(9):\n    if i == 4:\n        return i", "4"},
		{"return in try", "try:\n    return 1\nfinally:\n    x = 2", "1"},
		{"return in with", "import contextlib\nwith contextlib.suppress(KeyError):\n    return [1]", "[1]"},
		{"await", "async def f():\n    await asyncio.sleep(0)\n    return 5\nawait f()", "5"},
		{"await and return", "x = await asyncio.sleep(0, 7)\nreturn x", "7"},
		{"async for", "async def g():\n    yield 1\n    yield 2\nr = []\nasync for x in g():\n    r.append(x)\nr", "[1,2]"},
		{"async comprehension", "async def g():\n    yield 3\n[x async for x in g()]", "[3]"},
		{"main", "import asyncio\nasync def main():\n    return 7\nif __name__ == '__main__':\n    asyncio.run(main())", "7"},
		{"main without a guard", "import asyncio\nasync def main():\n    return 8\nasyncio.run(main())", "8"},
		{"main not awaited", "async def main():\n    return 9\nmain()", "9"},
		{"sync main", "def main():\n    return [1, 2]\nif __name__ == \"__main__\":\n    main()", "[1,2]"},
		{"run inside await", "await asyncio.sleep(0)\nasync def m():\n    return 4\nasyncio.run(m())", "4"},
		{"empty", "", ""},
		{"comment", "# nothing", ""},
		{"hashbang", "#!/usr/bin/env python3\n6", "6"},
		{"byte order mark", "\ufeff5", "5"},
		{"trailing comment", "5  # five", "5"},
		{"trailing semicolon", "5;", "5"},
		{"carriage returns", "x = 1\r\nx + 1\r\n", "2"},
		{"fences", "```python\nx = 2\nx\n```", "2"},
		{"fences of tildes", "\n~~~py\n3\n~~~\n", "3"},
		{"indented as a whole", "    x = 1\n    x + 1\n", "2"},
		{"text", "'a'", `"a"`},
		{"assignment", "x = 5", ""},
		{"none", "None", ""},
		{"print", "print('x')", ""},
		{"future import", "from __future__ import annotations\nx: Foo = 1\nx", "1"},
		{"globals", "x = 1\ndef f():\n    global x\n    x = 2\nf()\nreturn x", "2"},
		{"star import", "from math import *\nreturn floor(2.5)", "2"},
		{"match", "match [1, 2]:\n    case [a, b]:\n        return a + b", "3"},
		{"docstring", "'''about'''\n4", "4"},
		{"walrus", "(y := 4) + 1", "5"},
		{"lambda recursion", "f = lambda n: 1 if n < 2 else n * f(n - 1)\nf(5)", "120"},
		{"class scope", "class A:\n    x = [i for i in range(3)]\nA.x", "[0,1,2]"},
		{"args", "args", `{"n":1}`},
		{"argv", "import sys\nsys.argv", `["main.py","a"]`},
		{"environment", "import os\n[os.environ['K'], os.environ.get('HOME'), os.getenv('K')]", `["v",null,"v"]`},
		{"name", "__name__", `"__main__"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := run(t, c.code, func(h *host) {
				h.input["args"] = map[string]any{"n": 1}
				h.input["argv"] = []string{"a"}
				h.input["env"] = map[string]string{"K": "v"}
			})
			if got := h.value(t); got != c.want {
				t.Errorf("the value is %s, want %s", got, c.want)
			}
		})
	}
}

func TestErrorsNameTheProgramsOwnLine(t *testing.T) {
	for _, c := range []struct {
		name, code           string
		wantCode, wantName   string
		line, column         int
		message, hint, stack string
	}{
		{name: "runtime", code: "def f():\n    return {}['x']\nf()", wantCode: "guest.exception", wantName: "KeyError", line: 2, column: 12, stack: "line 3, in <module>"},
		{name: "syntax", code: "x = 1\nif x\n  y", wantCode: "guest.syntax", wantName: "SyntaxError", line: 2, column: 5, message: "expected ':'"},
		{name: "return keeps its place", code: "def f():\n    1/0\nreturn f()", wantName: "ZeroDivisionError", line: 2, column: 5},
		{name: "wide characters", code: "x = 'äöü'; y = x.nope", wantName: "AttributeError", line: 1, column: 16},
		{name: "inside the library", code: "import json\njson.loads('{')", wantName: "JSONDecodeError", line: 2, column: 1},
		{name: "generator", code: "def g():\n    yield 1\n    raise ValueError('g')\nlist(g())", wantName: "ValueError", line: 3, column: 5, message: "g"},
		{name: "task", code: "async def f():\n    raise ValueError('t')\nawait asyncio.gather(f())", wantName: "ValueError", line: 2},
		{name: "background task", code: "async def f():\n    raise ValueError('bg')\nt = asyncio.create_task(f())\nawait asyncio.sleep(0.01)\n5", wantName: "ValueError", line: 2, message: "bg"},
		{name: "task group of one", code: "async def f():\n    raise ValueError('tg')\nasync with asyncio.TaskGroup() as g:\n    g.create_task(f())", wantName: "ValueError", line: 2},
		{name: "chained", code: "try:\n    1/0\nexcept Exception as e:\n    raise ValueError('no') from e", wantName: "ValueError", line: 4, stack: "direct cause"},
		{name: "fences count", code: "```python\nx = 1/0\n```", wantName: "ZeroDivisionError", line: 2, column: 5},
		{name: "numpy", code: "import numpy as np", wantName: "ModuleNotFoundError", line: 1, hint: "statistics"},
		{name: "near server", code: "tools.githb.list()", hint: "did you mean tools.github", line: 1, wantName: "AttributeError"},
		{name: "near server imported", code: "from tools import githb", hint: "did you mean from tools import github", line: 1, wantName: "ImportError"},
		{name: "near server among coroutines", code: "from tools.aio import githb", hint: "did you mean from tools.aio import github", line: 1, wantName: "ImportError"},
		{name: "near server as a module", code: "import tools.githb", hint: "did you mean tools.github", line: 1, wantName: "ModuleNotFoundError"},
		{name: "near server's tool", code: "from mcp_servers.githb import list_issues", hint: "did you mean mcp_servers.github", line: 1, wantName: "ModuleNotFoundError"},
		{name: "missing await", code: "x = tools.aio.github.a()\nx['k']", hint: "await", line: 2, wantName: "TypeError"},
		{name: "typographic quotes", code: "print(“hi”)", wantCode: "guest.syntax", hint: "typographic quotes", line: 1, wantName: "SyntaxError"},
		{name: "tabs and spaces", code: "if 1:\n\tx = 1\n        y = 2", wantCode: "guest.syntax", hint: "spaces", line: 3, wantName: "TabError"},
		{name: "javascript", code: "const x = 5;", wantCode: "guest.syntax", hint: "JavaScript", line: 1, wantName: "SyntaxError"},
		{name: "fences inside", code: "Here it is:\n```python\n1\n```", wantCode: "guest.syntax", hint: "fences", line: 1, wantName: "SyntaxError"},
		{name: "subprocess", code: "import subprocess\nsubprocess.run(['ls'])", hint: "call a tool", line: 2, wantName: "RuntimeError"},
		{name: "os.system", code: "import os\nos.system('ls')", hint: "call a tool", line: 2, wantName: "RuntimeError"},
		{name: "thread", code: "import _thread\n_thread.start_new_thread(print, ())", hint: "threading.Thread", line: 2, wantName: "RuntimeError"},
		{name: "awaited function", code: "async def f():\n    pass\nawait f", hint: "call the function", line: 3, wantName: "TypeError"},
		{name: "content of an answer", code: "tools.github.a()['content']", hint: "unwrapped already", line: 1, wantName: "KeyError"},
		{name: "socket", code: "import socket\nsocket.socket()", hint: "requests", line: 2, wantName: "RuntimeError"},
		{name: "ctypes", code: "from ctypes import cdll", hint: "native", line: 1, wantName: "ModuleNotFoundError"},
		{name: "pip", code: "import pip", hint: "installed", line: 1, wantName: "ModuleNotFoundError"},
		{name: "denied file", code: "open('/etc/passwd')", wantCode: "denied.file", wantName: "PermissionError", line: 1, hint: "/tmp"},
		{name: "memory", code: "x = []\nwhile True:\n    x.append('a' * 10_000_000)", wantName: "MemoryError", line: 3, message: "out of memory"},
		{name: "recursion", code: "def f(n):\n    return f(n + 1)\nf(0)", wantName: "RecursionError", line: 2, stack: "Previous line repeated"},
		{name: "stalled await", code: "async def f():\n    await asyncio.Event().wait()\nawait f()", wantCode: "guest.stalled", line: 2, column: 5, wantName: "Stalled"},
		{name: "stalled in asyncio.run", code: "import asyncio\nasync def f():\n    await asyncio.Queue().get()\nasyncio.run(f())", wantCode: "guest.stalled", line: 3, column: 5, wantName: "Stalled"},
		{name: "stalled lock", code: "import threading\nl = threading.Lock()\nl.acquire()\nl.acquire()", wantCode: "guest.stalled", line: 4, wantName: "Stalled"},
		{name: "stalled queue", code: "import queue\nqueue.Queue().get()", wantCode: "guest.stalled", line: 2, wantName: "Stalled"},
		{name: "stalled simple queue", code: "import queue\nqueue.SimpleQueue().get()", wantCode: "guest.stalled", line: 2, wantName: "Stalled"},
		{name: "null bytes", code: "x = 1\x00", wantCode: "guest.syntax", wantName: "SyntaxError"},
		{name: "yield outside", code: "yield 1", wantCode: "guest.syntax", wantName: "SyntaxError", line: 1, message: "'yield' outside function"},
		{name: "return in a class", code: "class A:\n    return 1", wantCode: "guest.syntax", wantName: "SyntaxError", line: 2, message: "'return' outside function"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := run(t, c.code).fault(t)
			if c.wantCode == "" {
				c.wantCode = "guest.exception"
			}
			if f.Code != c.wantCode || f.Name != c.wantName {
				t.Errorf("the error is %s %s (%s), want %s %s", f.Code, f.Name, f.Message, c.wantCode, c.wantName)
			}
			if c.line != 0 && f.Line != c.line || c.column != 0 && f.Column != c.column {
				t.Errorf("the place is %d:%d, want %d:%d", f.Line, f.Column, c.line, c.column)
			}
			for _, part := range [][3]string{{"message", f.Message, c.message}, {"hint", f.Hint, c.hint}, {"stack", f.Stack, c.stack}} {
				if !strings.Contains(part[1], part[2]) {
					t.Errorf("the %s is %q, without %q", part[0], part[1], part[2])
				}
			}
			if strings.Contains(f.Stack, "/prelude/") {
				t.Errorf("the stack shows the prelude:\n%s", f.Stack)
			}
		})
	}
}

// TestAProgramFindsItsOwnSource: also after the cache of lines was cleared.
func TestAProgramFindsItsOwnSource(t *testing.T) {
	const code = `import inspect, linecache, platform, traceback
def double(x):
    return 2 * x
linecache.%s()
try:
    1 / 0
except ZeroDivisionError:
    text = traceback.format_exc()
return [inspect.getsource(double), text.splitlines()[2], platform.processor(), platform.platform().startswith("wasi")]`
	for _, clear := range []string{"checkcache", "clearcache"} {
		got := run(t, fmt.Sprintf(code, clear)).value(t)
		if want := `["def double(x):\n    return 2 * x\n","    1 / 0","",true]`; got != want {
			t.Errorf("after %s the value is %s, want %s", clear, got, want)
		}
	}
}

// TestWhatIsMissingHasItsNameHere: code that asks for it finds the names of Linux.
func TestWhatIsMissingHasItsNameHere(t *testing.T) {
	got := run(t, `import os, socket
def refused(call):
    try:
        call()
    except OSError as error:
        return str(error)
return [os.P_WAIT, os.P_NOWAIT, os.P_NOWAITO, socket.gethostname(),
        refused(lambda: os.dup(1)), refused(lambda: os.spawnl(os.P_WAIT, "/bin/ls", "ls"))]`).value(t)
	if want := `[0,1,1,"localhost","os.dup(): file descriptors cannot be duplicated: open the file again, or redirect output with contextlib.redirect_stdout",` +
		`"os.spawnl(): processes are not available: call a tool (from tools import …), or write it in Python"]`; got != want {
		t.Errorf("the value is %s, want %s", got, want)
	}
}

// TestHintsNameNoFlags: a program reads them, and who wrote it may have no command line.
func TestHintsNameNoFlags(t *testing.T) {
	sources, err := filepath.Glob("*.py")
	if err != nil || len(sources) < 10 {
		t.Fatalf("%d sources: %v", len(sources), err)
	}
	for _, name := range sources {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if flag := regexp.MustCompile(`[\s"'(]--[a-z][a-z-]+`).Find(text); flag != nil {
			t.Errorf("%s names a flag: %q", name, flag)
		}
	}
}

func TestExitCarriesItsStatus(t *testing.T) {
	for _, c := range []struct {
		code    string
		exit    int
		message string
		stderr  string
	}{
		{"exit(3)", 3, "exit(3)", ""},
		{"import sys\nsys.exit('bye')", 1, "bye", "bye\n"},
		{"raise SystemExit(259)", 3, "exit(259)", ""},
		{"quit(True)", 1, "", ""},
		{"async def f():\n    exit(4)\nawait f()", 4, "exit(4)", ""},
	} {
		h := run(t, c.code)
		if f := h.fault(t); f.Code != "guest.exit" || f.Exit != c.exit || !strings.Contains(f.Message, c.message) || h.stderr.String() != c.stderr {
			t.Errorf("%s: %+v, stderr %q", c.code, f, h.stderr.String())
		}
	}
	for _, code := range []string{"exit()", "exit(0)", "import sys\nsys.exit(None)"} {
		if h := run(t, code); h.kind != outcomeNone {
			t.Errorf("%s: outcome %d %s, want no value", code, h.kind, h.document)
		}
	}
}

func TestRecursionIsExact(t *testing.T) {
	const code = `
def f(n):
    return 0 if n == 0 else 1 + f(n - 1)
try:
    return f(%d)
except RecursionError:
    return "too deep"
`
	deep := func(n string, limit int) string {
		return run(t, strings.ReplaceAll(code, "%d", n), func(h *host) { h.input["recursion"] = limit }).value(t)
	}
	// The module itself is the first level, f(n) adds n + 1.
	if got := deep("98", 100); got != "98" {
		t.Errorf("99 calls in the module at a limit of 100: %s", got)
	}
	if got := deep("99", 100); got != `"too deep"` {
		t.Errorf("100 calls in the module at a limit of 100: %s", got)
	}
	if got := deep("2999", 5000); got != "2999" {
		t.Errorf("3000 calls at a limit of 5000: %s", got)
	}
}

func TestOutputGoesWhereItBelongsInOrder(t *testing.T) {
	h := run(t, "import sys\nprint('a')\nprint('b', file=sys.stderr)\nprint('c', end='')\nsys.stdout.write('é\\ud800')")
	if h.stdout.String() != "a\ncé\\ud800" || h.stderr.String() != "b\n" {
		t.Errorf("stdout %q, stderr %q", h.stdout.String(), h.stderr.String())
	}
	h = run(t, "print('before', end='')\ntools.github.x()", func(h *host) {
		h.handle = func(string, string) answer {
			if h.stdout.String() != "before" {
				t.Errorf("a call began with %q on stdout", h.stdout.String())
			}
			return answer{data: "1"}
		}
	})
	h.value(t)
}

func TestStandardInputIsTheRuns(t *testing.T) {
	h := run(t, "import sys\na = input()\n[a, sys.stdin.read(), input.__name__]", func(h *host) { h.stdin = "one\ntwo\nthree\n" })
	if got := h.value(t); got != `["one","two\nthree\n","input"]` {
		t.Errorf("read %s", got)
	}
	if f := run(t, "input()").fault(t); f.Name != "EOFError" {
		t.Errorf("at the end: %+v", f)
	}
}

func TestSessionKeepsWhatWasDefined(t *testing.T) {
	h := &host{input: input("import collections\nx = 1\ndef f():\n    return x")}
	h.input["session"] = true
	g := newGuest(t, h)
	if err := g.run(); err != nil {
		t.Fatal(err)
	}
	h.input["code"] = "x += 1\nf(), collections.__name__"
	if err := g.run(); err != nil {
		t.Fatal(err)
	}
	if got := h.value(t); got != `[2,"collections"]` {
		t.Errorf("the second run gave %s", got)
	}
	h.input["code"] = "1/0"
	if err := g.run(); err != nil {
		t.Fatal(err)
	}
	h.input["code"] = "x"
	if err := g.run(); err != nil {
		t.Fatal(err)
	}
	if got := h.value(t); got != "2" {
		t.Errorf("after a failure x is %s", got)
	}
}

func TestEveryRunHasItsOwnRandomNumbers(t *testing.T) {
	const code = "import random, uuid, secrets, tempfile\n[random.random(), str(uuid.uuid4()), secrets.token_hex(4), random.Random().random()]"
	seen := map[string]bool{}
	runs := 60
	if testing.Short() {
		runs = 20
	} else if os.Getenv("WEXEC_CONFORMANCE") != "" {
		runs = 500
	}
	for range runs {
		v := run(t, code).value(t)
		if seen[v] {
			t.Fatalf("two instances gave %s", v)
		}
		seen[v] = true
	}
	fixed := func() string {
		return run(t, code, func(h *host) { h.random = strings.NewReader(strings.Repeat("0123456789abcdef", 1000)) }).value(t)
	}
	if a, b := fixed(), fixed(); a != b {
		t.Errorf("the same entropy gave %s and %s", a, b)
	}
}

func TestSleepingTakesTimeAndNoFuel(t *testing.T) {
	h := run(t, "import time\nt = time.monotonic()\ntime.sleep(0.05)\nawait asyncio.sleep(0.05)\ntime.monotonic() - t >= 0.1",
		func(h *host) { h.fuel = 200 })
	if h.value(t) != "true" {
		t.Error("the clock did not move")
	}
}
