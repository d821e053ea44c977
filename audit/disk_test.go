package audit

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/wexec/wexec/fault"
)

// brokenDisk is the disk of this machine, with faults.
type brokenDisk struct {
	realDisk
	mu     sync.Mutex
	room   int64 // bytes that may still be written to segments; negative: no limit
	stuck  bool  // nothing can be cut
	unsync bool  // nothing can be forced
	files  bool  // no file can be opened
	synced int
}

func (d *brokenDisk) set(change func(*brokenDisk)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change(d)
}

func (d *brokenDisk) OpenFile(name string, flag int, perm fs.FileMode) (file, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.files {
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.EMFILE}
	}
	f, err := d.realDisk.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &brokenFile{f, f.(*os.File), d, strings.HasSuffix(name, suffix)}, nil
}

func (d *brokenDisk) Lock(f file) (bool, error) { return d.realDisk.Lock(f.(*brokenFile).real) }
func (d *brokenDisk) LockWait(f file) error     { return d.realDisk.LockWait(f.(*brokenFile).real) }

type brokenFile struct {
	file
	real    *os.File
	disk    *brokenDisk
	segment bool
}

func (f *brokenFile) WriteAt(p []byte, off int64) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.disk.room < 0 || !f.segment {
		return f.file.WriteAt(p, off)
	}
	n := min(int64(len(p)), f.disk.room)
	f.disk.room -= n
	written, err := f.file.WriteAt(p[:n], off)
	if err == nil && written < len(p) {
		err = syscall.ENOSPC
	}
	return written, err
}

func (f *brokenFile) Truncate(size int64) error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.disk.stuck {
		return syscall.EIO
	}
	return f.file.Truncate(size)
}

func (f *brokenFile) Sync() error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.disk.synced++
	if f.disk.unsync {
		return syscall.EIO
	}
	return f.file.Sync()
}

// A disk that is full at any byte stops the effect, and loses nothing that was
// acknowledged.
func TestAFullDiskIsAuditUnavailableAndLosesNothing(t *testing.T) {
	for _, stuck := range []bool{false, true} {
		for room := int64(0); room < 500; room += 13 {
			dir := t.TempDir()
			d := &brokenDisk{room: -1}
			l := open(t, dir, Options{disk: d, Sync: SyncNever})
			record(t, l, decision("r", 1))
			d.set(func(d *brokenDisk) { d.room, d.stuck = room, stuck })
			acknowledged := 1
			for n := uint64(2); n < 6; n++ {
				_, err := l.Record(ctx, decision("r", n))
				if err == nil {
					acknowledged++
				} else if fault.CodeOf(err) != fault.AuditUnavailable || !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EIO) {
					t.Fatalf("room %d: %v", room, err)
				}
			}
			if rep, err := Verify(dir); err != nil || rep.Records != acknowledged || !rep.OK() {
				t.Fatalf("room %d: %d of %d records, %v %v", room, rep.Records, acknowledged, rep.Problems, err)
			}
			// Room again: it goes on.
			d.set(func(d *brokenDisk) { d.room, d.stuck = -1, false })
			record(t, l, decision("r", 9))
			if rep := whole(t, dir); rep.Records != acknowledged+1 || rep.Segments[0].Torn != 0 {
				t.Fatalf("room %d: %+v", room, rep)
			}
			l.Close()
		}
	}
}

func TestADiskThatCannotBeForcedStopsWritingEffects(t *testing.T) {
	d := &brokenDisk{room: -1, unsync: true}
	l := open(t, t.TempDir(), Options{disk: d})
	record(t, l, decision("r", 1))
	e := decision("r", 2)
	e.Decision.Writes = true
	if _, err := l.Record(ctx, e); fault.CodeOf(err) != fault.AuditUnavailable {
		t.Fatalf("%v", err)
	}
	if err := l.Close(); fault.CodeOf(err) != fault.AuditUnavailable {
		t.Fatalf("%v", err)
	}
}

func TestWhatIsForcedIsAsTheOptionSays(t *testing.T) {
	reads, writes := decision("r", 1), decision("r", 2)
	writes.Decision.Writes = true
	for sync, want := range map[Sync]int{SyncNever: 0, SyncWrites: 1, SyncAlways: 2} {
		d := &brokenDisk{room: -1}
		l := open(t, t.TempDir(), Options{disk: d, Sync: sync})
		record(t, l, reads)
		record(t, l, writes)
		d.set(func(d *brokenDisk) {
			if d.synced != want {
				t.Errorf("sync %d: forced %d times, want %d", sync, d.synced, want)
			}
		})
	}
}

// A run that changes nothing outside does not wait for the disk when it ends;
// one that does has its end there, too.
func TestClosingForcesWhatFollowsAnEffect(t *testing.T) {
	reads, writes := decision("r", 1), decision("r", 2)
	writes.Decision.Writes = true
	for _, c := range []struct {
		sync Sync
		e    Event
		want int
	}{{SyncNever, writes, 0}, {SyncWrites, reads, 0}, {SyncWrites, writes, 2}, {SyncAlways, reads, 3}} {
		d := &brokenDisk{room: -1}
		l, err := Open(t.TempDir(), Options{disk: d, Sync: c.sync})
		if err != nil {
			t.Fatal(err)
		}
		record(t, l, c.e)
		record(t, l, reads)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		d.set(func(d *brokenDisk) {
			if d.synced != c.want {
				t.Errorf("sync %d, writes %t: forced %d times, want %d", c.sync, c.e.Decision.Writes, d.synced, c.want)
			}
		})
	}
}

// Of many that wait for the disk at once, one does the work.
func TestWaitingForTheDiskIsShared(t *testing.T) {
	d := &brokenDisk{room: -1}
	dir := t.TempDir()
	l := open(t, dir, Options{disk: d, Sync: SyncAlways, Rotate: 4000})
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for n := range 20 {
				if _, err := l.Record(ctx, decision("r", uint64(n))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if rep := whole(t, dir); rep.Records != 320 {
		t.Errorf("%d records", rep.Records)
	}
}

func TestWithoutRoomForTheNextSegmentTheOldOneGrowsOn(t *testing.T) {
	dir := t.TempDir()
	d := &brokenDisk{room: -1}
	l := open(t, dir, Options{disk: d, Rotate: 1000})
	record(t, l, decision("r", 1))
	d.set(func(d *brokenDisk) { d.files = true })
	for n := range 10 {
		record(t, l, decision("r", uint64(n+2)))
	}
	d.set(func(d *brokenDisk) { d.files = false })
	record(t, l, decision("r", 12))
	if rep := whole(t, dir); rep.Records != 12 || len(rep.Segments) != 2 {
		t.Errorf("%+v", rep)
	}
}

func TestAFolderThatCannotBeMadeIsAuditUnavailable(t *testing.T) {
	file := t.TempDir() + "/file"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(file+"/audit", Options{})
	if fault.CodeOf(err) != fault.AuditUnavailable || !strings.Contains(err.Error(), "audit") {
		t.Fatal(err)
	}
}
