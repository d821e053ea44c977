package engine_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/hostfns/files"
	"github.com/wexec/wexec/policy"
)

// An answer is that of the files which the program imported: where one of them
// has changed, it runs again.
func TestAnAnswerIsOfTheFilesThatTheProgramImported(t *testing.T) {
	rules, err := policy.FromFlags(policy.Flags{})
	if err != nil {
		t.Fatal(err)
	}
	table, err := hostfns.NewTable(rules, audit.None(), files.New())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = table.Close() })
	root := t.TempDir()
	for language, c := range map[string]struct{ lib, text, code string }{
		engine.JavaScript: {"lib.js", "export const n = %d", "import { n } from './lib.js'; export default n"},
		engine.Python:     {"lib.py", "n = %d", "import lib\nreturn lib.n"},
	} {
		unique := fmt.Sprint(time.Now().UnixNano()) // results outlive the test
		var e *engine.Engine
		for i, want := range []string{"miss", "hit", "hit", "miss", "hit", "miss", "hit"} {
			n := []int{1, 1, 1, 2, 2, 3, 3}[i]
			if i != 1 && i != 5 { // in memory, and as another process finds it
				if e, err = engine.New(context.Background(), engine.Config{Cache: cacheFolder(), Table: table}); err != nil {
					t.Fatal(err)
				}
				opened := e
				t.Cleanup(func() { _ = opened.Close() })
			}
			if err := os.WriteFile(filepath.Join(root, c.lib), fmt.Appendf(nil, c.text, n), 0o600); err != nil {
				t.Fatal(err)
			}
			res, err := e.Run(t.Context(), engine.Request{Language: language, Code: c.code, Root: root, Argv: []string{unique}, Deterministic: true})
			if err != nil || res.Cache != want || string(res.Value) != fmt.Sprint(n) {
				t.Errorf("%s, %d: %s, a %s and no %s: %v", language, n, res.Value, res.Cache, want, err)
			}
		}
	}
}
