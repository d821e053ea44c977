package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// rooms are the folders that the command is built from.
var rooms = []string{"audit", "catalogue", "cmd", "config", "engine", "fault", "guests", "hostfns", "internal", "policy", "privacy", "review", "service", "store", "tasks", "wasm-modules", "workspace",
	"go.mod", "go.sum", "LICENSE", "NOTICE", "README.md", "CHANGELOG.md"}

// copied copies the sources to a new folder, which is not a checkout.
func copied(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, room := range rooms {
		from := filepath.Join("..", "..", room)
		err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			to := filepath.Join(dir, room, strings.TrimPrefix(path, from))
			if d.IsDir() {
				return os.MkdirAll(to, 0o755)
			}
			if strings.HasSuffix(path, "_test.go") {
				return nil
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(to, data, 0o644)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestTheSameSourcesGiveTheSameBytesInEveryFolder builds a release twice, in
// two folders and at two times.
func TestTheSameSourcesGiveTheSameBytesInEveryFolder(t *testing.T) {
	if testing.Short() {
		t.Skip("short: builds the command twice")
	}
	platform := runtime.GOOS + "/" + runtime.GOARCH
	var made []map[string][]byte
	for range 2 {
		r := &release{source: copied(t), out: t.TempDir(), version: "v9.8.7", time: time.Unix(1800000000, 0).UTC(), say: t.Logf}
		if err := r.make(context.Background(), []string{platform}); err != nil {
			t.Fatal(err)
		}
		files := map[string][]byte{}
		entries, err := os.ReadDir(r.out)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if files[e.Name()], err = os.ReadFile(filepath.Join(r.out, e.Name())); err != nil {
				t.Fatal(err)
			}
		}
		made = append(made, files)
	}
	want := 3
	if runtime.GOOS == "linux" {
		want = 4 // and a package
	}
	if len(made[0]) != want {
		t.Errorf("%d files were made, %d are expected", len(made[0]), want)
	}
	for name, data := range made[0] {
		if !bytes.Equal(data, made[1][name]) {
			t.Errorf("%s differs between two builds", name)
		}
	}
	for name, data := range made[0] {
		if strings.HasSuffix(name, ".cdx.json") {
			holdsBill(t, data)
		}
		if strings.HasSuffix(name, ".tar.gz") {
			holdsArchive(t, data)
		}
		if strings.HasSuffix(name, ".deb") {
			root := installedWithDpkg(t, data)
			out, err := exec.Command(filepath.Join(root, "usr/bin/wexec"), "version").Output()
			if err != nil || !strings.HasPrefix(string(out), "wexec v9.8.7 ") {
				t.Errorf("the installed command says %q, %v", out, err)
			}
		}
	}
}

// holdsBill checks that the list names the modules and the guests.
func holdsBill(t *testing.T, data []byte) {
	t.Helper()
	var b bom
	if err := json.Unmarshal(data, &b); err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, c := range b.Components {
		found[c.Name] = true
		if c.Version == "" {
			t.Errorf("%s has no version", c.Name)
		}
		for _, part := range c.Parts {
			if len(part.Hashes) == 0 && len(part.Properties) < 2 {
				t.Errorf("%s in %s has no digest", part.Name, c.Name)
			}
		}
	}
	for _, name := range []string{"std", "github.com/tetratelabs/wazero", "github.com/extism/go-sdk", "quickjs", "cpython", "esbuild"} {
		if !found[name] {
			t.Errorf("%s is not in the list of what is inside", name)
		}
	}
	if b.Metadata.Component.Version != "v9.8.7" || b.Metadata.Time != "2027-01-15T08:00:00Z" {
		t.Errorf("the list is of %s at %s", b.Metadata.Component.Version, b.Metadata.Time)
	}
}

// holdsArchive checks what is packed, and that the command knows its version.
func holdsArchive(t *testing.T, data []byte) {
	t.Helper()
	packed, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	command := filepath.Join(t.TempDir(), "wexec")
	found := map[string]string{}
	for r := tar.NewReader(packed); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		_, name, _ := strings.Cut(h.Name, "/")
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		found[name] = string(content)
		if name == "wexec" {
			if err := os.WriteFile(command, content, h.FileInfo().Mode()); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, part := range map[string]string{"LICENSE": "Apache License", "NOTICE": "QuickJS", "THIRD-PARTY": "github.com/tetratelabs/wazero v",
		"man/wexec.1": ".TH WEXEC", "completions/wexec": "_wexec", "completions/_wexec": "#compdef", "completions/wexec.fish": "complete", "completions/wexec.ps1": "Register"} {
		if !strings.Contains(found[name], part) {
			t.Errorf("%s in the archive does not hold %q", name, part)
		}
	}
	out, err := exec.Command(command, "version").Output()
	if err != nil || !strings.HasPrefix(string(out), "wexec v9.8.7 ") {
		t.Errorf("the packed command says %q, %v", out, err)
	}
}

// TestArchivesHoldOnlyWhatTheyAreGiven unpacks both kinds.
func TestArchivesHoldOnlyWhatTheyAreGiven(t *testing.T) {
	at := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	files := []file{{name: "bin/one", data: []byte("1"), run: true}, {name: "two", data: []byte("22")}}
	first, err := zipped("top", files, at)
	if err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(first), int64(len(first)))
	if err != nil {
		t.Fatal(err)
	}
	if len(z.File) != 2 || z.File[0].Name != "top/bin/one" || z.File[0].Mode() != 0o755 || !z.File[1].Modified.Equal(at) {
		t.Errorf("the zip holds %v", z.File)
	}
	second, err := tarball("top", files, at)
	if err != nil {
		t.Fatal(err)
	}
	packed, err := gzip.NewReader(bytes.NewReader(second))
	if err != nil {
		t.Fatal(err)
	}
	if !packed.ModTime.IsZero() || packed.Name != "" {
		t.Errorf("gzip says %v %q of where it was made", packed.ModTime, packed.Name)
	}
	h, err := tar.NewReader(packed).Next()
	if err != nil || h.Name != "top/bin/one" || h.Mode != 0o755 || !h.ModTime.Equal(at) || h.Uname != "" || h.Uid != 0 {
		t.Errorf("the tar holds %+v, %v", h, err)
	}
}

// TestASumIsNamedAfterTheCommand holds the form of the list's number.
func TestASumIsNamedAfterTheCommand(t *testing.T) {
	if got := serial([32]byte{}); got != "urn:uuid:00000000-0000-8000-8000-000000000000" {
		t.Error(got)
	}
}
