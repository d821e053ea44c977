package config

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns/upstream"
	"github.com/wexec/wexec/policy"
)

// machine returns an environment with the given files.
func machine(t *testing.T, files map[string]string, vars ...string) *Environment {
	t.Helper()
	top := t.TempDir()
	for name, text := range files {
		path := filepath.Join(top, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dir := filepath.Join(top, "project")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return &Environment{Dir: dir, Home: filepath.Join(top, "home"), System: filepath.Join(top, "etc"), OS: "linux",
		Vars: append([]string{"XDG_CONFIG_HOME=" + filepath.Join(top, "config"), "XDG_STATE_HOME=" + filepath.Join(top, "state"),
			"XDG_CACHE_HOME=" + filepath.Join(top, "cache")}, vars...)}
}

func TestMCPFilesOfEveryClientAreRead(t *testing.T) {
	x := expander{lookup: func(n string) (string, bool) { return map[string]string{"TOKEN": "s3"}[n], n == "TOKEN" }, workspace: "/w"}
	for name, c := range map[string]struct {
		text string
		want upstream.Server
	}{
		"Claude": {`{"mcpServers": {"a": {"command": "npx", "args": ["-y", "pkg"], "env": {"T": "${TOKEN}"}}}}`,
			upstream.Server{Name: "a", Transport: "stdio", Command: "npx", Args: []string{"-y", "pkg"}, Env: map[string]string{"T": "s3"}}},
		"VS Code": {"{\n// comment\n\"servers\": {\"a\": {\"type\": \"http\", \"url\": \"https://x/mcp\", \"headers\": {\"H\": \"${env:TOKEN}\"},},},\n}",
			upstream.Server{Name: "a", Transport: "http", URL: "https://x/mcp", Headers: map[string]string{"H": "s3"}}},
		"Gemini":     {`{"mcpServers": {"a": {"httpUrl": "https://x"}}}`, upstream.Server{Name: "a", Transport: "http", URL: "https://x"}},
		"an old one": {`{"mcpServers": {"a": {"type": "sse", "url": "https://x"}}}`, upstream.Server{Name: "a", Transport: "sse", URL: "https://x"}},
		"fallbacks": {`{"mcpServers": {"a": {"command": "${MISSING:-node}", "cwd": "${workspaceFolder}/sub"}}}`,
			upstream.Server{Name: "a", Transport: "stdio", Command: "node", Dir: "/w/sub"}},
	} {
		got, err := parseServers("mcp.json", []byte(c.text), x)
		if err != nil || len(got.Servers) != 1 {
			t.Errorf("%s: %d servers, %v", name, len(got.Servers), err)
			continue
		}
		s := got.Servers[0]
		s.Origin, s.Secrets = "", nil
		if len(s.Env) == 0 {
			s.Env = nil
		}
		if len(s.Headers) == 0 {
			s.Headers = nil
		}
		if diff := cmp.Diff(c.want, s); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestAnUnsetVariableNamesFileAndKey(t *testing.T) {
	got, err := parseServers("mcp.json", []byte(`{"mcpServers": {"a": {"command": "x", "env": {"K": "${NOPE}"}}, "b": {"command": "y"}}}`), expander{lookup: func(string) (string, bool) { return "", false }})
	if err != nil || len(got.Servers) != 2 || got.Servers[1].Fault != nil || got.Servers[1].Command != "y" {
		t.Fatalf("a fault of one server costs another: %+v, %v", got, err)
	}
	if err = got.Servers[0].Fault; !errors.Is(err, fault.UsageConfig) {
		t.Fatal(err)
	}
	for _, part := range []string{"mcp.json", "env.K", "NOPE", `"a"`} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not name %s", err, part)
		}
	}
}

func TestAutoApproveIsIgnoredWithAWarning(t *testing.T) {
	got, err := parseServers("mcp.json", []byte(`{"mcpServers": {"a": {"command": "x", "autoApprove": ["*"]}}}`), expander{})
	if err != nil || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "autoApprove") {
		t.Errorf("%v, %v", got.Warnings, err)
	}
}

func TestDamagedMCPFiles(t *testing.T) {
	for text, want := range map[string]string{
		"{\n  \"mcpServers\": {\n    \"a\": }\n}":                  "mcp.json:3:",
		`{"mcpServers": {"a": {"command": 5}}}`:                    `server "a"`,
		`{"mcpServers": {"a": {}}}`:                                "must have command or url",
		`{"other": 1}`:                                             "neither mcpServers nor servers",
		`{"mcpServers": {"a": {"type": "smoke", "command": "x"}}}`: "smoke",
		`/* never closed`:                                          "unterminated comment",
	} {
		got, err := parseServers("mcp.json", []byte(text), expander{})
		if err == nil && len(got.Servers) == 1 {
			err = got.Servers[0].Fault
		}
		if !errors.Is(err, fault.UsageConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gives %v, want %q", text, err, want)
		}
	}
}

const oneServer = "servers:\n  here: {command: cat}\n"

func TestAClonedProjectStartsAndAllowsNothingUntilItIsTrusted(t *testing.T) {
	env := machine(t, map[string]string{
		"project/wexec.yaml":  oneServer,
		"project/policy.yaml": "version: 1\ntools:\n  allow: [\"here.*\"]\n  deny: [here.delete]\n",
		"project/.mcp.json":   `{"mcpServers": {"there": {"command": "cat"}}}`,
	})
	s, err := Load(env, Flags{})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Servers) != 0 || len(s.Warnings) == 0 || s.Policy().BestEffect("here.list") != policy.Deny {
		t.Fatalf("untrusted: %d servers, warnings %q", len(s.Servers), s.Warnings)
	}
	// What a person allows by flag is held back by what the project denies.
	s, err = Load(env, Flags{Allow: policy.Flags{AllowTool: []string{"here.*"}}})
	if err != nil || s.Policy().BestEffect("here.list") != policy.Allow || s.Policy().BestEffect("here.delete") != policy.Deny {
		t.Fatalf("untrusted, with a flag: %v, %v", s.Policy().BestEffect("here.list"), err)
	}
	if _, err := Trust(env); err != nil {
		t.Fatal(err)
	}
	if s, err = Load(env, Flags{}); err != nil || len(s.Servers) != 2 || len(s.Policies) != 1 {
		t.Fatalf("trusted: %d servers, %d policies, %v", len(s.Servers), len(s.Policies), err)
	}
	if err := os.WriteFile(filepath.Join(env.Dir, ".mcp.json"), []byte(`{"mcpServers": {"evil": {"command": "sh"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err = Load(env, Flags{}); err != nil || len(s.Servers) != 0 {
		t.Fatalf("changed: %d servers, %v", len(s.Servers), err)
	}
}

func TestNearerLayersWin(t *testing.T) {
	env := machine(t, map[string]string{
		"etc/wexec.yaml":          "log: error\nlimits: {fuel: 1000, time: 10s}\nservers: {a: {command: system}}\n",
		"config/wexec/wexec.yaml": "limits: {fuel: 2000}\nservers: {a: {command: user}}\n",
	}, "WEXEC_FUEL=3000")
	s, err := Load(env, Flags{Log: "debug"})
	if err != nil {
		t.Fatal(err)
	}
	if s.Limits.Fuel != 3000 || s.Limits.Time.Seconds() != 10 || s.Log != "debug" || len(s.Servers) != 1 || s.Servers[0].Command != "user" {
		t.Errorf("%+v, log %s, servers %+v", s.Limits, s.Log, s.Servers)
	}
	origin := map[string]string{}
	for _, v := range s.Values() {
		origin[v.Key] = v.Origin
	}
	if origin["limits.fuel"] != "environment" || origin["log"] != "flag" || !strings.HasSuffix(origin["limits.time"], filepath.Join("etc", "wexec.yaml")) {
		t.Errorf("origins %v", origin)
	}
}

func TestAnUnknownKeyHasLineAndColumn(t *testing.T) {
	_, err := parseFile("wexec.yaml", []byte("log: warn\nlimts: {fuel: 3}\n"))
	if !errors.Is(err, fault.UsageConfig) || !strings.Contains(err.Error(), "wexec.yaml:2:1") {
		t.Errorf("%v", err)
	}
}

func TestValuesContainNoSecret(t *testing.T) {
	env := machine(t, map[string]string{
		"config/wexec/wexec.yaml": "servers: {a: {url: \"https://x\", headers: {Authorization: hunter2}}}\n",
	})
	s, err := Load(env, Flags{})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range s.Values() {
		if strings.Contains(v.Value, "hunter2") {
			t.Errorf("%s shows the secret", v.Key)
		}
	}
}

func FuzzConfiguration(f *testing.F) {
	f.Add([]byte(oneServer), []byte(`{"mcpServers": {"a": {"command": "x"}}}`))
	f.Add([]byte("limits: {fuel: 1e99}"), []byte(`{"servers": {"a": {"url": "${X:-}"}}, // c`+"\n}"))
	f.Fuzz(func(t *testing.T, yaml, servers []byte) {
		if file, err := parseFile("wexec.yaml", yaml); err == nil {
			_, _ = file.servers("wexec.yaml", expander{lookup: func(string) (string, bool) { return "", false }})
		}
		_, _ = parseServers("mcp.json", servers, expander{lookup: func(string) (string, bool) { return "v", true }})
	})
}

func TestEmbeddings(t *testing.T) {
	for text, hint := range map[string]string{
		"embeddings: {url: 'https://api.example.org/v1', model: small, key: 'env:KEY'}": "",
		"embeddings: {url: 'http://localhost:11434/v1', model: small}":                  "",
		"embeddings: {url: 'https://api.example.org/v1', model: small, key: 'sk-1234'}": "not the key itself",
		"embeddings: {url: 'https://api.example.org/v1'}":                               "model is missing",
		"embeddings: {url: 'http://api.example.org/v1', model: small, key: 'env:KEY'}":  "requires https",
		"learn_types: false": "",
	} {
		env := machine(t, map[string]string{"config/wexec/wexec.yaml": text})
		s, err := Load(env, Flags{})
		if err != nil {
			t.Fatal(err)
		}
		h, err := s.Open(t.Context(), Options{Env: env, NoAudit: true})
		if hint == "" {
			if err != nil {
				t.Errorf("%s: %v", text, err)
				continue
			}
			if (h.learned == nil) != (text == "learn_types: false") {
				t.Errorf("%s: learned is %v", text, h.learned)
			}
			if err := h.Close(); err != nil {
				t.Error(err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), hint) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestSharesOfFeaturesAreChecked(t *testing.T) {
	for text, want := range map[string]Share{"on": 100, "true": 100, "off": 0, "0": 0, "25%": 25, "7": 7, "100%": 100} {
		var s Share
		if err := s.UnmarshalText([]byte(text)); err != nil || s != want {
			t.Errorf("%s: %d %v", text, s, err)
		}
	}
	for _, text := range []string{"", "maybe", "-1", "101", "101%", "2.5", "%", "25%%", "1e1"} {
		if err := new(Share).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is a share", text)
		}
	}
	f, err := parseFile("wexec.yaml", []byte("features: {skills: off, models: 25%, tasks: on}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := f.Features.shares(); len(got) != 3 || got["skills"] != 0 || got["models"] != 25 || got["tasks"] != 100 {
		t.Errorf("%v", got)
	}
	for _, text := range []string{"features: {flying: on}", "features: {skills: perhaps}", "features: on", "quotas: {running: 1.5}", "quotas: {fuel_per_day: -1}"} {
		if _, err := parseFile("wexec.yaml", []byte(text+"\n")); !errors.Is(err, fault.UsageConfig) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestAPolicyThatChangedAppliesWithTheFormerOne goes on with settings after their policy
// became wider in one place and narrower in another.
func TestAPolicyThatChangedAppliesWithTheFormerOne(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "p.yaml")
	env := &Environment{Dir: dir, Home: dir, OS: runtime.GOOS}
	load := func(text string) *Settings {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Load(env, Flags{Policy: []string{"p.yaml"}})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	const former = "version: 1\ntools: {allow: [a.one, a.two]}\n"
	before := load(former).PolicyFiles()
	same := load(former)
	digest := same.Policy().Digest()
	if err := same.TightenBy(env, before); err != nil || same.Policy().Digest() != digest {
		t.Errorf("a policy that is the same was added: %v", err)
	}
	s := load("version: 1\ntools: {allow: [a.two, a.three]}\n")
	if err := s.TightenBy(env, before); err != nil {
		t.Fatal(err)
	}
	for tool, want := range map[string]policy.Effect{"a.one": policy.Deny, "a.two": policy.Allow, "a.three": policy.Deny} {
		if got := s.Policy().BestEffect(tool); got != want {
			t.Errorf("%s: %v, want %v", tool, got, want)
		}
	}
}
