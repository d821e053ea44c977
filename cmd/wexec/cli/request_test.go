package cli

import "testing"

func TestTheLanguageIsGuessedFromUnparsedArguments(t *testing.T) {
	for _, c := range []struct {
		want string
		args []string
	}{
		{"python", []string{"-l", "py", "-e", "1"}},
		{"javascript", []string{"--language=js", "-e", "1"}},
		{"typescript", []string{"--policy", "policy.yaml", "main.ts"}},
		{"javascript", []string{"main.js", "data.py"}},
		{"python", []string{"-l", "py", "main.js"}},
		{"javascript", []string{"main.js", "--", "-l", "py"}},
		{"", []string{"-e", "1"}},
		{"", []string{"-l"}},
		{"", []string{"-l", "cobol", "main.js"}},
		{"", []string{"-"}},
	} {
		if got := likelyLanguage(c.args); got != c.want {
			t.Errorf("%q: %q, want %q", c.args, got, c.want)
		}
	}
}
