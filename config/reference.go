package config

import (
	"reflect"

	"github.com/wexec/wexec/internal/yamldoc"
	"github.com/wexec/wexec/policy"
)

// Schema returns the JSON Schema (2020-12) of a wexec.yaml, for editors.
func Schema() []byte { return yamldoc.Schema(reflect.TypeFor[file](), "wexec.yaml") }

// Variable is an environment variable that configures wexec.
type Variable struct {
	Name string
	Key  string // the setting of wexec.yaml that it sets; empty if it sets none
	Doc  string
}

// Variables lists the environment variables that configure wexec.
func Variables() []Variable {
	out := []Variable{
		{"WEXEC_POLICY", "policy", "policy files, separated as in PATH; they add to those of wexec.yaml"},
		{"WEXEC_MCP", "mcp", "MCP files, separated as in PATH; they add to those of wexec.yaml"},
		{"WEXEC_CACHE", "cache", "folder of compiled code and results"},
		{"WEXEC_AUDIT", "audit.dir", "folder of the records, without the anchor of wexec.yaml"},
		{"WEXEC_LOG", "log", "debug, info, warn or error"},
		{"WEXEC_STORE", "", "address of the store, sqlite:FILE or postgres://USER@HOST/DATABASE"},
		{"WEXEC_SERVER", "", "address of the server that commands with --server ask, except for run"},
		{"WEXEC_TOKEN_FILE", "", "file with the token for that server"},
		{"WEXEC_SEAL_KEY", "", "the seal key of a server, instead of a key file"},
		{"WEXEC_HTTP_TOKEN", "", "bearer token of the HTTP clients of wexec mcp --http"},
	}
	for _, f := range policy.LimitFields() {
		out = append(out, Variable{limitVariable(f), "limits." + f.Key, f.Doc})
	}
	return out
}
