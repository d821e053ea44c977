package engine

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// A cache folder on a disk that is full costs speed and nothing else.
func TestAFullDiskStopsNobody(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a small disk")
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("no small disk can be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
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
