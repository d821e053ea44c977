package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/policy"
	"github.com/wexec/wexec/review"
)

// reviewedTable is a table with the tool math.add and rules.
func reviewedTable(t testing.TB, sink audit.Sink, rules string) *hostfns.Table {
	t.Helper()
	p, err := policy.Parse("p.yaml", []byte("version: 1\ntools: {allow: [math.add]}\n"+rules))
	if err != nil {
		t.Fatal(err)
	}
	table, err := hostfns.NewTable(p, sink, add())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { table.Close() })
	return table
}

const (
	calmProgram    = "return await tools.math.add({a: 1, b: 2})"
	evilProgram    = `const run = eval("1 + 1")` + "\n" + `return globalThis.constructor.constructor("return this")() ? 1 : run`
	unseenProgram  = `const name = ["a", "d", "d"].sort(() => -1).sort().join(""); return await tools.math[args.tool]({a: 1, b: 2})`
	unseenToolArgs = `{"tool": "add"}`
)

func TestAReviewDecidesBeforeTheRun(t *testing.T) {
	e := newReal(t, Config{})
	sink := &audit.Memory{}
	run := func(rules, code string, asker hostfns.Asker) (*Result, error) {
		sink = &audit.Memory{}
		return e.Run(t.Context(), Request{Language: JavaScript, Code: code, Args: []byte(unseenToolArgs), Table: reviewedTable(t, sink, rules), Asker: asker})
	}
	start := func() *audit.Start { return sink.Events()[0].Start }

	res, err := run("", evilProgram, nil)
	if res.Review != nil || start().Review != nil {
		t.Errorf("a policy without risk has a review: %v", err)
	}
	res, err = run("risk: {high: {deny: true}}", calmProgram, nil)
	if err != nil || string(res.Value) != "3" || res.Review == nil || res.Review.Level != review.Low || !slices.Equal(res.Review.Capabilities.Tools, []string{"math.add"}) {
		t.Errorf("%v %+v", err, res.Review)
	}
	if r := start().Review; r == nil || r.Level != "low" || !slices.Equal(r.Tools, []string{"math.add"}) || len(r.CapabilitiesSHA256) != 64 {
		t.Errorf("the record has %+v", r)
	}
	res, err = run("risk: {high: {deny: true}}", evilProgram, nil)
	if fault.CodeOf(err) != fault.DeniedRisk || res.Status != StatusDenied || !strings.Contains(res.Error.Hint, "p.yaml:3") || res.Usage.Fuel != 0 {
		t.Errorf("%v %+v", err, res)
	}
	if r := res.Review; r == nil || !r.Level.Reaches(review.High) || len(r.Findings) == 0 || r.Findings[0].Line == 0 {
		t.Errorf("%+v", r)
	}
	var kinds []string
	for _, ev := range sink.Events() {
		kinds = append(kinds, string(ev.Type))
	}
	if got := strings.Join(kinds, " "); got != "start decision end" || sink.Events()[1].Decision.Kind != "risk" {
		t.Errorf("the record holds %s", got)
	}
	if len(start().Review.Rules) == 0 {
		t.Error("the record names no rules")
	}

	if _, err = run("risk: {high: {ask: true}}", evilProgram, nil); fault.CodeOf(err) != fault.DeniedApproval {
		t.Errorf("with nobody to ask: %v", err)
	}
	var asked hostfns.Question
	answer := func(yes bool) hostfns.Asker {
		return askerFunc(func(_ context.Context, q hostfns.Question) (hostfns.Reply, error) {
			asked = q
			return hostfns.Reply{Approved: yes, By: "terminal"}, nil
		})
	}
	if _, err = run("risk: {high: {ask: true, limits: {cpu: 50%, memory: 100MiB}}}\napprovals: {timeout: 30s}", evilProgram, answer(true)); fault.CodeOf(err) == fault.DeniedApproval {
		t.Errorf("approved: %v", err)
	}
	var shown hostfns.Review
	if err := json.Unmarshal(asked.Args, &shown); err != nil || shown.Level == "low" || len(shown.Findings) == 0 || asked.Expires.Sub(asked.Since) != 30*time.Second {
		t.Errorf("the question has %s, %v", asked.Args, err)
	}
	if l := start().Limits; l.CPU != 50 || l.Memory != 100<<20 {
		t.Errorf("the limits are %+v", l)
	}
	if _, err = run("risk: {high: {ask: true}}", evilProgram, answer(false)); fault.CodeOf(err) != fault.DeniedApproval || !strings.Contains(err.Error(), "a person said no") {
		t.Errorf("declined: %v", err)
	}

	if res, err = run("risk: {unseen: deny}", unseenProgram, nil); err == nil || len(res.Calls) != 1 || res.Calls[0].Rule != "p.yaml:3" || !strings.Contains(err.Error(), "did not foresee") {
		t.Errorf("a call that was not foreseen: %v %+v %+v", err, res.Calls, res.Review)
	}
	if _, err = run("risk: {unseen: ask}", unseenProgram, answer(true)); err != nil || asked.Tool != "math.add" {
		t.Errorf("approved: %v, asked about %s", err, asked.Tool)
	}
	if _, err = run("risk: {unseen: allow}", unseenProgram, nil); err != nil {
		t.Error(err)
	}
	if _, err = run("risk: {unseen: deny}", calmProgram, nil); err != nil {
		t.Errorf("a call that was foreseen: %v", err)
	}
}

func TestAProgramThatCannotBeReviewedIsOfHighRisk(t *testing.T) {
	e := newReal(t, Config{})
	code := strings.Repeat("[", 60_000) + strings.Repeat("]", 60_000)
	a, err := e.Review(t.Context(), Reviewing{Language: JavaScript, Code: code})
	if err != nil || a.Level != review.High || len(a.Findings) == 0 || a.Findings[0].Message == "" {
		t.Errorf("%v %+v", err, a)
	}
	again, err := e.Review(t.Context(), Reviewing{Language: "js", Code: code})
	if err != nil || again.Level != a.Level {
		t.Errorf("from the cache: %v %+v", err, again)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Review(ctx, Reviewing{Language: JavaScript, Code: code + ";"}); fault.CodeOf(err) != fault.Cancelled {
		t.Errorf("after the caller gave up: %v", err)
	}
	if err := e.Forget(func(text []byte) bool { return strings.Contains(string(text), "findings") }); err != nil || e.reviews.Bytes() != 0 {
		t.Errorf("reviews are kept: %v", err)
	}
}

func TestAReviewOfARunShowsTokens(t *testing.T) {
	e := newReal(t, Config{})
	code := `const a = await fetch("https://eve.moneypenny@secret.example/" + args.x); return eval("eve.moneypenny@secret.example")`
	sink := &audit.Memory{}
	res, _ := e.Run(t.Context(), Request{Language: JavaScript, Code: code, Table: reviewedTable(t, sink, "risk: {low: {deny: true}}")})
	if res.Review == nil {
		t.Fatal("there is no review")
	}
	for what, v := range map[string]any{"result": res, "record": sink.Events()[0].Start.Review} {
		if data, err := json.Marshal(v); err != nil || strings.Contains(string(data), "eve.moneypenny@secret") {
			t.Errorf("the %s has a value: %s", what, data)
		}
	}
}

// A program that is made to cost a review much costs at most the limits of the
// parser, and is high with the reason.
func TestAReviewOfABombIsBounded(t *testing.T) {
	e := newReal(t, Config{})
	for name, c := range map[string]struct{ language, code string }{
		"5 MB":           {JavaScript, strings.Repeat("x = 1;\n", 5<<20/7)},
		"a long literal": {Python, "x = '" + strings.Repeat("a", 4<<20) + "'"},
		"brackets":       {JavaScript, strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)},
		"calls":          {TypeScript, strings.Repeat("f(", 10_000) + strings.Repeat(")", 10_000)},
		"parts":          {JavaScript, strings.Repeat("a.b.c=[1,2,3];", 15_000)},
	} {
		a, err := e.Review(t.Context(), Reviewing{Language: c.language, Code: c.code})
		if err != nil || a.Level != review.High || !slices.ContainsFunc(a.Findings, func(f review.Finding) bool { return f.Rule == "review-limit" && f.Message != "" }) {
			t.Errorf("%s: %v %+v", name, err, a)
		}
	}
}

// remote is a provider whose server is reached over the network.
type remote struct{ hostfns.Provider }

func (remote) Remote(string) bool { return true }

func TestRiskNarrowsTheNetwork(t *testing.T) {
	e := newReal(t, Config{})
	for reach, want := range map[string]string{"policy": "3", "servers": "3", "none": "denied"} {
		p, err := policy.Parse("p.yaml", []byte("version: 1\ntools: {allow: [math.add]}\nrisk: {low: {network: "+reach+"}}\n"))
		if err != nil {
			t.Fatal(err)
		}
		table, err := hostfns.NewTable(p, audit.None(), remote{add()})
		if err != nil {
			t.Fatal(err)
		}
		res, err := e.Run(t.Context(), Request{Language: JavaScript, Code: calmProgram, Table: table})
		got := string(res.Value)
		if err != nil {
			got = string(res.Status)
		}
		if got != want {
			t.Errorf("%s: %s, %v", reach, got, err)
		}
		_ = table.Close()
	}
}

func TestALimitOfTheProcessorIsKept(t *testing.T) {
	e := newReal(t, Config{})
	code := "let n = 0; for (let i = 0; i < 3e6; i++) n += i % 7; return n"
	begun := time.Now()
	res, err := e.Run(t.Context(), Request{Language: JavaScript, Code: code, Limits: Limits{CPU: 20, Time: time.Minute}})
	if err != nil {
		t.Fatal(err)
	}
	wall, busy := time.Since(begun), time.Duration(res.Usage.GuestMS)*time.Millisecond
	if busy > 50*time.Millisecond && wall < 3*busy {
		t.Errorf("it computed for %v in %v", busy, wall)
	}
}

// A tool that is new or changed is found for five minutes, and the review that is kept
// does not hide it.
func TestAReviewFindsNewTools(t *testing.T) {
	e := newReal(t, Config{})
	seen := map[string]time.Time{}
	table := reviewedTable(t, audit.None(), "risk: {medium: {deny: true}}").With(hostfns.Options{Seen: func(c *catalogue.Catalogue) map[string]time.Time {
		if _, ok := c.Lookup("math.add"); !ok {
			t.Error("the catalogue has no tools")
		}
		return seen
	}})
	for _, c := range []struct {
		age  time.Duration
		want fault.Code
	}{{0, ""}, {time.Minute, fault.DeniedRisk}, {6 * time.Minute, ""}} {
		if seen = map[string]time.Time{}; c.age > 0 {
			seen["math.add"] = time.Now().Add(-c.age)
		}
		res, err := e.Run(t.Context(), Request{Language: JavaScript, Code: calmProgram, Table: table})
		if fault.CodeOf(err) != c.want || c.want != "" && (res.Review == nil || res.Review.Findings[0].Rule != "new-tool") {
			t.Errorf("seen since %v: %v %+v", c.age, err, res.Review)
		}
	}
}

// BenchmarkReview reviews 200 lines of an ordinary program that was not reviewed
// before, with the parse in the guest.
func BenchmarkReview(b *testing.B) {
	e := newReal(b, Config{})
	for language, block := range map[string]string{
		JavaScript: `const issues = await tools.github.list_issues({ state: "open", page: 1 });
const byUser = {};
for (const issue of issues) {
  const user = issue.user?.login ?? "unknown";
  byUser[user] = (byUser[user] || 0) + 1;
  if (issue.labels.some((l) => l.name === "bug")) {
    console.log("bug " + issue.number + ": " + issue.title.slice(0, 40));
  }
}
const top = Object.entries(byUser).sort((a, b) => b[1] - a[1]).slice(0, 3);
`,
		TypeScript: `interface Issue { number: number; title: string; user?: { login: string } }
const issues: Issue[] = await tools.github.list_issues({ state: "open", page: 1 });
const byUser: Record<string, number> = {};
for (const issue of issues) {
  const user = issue.user?.login ?? "unknown";
  byUser[user] = (byUser[user] || 0) + 1;
  console.log("bug " + issue.number + ": " + issue.title.slice(0, 40));
}
const top: [string, number][] = Object.entries(byUser).sort((a, b) => b[1] - a[1]);
console.log(top.slice(0, 3));
`,
		Python: `issues = tools.github.list_issues(state="open", page=1)
by_user = {}
for issue in issues:
    user = (issue.get("user") or {}).get("login", "unknown")
    by_user[user] = by_user.get(user, 0) + 1
    if any(l["name"] == "bug" for l in issue["labels"]):
        print(f"bug {issue['number']}: {issue['title'][:40]}")
top = sorted(by_user.items(), key=lambda kv: -kv[1])[:3]
for name, count in top:
    print(name, count)
`,
	} {
		b.Run(language, func(b *testing.B) {
			var lines strings.Builder
			for i := range 20 {
				lines.WriteString(regexp.MustCompile(`\b(issues|byUser|by_user|top|Issue)\b`).ReplaceAllString(block, fmt.Sprintf("${1}%d", i)))
			}
			for i := 0; b.Loop(); i++ {
				comment := "// "
				if language == Python {
					comment = "# "
				}
				a, err := e.Review(b.Context(), Reviewing{Language: language, Code: fmt.Sprint(lines.String(), comment, i)})
				if err != nil || a.Level != review.Low {
					b.Fatal(err, a)
				}
			}
		})
	}
}
