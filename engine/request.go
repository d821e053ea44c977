package engine

import (
	"encoding/json"
	"io"

	"github.com/wexec/wexec/guests"
	"github.com/wexec/wexec/hostfns"
)

// Languages a [Request] may name. Short spellings ("js", "ts", "py") mean the
// same.
const (
	JavaScript = guests.JavaScript
	TypeScript = guests.TypeScript
	Python     = guests.Python
)

// A Request is one program to run, and everything it may see. Its JSON form is
// the one that every door accepts; fields without a JSON name exist for Go
// hosts only. The zero value of a field is its safe default.
type Request struct {
	// Language is javascript, typescript or python. Required unless Plugin is
	// set.
	Language string `json:"language,omitempty"`
	// Code is the program.
	Code string `json:"code,omitempty"`
	// File is the name under which errors point at the program, "main.js" and
	// the like where it is empty. It is never opened.
	File string `json:"file,omitempty"`
	// Args is what the program sees as args: any JSON, null where it is empty.
	Args json.RawMessage `json:"args,omitempty"`
	// Argv is what follows the file on a command line.
	Argv []string `json:"argv,omitempty"`
	// Intent says in words what the program is for. It is recorded.
	Intent string `json:"intent,omitempty"`
	// Limits raise or lower the defaults. None goes over what a policy says.
	Limits Limits `json:"limits,omitzero"`
	// Deterministic gives the program a virtual clock and a seeded source, so
	// that it can be repeated bit for bit.
	Deterministic bool `json:"deterministic,omitempty"`
	// Seed is the seed of a deterministic run. Zero is a seed like any other.
	Seed uint64 `json:"seed,omitempty"`
	// Cache false turns the result cache off for this run. Nil means on where
	// the same answer is certain.
	Cache *bool `json:"cache,omitempty"`
	// Session names a session: globals, imports and definitions live on from
	// one run to the next. Empty means none.
	Session string `json:"session,omitempty"`
	// Actor is on whose behalf the program runs. Runs wait in turn by actor.
	Actor Actor `json:"actor,omitzero"`
	// Trigger is the door: cli, mcp, api or schedule. Empty means api.
	Trigger string `json:"trigger,omitempty"`
	// Root is a folder of the host whose files the program may import. Empty
	// means none.
	Root string `json:"root,omitempty"`
	// Packages is a folder of the host with pure packages. Empty means none.
	Packages string `json:"packages,omitempty"`
	// Input is the program's standard input, or the input of a plugin.
	Input []byte `json:"input,omitempty"`

	// Plugin is the path of a foreign Extism plugin, run in place of Code.
	Plugin string `json:"plugin,omitempty"`
	// PluginDigest is the SHA-256 that the plugin must have, in hex. Empty
	// means any.
	PluginDigest string `json:"plugin_sha256,omitempty"`
	// Function is the function of the plugin that is called with Input.
	Function string `json:"function,omitempty"`

	// ID is the run's id. Empty means a fresh one.
	ID string `json:"-"`
	// Table is what the program may reach, in place of the engine's own: one
	// for each tenant.
	Table *hostfns.Table `json:"-"`
	// Asker is asked where the policy says ask. Nil means the table's.
	Asker hostfns.Asker `json:"-"`
	// Env is the environment the program may see, as far as the policy lets it
	// through.
	Env map[string]string `json:"-"`
	// Dir is the folder of the host from which relative paths of files start.
	// Empty means none.
	Dir string `json:"-"`
	// DryRun answers every call of a tool with null, after it was decided and
	// listed.
	DryRun bool `json:"-"`
	// Check compiles the program and does not run it. The value lists the tools
	// that the program refers to, as rows of [server, tool, line, column,
	// explicit]. A row that is not explicit is not written under tools.
	Check bool `json:"-"`
	// Stdin is read where Input is nil. A run that reads it is never answered
	// from the result cache.
	Stdin io.Reader `json:"-"`
	// Output receives stdout and stderr while the program runs.
	Output Output `json:"-"`
	// Progress is told what is going on. It is called from one goroutine at a
	// time and must not block for long.
	Progress func(Event) `json:"-"`
}

// An Actor is on whose behalf a program runs.
type Actor struct {
	ID   string `json:"id,omitempty"`
	Type string `json:"type,omitempty"` // agent, person or service
}

// Output is where a running program's output goes, besides into its [Result].
// A nil writer is skipped. Writes come in the order of the program's, whole
// lines as a rule, never with a character cut in two; an error of a writer
// stops writes to it and nothing else.
type Output struct {
	Stdout, Stderr io.Writer
}

// Language gives the full name of a language from any accepted spelling. An
// unknown one is usage.language.
func Language(name string) (string, error) {
	g, err := guests.Lookup(name)
	return g.Language, err
}
