package javascript_test

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

//go:embed testdata/web-baseline.txt
var webBaseline string

// webFolders are the parts of the web-platform-tests that are about what the
// guest has. Other files of these folders, and those that webLeftOut matches,
// need a page, a worker or a server.
var webFolders = []string{
	"encoding", "url", "dom/abort", "dom/events", "html/webappapis/*", "FileAPI/blob", "FileAPI/file", "hr-time",
	"console", "WebCryptoAPI", "fetch/api/*", "webidl/ecmascript-binding",
}

var webLeftOut = regexp.MustCompile(`idlharness|legacy-mb|\.window\.|\.sub\.|historical|unsupported|cross-realm|Exposed`)

// webPrologue makes the globals that the tests expect of a worker, and the one
// object of WebAssembly by which they reach shared memory.
const webPrologue = `globalThis.self = globalThis
globalThis.GLOBAL = { isWindow: () => false, isWorker: () => false, isShadowRealm: () => false }
globalThis.location = { search: '', href: 'http://web-platform.test/', origin: 'http://web-platform.test' }
globalThis.WebAssembly = { Memory: class { get buffer() { return new SharedArrayBuffer(0) } } }
const $files = args.files
globalThis.fetch = async (name) => ({ ok: true, text: async () => $files[name], json: async () => JSON.parse($files[name]) });
`

// webEpilogue gives [name, message] of each test, the message null where the
// test passed.
const webEpilogue = `
return await new Promise((resolve) => add_completion_callback((tests, status) => resolve(
  [...tests.map((test) => [test.name, test.status === 0 ? null : String(test.message)]), ...(status.status ? [['(the file)', String(status.message)]] : [])])))`

// TestTheWebsOwnTestsPass runs the web-platform-tests that come with the source
// of Node in Debian. Each failure is in the baseline, and each line of the
// baseline fails.
func TestTheWebsOwnTestsPass(t *testing.T) {
	root := filepath.Join("..", "..", "work", "web", "wpt")
	if os.Getenv("WEXEC_CONFORMANCE") == "" {
		t.Skip("needs the web-platform-tests, which make conformance fetches")
	}
	harness := readWeb(t, root, "resources/testharness.js")
	known := map[string]bool{}
	for line := range strings.Lines(webBaseline) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			known[line] = true
		}
	}
	var failures []string
	passed := 0
	for _, folder := range webFolders {
		files, err := filepath.Glob(filepath.Join(root, folder, "*.any.js"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			name, _ := filepath.Rel(root, file)
			if name = filepath.ToSlash(name); webLeftOut.MatchString(name) {
				continue
			}
			for _, result := range runWeb(t, root, name, harness) {
				id := fmt.Sprintf("%s: %.100q", name, *result[0])
				switch {
				case result[1] == nil:
					passed++
				default:
					failures = append(failures, id)
					if !known[id] {
						t.Errorf("%s\n\t%.400s", id, *result[1])
					}
				}
			}
		}
	}
	for id := range known {
		if slices.Contains(failures, id) {
			continue
		}
		t.Errorf("%s passes or is gone: remove it from the baseline", id)
	}
	if to := os.Getenv("WEXEC_WEB_BASELINE"); to != "" {
		if err := os.WriteFile(to, []byte(strings.Join(failures, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d tests of the web platform passed, %d failed", passed, len(failures))
}

func readWeb(t *testing.T, root, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

var webScript = regexp.MustCompile(`(?m)^// META: script=(\S+)`)
var webFetched = regexp.MustCompile(`fetch\("([^"]+\.json)"\)`)

// runWeb runs one file of tests.
func runWeb(t *testing.T, root, name, harness string) [][2]*string {
	t.Helper()
	text := readWeb(t, root, name)
	beside := func(other string) string {
		if strings.HasPrefix(other, "/") {
			return other[1:]
		}
		return path.Join(path.Dir(name), other)
	}
	code := webPrologue + harness + "\n"
	for _, script := range webScript.FindAllStringSubmatch(text, -1) {
		if data, err := os.ReadFile(filepath.Join(root, beside(script[1]))); err == nil {
			code += string(data) + "\n"
		}
	}
	files := map[string]string{}
	for _, fetched := range webFetched.FindAllStringSubmatch(code+text, -1) {
		if data, err := os.ReadFile(filepath.Join(root, beside(fetched[1]))); err == nil {
			files[fetched[1]] = string(data)
		}
	}
	h := &host{limit: time.Minute, input: map[string]any{"code": code + text + webEpilogue, "file": "main.js", "args": map[string]any{"files": files}}}
	err := newGuest(t, h).run(t)
	var results [][2]*string
	if err != nil || h.outcome != outcomeValue || json.Unmarshal(h.document, &results) != nil {
		file, why := "(the file)", fmt.Sprintf("%.300s %v", h.document, err)
		return [][2]*string{{&file, &why}}
	}
	return results
}
