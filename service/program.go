package service

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/policy"
	"github.com/wexec/wexec/store"
)

// A Principal is who makes a request, as the token says.
type Principal struct{ store.Token }

// Actor is on whose behalf the principal's programs run.
func (p Principal) Actor() engine.Actor {
	return engine.Actor{ID: cmp.Or(p.Name, p.ID), Type: p.Type}
}

// Program is what a client may ask a server to run. Nothing in it opens the host.
type Program struct {
	Language      string          `json:"language" jsonschema:"javascript, typescript or python"`
	Code          string          `json:"code" jsonschema:"the program"`
	File          string          `json:"file,omitempty" jsonschema:"its name in errors"`
	Args          json.RawMessage `json:"args,omitempty" jsonschema:"what the program sees as args"`
	Argv          []string        `json:"argv,omitempty" jsonschema:"what the program sees as its command line, after its name"`
	Intent        string          `json:"intent,omitempty" jsonschema:"its purpose in words"`
	Limits        policy.Limits   `json:"limits,omitzero" jsonschema:"limits below those of the tenant"`
	Deterministic bool            `json:"deterministic,omitempty" jsonschema:"a virtual clock and seeded random numbers"`
	Seed          uint64          `json:"seed,omitempty" jsonschema:"of a deterministic run"`
	Cache         *bool           `json:"cache,omitempty" jsonschema:"false turns the result cache off"`
	Session       string          `json:"session,omitempty" jsonschema:"a name: keeps globals between runs"`
	Input         string          `json:"input,omitempty" jsonschema:"standard input"`
	Dry           bool            `json:"dry,omitempty" jsonschema:"answer tool calls with samples, call no tool"`
}

// Bounds of a program.
const (
	maxCode   = 4 << 20
	maxIntent = 4 << 10
	maxName   = 200
)

// check refuses what cannot be run.
func (p *Program) check() error {
	language, err := engine.Language(p.Language)
	switch {
	case err != nil:
		return err
	case strings.TrimSpace(p.Code) == "":
		return fault.New(fault.UsageFlag, "code is empty").WithHint("set code to the program")
	case len(p.Code) > maxCode:
		return fault.New(fault.UsageFlag, "code has %d bytes, more than %d", len(p.Code), maxCode)
	case len(p.Intent) > maxIntent:
		return fault.New(fault.UsageFlag, "intent has %d bytes, more than %d", len(p.Intent), maxIntent)
	case len(p.Session) > maxName || len(p.File) > maxName:
		return fault.New(fault.UsageFlag, "session and file have at most %d bytes", maxName)
	}
	p.Language = language
	return p.Limits.Check()
}

// Run is a run as the API shows it.
type Run struct {
	engine.Result
	State    store.State `json:"state"`
	Actor    string      `json:"actor,omitempty"`
	Language string      `json:"language,omitempty"`
	Intent   string      `json:"intent,omitempty"`
	Code     string      `json:"code,omitempty"`
}

// request is what the store keeps to start a run.
type request struct {
	Program
	By      engine.Actor `json:"by"`
	Tools   []string     `json:"tools,omitempty"`
	Trigger string       `json:"trigger"`
	Quotas  store.Quotas `json:"quotas,omitzero"`  // of the token
	Model   string       `json:"model,omitempty"`  // of the token
	Parent  string       `json:"parent,omitempty"` // the span of the caller, see telemetry.Parent
}

// runKey names a run.
type runKey struct{ tenant, id string }

// refusal is the result of a run that was not started.
func refusal(id string, err error) (*engine.Result, error) {
	res := &engine.Result{RunID: id, Status: engine.StatusError, Started: time.Now().UTC(), Cache: "off", Error: errorOf(err)}
	if res.Error.Class == fault.ClassLimit {
		res.Status = engine.StatusLimit
	}
	return res, err
}

// errorOf is an error as results show it.
func errorOf(err error) *engine.Error {
	code := fault.CodeOf(err)
	return &engine.Error{Code: code, Class: code.Class(), Message: err.Error(), Hint: fault.HintOf(err)}
}
