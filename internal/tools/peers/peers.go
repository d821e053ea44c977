package main

// peer is one row of the table: something that people would run an agent's
// code with.
type peer struct {
	name, language string
	driver         string // node, go, own
	dialect        string
	npm, gomod     string // where its version stands
	slow           bool   // few repeats
	once           bool   // one of each, and no rate
	noTools        bool   // it cannot call the host
	startOnly      bool
	live           int    // how many sandboxes are weighed
	note           string // why it does not run everywhere
	// What holds a program in, and what stops it.
	apart, loop, memory, calls string
}

const (
	js = "javascript"
	py = "python"
)

const (
	hosts   = "the host's own work"
	killing = "by killing it"
	ownWork = "fuel and time, always"
)

var peers = []peer{
	{name: "wexec", language: js, driver: "own", dialect: "wexec js", live: 60,
		apart: "WebAssembly, a memory of its own for each run", loop: ownWork, memory: "always", calls: "policy and record, always"},
	{name: "quickjs-wasi", language: js, driver: "node", dialect: "sync", npm: "quickjs-wasi", live: 60,
		apart: "WebAssembly, a memory of its own for each run", loop: "a callback, if set", memory: "if set", calls: hosts},
	{name: "quickjs-emscripten", language: js, driver: "node", dialect: "sync", npm: "quickjs-emscripten", live: 400,
		apart: "WebAssembly, one memory for all runs", loop: "a callback, if set", memory: "if set", calls: hosts},
	{name: "isolated-vm", language: js, driver: "node", dialect: "sync", npm: "isolated-vm", live: 30,
		apart: "an isolate of V8 in the host's process", loop: "a time, if set", memory: "about, if set", calls: hosts},
	{name: "@utcp/code-mode", language: js, driver: "node", dialect: "utcp", npm: "@utcp/code-mode", slow: true,
		apart: "isolated-vm", loop: "a time", memory: "about", calls: "the tools that are registered"},
	{name: "workerd", language: js, driver: "node", dialect: "async", npm: "workerd", live: 30,
		apart: "an isolate of V8 in a server beside the host", loop: "not in the open server", memory: "not in the open server", calls: "bindings"},
	{name: "goja", language: js, driver: "go", dialect: "sync", gomod: "github.com/dop251/goja", live: 60,
		apart: "Go, in the host's heap", loop: "an interrupt, if set", memory: "none", calls: hosts},
	{name: "modernc.org/quickjs", language: js, driver: "go", dialect: "sync", gomod: "modernc.org/quickjs", live: 60,
		apart: "C translated to Go, in the host's memory", loop: "a time, if set", memory: "if set", calls: hosts},
	{name: "node:vm", language: js, driver: "node", dialect: "sync", live: 60,
		apart: "nothing: Node says it is no security mechanism", loop: "a time, for code that does not wait", memory: "none", calls: hosts},
	{name: "deno process", language: js, driver: "own", dialect: "sync", npm: "deno", slow: true, live: 3,
		apart: "a process, with permissions", loop: killing, memory: "by the system", calls: hosts},
	{name: "bun process", language: js, driver: "own", dialect: "sync", npm: "bun", slow: true, live: 3,
		apart: "a process, with the user's rights", loop: killing, memory: "by the system", calls: hosts},
	{name: "node process", language: js, driver: "own", dialect: "sync", slow: true, live: 3,
		apart: "a process, with the user's rights", loop: killing, memory: "by the system", calls: hosts},
	{name: "wexec run", language: js, driver: "own", dialect: "alone js", startOnly: true,
		apart: "as wexec, and a process", loop: ownWork, memory: "always", calls: "policy and record, always"},
	{name: "wexec mcp", language: js, driver: "own", dialect: "alone js", noTools: true,
		apart: "as wexec, in a server", loop: ownWork, memory: "always", calls: "policy and record, always"},

	{name: "wexec", language: py, driver: "own", dialect: "wexec py", live: 30,
		apart: "WebAssembly, a memory of its own for each run", loop: ownWork, memory: "always", calls: "policy and record, always"},
	{name: "Monty", language: py, driver: "node", dialect: "python", npm: "@pydantic/monty",
		apart: "Rust, in the host's heap; a part of Python", loop: "a time, if set", memory: "if set", calls: hosts},
	{name: "Pyodide, new globals", language: py, driver: "node", dialect: "python", npm: "pyodide",
		apart: "WebAssembly with a bridge into Node; one interpreter for all runs", loop: "an interrupt, if set", memory: "none", calls: hosts},
	{name: "Pyodide, new interpreter", language: py, driver: "node", dialect: "python", npm: "pyodide", once: true, live: 2,
		apart: "WebAssembly with a bridge into Node", loop: "an interrupt, if set", memory: "none", calls: hosts},
	{name: "python3 process", language: py, driver: "own", dialect: "python", slow: true, live: 3,
		apart: "a process, with the user's rights", loop: killing, memory: "by the system", calls: hosts},
	{name: "wexec run", language: py, driver: "own", dialect: "alone py", startOnly: true,
		apart: "as wexec, and a process", loop: ownWork, memory: "always", calls: "policy and record, always"},
	{name: "wexec mcp", language: py, driver: "own", dialect: "alone py", noTools: true,
		apart: "as wexec, in a server", loop: ownWork, memory: "always", calls: "policy and record, always"},
	{name: "mcp-run-python", language: py, driver: "own", dialect: "alone py", npm: "@pydantic/mcp-run-python", startOnly: true, once: true,
		note:  "it fetches packages from outside before its first program, and nothing is fetched during a measurement here",
		apart: "Pyodide, in a server", loop: "none", memory: "none", calls: "no tools"},
}
