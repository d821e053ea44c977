package catalogue

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Declarations are files from which an editor completes programs, by name:
// tools.d.ts for TypeScript, a package of stubs for Python.
func (c *Catalogue) Declarations(lang string) map[string]string {
	if lang == "python" {
		return c.pythonStubs()
	}
	return map[string]string{"tools.d.ts": c.ambientTypeScript()}
}

// ambientTypeScript declares what a program sees without importing it.
func (c *Catalogue) ambientTypeScript() string {
	var types, servers strings.Builder
	for _, s := range c.servers {
		space := "tools_" + s.Call
		fmt.Fprintf(&types, "declare namespace %s {\n", space)
		fmt.Fprintf(&servers, "  %s: {\n", tsKey(s.Call))
		for _, t := range c.ServerTools(s.Name) {
			name := c.Name(t)
			args, defs := readShape(t.InputSchema)
			in := tsWriter{prefix: pascal(name)}
			for _, d := range slices.Sorted(maps.Keys(defs)) {
				types.WriteString("  type " + in.named(d) + " = " + in.write(defs[d], 0, "  ") + ";\n")
			}
			result := "any"
			out := tsWriter{prefix: pascal(name) + "Result"}
			schema, observed := c.output(t)
			if len(schema) > 0 {
				shape, resultDefs := readShape(schema)
				for _, d := range slices.Sorted(maps.Keys(resultDefs)) {
					types.WriteString("  type " + out.named(d) + " = " + out.write(resultDefs[d], 0, "  ") + ";\n")
				}
				result = out.write(shape, 0, "  ")
			}
			types.WriteString("  type " + pascal(name) + "_" + " = (" + in.argument(args) + ") => Promise<" + result + ">;\n")
			servers.WriteString(tsDoc(documentation(t, observed), "    "))
			fmt.Fprintf(&servers, "    %s: %s.%s_;\n", tsKey(name), space, pascal(name))
		}
		types.WriteString("}\n")
		servers.WriteString("  };\n")
	}
	return ambientHead + types.String() + "\ndeclare const tools: {\n" + servers.String() + "};\n"
}

// ambientHead declares the globals every program has.
const ambientHead = `// What a program sees. Reference it with: /// <reference path="tools.d.ts" />

declare const args: any;
declare const env: Record<string, string>;
declare const stdin: { text(): Promise<string>; json(): Promise<any>; lines(): AsyncIterable<string> };

declare class ToolError extends Error { code: string; tool: string; hint?: string }
declare class PolicyError extends ToolError { rule?: string }

type Settled<T> = { ok: true; value: T } | { ok: false; error: { code: string; tool?: string; message: string; hint?: string } };
declare function attempt<T>(fn: () => T | Promise<T>, options?: { retries?: number; backoff?: number; timeout?: number; retryOn?: (e: any) => boolean; fallback?: any }): Promise<T>;
declare function settle<T>(list: Array<Promise<T> | (() => Promise<T>)>): Promise<Array<Settled<T>>>;
declare function settle<T>(list: Record<string, Promise<T> | (() => Promise<T>)>): Promise<Record<string, Settled<T>>>;
declare function pages<T = any>(tool: (args: any) => Promise<any>, args?: object): AsyncIterable<T>;
declare function mapLimit<T, R>(items: Iterable<T>, n: number, fn: (item: T, index: number) => R | Promise<R>): Promise<R[]>;
declare function progress(done: number, total?: number, text?: string): void;
declare function searchTools(query: string, limit?: number, detail?: "name" | "summary" | "full"): Promise<{ tools: any[]; total: number }>;
declare function describeTool(name: string): Promise<any>;

`

// pythonStubs is a package "tools" of stubs, with "tools.aio" below it.
func (c *Catalogue) pythonStubs() map[string]string {
	files := map[string]string{}
	var blocking, awaited strings.Builder
	blocking.WriteString(stubHead)
	for _, s := range c.servers {
		module := PythonName(s.Call)
		fmt.Fprintf(&blocking, "from . import %s as %s\n", module, module)
		fmt.Fprintf(&awaited, "from . import %s as %s\n", module, module)
		stub := c.serverPython(s, c.ServerTools(s.Name))
		files["tools/"+module+".pyi"] = stub
		files["tools/aio/"+module+".pyi"] = strings.ReplaceAll(stub, "\ndef ", "\nasync def ")
	}
	files["tools/__init__.pyi"] = blocking.String()
	files["tools/aio/__init__.pyi"] = awaited.String() + aioTail
	return files
}

const stubHead = `from typing import Any, Callable, Iterable, Iterator

class ToolError(Exception):
    code: str
    tool: str | None
    message: str
    hint: str | None

class PolicyError(ToolError):
    rule: str | None

def search_tools(query: str, limit: int = ..., detail: str = ...) -> dict[str, Any]: ...
def describe_tool(name: str) -> dict[str, Any]: ...
def attempt(fn: Callable[[], Any], options: dict[str, Any] | None = ..., **keywords: Any) -> Any: ...
def settle(branches: Any) -> Any: ...
def pages(tool: Callable[..., Any], args: dict[str, Any] | None = ..., **keywords: Any) -> Iterator[Any]: ...
def map_limit(items: Iterable[Any], n: int, fn: Callable[[Any], Any]) -> list[Any]: ...
def progress(done: float, total: float = ..., text: str = ...) -> None: ...

`

const aioTail = `from typing import Any
async def settle(branches: Any) -> Any: ...
`
