package hostfns

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
)

// serverOf returns a provider of one server whose calls answer with its name.
func serverOf(server string, tools ...string) *fakeProvider {
	p := &fakeProvider{call: func(context.Context, Call) (Answer, error) { return Answer{Kind: Text, Data: []byte(server)}, nil }}
	for _, name := range tools {
		p.tools = append(p.tools, catalogue.Tool{Server: server, Name: name})
	}
	return p
}

func TestAToolOfOneServerIsNotTakenForOneOfAnother(t *testing.T) {
	inner := serverOf("corp.jira", "search", "close")
	inner.list = func(context.Context) ([]catalogue.Tool, error) {
		return nil, fault.New(fault.UpstreamUnavailable, "down")
	}
	var log bytes.Buffer
	table, err := NewTable(mustPolicy(t, allowAll), audit.None(), serverOf("corp", "jira.search", "jira_close", "jira", "ok"), inner, serverOf("tools", "corp.ok", "mine"))
	if err != nil {
		t.Fatal(err)
	}
	r := openRun(t, table.With(Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}), RunInfo{})
	answered := func(name, want string) {
		t.Helper()
		a, err := r.Call(t.Context(), name, nil)
		if got := string(a.Data); got != want {
			t.Errorf("%s is answered by %q, want %q: %v", name, got, want, err)
		}
	}
	// The server corp.jira is down, and still has its names.
	for _, name := range []string{"corp.jira.search", "corp.jira.close", "mcp__corp.jira__search", "tools.corp.jira.search"} {
		answered(name, "")
	}
	answered("corp.jira", "corp")
	answered("corp.jira_close", "corp")
	answered("tools.corp.ok", "corp")
	answered("tools.mine", "tools")
	inner.list = nil
	inner.changed("corp.jira")
	for _, name := range []string{"corp.jira.search", "corp_jira.search", "mcp__corp.jira__search", "tools.corp.jira.search", "corp.jira.close"} {
		answered(name, "corp.jira")
	}
	if err := table.Close(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"jira.search", "server corp ", "server corp.jira", "rename"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not say %q: %s", want, log.String())
		}
	}
}

func TestAToolThatIsAddedLaterIsNotTakenForOneOfAnotherServer(t *testing.T) {
	outer := serverOf("corp", "ok")
	table, err := NewTable(mustPolicy(t, allowAll), audit.None(), outer, serverOf("corp.jira", "search"))
	if err != nil {
		t.Fatal(err)
	}
	r := openRun(t, table, RunInfo{})
	for range 2 {
		if a, err := r.Call(t.Context(), "corp.jira.search", nil); string(a.Data) != "corp.jira" {
			t.Errorf("answered by %q: %v", a.Data, err)
		}
		outer.tools = append(outer.tools, catalogue.Tool{Server: "corp", Name: "jira.search"}, catalogue.Tool{Server: "corp", Name: "jira.steal"})
		outer.changed("corp")
	}
	_, err = r.Call(t.Context(), "corp.jira.steal", nil)
	wantCode(t, err, fault.ToolUnknown)
}

func TestTheIDIsPreferredToOtherSpellings(t *testing.T) {
	r := newRun(t, mustPolicy(t, allowAll), audit.None(), serverOf("corp", "jira.search"), serverOf("corpJira", "search"))
	for name, want := range map[string]string{"corp.jira.search": "corp", "corpJira.search": "corpJira", "corp_jira.search": "corpJira", "corp.jira_search": "corp"} {
		if a, err := r.Call(t.Context(), name, nil); string(a.Data) != want {
			t.Errorf("%s is answered by %q, want %q: %v", name, a.Data, want, err)
		}
	}
}

// bare returns a name without what a person cannot see.
func bare(s string) string {
	return strings.TrimSpace(norm.NFKC.String(strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) || r == 0x2800 ||
			r != ' ' && unicode.IsSpace(r) || r >= 0xe0000 && r <= 0xe0fff {
			return -1
		}
		return r
	}, s)))
}

func TestNoTwoToolsLookAlike(t *testing.T) {
	letters := []rune("abJ._- \u00ad\u200b\u200d\u2060\ufeff\u202e\u2066\ufe00\ufe0f\U000e0100\U000e01ef\U000e0041\U000e0001\u3164\uffa0\u115f\u1160\u2800\u034f\u17b4\u180b\u180e\u00a0\u3000\uff41\u0301\u00e1\u212a\t\n\x00")
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringOfN(rapid.SampledFrom(letters), 1, 5, -1)
		servers := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "a.b", "a.b.a", "J", "tools"}), 1, 4, rapid.ID).Draw(t, "servers")
		var providers []Provider
		for _, s := range servers {
			providers = append(providers, serverOf(s, rapid.SliceOfN(name, 1, 12).Draw(t, "tools")...))
		}
		table, err := NewTable(nil, audit.None(), providers...)
		if err != nil {
			t.Fatal(err)
		}
		defer table.Close()
		c, errs := table.Catalogue(context.Background())
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		seen := map[string]catalogue.Tool{}
		for _, tool := range c.Tools() {
			look := bare(tool.ID())
			if other, ok := seen[look]; ok {
				t.Fatalf("%+q and %+q look alike", tool.ID(), other.ID())
			}
			seen[look] = tool
			if found, err := table.resolve(context.Background(), tool.ID()); err != nil || found.Tool.Server != tool.Server || found.Name != tool.Name {
				t.Fatalf("%+q leads to another tool: %v", tool.ID(), err)
			}
		}
	})
}

func TestANameThatAPersonCannotReadIsRefused(t *testing.T) {
	for _, name := range []string{"e\u202evil", "a\ufe0f", "a\U000e0101", "a\u3164", "\uffa0a", "a\u115f", "a\u2800", "a\u00adb", "a\U000e0061", "a\u200b", "a\u034fb", "a ", " a", "a  b", "\u00a0", "\uff41", "e\u0301", "\u212a"} {
		if _, err := NewTable(nil, audit.None(), serverOf(name, "t")); err == nil {
			t.Errorf("a server may be called %+q", name)
		}
		table, err := NewTable(nil, audit.None(), serverOf("s", name, "ok"))
		if err != nil {
			t.Fatal(err)
		}
		if c, _ := table.Catalogue(t.Context()); len(c.Tools()) != 1 {
			t.Errorf("a tool may be called %+q", name)
		}
	}
	for _, name := range []string{"list_commits", "list-commits", "a.b", "a b", "suchen_größe", "検索", "поиск", "ค้นหา"} {
		if _, err := NewTable(nil, audit.None(), serverOf(name, "t")); err != nil {
			t.Error(err)
		}
	}
}

func TestCataloguesAreMadeOnceForEachListing(t *testing.T) {
	down := serverOf("down", "x")
	down.list = func(context.Context) ([]catalogue.Tool, error) {
		return nil, fault.New(fault.UpstreamUnavailable, "down")
	}
	up := serverOf("up", "x")
	table, err := NewTable(mustPolicy(t, allowAll), audit.None(), up, down)
	if err != nil {
		t.Fatal(err)
	}
	first, errs := table.Catalogue(t.Context())
	again, _ := table.Catalogue(t.Context())
	known, _ := table.Known()
	if len(errs) != 1 || again != first || known != first || table.Offered(again) != table.Offered(first) {
		t.Errorf("a catalogue is made again although no listing has changed: %v", errs)
	}
	up.tools = append(up.tools, catalogue.Tool{Server: "up", Name: "y"})
	up.changed("up")
	if c, _ := table.Catalogue(t.Context()); c == first || !slices.ContainsFunc(c.Tools(), func(tool catalogue.Tool) bool { return tool.Name == "y" }) {
		t.Error("a change is not seen")
	}
}
