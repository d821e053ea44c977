package blobs

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/wexec/wexec/fault"
)

// writerEnv makes the test binary a process that stores blobs until it is killed.
const writerEnv = "WEXEC_TEST_BLOBS_WRITER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(writerEnv); dir != "" {
		os.Exit(write(dir))
	}
	os.Exit(runTests(m))
}

// write stores blobs and prints the digest of each one that is stored.
func write(dir string) int {
	s, err := openFolder(dir)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	for i := range math.MaxInt {
		d, _, err := s.Put(context.Background(), bytes.NewReader(content(200_000+i)), math.MaxInt64)
		if err != nil {
			fmt.Println(err)
			return 1
		}
		fmt.Println(d)
	}
	return 0
}

func TestAKilledProcessLeavesOnlyWholeBlobsAndTemporaryFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "blobs")
	stored := map[Digest]bool{}
	for round := range 4 {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), writerEnv+"="+dir)
		out, err := cmd.StdoutPipe()
		check(t, err, cmd.Start())
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			stored[must(ParseDigest(lines.Text()))(t)] = true
			if n == 3+round {
				check(t, cmd.Process.Kill())
			}
		}
		_ = cmd.Wait()
	}
	check(t, os.WriteFile(filepath.Join(dir, temporary, "of-a-killed-process"), content(10), 0o600))
	s := open(t, dir)
	for d := range stored {
		if _, err := get(t, s, d); err != nil {
			t.Error(err)
		}
	}
	for _, d := range names(t, s) { // some may be stored and not printed
		must(get(t, s, d))(t)
	}
	check(t, s.Sweep(t.Context(), time.Now().Add(-time.Hour)))
	if left := must(os.ReadDir(filepath.Join(dir, temporary)))(t); len(left) == 0 {
		t.Error("a new temporary file was swept")
	}
	check(t, s.Sweep(t.Context(), time.Now().Add(time.Hour)))
	if left := must(os.ReadDir(filepath.Join(dir, temporary)))(t); len(left) != 0 {
		t.Errorf("%v remain", left)
	}
	if len(stored) < 7 || len(names(t, s)) < len(stored) {
		t.Errorf("%d blobs were stored, the folder has %d", len(stored), len(names(t, s)))
	}
}

// file returns the path of the file of a blob.
func file(dir string, d Digest) string { return filepath.Join(dir, filepath.FromSlash(place(d))) }

func TestNoLinkIsFollowed(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"the file":              func(path string) error { return relink(path) },
		"its folder":            func(path string) error { return relink(filepath.Dir(path)) },
		"the folder above":      func(path string) error { return relink(filepath.Dir(filepath.Dir(path))) },
		"the file, to a folder": func(path string) error { return errors.Join(os.Remove(path), os.Symlink("/", path)) },
		"no link but a folder":  func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "blobs")
			s := open(t, dir)
			d := put(t, s, content(100))
			if err := change(file(dir, d)); err != nil {
				t.Skipf("needs symbolic links: %v", err)
			}
			_, openErr := s.Open(t.Context(), d)
			_, statErr := s.Stat(t.Context(), d)
			for what, err := range map[string]error{"open": openErr, "stat": statErr, "delete": s.Delete(t.Context(), d, time.Time{})} {
				if fault.CodeOf(err) != fault.StoreUnavailable || errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s: %v", what, err)
				}
			}
			if got := names(t, s); len(got) != 0 {
				t.Errorf("the store lists %v", got)
			}
		})
	}
}

// relink moves a file or folder and puts a link to it in its place.
func relink(path string) error {
	return errors.Join(os.Rename(path, path+".real"), os.Symlink(filepath.Base(path)+".real", path))
}

func TestPutWritesNothingThroughALink(t *testing.T) {
	dir, outside := filepath.Join(t.TempDir(), "blobs"), t.TempDir()
	s := open(t, dir)
	d := put(t, s, content(100))
	top := filepath.Dir(filepath.Dir(file(dir, d)))
	if err := errors.Join(os.RemoveAll(top), os.Symlink(outside, top)); err != nil {
		t.Skipf("needs symbolic links: %v", err)
	}
	again := open(t, dir)
	for _, s := range []Store{s, again} {
		if _, _, err := s.Put(t.Context(), bytes.NewReader(content(100)), 100); fault.CodeOf(err) != fault.StoreUnavailable {
			t.Errorf("error is %v", err)
		}
	}
	if found := must(os.ReadDir(outside))(t); len(found) != 0 {
		t.Errorf("outside there is %v", found)
	}
}

func TestADamagedFileIsFoundAndRepaired(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "blobs")
	s := open(t, dir)
	data := content(100_000)
	d := put(t, s, data)
	for name, damage := range map[string]func(path string) error{
		"cut":     func(path string) error { return os.Truncate(path, 99_999) },
		"longer":  func(path string) error { return os.Truncate(path, 100_001) },
		"emptied": func(path string) error { return os.Truncate(path, 0) },
		"changed": func(path string) error { return os.WriteFile(path, content(100_000 - 1)[:99_999], 0o600) },
	} {
		check(t, damage(file(dir, d)))
		if _, err := get(t, s, d); !errors.Is(err, ErrDamaged) || fault.CodeOf(err) != fault.StoreUnavailable {
			t.Errorf("%s: %v", name, err)
		}
		put(t, s, data)
		if got, err := get(t, s, d); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: not repaired: %v", name, err)
		}
	}
}

func TestForeignFilesAreNotListed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "blobs")
	s := open(t, dir)
	d := put(t, s, content(1))
	for _, name := range []string{"README", "ab/cd/README", "ab/cd/" + d.String(), d.String(), place(d) + ".old"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		check(t, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600))
	}
	if got := names(t, s); len(got) != 1 || got[0] != d {
		t.Errorf("the store lists %v", got)
	}
}

func TestBlobsAreReadableByTheUserOnly(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs permission bits")
	}
	dir := filepath.Join(t.TempDir(), "blobs")
	s := open(t, dir)
	put(t, s, content(1))
	check(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		check(t, err)
		if info := must(e.Info())(t); info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return nil
	}))
	check(t, os.Chmod(dir, 0o777))
	if _, err := Open(dir, os.Getenv); fault.CodeOf(err) != fault.UsageStore || fault.HintOf(err) == "" {
		t.Errorf("a folder that others can write to: %v", err)
	}
}
