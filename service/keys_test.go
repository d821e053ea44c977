package service

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/seal"
	"github.com/wexec/wexec/internal/tools/testenv"
	"github.com/wexec/wexec/store"
)

func TestAServerKeepsItsSealKey(t *testing.T) {
	dir := t.TempDir()
	s, err := store.Open(t.Context(), "sqlite:"+filepath.Join(dir, "wexec.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	env := testenv.Isolated(dir)
	first, err := OpenKeys(t.Context(), s, env, dir, "")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "seal.key")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("the key file: %v %v", info, err)
	}
	again, err := OpenKeys(t.Context(), s, env, dir, "")
	if err != nil || first.Digest("subject", "a", "b") != again.Digest("subject", "a", "b") {
		t.Errorf("the digests of one store differ: %v", err)
	}
	for _, other := range [][]string{{"subject", "ab", ""}, {"subject", "a", "b", ""}, {"actor", "a", "b"}, {"subject", "a"}} {
		if first.Digest(other...) == first.Digest("subject", "a", "b") {
			t.Errorf("the digest of %q is that of other parts", other)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// Another machine has the same key in a variable.
	if _, err := OpenKeys(t.Context(), s, testenv.Isolated(t.TempDir(), seal.Variable+"="+string(text)), t.TempDir(), ""); err != nil {
		t.Error(err)
	}
	// With another key, or none, nothing begins: what is sealed could not be read.
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenKeys(t.Context(), s, env, dir, ""); fault.CodeOf(err) != fault.UsageStore {
		t.Errorf("a missing key: %v", err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("a second key was made for a store that has sealed rows")
	}
	if _, err := seal.LoadOrCreate(file, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenKeys(t.Context(), s, env, dir, ""); fault.CodeOf(err) != fault.UsageStore {
		t.Errorf("another key: %v", err)
	}
}

func TestProgramsAndCommandsNeverGetTheSealKey(t *testing.T) {
	o := Options{Data: t.TempDir(), Env: testenv.Isolated(t.TempDir(), seal.Variable+"=x", "OTHER=y")}
	for _, name := range []string{DefaultTenant, "other"} {
		vars := strings.Join(environment(o, name).Vars, " ")
		if strings.Contains(vars, seal.Variable) || name == DefaultTenant && !strings.Contains(vars, "OTHER=y") {
			t.Errorf("the environment of the tenant %s is %s", name, vars)
		}
	}
	if _, ok := o.Env.Lookup(seal.Variable); !ok {
		t.Error("the server lost its key")
	}
}
