package engine

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// smallDisk mounts a separate disk, or skips the test.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root to mount a small disk")
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("needs a mount of a small disk: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

// A read-only folder is used for what it has: through the stub if it has the code,
// and whole otherwise. Nothing fails, and nothing is tried twice.
func TestAReadOnlyFolderIsUsedAsItIs(t *testing.T) {
	if onInterpreter() {
		t.Skip("needs native code, which the interpreter has none of")
	}
	for name, filled := range map[string]bool{"filled": true, "empty": false} {
		disk := smallDisk(t, "32m")
		dir := filepath.Join(disk, "cache")
		if filled {
			e := newTiny(t, Config{Cache: dir})
			res, err := tiny(t, e, "v 1", fixed)
			wantValue(t, res, err, "1")
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
		} else if c, err := OpenCache(dir); err != nil || c.Close() != nil {
			t.Fatal(err)
		}
		if err := unix.Mount("", disk, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
			t.Skipf("needs to remount a disk read-only: %v", err)
		}
		if got := throughStub(t, dir); got != filled {
			t.Errorf("%s: through its stub: %v", name, got)
		}
		e := newTiny(t, Config{Cache: dir})
		for _, want := range []string{"miss", "hit"} {
			res, err := tiny(t, e, "o x\nr", fixed)
			if err != nil || res.Cache != want || res.Stdout != "x\n" {
				t.Errorf("%s: %v, %+v, wanted a %s", name, err, res, want)
			}
		}
		missing := newTiny(t, Config{Cache: filepath.Join(disk, "missing")})
		res, err := tiny(t, missing, "v 2")
		wantValue(t, res, err, "2")
	}
}

// A cache folder on a disk that is full costs speed and nothing else.
func TestAFullDiskStopsNobody(t *testing.T) {
	dir := smallDisk(t, "64k")
	for range 2 {
		e := newTiny(t, Config{Cache: filepath.Join(dir, "cache")})
		for range 2 {
			res, err := tiny(t, e, "o out\nl 1000\nv 7", fixed)
			wantValue(t, res, err, "7")
		}
		filler, err := os.OpenFile(filepath.Join(dir, "filler"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		for err == nil {
			_, err = filler.Write(make([]byte, 4096))
		}
		filler.Close()
		res, err := tiny(t, e, "v 8", fixed)
		wantValue(t, res, err, "8")
	}
}
