package doors

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	_ "modernc.org/sqlite" // for database/sql

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/tools/testpg"
	"github.com/wexec/wexec/store"
)

// stores returns the address of an empty store of each kind.
func stores() map[string]func(t *testing.T) string {
	return map[string]func(t *testing.T) string{
		"sqlite":   func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "a b.db") },
		"postgres": func(t *testing.T) string { return testpg.Address(t) },
	}
}

// opened opens a store until the end of the test.
func opened(t *testing.T, address string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), address, store.Options{Wait: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// wexec runs a command about a store and returns its standard output, its messages
// and its exit status.
func wexec(t *testing.T, address string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	dir := t.TempDir()
	cmd := command(t.Context(), dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "WEXEC_STORE=" + address}, args...)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return string(out), string(exit.Stderr), exit.ExitCode()
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(out), "", 0
}

// succeeds runs a command that has to succeed and decodes its JSON into v, unless
// it is nil.
func succeeds(t *testing.T, v any, address string, args ...string) string {
	t.Helper()
	stdout, stderr, status := wexec(t, address, args...)
	if status != 0 {
		t.Fatalf("wexec %s: status %d: %s%s", strings.Join(args, " "), status, stdout, stderr)
	}
	if v != nil {
		if err := json.Unmarshal([]byte(stdout), v); err != nil {
			t.Fatalf("wexec %s: %v in %s", strings.Join(args, " "), err, stdout)
		}
	}
	return stdout
}

// accepted starts a run of a tenant.
func accepted(ctx context.Context, s *store.Store, r store.Run) (store.Lease, error) {
	a, err := s.Accept(ctx, r, "test", store.Idempotency{})
	return a.Lease, err
}

// TestCommandsWorkWhileServersWrite runs every command on a store that several
// goroutines write to, on both databases.
func TestCommandsWorkWhileServersWrite(t *testing.T) {
	for name, address := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := address(t)
			server := opened(t, address)
			ctx, stop := context.WithCancel(t.Context())
			var writers, first sync.WaitGroup
			first.Add(3)
			for w := range 3 {
				writers.Go(func() {
					wrote := sync.OnceFunc(first.Done)
					defer wrote()
					for i := 0; ctx.Err() == nil; i++ {
						l, err := accepted(t.Context(), server, store.Run{Tenant: "default", ID: fmt.Sprintf("%d-%06d", w, i), Language: "python", Actor: "bot", Request: []byte(`{"code":"1"}`)})
						if err == nil {
							err = server.End(t.Context(), l, store.Outcome{Status: "ok", Uses: []store.Use{{Kind: "run", Count: 1}}}, store.Event{Type: "end", Data: []byte("{}")})
						}
						if err != nil {
							t.Error(err)
							return
						}
						wrote()
						time.Sleep(time.Millisecond) // a busy server, not a full one
					}
				})
			}
			first.Wait()
			dir := t.TempDir()
			backup, moved := filepath.Join(dir, "backup.db"), "sqlite:"+filepath.Join(dir, "moved.db")
			var report struct {
				Rows    map[string]int64
				Faults  []string
				Before  int64
				Version int64
				Removed int64
			}
			succeeds(t, &report, address, "store", "migrate", "--json")
			if report.Before == 0 || report.Before != report.Version {
				t.Errorf("migrate: %+v", report)
			}
			for _, args := range [][]string{{"store", "check"}, {"store", "backup", backup}, {"store", "copy", address, moved}} {
				report.Rows = nil
				succeeds(t, &report, address, append(args, "--json")...)
				if report.Rows["runs"] < 3 || len(report.Faults) > 0 {
					t.Errorf("%q: %+v", args, report)
				}
			}
			for name, address := range stores() {
				stdout := succeeds(t, nil, address(t), "store", "restore", backup)
				if !strings.HasPrefix(stdout, "restored ") {
					t.Errorf("restore in %s: %s", name, stdout)
				}
			}
			created := succeeds(t, nil, address, "token", "create", "--name", "ci", "--scopes", "run")
			if token, err := server.Token(t.Context(), strings.TrimSpace(created)); err != nil || !token.Has(store.ScopeRun) || token.Has(store.ScopeRead) {
				t.Errorf("%+v %v", token, err)
			}
			var tokens struct{ Tokens []struct{ ID, Used string } }
			succeeds(t, &tokens, address, "token", "list", "--json")
			if len(tokens.Tokens) != 1 || tokens.Tokens[0].Used == "" {
				t.Fatalf("%+v", tokens)
			}
			succeeds(t, nil, address, "token", "revoke", tokens.Tokens[0].ID)
			if _, err := server.Token(t.Context(), strings.TrimSpace(created)); !errors.Is(err, fault.DeniedToken) {
				t.Errorf("a revoked token: %v", err)
			}
			var list struct{ Runs []struct{ State string } }
			succeeds(t, &list, address, "runs", "list", "--limit", "2", "--json")
			if len(list.Runs) != 2 {
				t.Errorf("%+v", list)
			}
			var sums struct{ Usage []struct{ Count int64 } }
			succeeds(t, &sums, address, "usage", "--by", "actor", "--json")
			if len(sums.Usage) != 1 || sums.Usage[0].Count < 3 {
				t.Errorf("%+v", sums)
			}
			succeeds(t, &report, address, "store", "prune", "--older-than", "0s", "--json")
			if report.Removed < 3 {
				t.Errorf("prune: %+v", report)
			}
			stop()
			writers.Wait()
			report.Faults = nil
			succeeds(t, &report, address, "store", "check", "--json")
			if len(report.Faults) > 0 {
				t.Errorf("%+v", report)
			}
		})
	}
}

// TestRunsAreShownAsTheyEnded lists and shows runs of every kind to programs and
// to people, on both databases.
func TestRunsAreShownAsTheyEnded(t *testing.T) {
	for name, address := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := address(t)
			s := opened(t, address)
			for i, status := range []string{"ok", "error", "ok"} {
				l, err := accepted(t.Context(), s, store.Run{Tenant: "default", ID: fmt.Sprint("01R", i), Language: "javascript", Actor: "bot", Intent: "count\x1b[2J",
					Request: []byte(`{"language":"javascript","code":"const n = 9007199254740993n;\nreturn 6 * 7"}`)})
				if err != nil {
					t.Fatal(err)
				}
				if err := s.End(t.Context(), l, store.Outcome{Status: status, Result: []byte(`{"run_id":"` + l.ID + `","status":"` + status + `","value":9007199254740993,"usage":{"fuel":5}}`),
					Uses: []store.Use{{Kind: "run", Count: 1, Fuel: 5000, Money: 250_000}, {Kind: "tool", Name: "github.list", Count: 2, Failed: 1}}}); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := accepted(t.Context(), s, store.Run{Tenant: "default", ID: "01R3", Language: "python"}); err != nil {
				t.Fatal(err)
			}
			if _, err := accepted(t.Context(), s, store.Run{Tenant: "acme", ID: "01X"}); err != nil {
				t.Fatal(err)
			}
			var list struct {
				Runs []map[string]any
				Next string
			}
			ids := func(args ...string) string {
				t.Helper()
				list.Runs, list.Next = nil, ""
				succeeds(t, &list, address, append([]string{"runs", "list", "--json"}, args...)...)
				var all []string
				for _, r := range list.Runs {
					all = append(all, fmt.Sprint(r["run_id"]))
				}
				return strings.Join(append(all, list.Next), " ")
			}
			for args, want := range map[string]string{
				"":                        "01R3 01R2 01R1 01R0 ",
				"--status ok":             "01R2 01R0 ",
				"--state running":         "01R3 ",
				"--tool github.list":      "01R2 01R1 01R0 ",
				"--limit 2":               "01R3 01R2 01R2",
				"--limit 2 --before 01R2": "01R1 01R0 ",
				"--since 1h --actor bot":  "01R2 01R1 01R0 ",
				"--tenant acme":           "01X ",
			} {
				if got := ids(strings.Fields(args)...); got != want {
					t.Errorf("runs list %s: %q, want %q", args, got, want)
				}
			}
			stdout := succeeds(t, nil, address, "runs", "show", "01R0", "--json")
			var shown map[string]any
			if err := json.Unmarshal([]byte(stdout), &shown); err != nil {
				t.Fatal(err)
			}
			for _, key := range []string{"run_id", "status", "value", "usage", "state", "actor", "language", "intent", "code"} {
				if _, ok := shown[key]; !ok {
					t.Errorf("%s is missing in %s", key, stdout)
				}
			}
			if !strings.Contains(stdout, "9007199254740993,") && !strings.Contains(stdout, "9007199254740993\n") {
				t.Errorf("a large number became another one: %s", stdout)
			}
			var running map[string]any
			succeeds(t, &running, address, "runs", "show", "01R3", "--json")
			if running["state"] != "running" || running["run_id"] != "01R3" {
				t.Errorf("%v", running)
			}
			for args, want := range map[string]string{
				"runs list":       `(?m)^01R0 +\d{4}-\d\d-\d\d \d\d:\d\d +done +ok +javascript +bot +count`,
				"runs show 01R0":  `(?m)^code\n  const n = 9007199254740993n;\n  return 6 \* 7\nvalue\n  9007199254740993\n`,
				"usage":           `(?m)^\d{4}-\d\d-\d\d +3 +0 +15,000 +0 +0\.75 +0s$`,
				"usage --by tool": `(?m)^github\.list +6 +3 `,
			} {
				stdout := succeeds(t, nil, address, strings.Fields(args)...)
				if !regexp.MustCompile(want).MatchString(stdout) || strings.ContainsRune(stdout, 0x1b) {
					t.Errorf("%s: %q", args, stdout)
				}
			}
			if _, stderr, status := wexec(t, address, "runs", "show", "01X"); status != 2 || !strings.Contains(stderr, "[usage.run]") {
				t.Errorf("a run of another tenant: %d %s", status, stderr)
			}
		})
	}
}

// TestCommandsRefuseAStoreThatTheyDoNotKnow opens an empty database, a damaged store
// and a store of a newer wexec.
func TestCommandsRefuseAStoreThatTheyDoNotKnow(t *testing.T) {
	for name, address := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := address(t)
			if name == "postgres" {
				if _, stderr, status := wexec(t, address, "store", "check"); status != 2 || !strings.Contains(stderr, "it has no store") || !strings.Contains(stderr, "wexec store migrate") {
					t.Errorf("an empty database: %d %s", status, stderr)
				}
			}
			s := opened(t, address)
			if _, err := accepted(t.Context(), s, store.Run{Tenant: "default", ID: "1"}); err != nil {
				t.Fatal(err)
			}
			damage(t, address, "DELETE FROM queue")
			stdout, _, status := wexec(t, address, "store", "check")
			if status != 1 || !strings.Contains(stdout, "runs that are not done and in no queue") || !strings.Contains(stdout, ": 1 fault\n") {
				t.Errorf("damage: %d %s", status, stdout)
			}
			damage(t, address, "INSERT INTO migrations (version, applied) VALUES (1000, 0)")
			file := filepath.Join(t.TempDir(), "backup.db")
			for _, args := range [][]string{{"store", "migrate"}, {"store", "check"}, {"store", "backup", file}, {"store", "prune"}, {"store", "copy", address, "sqlite:" + file},
				{"token", "create", "--name", "n", "--scopes", "run"}, {"token", "list"}, {"token", "revoke", "x"}, {"runs", "list"}, {"runs", "show", "1"}, {"usage"}} {
				_, stderr, status := wexec(t, address, args...)
				if status != 2 || !strings.Contains(stderr, "a newer wexec wrote this store: its schema has version 1000") || !strings.Contains(stderr, "hint: use the newer wexec") {
					t.Errorf("%q: %d %s", args, status, stderr)
				}
			}
			if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("a file was made: %v", err)
			}
		})
	}
}

// damage executes a statement on the database of a store.
func damage(t *testing.T, address, statement string) {
	t.Helper()
	driver, name := "pgx", address
	if file, ok := strings.CutPrefix(address, "sqlite:"); ok {
		driver, name = "sqlite", file
	}
	db, err := sql.Open(driver, name)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statement); err != nil {
		t.Fatal(err)
	}
}

// TestALockedStoreIsReadAndNotWritten keeps the file locked: commands that read do
// not wait, and those that write fail and say why.
func TestALockedStoreIsReadAndNotWritten(t *testing.T) {
	t.Parallel()
	address := stores()["sqlite"](t)
	_ = opened(t, address)
	db, err := sql.Open("sqlite", strings.TrimPrefix(address, "sqlite:")+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	for _, args := range [][]string{{"store", "check"}, {"token", "list"}, {"runs", "list"}, {"usage"}, {"store", "backup", filepath.Join(t.TempDir(), "b.db")}} {
		succeeds(t, nil, address, args...)
	}
	_, stderr, status := wexec(t, address, "token", "create", "--name", "n", "--scopes", "run")
	if status != 70 || !strings.Contains(stderr, "database is locked") || !strings.Contains(stderr, "[store.unavailable]") || !strings.Contains(stderr, "hint: check that no other process keeps the file locked") {
		t.Errorf("%d %s", status, stderr)
	}
}

// TestATokenLeavesTheProcessOnce looks for a new token in everything that the
// commands print and keep afterwards.
func TestATokenLeavesTheProcessOnce(t *testing.T) {
	t.Parallel()
	address := stores()["sqlite"](t)
	token := strings.TrimSpace(succeeds(t, nil, address, "token", "create", "--name", "n", "--scopes", "run"))
	file := filepath.Join(t.TempDir(), "backup.db")
	said := []string{succeeds(t, nil, address, "token", "list"), succeeds(t, nil, address, "token", "list", "--json"), succeeds(t, nil, address, "store", "backup", file, "--json")}
	kept, err := filepath.Glob(filepath.Join(filepath.Dir(strings.TrimPrefix(address, "sqlite:")), "*"))
	if err != nil || len(kept) == 0 {
		t.Fatalf("%q %v", kept, err)
	}
	for _, f := range append(kept, file) {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		said = append(said, string(data))
	}
	if slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, strings.TrimPrefix(token, "wx_")) }) {
		t.Error("the token is somewhere")
	}
}
