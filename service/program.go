package service

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/telemetry"
	"github.com/wexec/wexec/internal/text"
	"github.com/wexec/wexec/policy"
	"github.com/wexec/wexec/store"
	"github.com/wexec/wexec/tasks"
)

// A Principal is who makes a request, as the token says.
type Principal struct {
	store.Token
	Profile string // of the tenant, through which the request came; or ""
}

// subset is what programs of the principal may reach.
func (p Principal) subset() config.Subset {
	return config.Subset{Tools: p.Tools, Profile: p.Profile}
}

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
	Seed          uint64          `json:"seed,omitempty" jsonschema:"where the random numbers of a deterministic run begin"`
	Cache         *bool           `json:"cache,omitempty" jsonschema:"false turns the result cache off"`
	Session       string          `json:"session,omitempty" jsonschema:"a name: keeps globals between runs"`
	Workspace     string          `json:"workspace,omitempty" jsonschema:"the id of a workspace: the program sees it as /workspace"`
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
	if p.Workspace != "" && p.Session != "" {
		return fault.New(fault.UsageFlag, "a run has a session or a workspace, not both").WithHint("leave out one of them")
	}
	if p.Session != "" {
		if err := checkSessionName(p.Session); err != nil {
			return err
		}
	}
	p.Language = language
	return p.Limits.Check()
}

// checkSessionName refuses names that sessions of clients do not have.
func checkSessionName(name string) error {
	if name == "" || len(name) > maxName || !utf8.ValidString(name) || strings.ContainsRune(name, '/') || strings.ContainsFunc(name, unicode.IsControl) {
		return fault.New(fault.UsageFlag, "the name of a session has 1 to %d bytes, without / and control characters", maxName)
	}
	return nil
}

// Run is a run as the API shows it.
type Run struct {
	engine.Result
	State    store.State `json:"state"`
	Actor    string      `json:"actor,omitempty"`
	Language string      `json:"language,omitempty"`
	Intent   string      `json:"intent,omitempty"`
	Code     string      `json:"code,omitempty"`
	Digests  *Digests    `json:"digests,omitempty" jsonschema:"the policy has keep: false, so the store has digests instead of the text of the run: these, and those in provenance"`
}

// Digests are what a store has of the output of a run whose policy keeps no text.
type Digests struct {
	Stdout string `json:"stdout_sha256,omitempty"`
	Stderr string `json:"stderr_sha256,omitempty"`
}

// request is what the store keeps to start a run.
type request struct {
	Program
	By      engine.Actor `json:"by"`
	Tools   []string     `json:"tools,omitempty"`
	Profile string       `json:"profile,omitempty"`
	Trigger string       `json:"trigger"`
	Quotas  store.Quotas `json:"quotas,omitzero"`  // of the token
	Model   string       `json:"model,omitempty"`  // of the token
	Parent  string       `json:"parent,omitempty"` // the span of the caller, see telemetry.Parent
	// Journal is the fence of the last lease whose holder keeps a journal. Without a
	// record in the journal, such a run has done nothing yet.
	Journal int64 `json:"journal,omitempty"`

	// Digests says that the policy keeps no text: then Sealed has the request until the
	// run has ended, and the fields of this one that have text are empty.
	Digests *Digests      `json:"digests,omitempty"`
	Sealed  *store.Sealed `json:"sealed,omitempty"`
}

// stored returns the request as the store keeps it, and the digest that is the same if
// a client sends it again, which may be in another span.
func (r request) stored(ctx context.Context) (data []byte, digest string, err error) {
	if data, err = json.Marshal(r); err == nil {
		sum := sha256.Sum256(data)
		digest = hex.EncodeToString(sum[:])
		if r.Parent = telemetry.Parent(ctx); r.Parent != "" {
			data, err = json.Marshal(r)
		}
	}
	if err != nil {
		return nil, "", fault.New(fault.UsageFlag, "read the request: %w", err)
	}
	return data, digest, nil
}

// runOf is the run of a request in this process, as the store keeps it.
func runOf(ctx context.Context, who Principal, req engine.Request) (run store.Run, asked request, err error) {
	language, err := engine.Language(req.Language)
	if err != nil {
		return run, asked, err
	}
	asked = request{By: req.Actor, Tools: who.Tools, Profile: who.Profile, Trigger: req.Trigger, Quotas: who.Quotas, Model: who.Model,
		Program: Program{Language: req.Language, Code: req.Code, File: req.File, Args: req.Args, Argv: req.Argv, Intent: req.Intent, Limits: req.Limits,
			Deterministic: req.Deterministic, Seed: req.Seed, Cache: req.Cache, Session: req.Session, Dry: req.DryRun}}
	stored, _, err := asked.stored(ctx)
	asked.Parent = telemetry.Parent(ctx)
	return store.Run{Tenant: who.Tenant, ID: req.ID, Actor: req.Actor.ID, Token: who.ID, Language: language, Session: req.Session,
		Intent: req.Intent, Program: req.Code, Request: stored}, asked, err
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

// refusalOf is the end of a run that does not begin, or does not go on. It has what is
// known of the run.
func refusalOf(run store.Run, err error) (*engine.Result, error) {
	res, err := refusal(run.ID, err)
	var before engine.Result
	if len(run.Result) == 0 || json.Unmarshal(run.Result, &before) != nil {
		return res, err
	}
	before.Status, before.Error, before.Waiting, before.Parked = res.Status, res.Error, nil, nil
	return &before, err
}

// causeOf returns why a context ended, or err if it did not end. The store returns a
// plain "context canceled" then.
func causeOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// errorOf is an error as results show it.
func errorOf(err error) *engine.Error {
	code := fault.CodeOf(err)
	return &engine.Error{Code: code, Class: code.Class(), Message: err.Error(), Hint: fault.HintOf(err)}
}

// redacted is a request of a person with what is kept of its texts.
func redacted(redact func(string) string, req engine.Request) engine.Request {
	req.Code, req.Intent = redact(req.Code), redact(req.Intent)
	req.Args = redactedJSON(redact, req.Args)
	argv := make([]string, len(req.Argv))
	for i, a := range req.Argv {
		argv[i] = redact(a)
	}
	req.Argv = argv
	return req
}

// redactedResult is a result with what is kept of its texts: the program may have
// returned what the person typed.
func redactedResult(redact func(string) string, res engine.Result) *engine.Result {
	res.Value, res.Stdout, res.Stderr = redactedJSON(redact, res.Value), redact(res.Stdout), redact(res.Stderr)
	if res.Error != nil {
		e := *res.Error
		for _, text := range []*string{&e.Message, &e.Hint, &e.Name, &e.Excerpt, &e.Stack} {
			*text = redact(*text)
		}
		res.Error = &e
	}
	return &res
}

// redactedJSON redacts a document. One in which a number was replaced becomes a text.
func redactedJSON(redact func(string) string, doc json.RawMessage) json.RawMessage {
	if len(doc) == 0 {
		return doc
	}
	out := []byte(redact(string(doc)))
	if !json.Valid(out) {
		out, _ = json.Marshal(string(out)) // a text always has a JSON form
	}
	return out
}

// withoutText replaces the texts of a run, before it is accepted, with what is sealed
// until its end.
func (k *Keys) withoutText(ctx context.Context, run *store.Run) error {
	var r request
	err := json.Unmarshal(run.Request, &r)
	if err == nil {
		var sealed store.Sealed
		if sealed, err = k.seal(ctx, requestPurpose(run.Tenant, run.ID), r); err == nil {
			run.Request, err = json.Marshal(request{Program: Program{Language: r.Language}, By: r.By, Tools: r.Tools, Trigger: r.Trigger, Quotas: r.Quotas, Model: r.Model, Journal: r.Journal, Digests: &Digests{}, Sealed: &sealed})
		}
	}
	if err != nil {
		return fault.New(fault.StoreUnavailable, "seal the request of the run: %w", err)
	}
	run.Intent, run.Program = "", ""
	return nil
}

// requestPurpose is what a request without text is sealed for.
func requestPurpose(tenant, run string) string {
	return "request of run " + run + " of tenant " + tenant
}

// requestOf reads the request of a run. The second one is what the store has of it.
func (k *Keys) requestOf(ctx context.Context, run store.Run) (asked, stored request, err error) {
	if err := json.Unmarshal(run.Request, &stored); err != nil || stored.Sealed == nil {
		return stored, stored, err
	}
	return asked, stored, k.open(ctx, requestPurpose(run.Tenant, run.ID), *stored.Sealed, &asked)
}

// textDigest returns the SHA-256 of a text in hexadecimal digits; "" of no text.
func textDigest(text string) string {
	if text == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// outcomeOf is the end of a run as it is stored.
func outcomeOf(res *engine.Result, runErr error) (store.Outcome, error) {
	if runErr != nil && res.Error == nil {
		res.Error = errorOf(runErr)
	}
	data, err := json.Marshal(res)
	if err != nil {
		return store.Outcome{}, fmt.Errorf("encode the result: %w", err)
	}
	summary, err := json.Marshal(summaryOf(*res))
	if err != nil {
		return store.Outcome{}, fmt.Errorf("encode the summary of the result: %w", err)
	}
	o := store.Outcome{Status: string(res.Status), Code: fault.CodeOf(runErr), Result: data, Summary: summary, Next: afterAttempt, Review: res.Workspace != nil && res.Workspace.Changed > 0,
		Uses: []store.Use{{Kind: "run", Count: 1, Fuel: res.Usage.Fuel, Tokens: res.Usage.TokensOut, Time: time.Duration(res.Usage.WallMS) * time.Millisecond}}}
	if res.Error != nil {
		o.Error = res.Error.Message
		o.Uses[0].Failed = 1
	}
	if c := res.Usage.Cost; c != nil {
		money := int64(math.Round((c.Models + c.Program) * 1e6))
		o.Uses[0].Money = money
		o.Uses = append(o.Uses, store.Use{Kind: "model", Name: c.Model, Count: 1, Failed: o.Uses[0].Failed, Tokens: res.Usage.TokensOut, Money: money})
	}
	if in := res.Usage.TokensInTools; in > 0 {
		saved := store.Use{Kind: "saved", Count: 1, Tokens: max(in-res.Usage.TokensOut, 0)}
		if c := res.Usage.Cost; c != nil && c.Plain > 0 {
			saved.Money = int64(math.Round((c.Plain - c.Program) * 1e6))
		}
		o.Uses = append(o.Uses, saved)
	}
	byTool := map[string]int{}
	for _, c := range res.Calls {
		i, ok := byTool[c.Tool]
		if !ok {
			i = len(o.Uses)
			byTool[c.Tool] = i
			o.Uses = append(o.Uses, store.Use{Kind: "tool", Name: c.Tool})
		}
		u := &o.Uses[i]
		u.Count++
		u.Time += time.Duration(c.MS) * time.Millisecond
		if !c.OK {
			u.Failed++
		}
	}
	return o, nil
}

// afterAttempt returns what follows an attempt of a task.
func afterAttempt(t store.Task, end store.TaskEnd) store.TaskStep {
	return tasks.After(t, end, engine.NewID(), rand.Float64())
}

// maxSummary bounds the message of an error in lists.
const maxSummary = 300

// summaryOf is what lists show of a result: no value, no output, no calls.
func summaryOf(res engine.Result) engine.Result {
	out := engine.Result{RunID: res.RunID, Status: res.Status, Started: res.Started, Usage: res.Usage, Privacy: res.Privacy, Cache: res.Cache}
	if e := res.Error; e != nil {
		out.Error = &engine.Error{Code: e.Code, Class: e.Class, Message: text.Clip(e.Message, maxSummary), Name: text.Clip(e.Name, maxSummary), Tool: e.Tool, File: e.File, Line: e.Line, Column: e.Column}
	}
	return out
}
