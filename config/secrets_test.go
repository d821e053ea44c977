package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSecretsAreRecognizedByNameAndForm(t *testing.T) {
	vars := map[string]string{"GITHUB_TOKEN": "ghp_abc", "HOME": "/home/me", "NODE_ENV": "production-like-name-here", "X": "9f86d081884c7d659a2feaa0c55ad015",
		"Y": "aB3aB3aB3aB3aB3aB3aB3", "DIR": "/srv/aB3aB3aB3aB3aB3aB3aB3", "DB_PASSWORD": "hunter2"}
	x := expander{lookup: func(n string) (string, bool) { v, ok := vars[n]; return v, ok }}
	got, err := parseServers("mcp.json", []byte(`{"mcpServers": {
		"a": {"command": "run", "args": ["--key", "${X}", "--in", "${HOME}/x", "${DIR}"], "env": {
			"PAT": "${GITHUB_TOKEN}", "MODE": "${NODE_ENV}", "OTHER": "${Y}", "API_KEY": "written-here", "LEVEL": "debug", "KEYBOARD": "qwerty", "AUTHOR": "somebody"}},
		"b": {"url": "https://me:pass-word@x.example/mcp?k=${DB_PASSWORD}", "headers": {"Authorization": "Bearer tok-1", "X-Api-Key": "${Y}", "Accept": "text/plain"}}}}`), x)
	if err != nil || len(got.Servers) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	for i, want := range [][]string{
		{"9f86d081884c7d659a2feaa0c55ad015", "aB3aB3aB3aB3aB3aB3aB3", "ghp_abc", "written-here"},
		{"Bearer tok-1", "aB3aB3aB3aB3aB3aB3aB3", "hunter2", "pass-word", "tok-1"},
	} {
		if diff := cmp.Diff(want, got.Servers[i].Secrets); diff != "" {
			t.Errorf("%s: %s", got.Servers[i].Name, diff)
		}
	}
}

// A tenant's policy takes secrets from its own folder only.
func TestATenantTakesSecretsFromItsFolder(t *testing.T) {
	data := t.TempDir()
	within := filepath.Join(data, "tenants", "acme")
	if err := os.MkdirAll(within, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(within, "key"), filepath.Join(data, "seal.key")} {
		if err := os.WriteFile(path, []byte("value\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../../seal.key", filepath.Join(within, "link")); err != nil {
		t.Fatal(err)
	}
	env := &Environment{Dir: within, Within: within}
	for from, ok := range map[string]bool{
		"file:" + filepath.Join(within, "key"):            true,
		"file:" + filepath.Join(within, "link"):           false,
		"file:" + filepath.Join(within, "../../seal.key"): false,
		"file:/etc/hostname":                              false,
		"env:PATH":                                        false,
	} {
		value, err := env.Secret(t.Context(), from)
		if (err == nil) != ok || ok && value != "value" {
			t.Errorf("%s: %q %v", from, value, err)
		}
	}
}
