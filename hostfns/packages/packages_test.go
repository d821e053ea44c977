package packages

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/wexec/wexec/fault"
)

// entry is a file of an archive that a test makes.
type entry struct {
	name, text string
	mode       fs.FileMode
}

const metadata = "Metadata-Version: 2.1\nName: pure\nVersion: 1.2\n\nName: other\n"

// wheel writes a wheel.
func wheel(t *testing.T, entries ...entry) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, e := range append(entries, entry{name: "pure-1.2.dist-info/METADATA", text: metadata}) {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		if e.mode != 0 {
			h.SetMode(e.mode)
		}
		w, err := z.CreateHeader(h)
		if err == nil {
			_, err = w.Write([]byte(e.text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return write(t, "pure-1.2-py3-none-any.whl", b.Bytes())
}

// bomb writes a wheel of a few kilobytes whose files have more than the bound.
func bomb(t *testing.T) string {
	t.Helper()
	const part = maxBytes / 8
	zeros := make([]byte, part)
	var packed, b bytes.Buffer
	d, err := flate.NewWriter(&packed, flate.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = d.Write(zeros)
	_ = d.Close()
	z := zip.NewWriter(&b)
	for i := range 9 {
		w, err := z.CreateRaw(&zip.FileHeader{Name: fmt.Sprintf("%d.py", i), Method: zip.Deflate, CRC32: crc32.ChecksumIEEE(zeros),
			CompressedSize64: uint64(packed.Len()), UncompressedSize64: part})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write(packed.Bytes())
	}
	_ = z.Close()
	return write(t, "bomb.whl", b.Bytes())
}

// tarball writes what npm pack writes.
func tarball(t *testing.T, entries ...*tar.Header) string {
	t.Helper()
	var b bytes.Buffer
	g := gzip.NewWriter(&b)
	w := tar.NewWriter(g)
	for _, h := range entries {
		text := h.Xattrs["text"] //nolint:staticcheck // where the test keeps the text
		h.Xattrs = nil           //nolint:staticcheck // as above
		h.Size = int64(len(text))
		if h.Typeflag != tar.TypeReg {
			h.Size = 0
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write([]byte(text))
	}
	_, _ = w.Close(), g.Close()
	return write(t, "left-1.0.0.tgz", b.Bytes())
}

func write(t *testing.T, name string, data []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// folder writes files and returns their folder.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func archive(t *testing.T, p *Package) []byte {
	t.Helper()
	data, err := p.Archive()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestAPackageIsReadFromEveryForm(t *testing.T) {
	npm := folder(t, map[string]string{
		"node_modules/@a/left/package.json": `{"name": "@a/left", "version": "2.0.0", "dependencies": {"b": "1", "gone": "1"}}`,
		"node_modules/@a/left/index.js":     "module.exports = require('b')", "node_modules/@a/left/index.d.ts": "x", "node_modules/@a/left/a.map": "x",
		"node_modules/b/package.json": `{"name": "b", "dependencies": {"@a/left": "2"}}`, "node_modules/b/index.js": "x",
		"node_modules/other/package.json": `{"name": "other"}`,
	})
	python := folder(t, map[string]string{"pure/__init__.py": "", "pure/sub/data.txt": "x", "pure/__pycache__/x.pyc": "x", "pure/.git/config": "x"})
	for _, c := range []struct {
		path string
		want About
		file string // FileName
		list string
	}{
		{wheel(t, entry{name: "pure/__init__.py"}, entry{name: "pure-1.2.data/purelib/more.py"}, entry{name: "pure-1.2.data/scripts/x"}, entry{name: "pure/"}),
			About{"pure", "1.2", Python}, "pure-1.2.zip", "more.py pure/__init__.py pure-1.2.dist-info/METADATA"},
		{filepath.Join(python, "pure"), About{"pure", "", Python}, "pure.zip", "pure/__init__.py pure/sub/data.txt"},
		{filepath.Join(npm, "node_modules", "@a", "left"), About{"@a/left", "2.0.0", NPM}, "a__left-2.0.0.zip",
			"node_modules/@a/left/index.js node_modules/@a/left/package.json node_modules/b/index.js node_modules/b/package.json"},
		{tarball(t, &tar.Header{Name: "package/package.json", Typeflag: tar.TypeReg, Xattrs: map[string]string{"text": `{"name": "left", "version": "1.0.0"}`}},
			&tar.Header{Name: "package/lib/", Typeflag: tar.TypeDir}, &tar.Header{Name: "package/lib/a.js", Typeflag: tar.TypeReg}),
			About{"left", "1.0.0", NPM}, "left-1.0.0.zip", "node_modules/left/lib/a.js node_modules/left/package.json"},
	} {
		p, err := Read(c.path)
		if err != nil {
			t.Errorf("%s: %v", c.path, err)
			continue
		}
		names := fmt.Sprint(p.Files)
		var list []string
		s, err := Open(archive(t, p))
		if err != nil {
			t.Errorf("%s: %v", names, err)
			continue
		}
		_ = fs.WalkDir(s, ".", func(name string, d fs.DirEntry, _ error) error {
			if !d.IsDir() {
				list = append(list, name)
			}
			return nil
		})
		if p.About != c.want || p.FileName() != c.file || strings.Join(list, " ") != c.list {
			t.Errorf("%s: %+v in %s with %v", c.path, p.About, p.FileName(), list)
		}
		if err := fstest.TestFS(s, list...); err != nil {
			t.Error(err)
		}
		if a, b := archive(t, p), archive(t, p); sha256.Sum256(a) != sha256.Sum256(b) {
			t.Errorf("%s: two archives differ", c.path)
		}
	}
}

func TestAPackageThatCannotBeUsedIsRefused(t *testing.T) {
	linked := folder(t, map[string]string{"pure/__init__.py": ""})
	if err := os.Symlink("/etc/passwd", filepath.Join(linked, "pure", "leak.py")); err != nil {
		t.Skip("needs symbolic links")
	}
	var many []entry
	for i := range maxFiles + 3000 {
		many = append(many, entry{name: fmt.Sprintf("pure/m%d.py", i)})
	}
	for want, path := range map[string]string{
		"native module pure/_x.cpython-313-x86_64-linux-gnu.so: only pure": wheel(t, entry{name: "pure/_x.cpython-313-x86_64-linux-gnu.so"}),
		"native module pure/lib.so.3":                                      wheel(t, entry{name: "pure/lib.so.3"}),
		"invalid path \"../up.py\"":                                        wheel(t, entry{name: "../up.py"}),
		"invalid path \"/etc/x.py\"":                                       wheel(t, entry{name: "/etc/x.py"}),
		`invalid path "a\\..\\..\\x.py"`:                                   wheel(t, entry{name: `a\..\..\x.py`}),
		"invalid path \"c:/x.py\"":                                         wheel(t, entry{name: "c:/x.py"}),
		"\"pure/l.py\" is not a regular":                                   wheel(t, entry{"pure/l.py", "/etc/passwd", fs.ModeSymlink | 0o777}),
		"differ only in case":                                              wheel(t, entry{name: "pure/a.py"}, entry{name: "PURE/b.py"}),
		"pure is a file and a folder":                                      wheel(t, entry{name: "pure"}, entry{name: "pure/a.py"}),
		"pure/a.py is there twice":                                         wheel(t, entry{name: "pure/a.py"}, entry{name: "pure/a.py"}),
		"more than 128 MiB":                                                bomb(t),
		"more than 20000 files":                                            wheel(t, many...),
		"leak.py is a link":                                                filepath.Join(linked, "pure"),
		"read the zip archive":                                             write(t, "x.zip", nil),
		"not a wheel":                                                      write(t, "x.rar", nil),
		"no such file":                                                     filepath.Join(linked, "gone"),
		"without Python modules":                                           t.TempDir(),
		"is a link or not":                                                 tarball(t, &tar.Header{Name: "package/x", Linkname: "/etc/passwd", Typeflag: tar.TypeSymlink}),
		"invalid path \"../../x.js\"":                                      tarball(t, &tar.Header{Name: "package/../../x.js", Typeflag: tar.TypeReg}),
		`invalid name of a package "../"`:                                  folder(t, map[string]string{"package.json": `{"name": "../"}`}),
		"is a native addon":                                                folder(t, map[string]string{"package.json": `{"name": "x", "gypfile": true}`}),
		"native module node_modules/x/b":                                   folder(t, map[string]string{"package.json": `{"name": "x"}`, "b.node": ""}),
	} {
		p, err := Read(path)
		if fault.CodeOf(err) != fault.UsageFile || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v, %v", want, err, p != nil)
		}
	}
}

// lying returns an archive whose header names a smaller size than the file has.
func lying(t *testing.T) []byte {
	t.Helper()
	data := archive(t, &Package{About: About{Name: "x", Kind: Python}, Files: map[string][]byte{"x.py": bytes.Repeat([]byte("a"), 1<<20)}})
	for _, at := range []int{bytes.Index(data, []byte("PK\x01\x02")) + 24} {
		copy(data[at:], []byte{1, 0, 0, 0})
	}
	return data
}

func TestAnArchiveIsCheckedWhenItIsOpened(t *testing.T) {
	a := &Package{About: About{Name: "a", Kind: Python}, Files: map[string][]byte{"ns/x.py": nil}}
	b := &Package{About: About{Name: "b", Kind: Python}, Files: map[string][]byte{"ns/y.py": []byte("1")}}
	upper := &Package{About: About{Name: "c", Kind: Python}, Files: map[string][]byte{"NS/z.py": nil}}
	if s, err := Open(archive(t, a), archive(t, b)); err != nil {
		t.Error(err)
	} else if found, _ := fs.ReadDir(s, "ns"); len(found) != 2 {
		t.Errorf("a folder of two packages has %v", found)
	}
	for want, archives := range map[string][][]byte{
		"the packages a and a both have the file ns/x.py": {archive(t, a), archive(t, a)},
		"differ only in case":                             {archive(t, a), archive(t, upper)},
		"not an archive":                                  {{'P', 'K', 5, 6, 18: 0, 21: 0}},
		"read the zip archive":                            {[]byte("text")},
		"cannot be imported":                              {archive(t, &Package{About: a.About, Files: map[string][]byte{"x.so": nil}})},
		"invalid path":                                    {archive(t, &Package{About: a.About, Files: map[string][]byte{"../x.py": nil}})},
	} {
		if _, err := Open(archives...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
	s, err := Open(lying(t))
	if err != nil {
		t.Fatal(err)
	}
	if data, err := fs.ReadFile(s, "x.py"); err == nil {
		t.Errorf("a file of 1 byte by its header gave %d bytes", len(data))
	}
}

func TestTheNameOfAnArchiveIsFoundInItsFileName(t *testing.T) {
	for _, a := range []About{{"left", "1.2.0", NPM}, {"@a/left-pad", "2.0.0-rc-3", NPM}, {"pure_x", "", Python}, {"zope.interface", "7.2", Python}} {
		p := &Package{About: a}
		if got := Describe(p.FileName()).Name; got != a.Name {
			t.Errorf("%s: %s", p.FileName(), got)
		}
	}
}
