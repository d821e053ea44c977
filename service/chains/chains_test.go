package chains

import (
	"context"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/internal/seal"
	"github.com/wexec/wexec/internal/tools/testpg"
	"github.com/wexec/wexec/store"
)

// childEnv makes the test binary a process that records and seals until it is killed.
const childEnv = "WEXEC_TEST_CHAIN"

func TestMain(m *testing.M) {
	if where := os.Getenv(childEnv); where != "" {
		address, dir, _ := strings.Cut(where, " ")
		child(address, dir)
	}
	code := m.Run()
	testpg.Stop()
	os.Exit(code)
}

func TestChainsOnPostgreSQL(t *testing.T) { testpg.Again(t, "Sealed|Removed|Processes") }

// testKeys are keys that processes of a test share.
type testKeys struct{ *seal.Keys }

func (testKeys) Digest(parts ...string) string {
	mac := hmac.New(sha256.New, []byte("test"))
	fmt.Fprintf(mac, "%q", parts)
	return hex.EncodeToString(mac.Sum(nil))
}

func newArchive(ctx context.Context, address string) (Archive, error) {
	keys, err := seal.ParseKeys("qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqo=")
	if err != nil {
		return Archive{}, err
	}
	s, err := store.Open(ctx, address, store.Options{})
	return Archive{s, testKeys{keys}}, err
}

// record writes records until a log has closed so many segments.
func record(t testing.TB, dir string, closed int, key ed25519.PrivateKey) {
	t.Helper()
	log, err := audit.Open(dir, audit.Options{Rotate: 4 << 10, Sync: audit.SyncNever, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	before := len(closedIn(t, dir))
	for i := 0; len(closedIn(t, dir)) < before+closed; i++ {
		if _, err := log.Record(t.Context(), event(i)); err != nil {
			t.Fatal(err)
		}
	}
}

func event(i int) audit.Event {
	return audit.Event{Run: fmt.Sprint("run", i), End: &audit.End{Status: "ok", Message: rand.Text()}}
}

func closedIn(t testing.TB, dir string) []audit.Closed {
	t.Helper()
	closed, err := audit.ClosedSegments(dir)
	if err != nil {
		t.Fatal(err)
	}
	return closed
}

// sealed is an archive on a new store and a log of three closed segments that it has.
func sealed(t *testing.T) (a Archive, address, dir string, key ed25519.PrivateKey) {
	t.Helper()
	address, dir = testpg.Store(t), filepath.Join(t.TempDir(), "audit")
	a, err := newArchive(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Store.Close() })
	_, key, _ = ed25519.GenerateKey(nil)
	record(t, dir, 3, key)
	if n, err := a.Seal(t.Context(), "acme", dir); err != nil || n != 3 {
		t.Fatalf("%d segments were sealed: %v", n, err)
	}
	return a, address, dir, key
}

// problems are those of a tenant's chains.
func (a Archive) problems(t *testing.T, tenant string, keys ...ed25519.PublicKey) (all []string) {
	t.Helper()
	found, err := a.Verify(t.Context(), tenant, keys...)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range found {
		for _, p := range c.Problems {
			all = append(all, string(p.Change)+": "+p.String())
		}
	}
	return all
}

func TestSealedSegmentsVerify(t *testing.T) {
	a, _, dir, key := sealed(t)
	if n, err := a.Seal(t.Context(), "acme", dir); err != nil || n != 0 {
		t.Errorf("sealed again: %d %v", n, err)
	}
	record(t, dir, 2, key)
	if n, err := a.Seal(t.Context(), "acme", dir); err != nil || n != 2 {
		t.Errorf("sealed later: %d %v", n, err)
	}
	public := key.Public().(ed25519.PublicKey)
	found, err := a.Verify(t.Context(), "", public)
	if err != nil || len(found) != 1 || found[0].Tenant != "acme" || !found[0].OK() || len(found[0].Segments) != 5 || found[0].Records < 10 {
		t.Fatalf("%+v %v", found, err)
	}
	if here, err := audit.Verify(dir, public); err != nil || !here.OK() {
		t.Errorf("%+v %v", here, err)
	} else if found[0].Compare(here); !found[0].OK() {
		t.Errorf("compared with the folder: %q", found[0].Problems)
	}
	other, _, _ := ed25519.GenerateKey(nil)
	if got := a.problems(t, "acme", other); len(got) != 5 || !strings.Contains(got[0], "signed by another key") {
		t.Errorf("with another key: %q", got)
	}
	if got := a.problems(t, "default"); got != nil {
		t.Errorf("another tenant has %q", got)
	}
}

func TestSealedSegmentsAreCopied(t *testing.T) {
	a, _, _, _ := sealed(t)
	backup := filepath.Join(t.TempDir(), "backup.db")
	if err := a.Store.Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	b, err := newArchive(t.Context(), testpg.Store(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Store.Close() }()
	if err := b.Store.Restore(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	if found, err := b.Verify(t.Context(), "acme"); err != nil || len(found) != 1 || !found[0].OK() || len(found[0].Segments) != 3 {
		t.Errorf("%+v %v", found, err)
	}
	if r, err := b.Store.Check(t.Context()); err != nil || len(r.Faults) > 0 || r.Rows["audit_segments"] != 3 {
		t.Errorf("%+v %v", r, err)
	}
}

func TestChangedAndRemovedSegmentsAreFound(t *testing.T) {
	for name, c := range map[string]struct{ statement, want string }{
		"a changed byte":          {"UPDATE audit_parts SET data = (SELECT p.data FROM audit_parts p WHERE p.content <> audit_parts.content ORDER BY p.content LIMIT 1) WHERE content = (SELECT content FROM audit_segments WHERE seq = 2)", "changed: 00000002.jsonl: the sealed segment cannot be read"},
		"content that is removed": {"DELETE FROM audit_parts WHERE content = (SELECT content FROM audit_segments WHERE seq = 1)", "changed: 00000001.jsonl: the sealed segment cannot be read"},
		"the middle":              {"DELETE FROM audit_segments WHERE seq = 2", "removed: sealed segment 2: it was removed from the store"},
		"the end":                 {"DELETE FROM audit_segments WHERE seq = 3", "removed: sealed segment 3: it was removed from the store"},
		"the end and its number":  {"DELETE FROM audit_segments WHERE seq = 3; UPDATE audit_chains SET sealed = 2", "changed: chain: the number of sealed segments was changed"},
		"a gap that is closed":    {"DELETE FROM audit_segments WHERE seq = 2; UPDATE audit_segments SET seq = 2 WHERE seq = 3", "changed: 00000003.jsonl: the sealed segment cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			a, address, _, _ := sealed(t)
			driver, source := "pgx", address
			if file, ok := strings.CutPrefix(address, "sqlite:"); ok {
				driver, source = "sqlite", file
			}
			db, err := sql.Open(driver, source)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			for statement := range strings.SplitSeq(c.statement, ";") {
				if _, err := db.ExecContext(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			}
			if got := a.problems(t, "acme"); !slices.ContainsFunc(got, func(p string) bool { return strings.HasPrefix(p, c.want) }) {
				t.Errorf("problems %q, want %s", got, c.want)
			}
		})
	}
}

func TestAFileThatDiffersFromItsSealedCopyIsFound(t *testing.T) {
	a, _, dir, _ := sealed(t)
	id, err := IDOf(dir)
	if err != nil || id == "" {
		t.Fatal(id, err)
	}
	// Somebody writes the log again, without a key: it verifies by itself.
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	record(t, dir, 3, nil)
	if err := os.WriteFile(filepath.Join(dir, idFile), []byte(id), 0o600); err != nil {
		t.Fatal(err)
	}
	here, err := audit.Verify(dir)
	if err != nil || !here.OK() {
		t.Fatalf("%+v %v", here, err)
	}
	found, err := a.Verify(t.Context(), "acme")
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	if found[0].Compare(here); len(found[0].Problems) != 3 || found[0].Problems[0].Change != audit.Replaced {
		t.Errorf("%q", found[0].Problems)
	}
}

func TestProcessesSealTheirChainsIntoOneStore(t *testing.T) {
	a, address, dir, key := sealed(t)
	record(t, dir, 4, key)
	other := filepath.Join(t.TempDir(), "audit")
	record(t, other, 4, nil)
	errs := make(chan error)
	for _, folder := range []string{dir, dir, other} { // two of them seal the same log
		go func() {
			b, err := newArchive(t.Context(), address)
			if err == nil {
				_, err = b.Seal(t.Context(), "acme", folder)
				_ = b.Store.Close()
			}
			errs <- err
		}()
	}
	for range 3 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if got := a.problems(t, "acme"); got != nil {
		t.Errorf("%q", got)
	}
	found, err := a.Verify(t.Context(), "acme")
	if err != nil || len(found) != 2 {
		t.Fatalf("%+v %v", found, err)
	}
}

// child records and seals until it is killed.
func child(address, dir string) {
	ctx := context.Background()
	a, err := newArchive(ctx, address)
	if err == nil {
		var log *audit.Log
		if log, err = audit.Open(dir, audit.Options{Rotate: 4 << 10}); err == nil {
			go func() {
				for i := 0; ; i++ {
					_, _ = log.Record(ctx, event(i))
					time.Sleep(100 * time.Microsecond)
				}
			}()
			for err == nil {
				var n int
				if n, err = a.Seal(ctx, "acme", dir); n > 0 {
					fmt.Println(n)
				}
			}
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func TestAKilledProcessLosesNoSealedSegment(t *testing.T) {
	address, dir := testpg.Store(t), filepath.Join(t.TempDir(), "audit")
	a, err := newArchive(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Store.Close() }()
	for range 3 {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), childEnv+"="+address+" "+dir)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var seen [2]byte
		for range 3 { // it is in the middle of its work
			if _, err := out.Read(seen[:]); err != nil {
				t.Fatal(err)
			}
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	if _, err := a.Seal(t.Context(), "acme", dir); err != nil {
		t.Fatal(err)
	}
	found, err := a.Verify(t.Context(), "acme")
	if err != nil || len(found) != 1 || !found[0].OK() {
		t.Fatalf("%+v %v", found, err)
	}
	var names []string
	for _, s := range found[0].Segments {
		names = append(names, s.Name)
	}
	for _, c := range closedIn(t, dir) {
		if !slices.Contains(names, c.Name) {
			t.Errorf("%s is closed and not sealed: %q", c.Name, names)
		}
	}
	if len(names) < 3 || len(slices.Compact(slices.Sorted(slices.Values(names)))) != len(names) {
		t.Errorf("the store has %q", names)
	}
}
