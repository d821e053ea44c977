package main

import (
	"archive/zip"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestGoInstallOfTheModulePathWorks serves the sources as a module of a
// version, as a proxy does, and installs the command from there: with no
// checkout, no replaced module, and no flags of the linker.
func TestGoInstallOfTheModulePathWorks(t *testing.T) {
	if testing.Short() {
		t.Skip("short: builds the command")
	}
	const path, version = "github.com/wexec/wexec", "v0.9.8"
	top, proxy := copied(t), t.TempDir()
	served := filepath.Join(proxy, filepath.FromSlash(path), "@v")
	if err := os.MkdirAll(served, 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(name string, data []byte) {
		if err := os.WriteFile(filepath.Join(served, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	mod, err := os.ReadFile(filepath.Join(top, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	write("list", []byte(version+"\n"))
	write(version+".info", []byte(`{"Version": "`+version+`", "Time": "2026-11-21T08:00:00Z"}`))
	write(version+".mod", mod)
	pack(t, top, path+"@"+version, filepath.Join(served, version+".zip"))

	out, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	known := filepath.Join(strings.TrimSpace(string(out)), "cache", "download")
	bin := t.TempDir()
	cmd := exec.Command("go", "install", path+"/cmd/wexec@"+version)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "GOPROXY=file://"+filepath.ToSlash(proxy)+",file://"+filepath.ToSlash(known), "GONOSUMDB=*",
		"GOSUMDB=off", "GOMODCACHE="+t.TempDir(), "GOBIN="+bin, "GOFLAGS=-mod=mod -modcacherw -trimpath", "GOWORK=off", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go install: %v\n%s", err, out)
	}
	said, err := exec.Command(filepath.Join(bin, "wexec"+extension(runtime.GOOS)), "version", "--json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		Version string
		Guests  []struct{ Name, Version, SHA256 string }
	}
	if err := json.Unmarshal(said, &v); err != nil {
		t.Fatal(err)
	}
	if v.Version != version || len(v.Guests) != 4 || v.Guests[0].SHA256 == "" {
		t.Errorf("the installed command says %s", said)
	}
}

// pack makes the zip of a module.
func pack(t *testing.T, top, prefix, to string) {
	t.Helper()
	f, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	w := zip.NewWriter(f)
	err = fs.WalkDir(os.DirFS(top), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			// A folder with a go.mod is another module.
			if _, err := os.Stat(filepath.Join(top, name, "go.mod")); err == nil && name != "." {
				return fs.SkipDir
			}
			return nil
		}
		data, err := os.ReadFile(filepath.Join(top, name))
		if err != nil {
			return err
		}
		to, err := w.CreateHeader(&zip.FileHeader{Name: prefix + "/" + name})
		if err != nil {
			return err
		}
		_, err = to.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
