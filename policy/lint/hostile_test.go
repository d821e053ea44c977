package lint

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/wexec/wexec/internal/yamldoc"
	"github.com/wexec/wexec/policy"
)

// The worst files within the bounds are read and checked in bounded time.
func TestHostileFilesTakeBoundedTime(t *testing.T) {
	if testing.Short() {
		t.Skip("short: takes seconds")
	}
	lines := func(n int, f func(i int) string) string {
		var b strings.Builder
		b.WriteString("version: 1\n")
		for i := range n {
			b.WriteString(f(i))
		}
		return b.String()
	}
	fill := func(s string) string {
		return "version: 1\n" + strings.Repeat(s, (yamldoc.MaxFile-20)/len(s))
	}
	for name, text := range map[string]string{
		"nested lists":     "version: 1\nx:\n" + strings.Repeat("- ", 100_000),
		"nested questions": strings.Repeat("? ", 100_000),
		"nested brackets":  "a: " + strings.Repeat("[", 100_000),
		"nested mappings":  lines(900, func(i int) string { return strings.Repeat(" ", i) + "a:\n" }),
		"keys":             lines(yamldoc.MaxKeys-2, func(i int) string { return fmt.Sprintf("k%d: 1\n", i) }),
		"too many keys":    lines(60_000, func(i int) string { return fmt.Sprintf("k%d: 1\n", i) }),
		"entries":          "version: 1\nx: [" + strings.Repeat("a,", yamldoc.MaxFile/2-20) + "]",
		"commas":           "version: 1\nx: [" + strings.Repeat(",", yamldoc.MaxFile-40) + "]",
		"anchors":          fill("&a "),
		"tags":             fill("! "),
		"documents":        fill("---\n"),
		"block texts":      fill("|\n"),
		"quotes":           fill(`"`),
		"a long text":      "version: 1\nname: " + strings.Repeat("x", yamldoc.MaxFile-40),
		"a chain of vars": lines(3000, func(i int) string {
			return map[bool]string{true: "vars:\n"}[i == 0] + fmt.Sprintf("  v%d: vars.v%d\n", i, i+1)
		}),
		"a long condition":  "version: 1\nvars: {a: \"" + strings.Repeat("1+", 100_000) + "1\"}",
		"a deep condition":  "version: 1\nvars: {a: \"" + strings.Repeat("(", 8000) + "\"}",
		"wide braces":       "version: 1\ntools: {allow: [\"" + strings.Repeat("{a,b}", 90) + ".x\"]}",
		"many stars":        "version: 1\ntools: {allow: [\"" + strings.Repeat("*a", 200) + "\"]}",
		"more than allowed": strings.Repeat(" ", 2*yamldoc.MaxFile),
	} {
		start := time.Now()
		p, err := policy.Parse("p.yaml", []byte(text))
		if err == nil {
			p.Decide(policy.Request{Tool: tool("a.b"+strings.Repeat("a", 200), "")})
			Check(p, testCatalogue())
		}
		if took := time.Since(start); took > time.Minute {
			t.Errorf("%s: %v", name, took)
		}
	}
}
