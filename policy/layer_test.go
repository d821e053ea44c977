package policy

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/privacy"
)

func flags(t testing.TB, f Flags) *Policy {
	t.Helper()
	p, err := FromFlags(f)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestNilPolicyDenies(t *testing.T) {
	var p *Policy
	if d := p.Decide(call("a.b", nil)); d.Effect != Deny || d.Message == "" {
		t.Errorf("%+v", d)
	}
	if d := p.DecideNetwork(NetRequest{Host: "example.com", Method: "GET", Port: 443}); d.Effect != Deny {
		t.Errorf("%+v", d)
	}
	if d := p.DecideFile(FileRequest{Path: "/tmp/x"}); d.Effect != Deny {
		t.Errorf("%+v", d)
	}
	if p.AllowsEnv("TZ") || p.Secrets() != nil || p.Files().Read != nil || p.Digest() != "" || p.Limits() != (Limits{}) {
		t.Error("the nil policy gives something")
	}
	if p.DecideLanguage("python").Effect != Allow {
		t.Error("without a policy every language runs")
	}
	if pii := p.PII(); pii.Mode != privacy.Tokenize || !slices.Equal(pii.Detect, privacy.DefaultKinds()) || pii.Reveals("a.b") {
		t.Errorf("%+v", pii)
	}
	if Layer() != nil || Layer(Layered{nil, User}) != nil {
		t.Error("no layers make a policy")
	}
}

func TestZeroDecisionDenies(t *testing.T) {
	if (Decision{}).Effect != Deny || Effect(9).String() != "deny" {
		t.Error("a zero or foreign effect is not deny")
	}
}

func TestLayersTightenAndNeverWiden(t *testing.T) {
	const base = "version: 1\n"
	user := parse(t, base+"tools: {deny: [a.drop], ask: [a.ask], allow: [\"a.*\"]}\n")
	project := parse(t, base+"tools: {deny: [a.one], allow: [\"*\"]}\n")
	denies := parse(t, base+"tools: {deny: [a.two]}\n")
	named := parse(t, base+"tools: {allow: [a.get, b.get]}\n")
	loose := parse(t, base+"default: allow\n")
	all := flags(t, Flags{AllowTool: []string{"*"}, DenyTool: []string{"a.flagged"}})
	for name, c := range map[string]struct {
		layers []Layered
		want   map[string]Effect
	}{
		"only a project": {[]Layered{{project, Project}}, map[string]Effect{"a.get": Allow, "b.get": Allow, "a.one": Deny}},
		"a project under a user": {[]Layered{{project, Project}, {user, User}},
			map[string]Effect{"a.get": Allow, "b.get": Deny, "a.one": Deny, "a.drop": Deny, "a.ask": Ask}},
		"a file that only denies does not restrict other layers": {[]Layered{{denies, User}, {project, Project}},
			map[string]Effect{"a.two": Deny, "b.get": Allow, "a.one": Deny}},
		"a default of allow in the project widens nothing": {[]Layered{{user, System}, {loose, Project}},
			map[string]Effect{"a.get": Allow, "b.get": Deny, "a.ask": Ask}},
		"a named file stays inside the user's": {[]Layered{{user, User}, {named, Named}},
			map[string]Effect{"a.get": Allow, "b.get": Deny, "a.other": Deny}},
		"only flags": {[]Layered{{all, FromCLI}}, map[string]Effect{"x.y": Allow, "a.flagged": Deny}},
		"flags never widen a file": {[]Layered{{user, User}, {all, FromCLI}},
			map[string]Effect{"a.get": Allow, "b.get": Deny, "a.flagged": Deny, "a.ask": Ask}},
		"flags with a file that only denies": {[]Layered{{denies, Named}, {all, FromCLI}},
			map[string]Effect{"a.get": Allow, "a.two": Deny}},
		"an unknown origin counts as named": {[]Layered{{user, "elsewhere"}, {all, FromCLI}},
			map[string]Effect{"a.get": Allow, "b.get": Deny}},
	} {
		p := Layer(c.layers...)
		slices.Reverse(c.layers)
		q := Layer(c.layers...)
		for id, want := range c.want {
			if d := p.Decide(call(id, nil)); d.Effect != want {
				t.Errorf("%s: %s is %v, want %v (%s: %s)", name, id, d.Effect, want, d.Rule, d.Message)
			}
			if d := q.Decide(call(id, nil)); d.Effect != want {
				t.Errorf("%s: another order of layers decides otherwise about %s", name, id)
			}
		}
		if p.Digest() != q.Digest() {
			t.Errorf("%s: the order of layers changes the digest", name)
		}
	}
}

func TestOtherBlocksOfLayersTighten(t *testing.T) {
	a := parse(t, `
version: 1
limits: {time: 10s, memory: 64MiB}
languages: [python, javascript]
env: {allow: [TZ, "LC_*"]}
network: {allow: ["*.example.com"], deny: [bad.example.com]}
approvals: {via: [terminal, mcp], timeout: 5m, remember: session}
pii: {mode: redact, detect: [email], reveal_to: ["a.*"], ignore: ["*@x.y", "*@z.z"], fields: {never: [id]}}
audit: {code: full}
secrets: [{name: S, from: "env:A", to: ["server:a"], as: "env:A"}]
`)
	b := parse(t, `
version: 1
limits: {time: 1m, fuel: 5}
languages: [python, typescript]
env: {allow: [TZ, HOME]}
network: {allow: [api.example.com, other.com]}
approvals: {via: [mcp, socket], timeout: 10m, remember: run}
pii: {mode: tokenize, detect: [phone], reveal_to: [a.b, c.d], ignore: ["*@x.y"], tools: {"a.*": off, "a.b": block}}
audit: {code: none, outputs: none}
secrets: [{name: S, from: "env:B", to: ["server:b"], as: "env:B"}]
`)
	p := Layer(Layered{b, Project}, Layered{a, User})
	if got, want := p.Limits(), (Limits{Time: 10 * time.Second, Memory: 64 << 20, Fuel: 5}); got != want {
		t.Errorf("%+v", got)
	}
	if diff := cmp.Diff([]string{"python"}, p.Languages()); diff != "" {
		t.Error(diff)
	}
	if p.DecideLanguage("typescript").Effect != Deny || p.DecideLanguage("python").Effect != Allow {
		t.Error("languages")
	}
	if !p.AllowsEnv("TZ") || p.AllowsEnv("HOME") || p.AllowsEnv("LC_ALL") {
		t.Error("environment")
	}
	for host, want := range map[string]Effect{"api.example.com": Allow, "www.example.com": Deny, "other.com": Deny, "bad.example.com": Deny} {
		if d := p.DecideNetwork(NetRequest{Host: host, Method: "GET", Port: 443}); d.Effect != want {
			t.Errorf("%s: %v", host, d)
		}
	}
	if diff := cmp.Diff(Approvals{Via: []string{"mcp"}, Timeout: 5 * time.Minute, Remember: "run"}, p.Approvals()); diff != "" {
		t.Error(diff)
	}
	pii := p.PII()
	if pii.Mode != privacy.Redact || !slices.Equal(pii.Detect, []privacy.Kind{"email", "phone"}) || !slices.Equal(pii.Ignore, []string{"*@x.y"}) || pii.Fields.Never != nil {
		t.Errorf("%+v", pii.Config)
	}
	if !pii.Reveals("a.b") || pii.Reveals("a.c") || pii.Reveals("c.d") {
		t.Error("reveal_to")
	}
	if pii.ModeOf("a.b") != privacy.Block || pii.ModeOf("a.c") != privacy.Off || pii.ModeOf("x.y") != privacy.Redact {
		t.Error("modes of tools")
	}
	if got := p.Audit(); got != (Audit{DetailFull, DetailHash, DetailNone}) {
		t.Errorf("%+v", got)
	}
	if s := p.Secrets(); len(s) != 1 || s[0].From != "env:A" {
		t.Errorf("%+v", s)
	}
	none := Layer(Layered{parse(t, "version: 1\nlanguages: [python]\n"), User}, Layered{parse(t, "version: 1\nlanguages: [javascript]\n"), Project})
	if none.DecideLanguage("python").Effect != Deny || none.DecideLanguage("javascript").Effect != Deny || none.Languages() == nil {
		t.Error("files that agree on no language let one run")
	}
}

func TestServersMayAskForWhatEveryFileAllows(t *testing.T) {
	file := func(servers string) *Policy { return parse(t, "version: 1\n"+servers) }
	both := file(`servers: {"*": {elicitation: allow}, git: {elicitation: ask, sampling: allow}}`)
	silent, denies, asks, other := file(""), file(`servers: {git: {elicitation: deny}}`), file(`servers: {git: {elicitation: ask}}`), file(`servers: {other: {elicitation: allow}}`)
	for name, c := range map[string]struct {
		p                     *Policy
		elicitation, sampling Effect
	}{
		"no policy":                  {nil, Deny, Deny},
		"nothing said":               {silent, Deny, Deny},
		"the strictest of a file":    {both, Ask, Allow},
		"a layer that says nothing":  {Layer(Layered{silent, User}, Layered{both, Project}), Ask, Allow},
		"a layer that denies":        {Layer(Layered{denies, User}, Layered{both, Project}), Deny, Deny},
		"a layer that names others":  {Layer(Layered{other, User}, Layered{both, Project}), Deny, Deny},
		"a lower layer that asks":    {Layer(Layered{file(`servers: {git: {elicitation: allow, sampling: allow}}`), User}, Layered{asks, Project}), Ask, Deny},
		"a project without trust":    {Layer(Layered{both.Tightening(), Project}), Deny, Deny},
		"restrictions without trust": {Layer(Layered{denies.Tightening(), Project}, Layered{both, Named}), Deny, Allow},
		"permissions without trust":  {Layer(Layered{both.Tightening(), Project}, Layered{asks, Named}), Ask, Deny},
		"a flag for all tools":       {flags(t, Flags{AllowTool: []string{"*"}}), Deny, Deny},
	} {
		if e, s := c.p.DecideFeature("git", Elicitation).Effect, c.p.DecideFeature("git", Sampling).Effect; e != c.elicitation || s != c.sampling {
			t.Errorf("%s: elicitation %s, sampling %s; want %s and %s", name, e, s, c.elicitation, c.sampling)
		}
	}
	if d := both.DecideFeature("git", Elicitation); !strings.HasSuffix(d.Rule, ":2") {
		t.Errorf("decided by %q", d.Rule)
	}
}

func TestAFlagTurnsDetectionOffOnlyWithoutAPIIBlock(t *testing.T) {
	off := flags(t, Flags{NoPII: true})
	if got := Layer(Layered{off, FromCLI}).PII().Mode; got != privacy.Off {
		t.Errorf("only flags: %s", got)
	}
	silent := parse(t, "version: 1\n")
	if got := Layer(Layered{silent, User}, Layered{off, FromCLI}).PII().Mode; got != privacy.Off {
		t.Errorf("with a file without pii: %s", got)
	}
	said := parse(t, "version: 1\npii: {mode: tokenize}\n")
	if got := Layer(Layered{said, User}, Layered{off, FromCLI}).PII().Mode; got != privacy.Tokenize {
		t.Errorf("with a file that tokenizes: %s", got)
	}
}

func TestFlagsReportEveryProblem(t *testing.T) {
	_, err := FromFlags(Flags{AllowTool: []string{"github", "a.{b"}, AllowNet: []string{"https://x", "x:99999"}, AllowRead: []string{"rel"}})
	if fault.CodeOf(err) != fault.UsageFlag {
		t.Fatal(err)
	}
	want := `--allow-tool: "github" matches no tool: tools are named server.tool (write github.* for all tools of a server)
--allow-tool: "a.{b" has an unmatched {
--allow-net: invalid host "https://x": this is a URL (write api.example.com, *.example.com, 10.0.0.0/8 or an address)
--allow-net: invalid port "99999"
--allow-read: "rel" is not an absolute path`
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Error(diff)
	}
	if p, err := FromFlags(Flags{}); p != nil || err != nil {
		t.Error("flags that say nothing make a policy")
	}
}

func TestDigestChangesWithThePolicy(t *testing.T) {
	a, b := parse(t, "version: 1\n"), parse(t, "version: 1\ndefault: ask\n")
	if a.Digest() == b.Digest() || a.Digest() != parse(t, "version: 1\n").Digest() {
		t.Error("digests")
	}
	if Layer(Layered{a, User}).Digest() == Layer(Layered{a, Project}).Digest() {
		t.Error("the origin plays no part in the digest")
	}
	if Layer(Layered{a, User}).Digest() == Layer(Layered{a, User}, Layered{flags(t, Flags{NoPII: true}), FromCLI}).Digest() {
		t.Error("flags play no part in the digest")
	}
}

func TestLimitsOfEveryMatchingRuleApply(t *testing.T) {
	p := parse(t, `
version: 1
tools:
  ask: [{tool: a.c, limits: {calls: 1}, timeout: 2m}, {tool: "a.?", when: args.q == 1, timeout: 1m}]
  allow:
    - {tool: "a.*", limits: {calls: 9, result: 1MiB, timeout: 9s}, cache: 1h}
    - {tool: a.b, limits: {rate: 3/s, result: 2KiB, timeout: 30s}, cache: 5m}
    - {tool: a.b, when: "false", limits: {calls: 1}}
    - {tool: a.b}
`)
	d := p.Decide(call("a.b", map[string]any{"q": 2}))
	if d.Effect != Allow || len(d.Limits) != 2 || d.Limits.Result() != 2<<10 || d.Limits.Timeout() != 9*time.Second || d.Cache != 5*time.Minute || d.Rule != "policy.yaml:6" {
		t.Errorf("%+v", d)
	}
	d = p.Decide(call("a.c", map[string]any{"q": 1}))
	if d.Effect != Ask || d.Timeout != time.Minute || d.Cache != 0 || len(d.Limits) != 2 {
		t.Errorf("%+v", d)
	}
	faulty := p.Decide(call("a.b", nil))
	if faulty.Effect != Ask || len(faulty.Warnings) != 1 {
		t.Errorf("a faulting ask does not ask: %+v", faulty)
	}
}

// Calls are counted by the name of a rule, so that no two rules may share one.
func TestRulesHaveDistinctNames(t *testing.T) {
	p := parse(t, "version: 1\ntools: {allow: [{tool: a.b, limits: {calls: 1}}, {tool: a.c, limits: {calls: 2}}]}\n")
	b, c := p.Decide(call("a.b", nil)), p.Decide(call("a.c", nil))
	if b.Limits[0].Rule != "policy.yaml:2:17" || c.Limits[0].Rule != "policy.yaml:2:50" || b.Rule != "policy.yaml:2" {
		t.Errorf("%+v %+v", b, c)
	}
	user := parse(t, "version: 1\ntools: {allow: [{tool: a.b, limits: {calls: 3}}]}\n")
	project := parse(t, "version: 1\ntools: {allow: [{tool: a.b, limits: {calls: 4}}]}\n")
	both := Layer(Layered{user, User}, Layered{project, Project}).Decide(call("a.b", nil))
	if len(both.Limits) != 2 || both.Limits[0].Rule == both.Limits[1].Rule {
		t.Errorf("%+v", both.Limits)
	}
}

func TestLimitsAreReadAndWrittenAsBytesAndMilliseconds(t *testing.T) {
	var l Limits
	if err := l.UnmarshalJSON([]byte(`{"fuel": 5e9, "memory": "64MiB", "time": 1500, "output": 10, "tool_calls": 3}`)); err != nil {
		t.Fatal(err)
	}
	if want := (Limits{Fuel: 5e9, Memory: 64 << 20, Time: 1500 * time.Millisecond, Output: 10, ToolCalls: 3}); l != want {
		t.Errorf("%+v", l)
	}
	data, err := l.MarshalJSON()
	if err != nil || string(data) != `{"fuel":5000000000,"memory":67108864,"time":1500,"output":10,"tool_calls":3}` {
		t.Errorf("%s %v", data, err)
	}
	for _, bad := range []string{`{"fule": 1}`, `{"time": -1}`, `{"memory": "x"}`, `{"fuel": 1e30}`, `[]`} {
		if err := new(Limits).UnmarshalJSON([]byte(bad)); fault.CodeOf(err) != fault.UsageFlag {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if (Limits{}).OrDefaults() != DefaultLimits() {
		t.Error("zero limits are not the defaults")
	}
	held := Limits{Time: time.Second}.Tighten(Limits{Time: time.Minute, Output: 5 << 20}).OrDefaults()
	if held.Time != time.Second || held.Output != 5<<20 || held.Fuel != DefaultLimits().Fuel {
		t.Errorf("a request raises what the policy says, or cannot raise a default: %+v", held)
	}
	if err := (Limits{Parallel: -1}).Check(); fault.CodeOf(err) != fault.UsageFlag {
		t.Error(err)
	}
}

func TestAnAllowThatDependsOnAnnotationsHasAWarning(t *testing.T) {
	p := parse(t, "version: 1\nvars: {reads: tool.annotations.readOnlyHint}\ntools: {allow: [{tool: \"a.*\", when: vars.reads}]}\n")
	yes := true
	r := call("a.b", nil)
	if d := p.Decide(r); d.Effect != Deny {
		t.Errorf("a hint that was not given counts as given: %+v", d)
	}
	r.Tool.Annotations.ReadOnly = &yes
	if d := p.Decide(r); d.Effect != Allow || len(d.Warnings) != 1 {
		t.Errorf("%+v", d)
	}
}

func TestConditionsSeeTheRequest(t *testing.T) {
	yes := true
	r := call("s.t", map[string]any{"n": 3.0, "f": 1.5, "s": "x", "l": []any{"a", 2.0}, "o": map[string]any{"k": nil}})
	r.Run = RunFacts{ID: "r", Language: "python", Intent: "why", Trigger: "mcp", Deterministic: true}
	r.Actor = Actor{"me", "person"}
	r.Calls = map[string]int{"s.t": 2}
	r.Tool.Annotations.Idempotent = &yes
	for _, when := range []string{
		`args.n == 3 && args.n + 1 == 4 && args.f > 1 && args.f * 2.0 == 3.0`, `args.l[0] == "a" && args.l[1] == 2 && size(args.l) == 2`,
		`args.o.k == null && has(args.o.k) && !has(args.zzz)`, `args.?zzz.orValue(7) == 7`, `"n" in args && !("m" in args)`,
		`run.id == "r" && run.language == "python" && run.intent == "why" && run.trigger == "mcp" && run.deterministic`,
		`actor.id == "me" && actor.type == "person"`, `tool.server == "s" && tool.name == "t"`,
		`tool.annotations.idempotentHint && has(tool.annotations.idempotentHint) && !has(tool.annotations.readOnlyHint)`,
		`tool.annotations.destructiveHint && tool.annotations.openWorldHint && !tool.annotations.readOnlyHint`,
		`calls["s.t"] == 2 && calls["x.y"] == 0`, `now.getHours("Europe/Berlin") == 11 && now.getHours() == 10 && now.getHours("+02:00") == 12`,
		`now > timestamp("2026-01-01T00:00:00Z") && now.getDayOfWeek("UTC") == 4`, `args.s.matches("^[a-z]$")`,
		`args.l.exists(e, e == "a") && ["a", "b"].all(e, e != "c")`, `sets.contains(["x", "y"], [args.s])`, `args.s.upperAscii() == "X"`,
	} {
		p := parse(t, "version: 1\ntools: {allow: [{tool: s.t, when: "+quoteYAML(when)+"}]}\n")
		if d := p.Decide(r); d.Effect != Allow {
			t.Errorf("%s: %v", when, d.Warnings)
		}
	}
}

// A condition that costs too much is stopped and counts as failed.
func TestARunawayConditionIsStopped(t *testing.T) {
	p := parse(t, `
version: 1
tools:
  deny:
    - tool: a.b
      when: args.l.all(x, args.l.all(y, args.l.all(z, x + y + z >= 0)))
  allow: ["a.*"]
`)
	big := make([]any, 2000)
	for i := range big {
		big[i] = float64(i)
	}
	start := time.Now()
	d := p.Decide(call("a.b", map[string]any{"l": big}))
	if d.Effect != Deny || d.Rule != "policy.yaml:5" {
		t.Errorf("%+v", d)
	}
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
	if d := p.Decide(call("a.b", map[string]any{"l": []any{-1.0}})); d.Effect != Allow {
		t.Errorf("%+v", d)
	}
}
