package python_test

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

//go:embed testdata/programs-baseline.txt
var programsBaseline string

// The reference runs every program in one process, each as a separate module,
// and gives what it printed and the name of the exception that ended it.
const reference = `
import sys, json, io, contextlib, threading, asyncio, logging
out = []
for code in json.load(sys.stdin):
    f, name = io.StringIO(), ""
    asyncio.set_event_loop(None)
    logging.root.handlers.clear()
    with contextlib.redirect_stdout(f), contextlib.redirect_stderr(io.StringIO()):
        try:
            exec(compile(code, "main.py", "exec"), {"__name__": "__main__"})
        except BaseException as e:
            while isinstance(e, BaseExceptionGroup) and len(e.exceptions) == 1:
                e = e.exceptions[0]
            name = type(e).__name__
    out.append([f.getvalue(), name])
sys.setrecursionlimit(1000)
json.dump([sys.version_info[:2], out], sys.stdout)
`

// realPython is an interpreter to compare with: the recipe's own host build of
// the same version where it is there, else the machine's.
func realPython(t *testing.T) string {
	for _, candidate := range []string{filepath.Join("..", "..", "work", "cpython", "host", "python"), "python3.13", "python3"} {
		path, err := exec.LookPath(candidate)
		// A name on the PATH may lead to a version manager that has no such version.
		if err == nil && exec.Command(path, "-c", "import encodings, json").Run() == nil {
			return path
		}
	}
	t.Skip("needs python3")
	return ""
}

type sample struct{ name, code string }

func samples(t *testing.T) []sample {
	files, err := filepath.Glob("testdata/programs/*.py")
	if err != nil || len(files) == 0 {
		t.Fatal("no programs", err)
	}
	var all []sample
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		topic := strings.TrimSuffix(filepath.Base(file), ".py")
		for _, part := range strings.Split("\n"+string(data), "\n# --- ")[1:] {
			name, code, _ := strings.Cut(part, "\n")
			all = append(all, sample{topic + "/" + name, code})
		}
	}
	return all
}

// baseline reads lines "NAME: reason".
func baseline(text string) map[string]string {
	known := map[string]string{}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			name, reason, _ := strings.Cut(line, ": ")
			known[name] = reason
		}
	}
	return known
}

func TestProgramsPrintWhatPythonPrints(t *testing.T) {
	all := samples(t)
	if len(all) < 300 {
		t.Fatalf("only %d programs", len(all))
	}
	if testing.Short() {
		var some []sample
		for i := 0; i < len(all); i += 10 {
			some = append(some, all[i])
		}
		all = some
	}
	var codes []string
	for _, s := range all {
		codes = append(codes, s.code)
	}
	in, _ := json.Marshal(codes)
	command := exec.Command(realPython(t), "-X", "utf8", "-W", "ignore", "-c", reference)
	command.Stdin = bytes.NewReader(in)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	data, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	var results [][2]string
	var version [2]int
	if err := json.Unmarshal(data, &[]any{&version, &results}); err != nil {
		t.Fatal(err)
	}
	known := baseline(programsBaseline)
	old := version[0] == 3 && version[1] < 13
	for i, s := range all {
		h := &host{input: input(s.code + "\nNone"), fuel: 20_000}
		h.input["env"] = map[string]string{"HOME": "/"}
		if err := newGuest(t, h).run(); err != nil {
			t.Errorf("%s: %.400v", s.name, err)
			continue
		}
		name := ""
		if h.kind == outcomeError {
			name = h.fault(t).Name
		}
		same := h.stdout.String() == results[i][0] && name == results[i][1]
		reason, listed := known[s.name]
		aged := strings.HasPrefix(reason, "older than 3.13")
		if aged && !old {
			listed = false
		}
		switch {
		case !same && !listed:
			t.Errorf("%s:\n--- here, ended by %q\n%s--- Python %v, ended by %q\n%s", s.name, name, h.stdout.String(), version, results[i][1], results[i][0])
		case same && listed && !aged:
			t.Errorf("%s does not differ any more: take it out of the baseline", s.name)
		}
	}
}
