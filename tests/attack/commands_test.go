package attack

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
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
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"wheel": wheel, "tarball": tarball, "only": only},
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
