package engine

import (
	"bytes"
	"encoding/json"
	"io"
	"time"

	"github.com/wexec/wexec/guests"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/policy"
	"github.com/wexec/wexec/privacy"
)

// Languages a [Request] may name. Short spellings ("js", "ts", "py") mean the
// same.
const (
	JavaScript = guests.JavaScript
	TypeScript = guests.TypeScript
	Python     = guests.Python
)

// A Request is one program to run, and everything it may see. The zero value of a
// field is its safe default.
//
// A host may decode a request from the JSON of a stranger. Only what a stranger may
// choose has a JSON name: what opens the host (Root, Dir, Packages, Plugin, Env) or
// says who asks (Actor, Trigger) is set by Go hosts only.
type Request struct {
	// Language is javascript, typescript or python. Required unless Plugin is
	// set.
	Language string `json:"language,omitempty"`
	// Code is the program.
	Code string `json:"code,omitempty"`
	// File is the name of the program in errors; empty is "main.js" and the like.
	// It is never opened.
	File string `json:"file,omitempty"`
	// Args is what the program sees as args: any JSON. Empty is {}.
	Args json.RawMessage `json:"args,omitempty"`
	// Argv lists the arguments after the file on a command line.
	Argv []string `json:"argv,omitempty"`
	// Intent describes the purpose of the program. It is recorded.
	Intent string `json:"intent,omitempty"`
	// Limits raise or lower the defaults, within those of the policy.
	Limits Limits `json:"limits,omitzero"`
	// Deterministic gives the program a virtual clock and seeded random numbers,
	// so that it can be repeated bit for bit.
	Deterministic bool `json:"deterministic,omitempty"`
	// Seed is the seed of a deterministic run. Zero is a valid seed.
	Seed uint64 `json:"seed,omitempty"`
	// Cache false turns the result cache off for this run. With nil, a result is
	// cached if the same result is certain next time.
	Cache *bool `json:"cache,omitempty"`
	// Session names a session, whose runs share globals, imports and
	// definitions. Empty means none.
	Session string `json:"session,omitempty"`
	// Actor is on whose behalf the program runs. The queue is fair between
	// actors.
	Actor Actor `json:"-"`
	// Trigger is how the run was requested: cli, mcp, api or schedule. Empty
	// means api.
	Trigger string `json:"-"`
	// Root is a folder of the host whose files the program may import. Empty
	// means none.
	Root string `json:"-"`
	// Packages is a folder of the host with pure packages. Empty means none.
	Packages string `json:"-"`
	// Workspace is what the program sees as /workspace. Nil means nothing.
	Workspace hostfns.Workspace `json:"-"`
	// Input is the program's standard input, or the input of a plugin.
	Input []byte `json:"input,omitempty"`

	// Plugin is the path of a foreign Extism plugin, which runs instead of Code.
	Plugin string `json:"-"`
	// PluginDigest is the SHA-256 that the plugin must have, in hex. Empty
	// means any.
	PluginDigest string `json:"-"`
	// PluginConfig is the configuration that the plugin reads with config_get.
	PluginConfig map[string]string `json:"-"`
	// Function is the function of the plugin that is called with Input.
	Function string `json:"function,omitempty"`

	// ID is the run's id. Empty means a fresh one.
	ID string `json:"-"`
	// Table is what the program may reach, instead of the engine's table: each
	// tenant can have one.
	Table *hostfns.Table `json:"-"`
	// Tenant is a name for whose table it is. Sessions of a tenant with a name can
	// sleep, see [Config].Images, and are the tenant's in whichever table a run has.
	// Empty: sessions belong to the table, and end with the engine.
	Tenant string `json:"-"`
	// Asker decides the calls for which the policy says ask. Nil means the
	// table's.
	Asker hostfns.Asker `json:"-"`
	// Client has what MCP servers may ask for where the policy allows it: forms for
	// a person, and a model. Nil means nothing.
	Client hostfns.Client `json:"-"`
	// Env is the environment of the program. It sees the variables that the
	// policy allows.
	Env map[string]string `json:"-"`
	// Dir is the folder of the host from which relative paths of files start.
	// Empty means none.
	Dir string `json:"-"`
	// Journal makes the run durable: what it needs to go on after the end of this
	// process is kept there. Nil: the run ends with the process.
	Journal Journal `json:"-"`
	// Records are the records of the run's journal, in order, if the run goes on. The fields
	// that select the program must equal those of the first process.
	Records [][]byte `json:"-"`
	// Delivered is how much of the output the caller got from the processes before. Nil:
	// what they handed out.
	Delivered *Delivered `json:"-"`
	// ParkAfter is how long a durable run waits for people, timers and signals until it
	// is parked: it leaves memory, and its result has [StatusWaiting] and Parked. Zero:
	// never.
	ParkAfter time.Duration `json:"-"`
	// Signals has what others sent to the run. Nil: nobody can send anything.
	Signals hostfns.Signals `json:"-"`
	// DryRun answers every tool call with a sample of what the tool answers, made
	// from its output schema or its learned type, or else with null, after it was
	// decided and listed.
	DryRun bool `json:"-"`
	// Check compiles the program and does not run it. The value lists the tools
	// that the program refers to, as rows of [server, tool, line, column,
	// explicit, arguments]. A row that is not explicit is not written under tools.
	// The arguments are null if the tool is not called there, and else in the form of
	// schema.ReadPartial in hostfns.
	Check bool `json:"-"`
	// Stdin is read if Input is nil. A run that reads it is never cached.
	Stdin io.Reader `json:"-"`
	// Output receives stdout and stderr while the program runs.
	Output Output `json:"-"`
	// Issued receives the tokens that the run issued, and those in its code,
	// arguments and result, with their values, before Run returns. It is not called
	// if there are none.
	Issued func([]privacy.Issued) `json:"-"`
	// Progress receives the events of the run. It is called from one goroutine
	// at a time and must not block for long.
	Progress func(Event) `json:"-"`
}

// An Actor is on whose behalf a program runs.
type Actor struct {
	ID   string `json:"id,omitempty"`
	Type string `json:"type,omitempty"` // agent, person or service
}

// RunState is what a run that has not ended is doing.
type RunState string

// States of runs.
const (
	RunQueued  RunState = "queued"  // waits for a core, or is not prepared yet
	RunRunning RunState = "running" // computes, or waits for a tool
	RunWaiting RunState = "waiting" // waits only for people
)

// An ActiveRun is a run that has not ended.
type ActiveRun struct {
	ID       string         `json:"id"`
	State    RunState       `json:"state"`
	Actor    Actor          `json:"actor"`
	Language string         `json:"language,omitempty"` // full name; empty for a plugin
	Session  string         `json:"session,omitempty"`
	Started  time.Time      `json:"started"`
	Table    *hostfns.Table `json:"-"` // tells tenants apart
}

// Output receives a running program's output, which also goes into its
// [Result]. A nil writer is skipped. Writes are in the program's order, usually
// whole lines, and never split a character. After an error of a writer it gets
// no more writes, and the run goes on.
type Output struct {
	Stdout, Stderr io.Writer
}

// Language returns the full name of a language from any accepted spelling. An
// unknown one is usage.language.
func Language(name string) (string, error) {
	g, err := guests.Lookup(name)
	return g.Language, err
}

// Limits bound a run. Zero means the default, never unlimited. The smallest
// limit of all layers of a policy applies; a request may raise a default, but
// never exceed a policy.
type Limits = policy.Limits

// stdin returns the standard input of the program, or nil.
func (r *Request) stdin() io.Reader {
	if r.Input != nil {
		return bytes.NewReader(r.Input)
	}
	return r.Stdin
}
