package engine

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/policy"
)

func TestExcerptsPointAtTheColumn(t *testing.T) {
	for _, c := range []struct {
		text         string
		line, column int
		want         string
	}{
		{"let x", 7, 5, "   7 | let x\n     |     ^"},
		{"\tx", 1, 2, "   1 |  x\n     |  ^"},
		{"x", 12, 0, "  12 | x"},
		{"", 1, 1, ""},
		{"x", 0, 1, ""},
		{"é€x", 1, 3, "   1 | é€x\n     |   ^"},
	} {
		if got := excerpt(c.text, c.line, c.column); got != c.want {
			t.Errorf("%q: %q", c.text, got)
		}
	}
	long := excerpt(strings.Repeat("a", 5000)+"X"+strings.Repeat("b", 5000), 1, 5001)
	lines := strings.Split(long, "\n")
	if len(lines[0]) > maxExcerpt+10 || lines[0][strings.IndexByte(lines[1], '^')] != 'X' {
		t.Errorf("a long line: %q", long)
	}
}

func TestRunIDsSortByTime(t *testing.T) {
	now := time.Now()
	a, b := newID(now), newID(now.Add(2*time.Millisecond))
	c := newID(now)
	if len(a) != 26 || a >= b || a == c {
		t.Errorf("%s %s", a, b)
	}
}

func TestPersonalDataLeavesOnlyAsTokensAndAGoHostCanReveal(t *testing.T) {
	rules, err := policy.FromFlags(policy.Flags{AllowTool: []string{"*"}})
	if err != nil {
		t.Fatal(err)
	}
	who := hostfns.Func("crm.who", func(context.Context, struct{}) (map[string]string, error) {
		return map[string]string{"mail": "grace.hopper@acme-corp.io"}, nil
	})
	table, err := hostfns.NewTable(rules, audit.None(), who)
	if err != nil {
		t.Fatal(err)
	}
	e := newTiny(t, Config{Table: table})
	var streamed strings.Builder
	res, err := tiny(t, e, "O write to ada.lovelace@acme-\nO corp.io now\nc crm.who {}", func(r *Request) { r.Output.Stdout = &streamed })
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{string(res.Value), res.Stdout, streamed.String()} {
		if strings.Contains(text, "acme") || !strings.Contains(text, "EMAIL") {
			t.Errorf("%s", text)
		}
	}
	if got := string(res.Reveal()); !strings.Contains(got, "grace.hopper@acme-corp.io") {
		t.Errorf("revealed: %s", got)
	}
	if res.Privacy == nil || res.Privacy.Counts["email"] == 0 {
		t.Errorf("%+v", res.Privacy)
	}
}

func TestInputAndStreamedOutputKeepTheirOrder(t *testing.T) {
	e := newTiny(t, Config{})
	var both strings.Builder
	res, err := tiny(t, e, "o one\nw two\ni\no three", func(r *Request) {
		r.Stdin = strings.NewReader("from stdin\n")
		r.Output = Output{Stdout: &both, Stderr: &both}
	})
	if err != nil {
		t.Fatal(err)
	}
	if both.String() != "one\ntwo\nfrom stdin\nthree\n" || res.Stdout != "one\nfrom stdin\nthree\n" || res.Stderr != "two\n" {
		t.Errorf("%q %q %q", both.String(), res.Stdout, res.Stderr)
	}
}

func TestWarmHasInstancesReadyAndTellsOfIt(t *testing.T) {
	e := newTiny(t, Config{Ready: 3})
	var events []string
	if err := e.Warm(context.Background(), func(ev Event) { events = append(events, string(ev.Type)+" "+ev.Text) }, "js"); err != nil {
		t.Fatal(err)
	}
	if len(events) == 0 || events[len(events)-1] != "done quickjs" {
		t.Errorf("%v", events)
	}
	g, err := e.guests.Get(context.Background(), JavaScript, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := g.Ready(); n != 3 {
		t.Errorf("%d instances are ready", n)
	}
	if err := e.Warm(context.Background(), nil, "cobol"); err == nil {
		t.Error("an unknown language was prepared")
	}
}
