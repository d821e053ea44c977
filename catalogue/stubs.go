package catalogue

import (
	_ "embed"
	"fmt"
	"strings"
)

// globalsText declares the globals of every TypeScript program, and toolsText
// those of the Python package "tools".
var (
	//go:embed templates/globals.d.ts
	globalsText string
	//go:embed templates/tools.pyi
	toolsText string
)

const aioText = "from typing import Any\nasync def settle(branches: Any) -> Any: ...\n"

// Declarations returns files from which an editor completes programs, by name:
// tools.d.ts for TypeScript, a package of stubs for Python.
func (c *Catalogue) Declarations(lang string) map[string]string {
	if lang == "python" {
		return c.pythonStubs()
	}
	return map[string]string{"tools.d.ts": c.ambientTypeScript()}
}

// ambientTypeScript declares what a program can use without an import.
func (c *Catalogue) ambientTypeScript() string {
	var types, servers strings.Builder
	for _, s := range c.servers {
		namespace := "tools_" + s.Call
		fmt.Fprintf(&types, "declare namespace %s {\n", namespace)
		fmt.Fprintf(&servers, "  %s: {\n", tsKey(s.Call))
		for _, t := range c.ServerTools(s.Name) {
			name := c.Name(t)
			sig := c.tsSignature(t, 0, "  ")
			for _, def := range sig.types {
				types.WriteString("  type " + def + ";\n")
			}
			types.WriteString("  type " + pascal(name) + "_ = (" + sig.params + ") => Promise<" + sig.result + ">;\n")
			servers.WriteString(tsDoc(sig.doc, "    "))
			fmt.Fprintf(&servers, "    %s: %s.%s_;\n", tsKey(name), namespace, pascal(name))
		}
		types.WriteString("}\n")
		servers.WriteString("  };\n")
	}
	return globalsText + types.String() + "\ndeclare const tools: {\n" + servers.String() + "};\n"
}

// pythonStubs is a package "tools" of stubs, with the subpackage "tools.aio".
func (c *Catalogue) pythonStubs() map[string]string {
	files := map[string]string{}
	var blocking, async strings.Builder
	blocking.WriteString(toolsText)
	for _, s := range c.servers {
		module := PythonName(s.Call)
		fmt.Fprintf(&blocking, "from . import %s as %s\n", module, module)
		fmt.Fprintf(&async, "from . import %s as %s\n", module, module)
		var b strings.Builder
		b.WriteString(pythonServerHead(s))
		for _, t := range c.ServerTools(s.Name) {
			b.WriteString(c.Python(t) + "\n")
		}
		stub := b.String()
		files["tools/"+module+".pyi"] = stub
		files["tools/aio/"+module+".pyi"] = strings.ReplaceAll(stub, "\ndef ", "\nasync def ")
	}
	files["tools/__init__.pyi"] = blocking.String()
	files["tools/aio/__init__.pyi"] = async.String() + aioText
	return files
}
