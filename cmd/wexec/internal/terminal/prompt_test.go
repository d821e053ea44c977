package terminal

import (
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/wexec/wexec/hostfns"
)

// TestAnAnswerToAWithdrawnQuestionDoesNotCount has a program take its harmless
// question back at the moment when a person says yes to it, and ask for more.
func TestAnAnswerToAWithdrawnQuestionDoesNotCount(t *testing.T) {
	in, person := io.Pipe()
	defer person.Close()
	asker := NewAsker(newPrinter(io.Discard, false), in)
	withdrawn, withdraw := context.WithCancel(t.Context())
	withdraw()
	_, done := asker.listen() // the harmless question is open
	done()                    // and taken back
	if _, err := asker.Ask(withdrawn, hostfns.Question{Tool: "shop.look"}); err == nil {
		t.Fatal("a question that was withdrawn has an answer")
	}
	// The second line is read when the first has been dealt with.
	if _, err := fmt.Fprint(person, "yes\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprint(person, "?\n"); err != nil {
		t.Fatal(err)
	}
	go func() { // again and again: what is typed before the question opens does not count
		for {
			if _, err := fmt.Fprint(person, "no\n"); err != nil {
				return
			}
		}
	}()
	reply, err := asker.Ask(t.Context(), hostfns.Question{Tool: "shop.transfer"})
	if err != nil || reply.Approved {
		t.Errorf("%+v: %v", reply, err)
	}
}

func TestAQuestionShowsInvisibleCharacters(t *testing.T) {
	for text, want := range map[string]string{
		"plain words, ünïcode 日本": "plain words, ünïcode 日本",
		"two\nlines\tand a tab":   `two\nlines\tand a tab`,
		"\n\n":                    `\n\n`,
		"\x1b[2J":                 `\u{1b}[2J`,
		"a\u2028b\u3164c":         `a\u{2028}b\u{3164}c`,
		"a\u00a0\u3000b":          `a\u{a0}\u{3000}b`,
		"pay \u202eevil":          `pay \u{202e}evil`,
		"a\ufe0f":                 `a\u{fe0f}`,
	} {
		if got := Visible(text); got != want {
			t.Errorf("%q is shown as %s", text, got)
		}
	}
}
