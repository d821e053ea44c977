package policy

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/wexec/wexec/fault"
)

func TestGlobMatch(t *testing.T) {
	for _, c := range []struct {
		pattern string
		fits    []string
		not     []string
	}{
		{"*", []string{"a.b", ""}, nil},
		{"github.*", []string{"github.x", "github.", "github.a.b"}, []string{"github", "githubx.a", "GitHub.x"}},
		{"github.{get,list}_*", []string{"github.get_x", "github.list_"}, []string{"github.getx", "github.set_x"}},
		{"{a,b{c,d}}.x", []string{"a.x", "bc.x", "bd.x"}, []string{"b.x", "a.xx"}},
		{"a.{,un}set", []string{"a.set", "a.unset"}, []string{"a.xset"}},
		{"?.get", []string{"a.get"}, []string{".get", "ab.get"}},
		{"a*b*c.d", []string{"abc.d", "axbxc.d", "abbcc.d"}, []string{"ac.d"}},
		{"mcp__github__delete_*", []string{"github.delete_x"}, []string{"mcp__github__delete_x"}},
		{"mcp__github", []string{"github.x"}, []string{"github"}},
		{"mcp__{a,b}__c", []string{"a.c", "b.c"}, nil},
		{"a.b", []string{"a.b"}, []string{"a.B", "a.bb", "a.b\x00", "a．b"}},
	} {
		g, err := ParseGlob(c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range c.fits {
			if !g.Match(name) {
				t.Errorf("%s does not fit %s", c.pattern, name)
			}
		}
		for _, name := range c.not {
			if g.Match(name) {
				t.Errorf("%s fits %q", c.pattern, name)
			}
		}
		if g.String() != c.pattern {
			t.Errorf("%s reads %s", c.pattern, g)
		}
	}
	for _, bad := range []string{"", "a[b]", "a{b", "a}b", "}{", strings.Repeat("a", 501), strings.Repeat("{a,b}", 20), strings.Repeat("{", 100)} {
		if _, err := ParseGlob(bad); fault.CodeOf(err) != fault.UsagePolicy {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if (Glob{}).Match("") {
		t.Error("the zero glob fits something")
	}
}

// A name can be split in two ways if a server's name contains __. Deny and ask
// rules apply to both, allow rules to the first only.
func TestAmbiguousNamesAreDeniedBothWays(t *testing.T) {
	p := parse(t, "version: 1\ntools: {deny: [mcp__a__b__drop], ask: [mcp__a__b__c__d], allow: [\"a.*\", \"a__b.*\", mcp__x__y__z]}\n")
	for id, want := range map[string]Effect{"a.b__drop": Deny, "a__b.drop": Deny, "a.b__c__d": Ask, "a__b.c__d": Ask, "a.other": Allow, "x.y__z": Allow, "x__y.z": Deny} {
		if d := p.Decide(call(id, nil)); d.Effect != want {
			t.Errorf("%s: %v, want %v", id, d.Effect, want)
		}
	}
}

// A glob without wildcards matches only itself. With a star instead of any part
// of a name it still matches that name.
func TestAStarMatchesAnyPartOfAName(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z]{1,6}\.[a-z_]{1,10}`).Draw(t, "name")
		i := rapid.IntRange(0, len(name)).Draw(t, "from")
		j := rapid.IntRange(i, len(name)).Draw(t, "to")
		for _, pattern := range []string{name, name[:i] + "*" + name[j:], name[:i] + "*" + name[i:j] + "*" + name[j:]} {
			g, err := ParseGlob(pattern)
			if err != nil || !g.Match(name) {
				t.Fatalf("%s does not fit %s: %v", pattern, name, err)
			}
			if exact, err := ParseGlob(name); err != nil || !g.Covers(exact) {
				t.Fatalf("%s does not cover %s: %v", pattern, name, err)
			}
		}
	})
}

// Covers is never true by mistake.
func TestCoversIsSound(t *testing.T) {
	parts := []string{"a", "b", ".", "*", "?", "{a,b}", "{a*,.}"}
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 1, 5).Draw(t, label), "")
		}
		outer, err := ParseGlob(draw("outer"))
		if err != nil {
			t.Fatal(err)
		}
		inner, err := ParseGlob(draw("inner"))
		if err != nil {
			t.Fatal(err)
		}
		name := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "."}), 0, 6).Draw(t, "name"), "")
		if outer.Covers(inner) && inner.Match(name) && !outer.Match(name) {
			t.Fatalf("%s is said to cover %s, and does not fit %s", outer, inner, name)
		}
	})
}

func TestMatchingIsNeverExponential(t *testing.T) {
	g, err := ParseGlob(strings.Repeat("*a", 200) + "b")
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	g.Match(strings.Repeat("a", 100_000))
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
}
