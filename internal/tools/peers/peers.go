package main

// peer is one row of the table.
type peer struct {
	name, language string
	driver         string // node, go, direct
	dialect        string
	npm, gomod     string // source of its version
	slow           bool   // few repetitions
	once           bool   // one repetition, no rate
	noTools        bool   // cannot call the host
	startOnly      bool
	live           int    // number of sandboxes to measure memory
	note           string // explains a failure
	// Columns of the table on protection.
	apart, loop, memory, calls string
}

const (
	js = "javascript"
	py = "python"
)

const (
	hosts       = "the host"
	killing     = "kill"
	fuelAndTime = "fuel and time, always"
)

var peers = []peer{
	{name: "wexec", language: js, driver: "direct", dialect: "wexec js", live: 60,
		apart: "WebAssembly, separate memory per run", loop: fuelAndTime, memory: "always", calls: "policy and record, always"},
	{name: "quickjs-wasi", language: js, driver: "node", dialect: "sync", npm: "quickjs-wasi", live: 60,
		apart: "WebAssembly, separate memory per run", loop: "callback, if set", memory: "if set", calls: hosts},
	{name: "quickjs-emscripten", language: js, driver: "node", dialect: "sync", npm: "quickjs-emscripten", live: 400,
		apart: "WebAssembly, shared memory", loop: "callback, if set", memory: "if set", calls: hosts},
	{name: "isolated-vm", language: js, driver: "node", dialect: "sync", npm: "isolated-vm", live: 30,
		apart: "V8 isolate in the host process", loop: "timeout, if set", memory: "approximate, if set", calls: hosts},
	{name: "@utcp/code-mode", language: js, driver: "node", dialect: "utcp", npm: "@utcp/code-mode", slow: true,
		apart: "isolated-vm", loop: "timeout", memory: "approximate", calls: "registered tools"},
	{name: "workerd", language: js, driver: "node", dialect: "async", npm: "workerd", live: 30,
		apart: "V8 isolate in a server process", loop: "not in the open-source server", memory: "not in the open-source server", calls: "bindings"},
	{name: "goja", language: js, driver: "go", dialect: "sync", gomod: "github.com/dop251/goja", live: 60,
		apart: "Go, in the host heap", loop: "interrupt, if set", memory: "none", calls: hosts},
	{name: "modernc.org/quickjs", language: js, driver: "go", dialect: "sync", gomod: "modernc.org/quickjs", live: 60,
		apart: "C translated to Go, in host memory", loop: "timeout, if set", memory: "if set", calls: hosts},
	{name: "node:vm", language: js, driver: "node", dialect: "sync", live: 60,
		apart: "none; not a security mechanism according to Node", loop: "timeout, for synchronous code", memory: "none", calls: hosts},
	{name: "deno process", language: js, driver: "direct", dialect: "sync", npm: "deno", slow: true, live: 3,
		apart: "process with permissions", loop: killing, memory: "operating system", calls: hosts},
	{name: "bun process", language: js, driver: "direct", dialect: "sync", npm: "bun", slow: true, live: 3,
		apart: "process with the rights of the user", loop: killing, memory: "operating system", calls: hosts},
	{name: "node process", language: js, driver: "direct", dialect: "sync", slow: true, live: 3,
		apart: "process with the rights of the user", loop: killing, memory: "operating system", calls: hosts},
	{name: "wexec run", language: js, driver: "direct", dialect: "bare js", startOnly: true,
		apart: "as wexec, in a process", loop: fuelAndTime, memory: "always", calls: "policy and record, always"},
	{name: "wexec mcp", language: js, driver: "direct", dialect: "bare js", noTools: true,
		apart: "as wexec, in a server", loop: fuelAndTime, memory: "always", calls: "policy and record, always"},

	{name: "wexec", language: py, driver: "direct", dialect: "wexec py", live: 30,
		apart: "WebAssembly, separate memory per run", loop: fuelAndTime, memory: "always", calls: "policy and record, always"},
	{name: "Monty", language: py, driver: "node", dialect: "python", npm: "@pydantic/monty",
		apart: "Rust, in the host heap; a subset of Python", loop: "timeout, if set", memory: "if set", calls: hosts},
	{name: "Pyodide, new globals", language: py, driver: "node", dialect: "python", npm: "pyodide",
		apart: "WebAssembly with a bridge to Node; shared interpreter", loop: "interrupt, if set", memory: "none", calls: hosts},
	{name: "Pyodide, new interpreter", language: py, driver: "node", dialect: "python", npm: "pyodide", once: true, live: 2,
		apart: "WebAssembly with a bridge to Node", loop: "interrupt, if set", memory: "none", calls: hosts},
	{name: "python3 process", language: py, driver: "direct", dialect: "python", slow: true, live: 3,
		apart: "process with the rights of the user", loop: killing, memory: "operating system", calls: hosts},
	{name: "wexec run", language: py, driver: "direct", dialect: "bare py", startOnly: true,
		apart: "as wexec, in a process", loop: fuelAndTime, memory: "always", calls: "policy and record, always"},
	{name: "wexec mcp", language: py, driver: "direct", dialect: "bare py", noTools: true,
		apart: "as wexec, in a server", loop: fuelAndTime, memory: "always", calls: "policy and record, always"},
	{name: "mcp-run-python", language: py, driver: "direct", dialect: "bare py", npm: "@pydantic/mcp-run-python", startOnly: true, once: true,
		note:  "it downloads packages before the first program, which measurements do not allow",
		apart: "Pyodide, in a server", loop: "none", memory: "none", calls: "no tools"},
}

func (p peer) key() string { return p.name + "/" + p.language }

// spoken returns the name of the peer in its driver.
func (p peer) spoken() string {
	if p.driver == "direct" {
		return p.key()
	}
	return p.name
}
