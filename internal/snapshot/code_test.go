package snapshot

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
)

// compiledFile is the file that wazero keeps of the test's guest.
func compiledFile(t testing.TB) (dir, file string) {
	t.Helper()
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("needs the compiler of wazero")
	}
	dir = t.TempDir()
	loads(t, dir, false)
	files, _ := filepath.Glob(filepath.Join(dir, "*", "*"))
	if len(files) != 1 {
		t.Fatalf("files: %v", files)
	}
	return dir, files[0]
}

// loads runs the guest with its code from a folder, and says what a function of
// it gives.
func loads(t testing.TB, dir string, mapped bool) (n int64, err error) {
	t.Helper()
	ctx := context.Background()
	cache, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer cache.Close(ctx)
	if mapped && !MapCode(cache) {
		t.Fatal("wazero keeps its files elsewhere than in 1.12")
	}
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().WithCompilationCache(cache))
	defer rt.Close(ctx)
	c, err := rt.CompileModule(ctx, guest())
	if err != nil {
		return 0, err
	}
	m, err := rt.InstantiateModule(ctx, c, wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize"))
	if err != nil {
		return 0, err
	}
	n = call(t, m, "state")
	if maps, err := os.ReadFile("/proc/self/maps"); err == nil && mapped && canMap {
		found := false
		for line := range strings.Lines(string(maps)) {
			found = found || strings.Contains(line, dir) && strings.Contains(line, "r-xp")
		}
		if !found {
			t.Error("the code is not mapped from its file")
		}
	}
	return n, m.Close(ctx)
}

// TestAlignedCodeIsMappedAndRuns pins what MapCode relies on in wazero.
func TestAlignedCodeIsMappedAndRuns(t *testing.T) {
	dir, file := compiledFile(t)
	own, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := AlignCode(file); err != nil {
		t.Fatal(err)
	}
	if n, err := loads(t, dir, true); n != -501 || err != nil {
		t.Errorf("it gives %d, %v", n, err)
	}
	if info, _ := os.Stat(file); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	c, err := openCode(f)
	if err != nil || c == nil {
		t.Fatal(c, err)
	}
	defer c.Close()
	if all, err := io.ReadAll(c); err != nil || !bytes.Equal(all, own) {
		t.Errorf("read bit by bit it is not wazero's own file: %d bytes of %d, %v", len(all), len(own), err)
	}
}

func TestCodeAsWazeroWritesItIsReadToo(t *testing.T) {
	dir, _ := compiledFile(t)
	ctx := context.Background()
	cache, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer cache.Close(ctx)
	if !MapCode(cache) {
		t.Fatal("wazero keeps its files elsewhere than in 1.12")
	}
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().WithCompilationCache(cache))
	defer rt.Close(ctx)
	if _, err := rt.CompileModule(ctx, guest()); err != nil {
		t.Error(err)
	}
}

func TestDamagedCodeIsRefused(t *testing.T) {
	dir, file := compiledFile(t)
	if err := AlignCode(file); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(b []byte) []byte{
		"a byte of the code":  func(b []byte) []byte { b[codePage+10] ^= 1; return b },
		"a size":              func(b []byte) []byte { b[len(b)-8]++; return b },
		"a size beyond all":   func(b []byte) []byte { b[len(b)-1] = 0xff; return b },
		"what comes before":   func(b []byte) []byte { b[0]++; return b },
		"the number of parts": func(b []byte) []byte { b[20] = 0xff; return b },
		"its end":             func(b []byte) []byte { return b[:len(b)-1] },
	} {
		if err := os.WriteFile(file, change(bytes.Clone(good)), 0o600); err != nil {
			t.Fatal(err)
		}
		if n, err := loads(t, dir, true); err == nil {
			t.Errorf("%s: it was taken, and gives %d", name, n)
		}
	}
	if err := os.WriteFile(file, []byte("WAZEVO"), 0o600); err != nil {
		t.Fatal(err)
	}
	if AlignCode(file) == nil {
		t.Error("anything can be aligned")
	}
	if MapCode(nil) || MapCode(&struct{ fileCache any }{}) {
		t.Error("anything is a cache")
	}
}

// oneFile is a file store with one file, opened as wazero does.
type oneFile string

func (o oneFile) Get([32]byte) (io.ReadCloser, bool, error) {
	f, err := os.Open(string(o))
	return f, err == nil, err
}
func (oneFile) Add([32]byte, io.Reader) error { return nil }
func (oneFile) Delete([32]byte) error         { return nil }

func TestCodeThatOthersCanWriteCountsAsMissing(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs permission bits")
	}
	for name, open := range map[string]func(file string) error{
		"the file":   func(file string) error { return os.Chmod(file, 0o666) },
		"the folder": func(file string) error { return os.Chmod(filepath.Dir(file), 0o777) },
		"a link":     func(file string) error { return errors.Join(os.Rename(file, file+"2"), os.Symlink(file+"2", file)) },
		"two names":  func(file string) error { return os.Link(file, file+"2") },
	} {
		_, file := compiledFile(t)
		files := &mappedFiles{oneFile(file)}
		for _, want := range []bool{true, false} {
			content, ok, err := files.Get([32]byte{})
			if ok != want || err != nil {
				t.Errorf("%s: found %v, want %v: %v", name, ok, want, err)
			}
			if ok {
				_ = content.Close()
			}
			if err := open(file); want && err != nil {
				t.Fatal(err)
			}
		}
	}
}
