package cli

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestToolsAreFoundWhereTheyAreWrittenOut(t *testing.T) {
	code := "#!/usr/bin/env -S wexec run\n" +
		"// tools.no.comment()\n" +
		"const é = 'tools.no.text()'; await tools.github.list_commits({});\n" +
		"/* tools.no.block() */ jira.search();\n" +
		"const mail = makeMail(); mail.send();\n" +
		"console.log(`tools.no.template() ${tools.slack.history({a: {}}) + `x${crm.get()}`} tools.no.more()`);\n" +
		"a.b.c(); tools?.mail?.send(); tools.github\n  .get_commit(1);\n" +
		"'it''s'; \"open\ntools.logs.read()"
	var got []string
	for _, m := range mentions(code) {
		got = append(got, fmt.Sprintf("%d:%d %s.%s %v", m.line, m.column, m.server, m.tool, m.sure))
	}
	want := []string{"3:36 github.list_commits true", "4:24 jira.search false", "6:1 console.log false", "6:36 slack.history true",
		"6:71 crm.get false", "7:10 mail.send true", "7:31 github.get_commit true", "10:1 logs.read true"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

func TestWhatAProgramNamesItselfIsNoTool(t *testing.T) {
	for code, want := range map[string]string{
		`const quote = /["'` + "`" + `]/g; tools.a.b()`:                    "a.b true",
		`x = s.replace(/\/[/'"]/, "tools.no.no()"); tools.a.b()`:           "s.replace false,a.b true",
		`return /'/.test(s) ? tools.a.b() : 1`:                             "a.b true",
		`const half = n / 2; const q = "tools.x.y()"; tools.a.b() / 2`:     "a.b true",
		`const { jira, mail: [crm] } = given; jira.search(); crm.get()`:    "",
		`list.map(jira => jira.search()); all(({ mail }, i) => mail.to())`: "list.map false",
		`function f(slack, n = 1) { return slack.history(n) }`:             "",
		`try { tools.a.b() } catch (mail) { mail.send() }`:                 "a.b true",
		`import { github } from './mine.js'; github.get_commit()`:          "",
	} {
		var got []string
		for _, m := range mentions(code) {
			got = append(got, fmt.Sprintf("%s.%s %v", m.server, m.tool, m.sure))
		}
		if strings.Join(got, ",") != want {
			t.Errorf("%s gives %q, want %q", code, got, want)
		}
	}
}

func TestBlankingKeepsEveryPlace(t *testing.T) {
	for _, code := range []string{"", "`", "`${", "`${`${`${", "'", "/*", "//", "/", "/[/", "a=/\\", "\"\\", "`\\", "}}}{{{`}`${}}`", strings.Repeat("`${", 50000), strings.Repeat("= /", 50000)} {
		best := time.Hour
		for try := 0; try < 5 && best > 2*time.Second; try++ { // a busy machine is slow now and then
			begun := time.Now()
			if got := withoutText(code); len(got) != len(code) || strings.Count(got, "\n") != strings.Count(code, "\n") {
				t.Errorf("%.20q became %.20q", code, got)
			}
			best = min(best, time.Since(begun))
		}
		if best > 2*time.Second {
			t.Errorf("%.20q took %v", code, best)
		}
	}
}

func TestWhatTheGuestFoundIsNotTrusted(t *testing.T) {
	for _, bad := range []string{``, `null`, `{}`, `[1]`, `[[]]`, `[["a"]]`, `[[1,2,"x",null,3]]`} {
		if got := mentionsOf([]byte(bad)); len(got) != 0 {
			t.Errorf("%s gives %v", bad, got)
		}
	}
	if got := mentionsOf([]byte(`[["a","b",3,4,true]]`)); len(got) != 1 || got[0] != (mention{"a", "b", 3, 4, true}) {
		t.Errorf("got %v", got)
	}
}
