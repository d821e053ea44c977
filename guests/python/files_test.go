package python_test

import (
	"strings"
	"testing"
)

func TestModulesBesideTheProgramAreImported(t *testing.T) {
	files := map[string]string{
		"app/helper.py":               "import json\nVALUE = 5\ndef twice(x):\n    return x * 2\n\ndef broken():\n    return {}['k']\n",
		"app/pack/__init__.py":        "from .inner import name\n",
		"app/pack/inner.py":           "name = __name__\n",
		"app/wrong.py":                "x = 1\nif x\n",
		"app/json.py":                 "raise RuntimeError('hides the library')\n",
		"packages/pure/__init__.py":   "def f():\n    return 'pure'\n",
		"packages/native/__init__.py": "from ._speedups import x\n",
		"packages/native/_speedups.cpython-313-x86_64-linux-gnu.so": "\x7fELF",
	}
	change := func(h *host) {
		h.files = files
		h.input["root"] = "/app"
		h.input["packages"] = "/packages"
	}
	for code, want := range map[string]string{
		"import helper\nhelper.twice(helper.VALUE)":                 "10",
		"from pack import name\nname":                               `"pack.inner"`,
		"import pure\npure.f()":                                     `"pure"`,
		"import sys\nsys.path[0], len(sys.path)":                    `["/app",3]`,
		"import importlib\nimportlib.import_module('helper').VALUE": "5",
	} {
		if got := run(t, code, change).value(t); got != want {
			t.Errorf("%s gave %s, want %s", code, got, want)
		}
	}
	f := run(t, "import helper\n\nhelper.broken()", change).fault(t)
	if !strings.HasSuffix(f.File, "helper.py") || f.Line != 7 || f.Text != "    return {}['k']" || !strings.Contains(f.Stack, "line 3, in <module>") {
		t.Errorf("an error in an imported file is %+v", f)
	}
	f = run(t, "import wrong", change).fault(t)
	if f.Code != "guest.syntax" || !strings.HasSuffix(f.File, "wrong.py") || f.Line != 2 {
		t.Errorf("a syntax error in an imported file is %+v", f)
	}
	f = run(t, "import native", change).fault(t)
	if f.Name != "ModuleNotFoundError" || !strings.Contains(f.Message, "_speedups.cpython") || !strings.Contains(f.Hint, "pure Python") {
		t.Errorf("a native module is %+v", f)
	}
	f = run(t, "import helper").fault(t)
	if f.Name != "ModuleNotFoundError" {
		t.Errorf("without a root: %+v", f)
	}
}

// TestConnectionsToOneDatabaseWaitForEachOther reads a database while another
// connection of the program has changes that are not committed, and writes to it.
func TestConnectionsToOneDatabaseWaitForEachOther(t *testing.T) {
	got := run(t, `import sqlite3
first, second = (sqlite3.connect("/tmp/x.db", timeout=0) for _ in range(2))
def rows(connection):
    return [i for i, in connection.execute("select i from t order by i")]
first.execute("create table t(i)")
first.execute("insert into t values (1)")
seen = [rows(first), rows(second)]
try:
    second.execute("insert into t values (2)")
except sqlite3.OperationalError as error:
    seen.append(str(error))
first.commit()
seen.append(rows(second))
second.execute("insert into t values (2)")
second.commit()
return seen + [rows(first)]`).value(t)
	if want := `[[1],[],"database is locked",[1],[1,2]]`; got != want {
		t.Errorf("the connections see %s, want %s", got, want)
	}
}

func TestFilesAreWhereTheyWereGranted(t *testing.T) {
	for code, want := range map[string]string{
		"open('/tmp/a', 'w').write('x')\nopen('/tmp/a').read()":                                             `"x"`,
		"try:\n    open('/tmp/none')\nexcept FileNotFoundError:\n    return 'missing'":                      `"missing"`,
		"try:\n    open('/etc/passwd')\nexcept PermissionError as e:\n    return [e.code, e.filename]":      `["denied.file","/etc/passwd"]`,
		"import pathlib\npathlib.Path('/tmp/p').write_text('é')\npathlib.Path('/tmp/p').read_bytes().hex()": `"c3a9"`,
		"import os\nsorted(os.listdir('/mcp-servers'))":                                                     `["github.pyi"]`,
	} {
		got := run(t, code, func(h *host) { h.files = map[string]string{"mcp-servers/github.pyi": ""} }).value(t)
		if got != want {
			t.Errorf("%s gave %s, want %s", code, got, want)
		}
	}
}

// TestSystemErrorsAreThoseOfLinux: WASI has other numbers, and its library other texts.
func TestSystemErrorsAreThoseOfLinux(t *testing.T) {
	for code, want := range map[string]string{
		"open('/tmp/none')":                         `["FileNotFoundError","ENOENT","[Errno 2] No such file or directory: '/tmp/none'"]`,
		"open('/tmp')":                              `["IsADirectoryError","EISDIR","[Errno 21] Is a directory: '/tmp'"]`,
		"os.mkdir('/tmp')":                          `["FileExistsError","EEXIST","[Errno 17] File exists: '/tmp'"]`,
		"os.listdir('/tmp/file')":                   `["NotADirectoryError","ENOTDIR","[Errno 20] Not a directory: '/tmp/file'"]`,
		"os.rmdir('/tmp/full')":                     `["OSError","ENOTEMPTY","[Errno 39] Directory not empty: '/tmp/full'"]`,
		"os.close(99)":                              `["OSError","EBADF","[Errno 9] Bad file descriptor"]`,
		"os.posix_fadvise(99, 0, 0, 0)":             `["OSError","EBADF","[Errno 9] Bad file descriptor"]`,
		"raise OSError(errno.EPIPE, 'x')":           `["BrokenPipeError","EPIPE","[Errno 32] x"]`,
		"raise OSError(110, os.strerror(110))":      `["TimeoutError","ETIMEDOUT","[Errno 110] Connection timed out"]`,
		"raise OSError(errno.ENODATA, 'x')":         `["OSError","ENODATA","[Errno 61] x"]`,
		"raise OSError(errno.ENOTSUP, '')":          `["OSError","ENOTSUP","[Errno 95] "]`,
		"raise OSError(2, os.strerror(4096) + '!')": `["FileNotFoundError","ENOENT","[Errno 2] Unknown error 4096!"]`,
	} {
		got := run(t, "import os, errno\nopen('/tmp/file', 'w').close()\nos.makedirs('/tmp/full/inner', exist_ok=True)\ntry:\n    "+code+
			"\nexcept OSError as e:\n    return [type(e).__name__, errno.errorcode[e.errno], str(e)]").value(t)
		if got != want {
			t.Errorf("%s gave %s, want %s", code, got, want)
		}
	}
}

// TestTwoConnectionsToOneDatabase: one sees what the other committed, and waits for its
// transaction.
func TestTwoConnectionsToOneDatabase(t *testing.T) {
	const code = `
import sqlite3
a, b = sqlite3.connect("/tmp/db"), sqlite3.connect("/tmp/db", timeout=0.01)
a.execute("create table t(x)")
a.execute("insert into t values(1)")
a.commit()
seen = b.execute("select x from t").fetchall()
a.execute("insert into t values(2)")
try:
    b.execute("insert into t values(3)")
    locked = None
except sqlite3.OperationalError as e:
    locked = str(e)
a.rollback()
b.execute("insert into t values(4)")
b.commit()
return [seen, locked, a.execute("select x from t").fetchall()]
`
	if got, want := run(t, code).value(t), `[[[1]],"database is locked",[[1],[4]]]`; got != want {
		t.Errorf("the value is %s, want %s", got, want)
	}
}
