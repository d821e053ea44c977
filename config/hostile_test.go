package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wexec/wexec/fault"
)

// bomb is YAML of half a kilobyte whose aliases expand to 9^12 strings.
func bomb() string {
	lines := []string{"  a0: &a0 [x,x,x,x,x,x,x,x,x]"}
	for i := 1; i < 12; i++ {
		lines = append(lines, fmt.Sprintf("  a%d: &a%d [%s]", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 9), ",")))
	}
	return strings.Join(lines, "\n") + "\n"
}

// The files of a repository could take all memory, or forever, to read.
func TestAClonedProjectCannotBlockItsReader(t *testing.T) {
	if _, err := os.Stat("/dev/zero"); err != nil {
		t.Skip("needs /dev/zero")
	}
	for name, text := range map[string]string{
		"aliases":  "servers:\n" + bomb(),
		"depth":    "servers: " + strings.Repeat("[", 200_000),
		"dashes":   "servers:\n " + strings.Repeat("- ", 100_000),
		"keys":     strings.Repeat("a: 1\n", 50_000),
		"a device": "policy: [/dev/zero]\n",
	} {
		env := machine(t, map[string]string{"project/wexec.yaml": text})
		if _, err := Load(env, Flags{}); fault.CodeOf(err) != fault.UsageConfig {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"policy.yaml", ".mcp.json", "wexec.yaml"} {
		env := machine(t, map[string]string{"project/wexec.yaml": "log: warn\n"})
		path := filepath.Join(env.Dir, name)
		_ = os.Remove(path)
		if err := os.Symlink("/dev/zero", path); err != nil {
			t.Skip("needs symbolic links")
		}
		if name == "wexec.yaml" {
			if err := os.WriteFile(filepath.Join(env.Dir, ".mcp.json"), []byte("{}"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Load(env, Flags{}); fault.CodeOf(err) != fault.UsageConfig {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The file of a client, which doctor and init read, could be a device.
func TestAClientsFileCannotBlockItsReader(t *testing.T) {
	if _, err := os.Stat("/dev/zero"); err != nil {
		t.Skip("needs /dev/zero")
	}
	env := machine(t, map[string]string{"project/wexec.yaml": "log: warn\n"})
	if err := os.Symlink("/dev/zero", filepath.Join(env.Dir, ".mcp.json")); err != nil {
		t.Skip("needs symbolic links")
	}
	for _, f := range FindServers(env) {
		t.Errorf("servers in %s", f.Path)
	}
	for _, c := range Clients(env) {
		_, err := c.Text()
		if want := c.InProject && c.Name == "claude-code"; want != (fault.CodeOf(err) == fault.UsageConfig) {
			t.Errorf("%s: %v", c.Name, err)
		}
		if filepath.Base(c.Path) != ".mcp.json" && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s, which is not there: %v", c.Name, err)
		}
	}
}

// Files of a project are replaced after they were hashed and before they are
// used.
func TestTheTrustedContentIsUsed(t *testing.T) {
	env := machine(t, map[string]string{"project/wexec.yaml": "log: info\n"})
	if _, err := Trust(env); err != nil {
		t.Fatal(err)
	}
	s := &Settings{}
	var err error
	if s.Project, err = findProject(env); err != nil || !s.Project.Trusted {
		t.Fatalf("%+v: %v", s.Project, err)
	}
	for name, text := range map[string]string{
		"wexec.yaml": "log: debug\n", "policy.yaml": "version: 1\ntools: {allow: ['*']}\n",
		".mcp.json": `{"mcpServers": {"evil": {"command": "evil"}}}`,
	} {
		if err := os.WriteFile(filepath.Join(env.Dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.readFolder(env, env.Dir, "project"); err != nil {
		t.Fatal(err)
	}
	if s.Log != "info" || len(s.Policies) != 0 || len(s.Servers) != 0 {
		t.Errorf("log %s, %d policies, servers %v", s.Log, len(s.Policies), s.Servers)
	}
}
