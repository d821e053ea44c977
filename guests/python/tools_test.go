package python_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// echo answers with what it was asked, and with what some tools are named for.
func echo(name, args string) answer {
	_, tool, _ := strings.Cut(name, ".")
	switch tool {
	case "text":
		return answer{kind: answerText, data: "42"}
	case "content":
		return answer{kind: answerContent, data: `[{"type":"image","data":{"$bytes":"aGk="}}]`}
	case "bytes":
		return answer{kind: answerBytes, data: "\x00\xffhi"}
	case "fail":
		return answer{kind: answerError, data: `{"code":"tool.failed","message":"it broke","tool":"github.fail","hint":"fix it"}`}
	case "deny":
		return answer{kind: answerError, data: `{"code":"denied.tool","message":"not allowed","tool":"github.deny","rule":"policy.yaml:3"}`}
	case "slow":
		return answer{data: args, after: 40 * time.Millisecond}
	}
	name, _ = strings.CutPrefix(name, "wexec:")
	switch name {
	case "names":
		return answer{data: `["list_commits","search"]`}
	case "search":
		return answer{data: `{"tools":[{"name":"github.list_commits"}],"total":1}`}
	case "describe":
		return answer{data: `{"name":"github.list_commits","declaration":"def list_commits(limit: int)"}`}
	case "pii":
		return answer{data: `"email"`}
	}
	return answer{data: args}
}

func TestToolsAreCalledInEveryWayThatIsClear(t *testing.T) {
	for _, c := range []struct{ name, code, want string }{
		{"imported server", "from tools import github\ngithub.list_commits(limit=1)", `{"limit":1}`},
		{"module", "import tools\ntools.github.list_commits(limit=1)", `{"limit":1}`},
		{"builtin", "tools.github.list_commits()", `{}`},
		{"one dict", "tools.github.list_commits({'limit': 2})", `{"limit":2}`},
		{"dict and names", "tools.github.list_commits({'limit': 2}, page=3)", `{"limit":2,"page":3}`},
		{"by position", "tools.github.list_commits('a', 2)", `["a",2]`},
		{"call attribute", "tools.github.list_commits.call(limit=1)", `{"limit":1}`},
		{"by whole name", "tools.call('github.list_commits', {'limit': 4})", `{"limit":4}`},
		{"by item", "tools['github']['list_commits'](limit=1)", `{"limit":1}`},
		{"camel case server", "tools.gitHub.a(x=1)", `{"x":1}`},
		{"submodule", "import tools.github\ntools.github.a(x=1)", `{"x":1}`},
		{"from a submodule", "from tools.github import a\na(x=1)", `{"x":1}`},
		{"mcp_servers", "from mcp_servers.github import list_commits\nlist_commits(limit=9)", `{"limit":9}`},
		{"mcp_servers server", "from mcp_servers import jira\njira.search(q='x')", `{"q":"x"}`},
		{"aio", "from tools.aio import github\nawait github.a(x=1)", `{"x":1}`},
		{"aio from a submodule", "from tools.aio.github import a\nawait a(x=1)", `{"x":1}`},
		{"aio task", "t = asyncio.create_task(tools.aio.github.a(x=1))\nawait t", `{"x":1}`},
		{"to_thread", "await asyncio.to_thread(tools.github.a, x=1)", `{"x":1}`},
		{"executor", "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(4) as pool:\n    r = list(pool.map(lambda i: tools.github.a(i=i), range(2)))\nr", `[{"i":0},{"i":1}]`},
		{"executor of a tool", "from concurrent.futures import ThreadPoolExecutor, as_completed\npool = ThreadPoolExecutor()\nfs = [pool.submit(tools.github.a, i=i) for i in range(2)]\nsorted(f.result()['i'] for f in as_completed(fs))", `[0,1]`},
		{"natural arguments", "import datetime\ntools.github.a(when=datetime.date(2026, 1, 2), tags={'b', 'a'}, n=(1, 2.0))", `{"when":"2026-01-02","tags":["a","b"],"n":[1,2]}`},
		{"answers", "[tools.github.text(), tools.github.content()[0]['data'], tools.github.bytes()]", `["42",{"$bytes":"aGk="},{"$bytes":"AP9oaQ=="}]`},
		{"names", "dir(tools.github), list(tools), 'github' in dir(tools)", `[["list_commits","search"],["github","jira","slack"],true]`},
		{"documentation", "tools.github.list_commits.__doc__, repr(tools.github.a), tools.github.a.__name__", `["def list_commits(limit: int)","<tool github.a>","a"]`},
		{"search", "search_tools('commits')['total'], describe_tool('github.list_commits')['name']", `[1,"github.list_commits"]`},
		{"search imported", "from tools import search_tools, ToolError, settle\nsearch_tools('x', limit=1)['total']", "1"},
		{"privacy", "pii.kind('[EMAIL_1]')", `"email"`},
		{"artifacts", "[artifacts.put('a', [1], type='text/csv'), artifacts.put('a', b'b', {'type': 'c'}), artifacts.read('sha256:x', from_=2)]",
			`[{"name":"a","data":[1],"type":"text/csv"},{"name":"a","data":{"$bytes":"Yg=="},"type":"c"},{"id":"sha256:x","from":2}]`},
		{"artifacts imported", "from tools import artifacts as a\n[a.read({'artifact': 'sha256:x', 'name': 'a'}, match='b'), a.read(id='y', lines=3)]", `[{"id":"sha256:x","match":"b"},{"id":"y","lines":3}]`},
		{"artifacts later", "from tools.aio import artifacts\nawait artifacts.put('a', 'b')", `{"name":"a","data":"b"}`},
		{"progress", "progress(1, 10, 'reading')", ""},
		{"caught", "try:\n    tools.github.fail()\nexcept ToolError as e:\n    r = [e.code, e.tool, e.message, e.hint, str(e)]\nr", `["tool.failed","github.fail","it broke","fix it","it broke"]`},
		{"denied", "try:\n    tools.github.deny()\nexcept PolicyError as e:\n    r = [e.code, e.rule, isinstance(e, ToolError)]\nr", `["denied.tool","policy.yaml:3",false]`},
		{"errors are copied", "import pickle, copy\ntry:\n    tools.github.deny()\nexcept PolicyError as e:\n    c = copy.copy(e)\nc.code, c.rule", `["denied.tool","policy.yaml:3"]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := run(t, c.code, func(h *host) { h.handle = echo }).value(t); got != c.want {
				t.Errorf("the value is %s, want %s", got, c.want)
			}
		})
	}
}

// TestAServerDoesNotTakeTheNameOfABuiltin: tools.list is the server list.
func TestAServerDoesNotTakeTheNameOfABuiltin(t *testing.T) {
	const code = "open('/tmp/x', 'w').close()\n" +
		"[list('ab'), [*filter(None, [0, 1])], tools.list.a(n=1), github.a(n=2)]"
	got := run(t, code, func(h *host) {
		h.handle = echo
		h.input["servers"] = []string{"filter", "github", "list", "open"}
	}).value(t)
	if want := `[["a","b"],[1],{"n":1},{"n":2}]`; got != want {
		t.Errorf("the value is %s, want %s", got, want)
	}
}

func TestUncaughtToolErrorsKeepTheirCode(t *testing.T) {
	f := run(t, "x = 1\ntools.github.deny()", func(h *host) { h.handle = echo }).fault(t)
	if f.Code != "denied.tool" || f.Name != "PolicyError" || f.Rule != "policy.yaml:3" || f.Tool != "github.deny" || f.Line != 2 {
		t.Errorf("a denial is %+v", f)
	}
	f = run(t, "async def f():\n    await tools.aio.github.fail()\nawait f()", func(h *host) { h.handle = echo }).fault(t)
	if f.Code != "tool.failed" || f.Hint != "fix it" || f.Line != 2 {
		t.Errorf("a failure is %+v", f)
	}
	f = run(t, "tools.github.a(x=object())").fault(t)
	if f.Code != "tool.invalid_args" || !strings.HasPrefix(f.Message, "args.x is an object") || f.Line != 1 {
		t.Errorf("an argument without a JSON form is %+v", f)
	}
}

func TestSixteenCallsAreReallyUnderWay(t *testing.T) {
	for _, code := range []string{
		"r = await asyncio.gather(*[tools.aio.github.slow(i=i) for i in range(16)])\nreturn [x['i'] for x in r]",
		"async with asyncio.TaskGroup() as g:\n    ts = [g.create_task(tools.aio.github.slow(i=i)) for i in range(16)]\nreturn [t.result()['i'] for t in ts]",
		"async def one(i):\n    return (await tools.aio.github.slow(i=i))['i']\nreturn await map_limit(range(16), 16, one)",
		"r = await asyncio.gather(*[asyncio.to_thread(tools.github.slow, i=i) for i in range(16)])\nreturn [x['i'] for x in r]",
		"from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(16) as p:\n    fs = [p.submit(tools.github.slow, i=i) for i in range(16)]\nreturn [f.result()['i'] for f in fs]",
	} {
		h := run(t, code, func(h *host) { h.handle = echo })
		if got := h.value(t); got != "[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]" || h.maxInFlight != 16 {
			t.Errorf("%d under way, value %s:\n%s", h.maxInFlight, got, code)
		}
	}
}

func TestCallsThatAreGivenUpAreCancelled(t *testing.T) {
	h := run(t, "try:\n    await asyncio.wait_for(tools.aio.github.slow(), 0.005)\nexcept TimeoutError:\n    return 'late'", func(h *host) { h.handle = echo })
	if h.value(t) != `"late"` || len(h.cancelled) != 1 {
		t.Errorf("value %s, cancelled %v", h.document, h.cancelled)
	}
	h = run(t, "t = asyncio.create_task(tools.aio.github.slow())\nawait asyncio.sleep(0)\nreturn 1", func(h *host) { h.handle = echo })
	if h.value(t) != "1" || len(h.cancelled) != 1 || !strings.Contains(h.stderr.String(), "1 tool call still under way") {
		t.Errorf("value %s, cancelled %v, stderr %q", h.document, h.cancelled, h.stderr.String())
	}
	h = run(t, "tools.aio.github.slow()\n1", func(h *host) { h.handle = echo })
	if !strings.Contains(h.stderr.String(), "github.slow") || !strings.Contains(h.stderr.String(), "never awaited") {
		t.Errorf("a call that was never awaited leaves %q", h.stderr.String())
	}
}

func TestHelpersLetABranchFail(t *testing.T) {
	var tries int
	flaky := func(name, args string) answer {
		if strings.HasSuffix(name, ".flaky") {
			if tries++; tries < 3 {
				return answer{kind: answerError, data: `{"code":"upstream.unavailable","message":"not yet"}`}
			}
			return answer{data: fmt.Sprint(tries)}
		}
		return echo(name, args)
	}
	for _, c := range []struct{ name, code, want string }{
		{"attempt", "attempt(tools.github.flaky, backoff=0.001)", "3"},
		{"attempt later", "await attempt(tools.aio.github.flaky, backoff=0.001)", "3"},
		{"attempt a coroutine function", "async def f():\n    return await tools.aio.github.flaky()\nawait attempt(f, retries=5, backoff=0.001)", "3"},
		{"fallback", "attempt(tools.github.fail, retries=1, backoff=0.001, fallback='none')", `"none"`},
		{"fallback of the error", "attempt(tools.github.fail, retries=0, fallback=lambda e: e.code)", `"tool.failed"`},
		{"a denial is final", "try:\n    attempt(tools.github.deny, retries=9, backoff=9)\nexcept PolicyError:\n    return 1", "1"},
		{"time limit", "await attempt(tools.aio.github.slow, retries=0, timeout=0.005, fallback=lambda e: e.code)", `"tool.timeout"`},
		{"settle", "settle([lambda: 1, tools.github.fail])", `[{"ok":true,"value":1},{"ok":false,"error":{"code":"tool.failed","tool":"github.fail","message":"it broke","hint":"fix it"}}]`},
		{"settle names", "await tools.aio.settle({'a': tools.aio.github.x(y=1), 'b': tools.aio.github.deny()})", `{"a":{"ok":true,"value":{"y":1}},"b":{"ok":false,"error":{"code":"denied.tool","tool":"github.deny","message":"not allowed","hint":null}}}`},
		{"settle any", "(await settle([tools.aio.github.x()]))[0]['ok']", "true"},
		{"map_limit", "map_limit([1, 2], 2, lambda i: i * 2)", "[2,4]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tries = 0
			if got := run(t, c.code, func(h *host) { h.handle = flaky }).value(t); got != c.want {
				t.Errorf("the value is %s, want %s", got, c.want)
			}
		})
	}
}

func TestMapLimitHoldsItsLimit(t *testing.T) {
	h := run(t, "async def one(i):\n    return await tools.aio.github.slow(i=i)\nlen(await map_limit(range(9), 3, one))", func(h *host) { h.handle = echo })
	if h.value(t) != "9" || h.maxInFlight != 3 {
		t.Errorf("%d under way at a limit of 3", h.maxInFlight)
	}
}

func TestThePreludesPreludeCallsAreNoTools(t *testing.T) {
	for _, code := range []string{"list(pages('wexec:names'))", "tools.call('wexec:names')", "await tools.aio.call('wexec:names')"} {
		h := run(t, code)
		if f := h.fault(t); f.Name != "ToolError" && f.Name != "AttributeError" {
			t.Errorf("%s: %+v", code, f)
		}
		for _, name := range h.started {
			if strings.HasPrefix(name, "wexec:names") {
				t.Errorf("%s started %s", code, name)
			}
		}
	}
}

func TestPagesFollowsCursorsAndNumbers(t *testing.T) {
	paged := func(name, args string) answer {
		var in struct {
			Cursor  string
			Page    int
			PerPage int `json:"per_page"`
		}
		json.Unmarshal([]byte(args), &in)
		if strings.HasSuffix(name, ".cursors") {
			next := map[string]string{"": `,"nextCursor":"b"`, "b": `,"nextCursor":"c"`, "c": ``}[in.Cursor]
			return answer{data: fmt.Sprintf(`{"items":["%s1","%s2"]%s}`, in.Cursor, in.Cursor, next)}
		}
		switch {
		case in.Page < 2:
			return answer{data: `[1,2]`}
		case in.Page == 2:
			return answer{data: `[3]`}
		}
		return answer{data: `[]`}
	}
	for _, c := range []struct{ code, want string }{
		{"list(pages(tools.github.cursors))", `["1","2","b1","b2","c1","c2"]`},
		{"list(pages('github.cursors', max_items=3))", `["1","2","b1"]`},
		{"[x async for x in pages(tools.aio.github.cursors, {})]", `["1","2","b1","b2","c1","c2"]`},
		{"list(pages(tools.github.numbers, per_page=2))", `[1,2,3]`},
		{"list(pages(tools.github.numbers))", `[1,2]`},
	} {
		if got := run(t, c.code, func(h *host) { h.handle = paged }).value(t); got != c.want {
			t.Errorf("%s gave %s, want %s", c.code, got, c.want)
		}
	}
}

// TestAnAnswerOfABlockingCallCanBeAwaited awaits answers in the ways in which
// programs await coroutines.
func TestAnAnswerOfABlockingCallCanBeAwaited(t *testing.T) {
	for _, code := range []string{
		"await github.list(limit=2)",
		"async def f():\n    return await tools.github.list()\nasyncio.run(f())",
		"(await asyncio.gather(github.list(page=1), github.list(page=2)))[0]",
		"await asyncio.wait_for(github.list(), 5)",
		"await asyncio.create_task(github.list())",
		"await asyncio.shield(asyncio.ensure_future(github.list()))",
		"done, _ = await asyncio.wait([github.list()])\ndone.pop().result()",
		"[await x for x in asyncio.as_completed([github.list()])][0]",
		"async with asyncio.TaskGroup() as g:\n    task = g.create_task(github.list())\ntask.result()",
		"asyncio.get_event_loop().run_until_complete(asyncio.gather(github.list()))[0]",
	} {
		got := run(t, code, func(h *host) {
			h.handle = func(name, args string) answer { return answer{kind: answerJSON, data: `[{"a":1}]`} }
		}).value(t)
		if got != `[{"a":1}]` {
			t.Errorf("%s\ngives %s", code, got)
		}
	}
}

// TestLibrariesGetAsynciosOwnBehavior calls asyncio from a package with what CPython
// rejects there and the program may use.
func TestLibrariesGetAsynciosOwnBehavior(t *testing.T) {
	const library = `import asyncio

async def add(value):
    async with asyncio.TaskGroup() as group:
        group.create_task(value)

CALLS = {
    "ensure_future": asyncio.ensure_future, "gather": asyncio.gather, "create_task": asyncio.create_task,
    "shield": asyncio.shield, "wait": lambda value: asyncio.wait([value]), "wait_for": lambda value: asyncio.wait_for(value, 1),
    "as_completed": lambda value: list(asyncio.as_completed([value])), "TaskGroup": add,
}

async def raised(call):
    try:
        made = call(5)
        if asyncio.iscoroutine(made):
            await made
    except Exception as error:
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        return type(error).__name__

async def nothing():
    pass

async def run_again():
    main = nothing()
    try:
        asyncio.run(main)
    except RuntimeError as error:
        main.close()
        return str(error)

def get_loop():
    try:
        return asyncio.get_event_loop()
    except RuntimeError as error:
        return str(error)
`
	change := func(h *host) {
		h.files = map[string]string{"packages/library.py": library}
		h.input["packages"] = "/packages"
	}
	for code, want := range map[string]string{
		"import library\n[name for name, call in library.CALLS.items() if await library.raised(call) not in ('TypeError', 'AttributeError')]": `[]`,
		"import library\nawait library.run_again()":                                                                                                                          `"asyncio.run() cannot be called from a running event loop"`,
		"import library\nasyncio.run(library.nothing())\nlibrary.get_loop()":                                                                                                 `"There is no current event loop in thread 'MainThread'."`,
		"import library\nasyncio.run(library.nothing())\nasyncio.get_event_loop().run_until_complete(library.nothing())":                                                     "",
		"await asyncio.wait_for(fut=asyncio.sleep(0, 3), timeout=1)":                                                                                                         "3",
		"async def f():\n    pass\nloop = asyncio.new_event_loop()\nloop.set_debug(True)\ntry:\n    loop.run_in_executor(None, f)\nexcept TypeError:\n    return 'rejected'": `"rejected"`,
	} {
		if got := run(t, code, change).value(t); got != want {
			t.Errorf("%s\ngives %s, want %s", code, got, want)
		}
	}
}

// TestToolsAreFoundUnderTheNamesOfOtherSandboxes calls one tool in all spellings.
func TestToolsAreFoundUnderTheNamesOfOtherSandboxes(t *testing.T) {
	for _, code := range []string{
		"github.list(n=1)", "import github\ngithub.list(n=1)", "from github import list\nlist(n=1)", "from servers.github import list\nlist(n=1)",
		"from servers import github\ngithub.list(n=1)", "call_tool('github.list', {'n': 1})", "call_tool('github__list', n=1)",
		"await call_tool('mcp__github__list', n=1)", "mcp__github__list(n=1)", "github__list(n=1)", "def f():\n    return github.list(n=1)\nf()",
	} {
		got := run(t, code, func(h *host) {
			h.handle = func(name, args string) answer {
				return answer{kind: answerJSON, data: fmt.Sprintf("[%q,%s]", name, args)}
			}
		}).value(t)
		if got != `["github.list",{"n":1}]` {
			t.Errorf("%s\ngives %s", code, got)
		}
	}
	if got := run(t, "json = 5\nimport json\ngithub = 7\ngithub").value(t); got != "7" {
		t.Errorf("a variable with the name of a server is %s", got)
	}
}

// TestThreadsAndPoolsRunInline uses the forms of threading and multiprocessing that
// programs use.
func TestThreadsAndPoolsRunInline(t *testing.T) {
	for _, c := range []struct{ code, want string }{
		{"import threading\nout = []\nt = threading.Thread(target=out.append, args=(threading.current_thread().name,), daemon=True)\nt.start()\nt.join(1)\n[out, t.is_alive(), t.ident is not None]", `[["MainThread"],false,true]`},
		{"import threading\nnames = []\nclass T(threading.Thread):\n    def run(self):\n        names.append(threading.current_thread() is self)\nT().start()\nnames + [threading.current_thread() is threading.main_thread()]", "[true,true]"},
		{"import threading\nt = threading.Thread(target=lambda: 1 / 0)\nt.start()\nt.is_alive()", "false"},
		{"import threading\nt = threading.Thread(target=print)\nt.start()\ntry:\n    t.start()\nexcept RuntimeError as e:\n    r = str(e)\nr", `"threads can only be started once"`},
		{"import threading\nout = []\nthreading.Timer(0.01, out.append, [1]).start()\nout", "[1]"},
		{"from multiprocessing import Pool\nwith Pool(4) as p:\n    r = p.map(abs, [-1, 2]) + p.starmap(pow, [(2, 3)]) + list(p.imap(abs, [-4]))\nr", "[1,2,8,4]"},
		{"from multiprocessing.pool import ThreadPool\np = ThreadPool()\na = p.apply_async(pow, (2, 5), callback=print)\np.close()\np.join()\n[a.get(), a.ready(), a.successful()]", "[32,true,true]"},
		{"import multiprocessing as mp\nq = mp.Queue()\np = mp.Process(target=q.put, args=(3,))\np.start()\np.join()\n[q.get(), p.exitcode, mp.cpu_count()]", "[3,0,1]"},
		{"from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor() as p:\n    r = list(p.map(abs, [-1, -2]))\nr", "[1,2]"},
	} {
		if got := run(t, c.code).value(t); got != c.want {
			t.Errorf("%s\ngives %s, want %s", c.code, got, c.want)
		}
	}
}
