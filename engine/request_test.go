package engine_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/wexec/wexec/engine"
)

// strangers lists the fields of a request that a stranger may choose.
var strangers = []string{
	"Language", "Code", "File", "Args", "Argv", "Intent", "Limits", "Deterministic", "Seed", "Cache", "Session", "Input", "Function",
}

// TestAStrangersJSONSetsOnlyWhatAStrangerMayChoose decodes a document that names
// every field of a request, in several spellings.
func TestAStrangersJSONSetsOnlyWhatAStrangerMayChoose(t *testing.T) {
	typ := reflect.TypeFor[engine.Request]()
	for i := range typ.NumField() {
		f := typ.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if known := slices.Contains(strangers, f.Name); known != (name != "-") {
			t.Errorf("field %s has the JSON name %q; a stranger may set it: %v", f.Name, name, known)
		}
		if name != "-" {
			continue
		}
		for _, key := range []string{f.Name, strings.ToLower(f.Name), "-", strings.ToUpper(f.Name)} {
			for _, value := range []string{`"/etc"`, `true`, `{"id": "root", "PATH": "/"}`} {
				var req engine.Request
				// An error is fine: only what is set counts.
				_ = json.Unmarshal(fmt.Appendf(nil, "{%q: %s}", key, value), &req)
				if !reflect.ValueOf(req).Field(i).IsZero() {
					t.Errorf("{%q: %s} sets %s", key, value, f.Name)
				}
			}
		}
	}
}

// TestAStrangersJSONReadsNoFileOfTheHost runs programs whose requests name folders
// and plugins of the host, without a policy for files.
func TestAStrangersJSONReadsNoFileOfTheHost(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "secret.py"), []byte("WORD = 'swordfish'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(t.Context(), engine.Config{Cache: cacheFolder()})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for _, code := range []string{
		"import secret\nsecret.WORD",
		"import sys\nsys.path += ['/packages', '/root']\nimport secret\nsecret.WORD",
		"open('/packages/secret.py').read()",
		"open('" + filepath.ToSlash(dir) + "/secret.py').read()",
	} {
		doc, err := json.Marshal(map[string]any{
			"language": "python", "code": code, "root": dir, "packages": dir, "dir": dir, "plugin": filepath.Join(dir, "secret.py"),
			"actor": map[string]string{"id": "root", "type": "user"}, "trigger": "cli", "env": map[string]string{"HOME": dir},
		})
		if err != nil {
			t.Fatal(err)
		}
		var req engine.Request
		if err := json.Unmarshal(doc, &req); err != nil {
			t.Fatal(err)
		}
		res, err := e.Run(t.Context(), req)
		if err == nil || strings.Contains(fmt.Sprintf("%+v %s", res, res.Value), "swordfish") {
			t.Errorf("%q read a file of the host: %s", code, res.Value)
		}
	}
}
