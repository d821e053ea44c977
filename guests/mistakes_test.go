package guests_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/hostfns/files"
)

// TestMistakesAreExplained runs programs with the mistakes that models make and
// reads what they are told: the code, the place in their own text, and words of
// the message and the hint. testdata/mistakes.txt has them, each as its language,
// its text and a line "==> CODE LINE:COLUMN | MESSAGE | HINT".
func TestMistakesAreExplained(t *testing.T) {
	data, err := os.ReadFile("testdata/mistakes.txt")
	if err != nil {
		t.Fatal(err)
	}
	table, err := hostfns.NewTable(nil, audit.None(), files.New())
	if err != nil {
		t.Fatal(err)
	}
	e := newEngine(t)
	count := map[string]int{}
	for _, block := range strings.Split(strings.TrimSpace(string(data)), "\n\n") {
		head, want, ok := strings.Cut(block, "\n==> ")
		language, code, there := strings.Cut(head, "\n")
		parts := strings.SplitN(want, "|", 3)
		if !ok || !there || len(parts) != 3 {
			t.Fatalf("not a mistake: %s", block)
		}
		count[language]++
		place, message, hint := strings.TrimSpace(parts[0]), strings.TrimSpace(parts[1]), strings.TrimSpace(parts[2])
		_, err := e.Run(context.Background(), engine.Request{Language: language, Code: code, Table: table, Limits: engine.Limits{Fuel: 1e9}})
		var x *engine.Error
		if !errors.As(err, &x) {
			t.Errorf("%s\n%s: %v", language, code, err)
			continue
		}
		got := fmt.Sprintf("%s %d:%d", x.Code, x.Line, x.Column)
		if got != place || !strings.Contains(x.Message, message) || !strings.Contains(x.Hint, hint) || x.Line > 0 && !strings.Contains(x.Excerpt, "^") {
			t.Errorf("%s\n%s\n got %s | %s | %s\nwant %s", language, code, got, x.Message, x.Hint, want)
		}
	}
	for _, language := range []string{"javascript", "python"} {
		if count[language] < 40 {
			t.Errorf("only %d mistakes of %s", count[language], language)
		}
	}
}
