package javascript_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"sync"
	"testing"

	wasmmodules "github.com/wexec/wexec/wasm-modules"
)

// wrote is what a program gave back, in Node or in the guest.
type wrote struct {
	Out   string `json:"out"`
	Err   string `json:"err"`
	Value string `json:"value"`
	Error string `json:"error"`
}

// TestProgramsAgreeWithNode runs the table of small programs in one Node process
// and each in a fresh guest, and wants the same output, value and error. What
// differs on purpose is in testdata/differences.txt, with a reason.
func TestProgramsAgreeWithNode(t *testing.T) {
	if testing.Short() {
		t.Skip("short: runs programs in Node")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("needs node")
	}
	command := exec.Command(node, "testdata/node.mjs")
	command.Env = append(os.Environ(), "TZ=UTC", "NO_COLOR=1", "LANG=en_US.UTF-8")
	data, err := command.Output()
	if err != nil {
		t.Fatalf("node: %v", err)
	}
	var want []wrote
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	var programs []string
	for _, file := range []string{"testdata/programs.txt", "testdata/agents.txt"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		programs = append(programs, strings.Split(strings.TrimSpace(string(text)), "\n\n")...)
	}
	if len(programs) != len(want) || len(programs) < 300 {
		t.Fatalf("%d programs, Node ran %d, want at least 300 of each", len(programs), len(want))
	}
	known := differences(t)
	for i, code := range programs {
		h := run(t, code, func(h *host) {
			if strings.Contains(code, "timeZone") {
				h.files = zones(t)
			}
		})
		got := wrote{Out: h.stdout.String(), Err: h.stderr.String()}
		switch h.outcome {
		case outcomeValue:
			got.Value = string(h.document)
		case outcomeError:
			e := h.fault(t)
			got.Error = e.Name + ": " + e.Message
		}
		same := got.Out == want[i].Out && got.Err == want[i].Err && got.Error == want[i].Error && sameJSON(got.Value, want[i].Value)
		title, _, _ := strings.Cut(code, "\n")
		reason, expected := known[title]
		delete(known, title)
		if same && expected {
			t.Errorf("%s\nagrees now: take it out of differences.txt (%s)", title, reason)
		}
		if !same && !expected {
			t.Errorf("program %d: %.600s\n got %+v\nwant %+v", i+1, code, got, want[i])
		}
	}
	for title := range known {
		t.Errorf("differences.txt names a program that is not in the table: %s", title)
	}
}

// zones are the files below /lib that the engine shows to JavaScript: the time
// zones of Python's library.
var zones = func() func(t *testing.T) map[string]string {
	load := sync.OnceValues(func() (map[string]string, error) {
		python, err := wasmmodules.Open("cpython")
		if err != nil {
			return nil, err
		}
		data, err := python.Library()
		if err != nil {
			return nil, err
		}
		archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return nil, err
		}
		files := map[string]string{}
		for _, f := range archive.File {
			if name, ok := strings.CutPrefix(f.Name, "tzdata/"); ok && !strings.HasSuffix(name, "/") {
				text, err := fs.ReadFile(archive, f.Name)
				if err != nil {
					return nil, err
				}
				files["lib/"+name] = string(text)
			}
		}
		return files, nil
	})
	return func(t *testing.T) map[string]string {
		files, err := load()
		if err != nil || len(files) < 300 {
			t.Fatalf("%d zones, %v", len(files), err)
		}
		return files
	}
}()

// differences reads lines of programs (their first line), each followed by an
// indented reason.
func differences(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile("testdata/differences.txt")
	if err != nil {
		t.Fatal(err)
	}
	known, title := map[string]string{}, ""
	for line := range strings.Lines(string(data)) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "" || strings.HasPrefix(line, "# "):
		case strings.HasPrefix(line, "    "):
			known[title] += strings.TrimSpace(line)
		default:
			title = line
			known[title] = ""
		}
	}
	for title, reason := range known {
		if reason == "" {
			t.Errorf("differences.txt gives no reason for %s", title)
		}
	}
	return known
}

func sameJSON(a, b string) bool {
	if a == "" || b == "" {
		return a == b
	}
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return false
	}
	return reflect.DeepEqual(x, y)
}
