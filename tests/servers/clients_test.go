package servers

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/wexec/wexec/internal/tools/testenv"
)

// Generators of clients. That of Go is the one that reads OpenAPI 3.1 of those which
// the module proxy serves.
const (
	generator = "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2"
	library   = "github.com/oapi-codegen/runtime@v1.8.0"
)

// served starts a server that has the tools of the demo server, and writes its OpenAPI
// document to a file.
func served(t *testing.T) (s *testenv.Server, document string) {
	t.Helper()
	data := t.TempDir()
	write(t, filepath.Join(data, "tenants/default/mcp.json"), `{"mcpServers": {"mail": {"command": "${DEMO_SERVER}", "args": ["mail"]}}}`)
	write(t, filepath.Join(data, "tenants/default/policy.yaml"), "version: 1\ntools: {ask: [mail.send]}\n")
	s = testenv.Serve(t, data)
	res, err := http.Get(s.URL + "/v1/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	document = filepath.Join(t.TempDir(), "openapi.json")
	write(t, document, string(text))
	return s, document
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// succeeds runs a program in a folder and returns what it prints.
func succeeds(t *testing.T, dir string, env []string, command ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Dir, cmd.Env = dir, slices.Concat(os.Environ(), env)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v\n%s", command, err, out)
	}
	return string(out)
}

func TestTheOpenAPIDocumentHasNoFaults(t *testing.T) {
	redocly := installed(t, "redocly")
	_, document := served(t)
	dir := filepath.Dir(document)
	write(t, filepath.Join(dir, "redocly.yaml"), "extends: [recommended-strict]\n")
	succeeds(t, dir, []string{"REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true"}, redocly, "lint", document)
}

func TestAGeneratedTypeScriptClient(t *testing.T) {
	generate, tsc := installed(t, "openapi-typescript"), installed(t, "tsc")
	s, document := served(t)
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(testenv.NPM(t), "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile("testdata/client.ts")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "client.ts"), string(program))
	write(t, filepath.Join(dir, "package.json"), `{"type": "module"}`)
	succeeds(t, dir, nil, generate, document, "-o", "api.ts")
	succeeds(t, dir, nil, tsc, "--strict", "--noUncheckedIndexedAccess", "--exactOptionalPropertyTypes", "--target", "es2022", "--lib", "es2022,dom,dom.iterable", "--module", "es2022", "--moduleResolution", "bundler", "client.ts")
	out := succeeds(t, dir, []string{"URL=" + s.URL, "TOKEN=" + s.Token(t)}, "node", "client.js")
	for _, want := range []string{"made a token", "ran a program", "followed events", "resumed the stream", "listed runs by pages", "cancelled a run", "an agent cannot answer", "answered an approval", "a wrong request is a problem"} {
		if !strings.Contains(out, want+"\n") {
			t.Errorf("the client did not report %q:\n%s", want, out)
		}
	}
}

func TestAGeneratedGoClient(t *testing.T) {
	s, document := served(t)
	dir := t.TempDir()
	program, err := os.ReadFile("testdata/client.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "main.go"), string(program))
	write(t, filepath.Join(dir, "go.mod"), "module client\n\ngo 1.26.0\n")
	env := []string{"GOFLAGS=-mod=mod", "GOWORK=off"}
	succeeds(t, dir, env, "go", "run", generator, "-generate", "types,client", "-package", "main", "-o", "api.go", document)
	succeeds(t, dir, env, "go", "get", library)
	out := succeeds(t, dir, slices.Concat(env, []string{"URL=" + s.URL, "TOKEN=" + s.Token(t)}), "go", "run", ".")
	if want := "token true\nrun 42 true\ncancelled true cancelled\nlisted 2\nproblem 404 usage.run\n"; out != want {
		t.Errorf("the client printed\n%s\nwant\n%s", out, want)
	}
}
