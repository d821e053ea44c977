package javascript_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// references checks a program and returns what the guest reports, a line each.
func references(t *testing.T, code string) string {
	t.Helper()
	h := run(t, code, func(h *host) {
		h.input["check"] = true
		h.input["servers"] = []string{"github", "jira", "mail", "slack", "crm", "logs"}
	})
	if h.outcome != outcomeValue {
		t.Fatalf("%s: outcome %d %s", code, h.outcome, h.document)
	}
	if h.stdout.Len() > 0 || len(h.started) > 0 {
		t.Errorf("%s: a checked program ran: %q, calls %v", code, h.stdout.String(), h.started)
	}
	var rows [][5]any
	if err := json.Unmarshal(h.document, &rows); err != nil {
		t.Fatalf("%s: %v", h.document, err)
	}
	var out []string
	for _, r := range rows {
		out = append(out, fmt.Sprintf("%v:%v %v.%v %v", r[2], r[3], r[0], r[1], r[4]))
	}
	return strings.Join(out, "\n")
}

func TestACheckReportsTheToolsThatAProgramRefersTo(t *testing.T) {
	code := "#!/usr/bin/env -S wexec run\n" +
		"// tools.no.comment()\n" +
		"const é = 'tools.no.text()'; await tools.github.list_commits({});\n" +
		"/* tools.no.block() */ jira.search();\n" +
		"const post = makeMail(); post.send();\n" +
		"console.log(`tools.no.template() ${tools.slack.history({a: {}}) + `x${crm.get()}`} tools.no.more()`);\n" +
		"a.b.c(); tools?.mail?.send(); tools.github\n  .get_commit(1);\n" +
		"const list = [1].map(async (n) => { const f = () => tools.logs.read(n); await f() });\n" +
		"class A { #p = tools.crm.put; static get x() { return mail.list() } }\n" +
		"tools.attempt(() => 1); tools.pii.kind('x'); /['\"]/.test('tools.no.text()') / tools.logs.tail();"
	want := []string{"3:36 github.list_commits true", "4:24 jira.search false", "6:1 console.log false", "6:36 slack.history true",
		"6:71 crm.get false", "7:10 mail.send true", "7:31 github.get_commit true", "9:53 logs.read true",
		"10:16 crm.put true", "10:55 mail.list false", "11:79 logs.tail true"}
	if got := references(t, code); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

func TestAProgramsOwnVariablesAreNoServers(t *testing.T) {
	for code, want := range map[string]string{
		`const { jira, mail: [crm] } = given; jira.search(); crm.get()`:                     "",
		`const list = []; list.map(jira => jira.search()); all(({ mail }, i) => mail.to())`: "",
		`function f(slack, n = 1) { return slack.history(n) }`:                              "",
		`try { tools.a.b() } catch (mail) { mail.send() }`:                                  "1:7 a.b true",
		`import { github } from './mine.js'; github.get_commit(); tools.a.b()`:              "1:58 a.b true",
		`export default async (github) => { github.x(); jira.y() }`:                         "1:48 jira.y false",
		`const tools = { a: { b() {} } }; tools.a.b()`:                                      "",
		`{ let jira = 1; jira.a() } jira.b()`:                                               "1:28 jira.b false",
		`jira.name; tools.a; tools.a.b; tools['a'].c(); x.tools.a.b()`:                      "1:21 a.b true",
		`return tools.a.b`:        "1:8 a.b true",
		"```js\ntools.a.b()\n```": "2:1 a.b true",
	} {
		if got := references(t, code); got != want {
			t.Errorf("%s gives %q, want %q", code, got, want)
		}
	}
}

func TestACheckReportsLiteralArguments(t *testing.T) {
	for code, want := range map[string]string{
		`jira.find({a: "x", n: -1.5, t: true, z: null, u: undefined, "1": 'é', s: ` + "`t`" + `})`:     `{"fields":{"1":"é","a":"x","n":-1.5,"s":"t","t":true,"z":null}}`,
		`tools.jira.find({a: [1, "b", [2], {}], o: {p: {q: 100000, r: 123456789012}}})`:                `{"fields":{"a":[1,"b",[2],{"fields":{}}],"o":{"fields":{"p":{"fields":{"q":100000,"r":123456789012}}}}}}`,
		`jira.find({a: x, b: ` + "`${x}`" + `, c: [...x], d: 1n, e: 1e999, f: () => 1, g: await h()})`: `{"fields":{"a":{},"b":{},"c":{},"d":{},"e":{},"f":{},"g":{}}}`,
		`jira.find({n: 5, a: x ? {z: 1} : 2, b: 1 || 2, c: x?.y, d: x && {z: 1}, e: x ?? 1})`:          `{"fields":{"a":{},"b":{},"c":{},"d":{},"e":{},"n":5}}`,
		`jira.find({a: 1, ...x, b: 2})`:              `{"fields":{"b":2},"open":true}`,
		`jira.find({a: 1, [k]: 2, b: {...x, c: 1}})`: `{"fields":{"b":{"fields":{"c":1},"open":true}},"open":true}`,
		`jira.find({a: 1, a: 2})`:                    `{"fields":{"a":2}}`,
		`jira.find({__proto__: x, a: 1})`:            `{}`,
		`jira.find({a: 1, get b() { return 2 }})`:    `{}`,
		`jira.find()`:          `{"fields":{}}`,
		`jira.find(undefined)`: `{"fields":{}}`,
		`jira.find(x)`:         `{}`,
		`jira.find(...x)`:      `{}`,
		`jira.find("x")`:       `["x"]`,
		`jira.find("x", undefined, y, {a: 1}, undefined)`: `["x",null,{},{"fields":{"a":1}}]`,
		`jira.find([1,,2])`:                                   `[[1,null,2]]`,
		`jira.find([1,,])`:                                    `{}`,
		`jira.find(x ? {a: 1} : {b: 1})`:                      `{}`,
		`const f = tools.jira.find`:                           `null`,
		`return tools?.jira?.find({a: 1})`:                    `{"fields":{"a":1}}`,
		`jira.find({fields: 1, open: true})`:                  `{"fields":{"fields":1,"open":true}}`,
		`jira.find({a: (await jira.find({b: 1})).c, d: 1})`:   `{"fields":{"a":{},"d":1}} {"fields":{"b":1}}`,
		`for (const x of y) { if (x) jira.find({a: 1}) }`:     `{"fields":{"a":1}}`,
		`jira.find([` + strings.Repeat("7,", 40) + `])`:       `[[` + strings.Repeat("7,", 39) + `7]]`,
		`jira.find({a: [` + strings.Repeat("x,", 40) + `1]})`: `{"fields":{"a":[` + strings.Repeat("{},", 40) + `1]}}`,
	} {
		h := run(t, code, func(h *host) { h.input["check"] = true })
		var rows [][6]any
		if err := json.Unmarshal(h.document, &rows); err != nil {
			t.Fatalf("%s: %s", code, h.document)
		}
		var forms []string
		for _, r := range rows {
			var form strings.Builder
			e := json.NewEncoder(&form)
			e.SetEscapeHTML(false)
			if err := e.Encode(r[5]); err != nil {
				t.Fatal(err)
			}
			forms = append(forms, strings.TrimSpace(form.String()))
		}
		if got := strings.Join(forms, " "); got != want {
			t.Errorf("%s gives %s, want %s", code, got, want)
		}
	}
}

func TestTheReportOfACheckIsBounded(t *testing.T) {
	if got := strings.Count(references(t, strings.Repeat("tools.a.b();\n", 5000)), "\n") + 1; got != 1000 {
		t.Errorf("the report has %d rows", got)
	}
	long := run(t, strings.Repeat("tools.a.b({x: '"+strings.Repeat("x", 3000)+"'});\n", 2000), func(h *host) { h.input["check"] = true })
	if len(long.document) > 200_000 {
		t.Errorf("the report has %d bytes", len(long.document))
	}
	nested := strings.Repeat("tools.a.b({a: ", 300) + "1" + strings.Repeat("})", 300)
	if got := strings.Count(references(t, nested), "\n") + 1; got != 300 {
		t.Errorf("%d of 300 nested calls are reported", got)
	}
	deep := strings.Repeat("(() => ", 200) + "tools.a.b()" + strings.Repeat(")", 200)
	if got := references(t, deep); got != "1:1401 a.b true" {
		t.Errorf("deep in functions: %q", got)
	}
}

func TestACheckedProgramThatCannotBeParsedFails(t *testing.T) {
	h := run(t, "tools.a.b(", func(h *host) { h.input["check"] = true })
	if f := h.fault(t); f.Code != "guest.syntax" || f.Line != 1 {
		t.Errorf("got %+v", f)
	}
}
