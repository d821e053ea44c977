package text

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPrefix(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{
		{"", 3, ""}, {"abc", 3, "abc"}, {"abcd", 3, "abc"}, {"abc", 0, ""},
		{"aé", 2, "a"}, {"aé", 3, "aé"}, {"日本", 5, "日"}, {"😀", 3, ""},
		{"a\xff", 2, "a�"}, {"\xff\xfe", 1, "�"},
	} {
		if got := Prefix(c.in, c.n); got != c.want {
			t.Errorf("Prefix(%q, %d) = %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

func TestClip(t *testing.T) {
	for _, c := range []struct {
		in          string
		n           int
		bytes, rune string
	}{
		{"", 2, "", ""}, {"ab", 2, "ab", "ab"}, {"abc", 2, "ab…", "ab…"}, {"abc", 0, "…", "…"},
		{"éé", 2, "é…", "éé"}, {"ééé", 2, "é…", "éé…"}, {"日本", 2, "…", "日本"},
		{"\xffab", 2, "�a…", "�a…"}, {"\xff", 1, "�", "�"},
	} {
		if got := Clip(c.in, c.n); got != c.bytes {
			t.Errorf("Clip(%q, %d) = %q, want %q", c.in, c.n, got, c.bytes)
		}
		if got := ClipRunes(c.in, c.n); got != c.rune {
			t.Errorf("ClipRunes(%q, %d) = %q, want %q", c.in, c.n, got, c.rune)
		}
	}
}

func TestOneLine(t *testing.T) {
	for in, want := range map[string]string{
		"": "", " a ": "a", "a\n\tb\r\nc": "a b c", "a\x00b\x1b[2J": "a b [2J", "a\u0085b\u2028c": "a b c", "\xff": "�",
	} {
		if got := OneLine(in); got != want {
			t.Errorf("OneLine(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain, 日本 é\n\tx": "plain, 日本 é\n\tx", "a\x1b[31mb\x7f\u0085": "a[31mb", "a\u202eb\u2066c\u200f": "abc",
		"a\u200bb\ufeff\u00ad": "ab", "a\u2028b\u2029": "ab", "a\U000e0041b": "ab", "a\xffb": "a�b", "a\r\n": "a\n",
	} {
		if got := Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"plain, 日本 é": "plain, 日本 é", "a\x1b[2J": `a\u{1b}[2J`, "a\u202eb": `a\u{202e}b`, "a\u200bb": `a\u{200b}b`,
		"a\u00a0b": `a\u{a0}b`, "a\u3164": `a\u{3164}`, "a\ufe0f": `a\u{fe0f}`, "\xff": `\u{fffd}`, "\ue000": `\u{e000}`,
		"a\n\tb\r": `a\u{a}\u{9}b\u{d}`, "\U000e0041": `\u{e0041}`, "\u2028": `\u{2028}`,
	} {
		if got := Visible(in); got != want {
			t.Errorf("Visible(%q) = %q, want %q", in, got, want)
		}
	}
	if got := VisibleLines("a\n\tb\r"); got != "a\n\tb"+`\u{d}` {
		t.Errorf("VisibleLines = %q", got)
	}
}

func TestName(t *testing.T) {
	for in, want := range map[string]string{"env": "env", "a b": "a b", "a\nb": `"a\nb"`, strings.Repeat("x", 9): "xxxxxxxx…"} {
		if got := Name(in, 8); got != want {
			t.Errorf("Name(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("a\x1b[2J\u202e\xff日本", 5)
	f.Fuzz(func(t *testing.T, s string, n int) {
		n = min(max(n, 0), 1000)
		for name, got := range map[string]string{"Prefix": Prefix(s, n), "Clip": Clip(s, n), "ClipRunes": ClipRunes(s, n),
			"OneLine": OneLine(s), "Clean": Clean(s), "Visible": Visible(s), "VisibleLines": VisibleLines(s), "Name": Name(s, n)} {
			if !utf8.ValidString(got) {
				t.Errorf("%s(%q) is not valid UTF-8: %q", name, s, got)
			}
		}
		if got := utf8.RuneCountInString(ClipRunes(s, n)); got > n+1 {
			t.Errorf("ClipRunes(%q, %d) has %d characters", s, n, got)
		}
		if got := Clean(s); strings.ContainsFunc(got, func(r rune) bool { return r != '\n' && r != '\t' && Unsafe(r) }) {
			t.Errorf("Clean(%q) = %q", s, got)
		}
	})
}
