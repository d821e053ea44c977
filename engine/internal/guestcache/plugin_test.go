package guestcache

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/wexec/wexec/engine/internal/sandbox"
)

// meteredPlugin is the digest of testdata/plugin/plugin.wasm with fuel in the
// format pluginFormat. Where it changes, pluginFormat has to change too.
const meteredPlugin = "b77891007abed5a5be72aea0c487627581044e74e5487a5a240805e6082e7661"

func TestAPluginIsCheckedOnceOnAMachine(t *testing.T) {
	wasm, err := os.ReadFile(filepath.Join("..", "..", "testdata", "plugin", "plugin.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	store := func() *Store {
		s, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	checks := 0
	check := func() (*sandbox.Plugin, error) {
		checks++
		return sandbox.CheckPlugin(t.Context(), wasm)
	}
	first, err := store().plugin("digest", check)
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(first.Wasm); hex.EncodeToString(sum[:]) != meteredPlugin {
		t.Errorf("the metered plugin has the digest %x: change pluginFormat, and then this", sum)
	}
	again, err := store().plugin("digest", check)
	if err != nil || checks != 1 || !bytes.Equal(again.Wasm, first.Wasm) || again.Minimum != first.Minimum || !reflect.DeepEqual(again.Functions, first.Functions) {
		t.Errorf("%d checks, %v", checks, err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "images", "plugin-*"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	whole, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for name, damaged := range map[string][]byte{"nothing": nil, "half": whole[:len(whole)/2], "another byte": append(bytes.Clone(whole[:len(whole)-1]), whole[len(whole)-1]^1), "no module": whole[:bytes.IndexByte(whole, '\n')]} {
		if err := os.WriteFile(files[0], damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		before := checks
		if p, err := store().plugin("digest", check); err != nil || checks != before+1 || !bytes.Equal(p.Wasm, first.Wasm) {
			t.Errorf("%s: %d checks, %v", name, checks-before, err)
		}
	}
	refused := errors.New("refused")
	if _, err := store().plugin("other", func() (*sandbox.Plugin, error) { return nil, refused }); !errors.Is(err, refused) {
		t.Error("a plugin that is refused is loaded")
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "images", "plugin-other*")); len(files) > 0 {
		t.Error("a plugin that is refused is kept")
	}
}
