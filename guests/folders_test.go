package guests_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/hostfns/files"
	"github.com/wexec/wexec/policy"
)

// folder writes files below a fresh folder.
func folder(t *testing.T, texts map[string]string) string {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range texts {
		path := filepath.Join(top, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return top
}

func value(t *testing.T, e *engine.Engine, r engine.Request) string {
	t.Helper()
	res, err := e.Run(context.Background(), r)
	if err != nil {
		t.Errorf("%s: %v", r.Code, err)
	}
	data, _ := json.Marshal(res.Value)
	return string(data)
}

func TestRelativePathsStartAtTheSameFolderInEveryLanguage(t *testing.T) {
	e := newEngine(t)
	top := folder(t, map[string]string{"in/data/a.txt": "granted", "program/data/a.txt": "next to the program"})
	granted, err := policy.Parse(filepath.Join(top, "policy.yaml"), []byte("version: 1\nfiles:\n  read: [./in/data/**]\n  write: [./in/out/**]\n"))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		policy                *policy.Policy
		javascript, python, w string
	}{
		"nothing granted": {nil,
			"import fs from 'fs'\nfs.writeFileSync('a.txt', 'scratch')\nreturn [fs.readFileSync('/tmp/a.txt', 'utf8'), fs.existsSync('data')]",
			"import os\nopen('a.txt', 'w').write('scratch')\nreturn [open('/tmp/a.txt').read(), os.path.exists('data')]", `["scratch",false]`},
		"a folder granted": {granted,
			"import fs from 'fs'\nimport path from 'path'\nfs.writeFileSync('out/b.txt', 'x')\nreturn [fs.readFileSync('data/a.txt', 'utf8'), path.resolve('data')]",
			"import os\nopen('out/b.txt', 'w').write('x')\nreturn [open('data/a.txt').read(), os.path.abspath('data')]", `["granted","/data"]`},
	} {
		table, err := hostfns.NewTable(c.policy, audit.None(), files.New())
		if err != nil {
			t.Fatal(err)
		}
		for language, code := range map[string]string{"javascript": c.javascript, "python": c.python, "typescript": c.javascript} {
			if err := os.RemoveAll(filepath.Join(top, "in", "out")); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(filepath.Join(top, "in", "out"), 0o755); err != nil {
				t.Fatal(err)
			}
			got := value(t, e, engine.Request{Language: language, Code: code, Table: table, Root: filepath.Join(top, "program"), Dir: filepath.Join(top, "in")})
			if got != c.w {
				t.Errorf("%s, %s: %s, want %s", language, name, got, c.w)
			}
			if _, err := os.Stat(filepath.Join(top, "in", "out", "b.txt")); (err == nil) != (c.policy != nil) {
				t.Errorf("%s, %s: the file was written in the wrong place: %v", language, name, err)
			}
		}
	}
}

func TestPackagesOfTheCallersFolderAreImported(t *testing.T) {
	e := newEngine(t)
	top := folder(t, map[string]string{
		"packages/pure/__init__.py": "from importlib import resources\nWORDS = (resources.files('pure') / 'words.txt').read_text()\n",
		"packages/pure/words.txt":   "one two", "packages/native.cpython-313-x86_64-linux-gnu.so": "\x7fELF",
		"packages/left/package.json": `{"main": "main.js"}`, "packages/left/main.js": "module.exports = (text, n) => String(text).padStart(n)",
	})
	table, err := hostfns.NewTable(nil, audit.None(), files.New())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ language, code, want string }{
		{"python", "from pure import WORDS\nWORDS.split()", `["one","two"]`},
		{"javascript", "import left from 'left'\nreturn left('a', 3)", `"  a"`},
	} {
		r := engine.Request{Language: c.language, Code: c.code, Table: table, Packages: filepath.Join(top, "packages")}
		if got := value(t, e, r); got != c.want {
			t.Errorf("%s: %s, want %s", c.code, got, c.want)
		}
		r.Packages = ""
		if res, err := e.Run(context.Background(), r); fault.CodeOf(err) != fault.GuestException || res.Error.Hint == "" {
			t.Errorf("without the folder: %v", err)
		}
	}
	r := engine.Request{Language: "python", Code: "import native", Table: table, Packages: filepath.Join(top, "packages")}
	if res, err := e.Run(context.Background(), r); err == nil || res.Error.Hint == "" {
		t.Errorf("a native module: %v", err)
	}
}

func TestBothLanguagesKnowTheSameTimeZones(t *testing.T) {
	e := newEngine(t)
	const javascript = `const f = new Intl.DateTimeFormat('sv-SE', { timeZone: args.zone, year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit', second: '2-digit' })
return args.times.map(t => f.format(new Date(t * 1000)))`
	const python = `from datetime import datetime
from zoneinfo import ZoneInfo
return [datetime.fromtimestamp(t, ZoneInfo(args["zone"])).strftime("%Y-%m-%d %H:%M:%S") for t in args["times"]]`
	var times []int64
	for at := int64(-2_000_000_000); at < 4_000_000_000; at += 7_654_321 {
		times = append(times, at)
	}
	for _, zone := range []string{"America/New_York", "Europe/Dublin", "Australia/Lord_Howe", "Africa/Casablanca", "Asia/Tehran", "America/Santiago", "Etc/GMT+5", "UTC"} {
		args, _ := json.Marshal(map[string]any{"zone": zone, "times": times})
		a := value(t, e, engine.Request{Language: "javascript", Code: javascript, Args: args})
		b := value(t, e, engine.Request{Language: "python", Code: python, Args: args})
		if a != b {
			t.Errorf("%s: JavaScript and Python differ\n%.300s\n%.300s", zone, a, b)
		}
	}
}
