package python_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// checked returns what the guest reports on a program: a line for each row.
func checked(t *testing.T, code string) string {
	t.Helper()
	h := run(t, code, func(h *host) { h.input["check"] = true })
	if h.kind != outcomeValue || len(h.started) > 0 {
		t.Fatalf("%s: outcome %d %s, calls %v", code, h.kind, h.document, h.started)
	}
	var rows [][6]json.RawMessage
	if err := json.Unmarshal(h.document, &rows); err != nil {
		t.Fatalf("%s: %v", h.document, err)
	}
	var out []string
	for _, r := range rows {
		var form bytes.Buffer
		if err := json.Compact(&form, r[5]); err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%s:%s %s.%s %s", r[2], r[3], bytes.Trim(r[0], `"`), bytes.Trim(r[1], `"`), strings.ReplaceAll(form.String(), `"`, "'")))
	}
	return strings.Join(out, "\n")
}

func TestACheckReportsLiteralArguments(t *testing.T) {
	for code, want := range map[string]string{
		`github.list(owner="x", n=-1.5, t=True, z=None)`:          `1:1 github.list {'fields':{'owner':'x','n':-1.5,'t':true,'z':null},'open':false}`,
		`tools.github.list({"a": [1, (2,)], "b": {}})`:            `1:1 github.list {'fields':{'a':[1,[2]],'b':{'fields':{},'open':false}},'open':false}`,
		`github.list(a=x, b=f"{x}", c=[*x], d=b"1", e=1j, f=...)`: `1:1 github.list {'fields':{'a':{},'b':{},'c':{},'d':{},'e':{},'f':{}},'open':false}`,
		`github.list(a=1, **x)`:                                   `1:1 github.list {'fields':{'a':1},'open':true}`,
		`github.list({"a": 1, **x, "b": 2}, c=3)`:                 `1:1 github.list {'fields':{'b':2,'c':3},'open':true}`,
		`github.list({"a": 1, k: 2})`:                             `1:1 github.list {'fields':{},'open':true}`,
		`github.list({"a": 1}, a=2)`:                              `1:1 github.list {'fields':{'a':2},'open':false}`,
		`github.list()`:                                           `1:1 github.list {'fields':{},'open':false}`,
		`github.list(x)`:                                          `1:1 github.list {}`,
		`github.list(*x)`:                                         `1:1 github.list {}`,
		`github.list("x", y)`:                                     `1:1 github.list ['x',{}]`,
		`github.list("x")`:                                        `1:1 github.list ['x']`,
		`github.list("x", a=1)`:                                   `1:1 github.list {}`,
		`f = tools.github.list`:                                   `1:5 github.list null`,
		`github.list(a=1e999, b=1 << 5, c=-x)`:                    `1:1 github.list {'fields':{'a':{},'b':{},'c':{}},'open':false}`,
		"from tools.github import list as l\nl(a=1)":              "1:1 github.list null\n2:1 github.list {'fields':{'a':1},'open':false}",
		"from tools.github import list\nlist = 1\nlist(a=1)":      "1:1 github.list null",
		`import asyncio` + "\n" + `await asyncio.gather(tools.aio.github.list(a="x"))`: "2:22 github.list {'fields':{'a':'x'},'open':false}",
	} {
		if got := checked(t, code); got != want {
			t.Errorf("%s gives\n%s\nwant\n%s", code, got, want)
		}
	}
}

func TestTheReportOfACheckIsBounded(t *testing.T) {
	got := checked(t, strings.Repeat("github.list(a='"+strings.Repeat("x", 3000)+"')\n", 2000))
	if n := strings.Count(got, "\n") + 1; n != 1000 || len(got) > 200_000 {
		t.Errorf("the report has %d rows and %d bytes", n, len(got))
	}
	if got := checked(t, "github.list("+strings.Repeat("[", 60)+strings.Repeat("]", 60)+", 1)"); !strings.HasSuffix(got, "]],1]") {
		t.Errorf("deep: %q", got)
	}
}
