package attack

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/wexec/wexec/internal/tools/testenv"
)

// TestNoFileHarmsThePersonWhoNamesIt runs the scripts of testdata/commands: the command
// itself, in a folder with files of a stranger.
func TestNoFileHarmsThePersonWhoNamesIt(t *testing.T) {
	if testing.Short() {
		t.Skip("short: runs the command many times")
	}
	programs := filepath.Dir(testenv.Program(t, "wexec"))
	testscript.Run(t, testscript.Params{
		Dir: "testdata/commands", RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			home := filepath.Join(e.WorkDir, "home")
			e.Setenv("HOME", home)
			e.Setenv("XDG_RUNTIME_DIR", filepath.Join(e.WorkDir, "run"))
			e.Setenv("WEXEC_CACHE", testenv.Cache())
			e.Setenv("NO_COLOR", "1")
			e.Setenv("PATH", programs+string(filepath.ListSeparator)+os.Getenv("PATH"))
			e.Setenv("CANARY", canary)
			return errors.Join(os.MkdirAll(home, 0o700), os.WriteFile(filepath.Join(e.WorkDir, "secret.txt"), []byte(canary), 0o600))
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"wheel": wheel, "tarball": tarball, "only": only, "take": take, "put": put,
			"change": change, "shorten": shorten, "replace": replace, "records": records, "status": status, "resume": resume},
	})
}

// entries are the files of an archive as a script names them: NAME=TEXT, in a literal
// of Go. TEXT may be ->TARGET for a link, or N*X for X n times.
func entries(ts *testscript.TestScript, args []string, add func(name, text string, link bool)) {
	for _, arg := range args {
		arg, err := strconv.Unquote(`"` + arg + `"`)
		ts.Check(err)
		name, text, _ := strings.Cut(arg, "=")
		target, link := strings.CutPrefix(text, "->")
		if n, x, ok := strings.Cut(text, "*"); ok {
			if times, err := strconv.Atoi(n); err == nil {
				target = strings.Repeat(x, times)
			}
		}
		add(name, target, link)
	}
}

// wheel writes a zip archive: wheel FILE NAME=TEXT…
func wheel(ts *testscript.TestScript, _ bool, args []string) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	entries(ts, args[1:], func(name, text string, link bool) {
		h := &zip.FileHeader{Name: name, Method: zip.Deflate}
		if link {
			h.SetMode(fs.ModeSymlink | 0o777)
		}
		w, err := z.CreateHeader(h)
		ts.Check(err)
		_, err = w.Write([]byte(text))
		ts.Check(err)
	})
	ts.Check(z.Close())
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b.Bytes(), 0o600))
}

// tarball writes what npm pack writes: tarball FILE NAME=TEXT…
func tarball(ts *testscript.TestScript, _ bool, args []string) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	entries(ts, args[1:], func(name, text string, link bool) {
		h := &tar.Header{Name: name, Mode: 0o600, Size: int64(len(text)), Typeflag: tar.TypeReg}
		if link {
			h.Typeflag, h.Linkname, h.Size, text = tar.TypeSymlink, text, 0, ""
		}
		ts.Check(w.WriteHeader(h))
		_, err := w.Write([]byte(text))
		ts.Check(err)
	})
	ts.Check(errors.Join(w.Close(), z.Close()))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b.Bytes(), 0o600))
}

// only checks the names in a folder: only FOLDER NAME…
func only(ts *testscript.TestScript, _ bool, args []string) {
	found, err := os.ReadDir(ts.MkAbs(args[0]))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		ts.Fatalf("%v", err)
	}
	var names []string
	for _, f := range found {
		names = append(names, f.Name())
	}
	if got, want := strings.Join(names, " "), strings.Join(args[1:], " "); got != want {
		ts.Fatalf("%s has %q, want %q", args[0], got, want)
	}
}

// one returns the file that a pattern matches.
func one(ts *testscript.TestScript, pattern string) string {
	found, err := filepath.Glob(ts.MkAbs(pattern))
	ts.Check(err)
	if len(found) != 1 {
		ts.Fatalf("%s matches %q", pattern, found)
	}
	return found[0]
}

// edit changes the file that a pattern matches.
func edit(ts *testscript.TestScript, pattern string, f func(data []byte) []byte) {
	path := one(ts, pattern)
	data, err := os.ReadFile(path)
	ts.Check(err)
	ts.Check(os.WriteFile(path, f(data), 0o600))
}

// take copies the file that a pattern matches: take PATTERN FILE.
func take(ts *testscript.TestScript, _ bool, args []string) {
	data, err := os.ReadFile(one(ts, args[0]))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), data, 0o600))
}

// put writes files over the one that a pattern matches: put FILE PATTERN [FILE…].
func put(ts *testscript.TestScript, _ bool, args []string) {
	edit(ts, args[1], func([]byte) (all []byte) {
		for _, file := range append([]string{args[0]}, args[2:]...) {
			all = append(all, ts.ReadFile(file)...)
		}
		return all
	})
}

// change changes a byte: change PATTERN PLACE, which counts from the end if it is negative.
func change(ts *testscript.TestScript, _ bool, args []string) {
	at, err := strconv.Atoi(args[1])
	ts.Check(err)
	edit(ts, args[0], func(data []byte) []byte {
		if at < 0 {
			at += len(data)
		}
		data[at] ^= 1
		return data
	})
}

// shorten cuts bytes from the end: shorten PATTERN COUNT.
func shorten(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	edit(ts, args[0], func(data []byte) []byte { return data[:len(data)-n] })
}

// replace replaces a text that must be there: replace PATTERN OLD NEW.
func replace(ts *testscript.TestScript, _ bool, args []string) {
	edit(ts, args[0], func(data []byte) []byte {
		if !bytes.Contains(data, []byte(args[1])) {
			ts.Fatalf("no %s in %s", args[1], data)
		}
		return bytes.ReplaceAll(data, []byte(args[1]), []byte(args[2]))
	})
}

// records writes some records of another journal: records PATTERN FILE NUMBER…. Each is
// a wrapped key and sealed data, with their lengths.
func records(ts *testscript.TestScript, _ bool, args []string) {
	var all [][]byte
	for rest := []byte(ts.ReadFile(args[1])); len(rest) > 0; {
		n := 4 + int(binary.BigEndian.Uint32(rest))
		n += 4 + int(binary.BigEndian.Uint32(rest[n:]))
		all, rest = append(all, rest[:n]), rest[n:]
	}
	edit(ts, args[0], func([]byte) (data []byte) {
		for _, arg := range args[2:] {
			n, err := strconv.Atoi(arg)
			ts.Check(err)
			if n >= len(all) {
				ts.Fatalf("%s has %d records", args[1], len(all))
			}
			data = append(data, all[n]...)
		}
		return data
	})
}

// status runs a command that ends with a status: status N COMMAND…, where the command
// resume is wexec runs resume with the id of the only run.
func status(ts *testscript.TestScript, _ bool, args []string) {
	if args[1] == "resume" {
		args = slices.Concat(args[:1], []string{"wexec", "runs", "resume", filepath.Base(one(ts, "data/wexec/runs/*"))})
	}
	err := ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || strconv.Itoa(exit.ExitCode()) != args[0] {
		ts.Fatalf("it ended with %v, not with status %s", err, args[0])
	}
}

// resume tries to go on with the only run, which must be refused.
func resume(ts *testscript.TestScript, _ bool, _ []string) {
	if err := ts.Exec("wexec", "runs", "resume", filepath.Base(one(ts, "data/wexec/runs/*"))); err == nil {
		ts.Fatalf("the run went on")
	}
}
