package service

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/tools/testenv"
)

// TestATenantReachesTheMachineAsTheOperatorSays reads the files of the tenant acme with
// several files of the operator.
func TestATenantReachesTheMachineAsTheOperatorSays(t *testing.T) {
	const command, policyOf = `{"mcpServers": {"s": {"command": "sh"}}}`, "version: 1\nfiles: {read: ['"
	for name, c := range map[string]struct {
		operator string
		files    map[string]string // of the tenant
		links    map[string]string // of the tenant: where they lead
		want     string            // in the error; empty: the tenant can be used
	}{
		"commands without permission":       {"", map[string]string{"mcp.json": command}, nil, "does not let the tenant start commands"},
		"commands with permission":          {"tenants: {acme: {stdio: true, user: nobody}}", map[string]string{"mcp.json": command}, nil, ""},
		"commands of another tenant":        {"tenants: {other: {stdio: true}}", map[string]string{"mcp.json": command}, nil, "does not let the tenant start commands"},
		"a tenant that permits itself":      {"", map[string]string{"mcp.json": command, "wexec.yaml": "tenants: {acme: {stdio: true}}"}, nil, "tenants"},
		"commands in wexec.yaml":            {"", map[string]string{"wexec.yaml": "servers: {s: {command: sh}}"}, nil, "does not let the tenant start commands"},
		"a server that names its user":      {"tenants: {acme: {stdio: true, user: nobody}}", map[string]string{"mcp.json": `{"mcpServers": {"s": {"command": "sh", "user": "root"}}}`}, nil, ""},
		"files without a root":              {"", map[string]string{"policy.yaml": policyOf + "/srv/acme/**']}"}, nil, "names no root"},
		"files below the root":              {"tenants: {acme: {root: /srv/acme}}", map[string]string{"policy.yaml": policyOf + "/srv/acme/in/**', '/srv/acme/**']}"}, nil, ""},
		"files outside the root":            {"tenants: {acme: {root: /srv/acme}}", map[string]string{"policy.yaml": policyOf + "/srv/other/**']}"}, nil, "outside /srv/acme"},
		"a name that begins like the root":  {"tenants: {acme: {root: /srv/acme}}", map[string]string{"policy.yaml": policyOf + "/srv/acmes/**']}"}, nil, "outside /srv/acme"},
		"a path that leaves the root":       {"tenants: {acme: {root: /srv/acme}}", map[string]string{"policy.yaml": policyOf + "/srv/acme/../other/**']}"}, nil, "/srv/"},
		"a pattern over the root":           {"tenants: {acme: {root: /srv/acme}}", map[string]string{"policy.yaml": policyOf + "/srv/*/**']}"}, nil, "outside /srv/acme"},
		"a command that keeps audit heads":  {"tenants: {acme: {stdio: true}}", map[string]string{"wexec.yaml": "audit: {anchor: {command: [sh]}}"}, nil, "only the operator of the server may set audit"},
		"records in another folder":         {"", map[string]string{"wexec.yaml": "audit: {dir: /srv/x}"}, nil, "only the operator of the server may set audit"},
		"another cache":                     {"", map[string]string{"wexec.yaml": "cache: /srv/x"}, nil, "only the operator of the server may set cache"},
		"the servers of another tenant":     {"", map[string]string{"wexec.yaml": "mcp: ../default/mcp.json"}, nil, "escapes"},
		"the policy of another tenant":      {"", map[string]string{"wexec.yaml": "policy: ../default/policy.yaml"}, nil, "escapes"},
		"a link to another tenant's policy": {"", nil, map[string]string{"policy.yaml": "../default/policy.yaml"}, "escapes"},
		"a package outside":                 {"", map[string]string{"wexec.yaml": "packages: [{path: ../default/policy.yaml, sha256: '" + strings.Repeat("0", 64) + "'}]"}, nil, "outside the folder of the tenant"},
		"a root that is not absolute":       {"tenants: {acme: {root: srv}}", nil, nil, "must be an absolute path"},
		"the root of the machine":           {"tenants: {acme: {root: /}}", nil, nil, "not /"},
		"a user without commands":           {"tenants: {acme: {user: nobody}}", nil, nil, "has a user but no stdio"},
		"a wrong key of the operator":       {"tenants: {acme: {stdin: true}}", nil, nil, "stdin"},
	} {
		t.Run(name, func(t *testing.T) {
			data := t.TempDir()
			write := func(name, text string) {
				path := filepath.Join(data, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			write("tenants/default/policy.yaml", "version: 1\n")
			write("tenants/default/mcp.json", "{}")
			if c.operator != "" {
				write("wexec.yaml", c.operator+"\n")
			}
			for name, text := range c.files {
				write("tenants/acme/"+name, text+"\n")
			}
			for name, to := range c.links {
				if err := os.MkdirAll(filepath.Join(data, "tenants/acme"), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(to, filepath.Join(data, "tenants/acme", name)); err != nil {
					t.Fatal(err)
				}
			}
			settings, err := readTenant(Options{Data: data, Env: testenv.Isolated(data)}, "acme")
			switch {
			case c.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("the error is %v, want one with %q", err, c.want)
			case c.want != "" && fault.CodeOf(err).Class() != fault.ClassUsage:
				t.Errorf("the code is %s", fault.CodeOf(err))
			case err == nil && strings.Contains(c.operator, "user:"):
				for _, s := range settings.Servers {
					if s.User != "nobody" {
						t.Errorf("server %s runs as %q", s.Name, s.User)
					}
				}
			}
		})
	}
}
