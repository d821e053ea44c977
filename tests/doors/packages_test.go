package doors

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/cmd/wexec/mcpd"
	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/hostfns/packages"
	"github.com/wexec/wexec/internal/tools/testenv"
)

// withPackage returns an environment whose project has a Python package.
func withPackage(t *testing.T) *config.Environment {
	t.Helper()
	env := testenv.Isolated(t.TempDir())
	p := &packages.Package{About: packages.About{Name: "pure", Kind: packages.Python}, Files: map[string][]byte{
		"pure/__init__.py": []byte("from .deep import WORD\n"), "pure/deep.py": []byte("WORD = 'imported'\n")}}
	if _, err := config.AddPackage(env, p); err != nil {
		t.Fatal(err)
	}
	return env
}

const importing = "import pure\nreturn [pure.WORD, __import__('os').listdir('/packages/pure')]"

const imported = `["imported",["__init__.py","deep.py"]]`

// TestAPackageIsImportedThroughEveryDoor has the MCP server and the Go API; the
// script packages has the command.
func TestAPackageIsImportedThroughEveryDoor(t *testing.T) {
	env := withPackage(t)
	host := testenv.Open(t, env, config.Flags{})
	res, err := host.Engine.Run(t.Context(), engine.Request{Language: "python", Code: importing})
	if err != nil || string(res.Value) != imported {
		t.Errorf("the Go API: %s, %v", res.Value, err)
	}
	here, there := mcp.NewInMemoryTransports()
	go func() { _ = mcpd.New(mcpd.Options{Engine: host.Engine, Table: host.Table}).Serve(t.Context(), there) }()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, nil).Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	answer, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{"language": "python", "code": importing}})
	if err != nil {
		t.Fatal(err)
	}
	if res, err := mcpd.ResultOf(answer); err != nil || string(res.Value) != imported {
		t.Errorf("the MCP server: %+v, %v", res, err)
	}
}

// TestOnlyAPersonNamesAPackage has the JSON of a stranger, and a program that
// looks for a way to add a module.
func TestOnlyAPersonNamesAPackage(t *testing.T) {
	host := testenv.Open(t, withPackage(t), config.Flags{})
	secret := t.TempDir()
	if err := os.WriteFile(filepath.Join(secret, "secret.py"), []byte("WORD = 'secret'\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	doc, err := json.Marshal(map[string]any{"language": "python", "packages": secret, "installed": secret, "code": "import secret\nreturn secret.WORD"})
	if err != nil {
		t.Fatal(err)
	}
	var req engine.Request
	if err := json.Unmarshal(doc, &req); err != nil {
		t.Fatal(err)
	}
	if res, err := host.Engine.Run(t.Context(), req); err == nil {
		t.Errorf("a stranger named a folder: %s", res.Value)
	}
	for _, code := range []string{
		"open('/packages/pure/deep.py', 'w').write('WORD = 1')", "open('/packages/more.py', 'x')", "import os; os.remove('/packages/pure/deep.py')",
		"import os; os.mkdir('/packages/more')", "import os; os.rename('/packages/pure', '/tmp/pure')", "import os; os.rename('/tmp', '/packages/tmp')",
		"import os; os.truncate('/packages/pure/deep.py', 0)", "import os; os.symlink('/tmp', '/packages/link')", "open('/packages/../etc/passwd').read()",
		"import os; os.utime('/packages/pure/deep.py', (1, 1))",
	} {
		if res, err := host.Engine.Run(t.Context(), engine.Request{Language: "python", Code: code}); err == nil {
			t.Errorf("%s: %s", code, res.Value)
		}
	}
	res, err := host.Engine.Run(t.Context(), engine.Request{Language: "python", Code: importing})
	if err != nil || string(res.Value) != imported {
		t.Errorf("afterwards: %s, %v", res.Value, err)
	}
}

func TestARunWithPackagesIsReplayed(t *testing.T) {
	env := withPackage(t)
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(policy, []byte("version: 1\naudit: {code: full, inputs: full, outputs: full}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	host := testenv.Open(t, env, config.Flags{Policy: []string{policy}, Audit: dir})
	first, err := host.Engine.Run(t.Context(), engine.Request{Language: "python", Code: importing})
	if err != nil {
		t.Fatal(err)
	}
	rec, err := audit.LoadRecording(dir, first.RunID)
	if err != nil {
		t.Fatal(err)
	}
	again, err := host.Engine.Replay(t.Context(), rec)
	if err != nil || string(again.Value) != imported || again.Usage.Fuel != first.Usage.Fuel {
		t.Errorf("%s with fuel %d, then %s with %d: %v", first.Value, first.Usage.Fuel, again.Value, again.Usage.Fuel, err)
	}
}

// TestAChangedPackageStopsTheProgramsBeforeTheyRun changes one byte of the archive.
func TestAChangedPackageStopsTheProgramsBeforeTheyRun(t *testing.T) {
	env := withPackage(t)
	settings, err := config.Load(env, config.Flags{})
	if err != nil || len(settings.Packages) != 1 {
		t.Fatal(settings, err)
	}
	path := settings.Packages[0].Path
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = settings.Open(t.Context(), config.Options{Env: env, Version: "test"})
	if err == nil || !strings.Contains(err.Error(), "has the digest") {
		t.Errorf("%v", err)
	}
}
