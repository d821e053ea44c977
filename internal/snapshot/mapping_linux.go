//go:build linux && (amd64 || arm64)

package snapshot

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// canMap reports whether copy-on-write mappings are implemented for the platform.
const canMap = true

// fileSource is an image in an open file.
type fileSource struct{ fd int }

func (f *fileSource) copyTo(dst []byte) error {
	for done := 0; done < len(dst); {
		n, err := unix.Pread(f.fd, dst[done:], int64(done))
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return fmt.Errorf("read image: %d of %d bytes: %w", done, len(dst), err)
		}
		done += n
	}
	return nil
}

func (f *fileSource) close() error { return unix.Close(f.fd) }

// anonymousFile writes an image to a file without a name and seals it against
// changes.
func anonymousFile(image []byte) (source, error) {
	fd, err := unix.MemfdCreate("image", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "image")
	defer f.Close()
	if err := writeSparse(f, image); err != nil {
		return nil, err
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_WRITE|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL); err != nil {
		return nil, err
	}
	return mapFile(f)
}

// mapFile makes a source of the file of an image, with a descriptor that stays
// open when f is closed.
func mapFile(f *os.File) (source, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return &fileSource{fd}, nil
}

// preallocate reserves the disk space of a file. On tmpfs, a hole
// gets space when it is first read, and if the file system is full
// by then, a read through a mapping ends the process.
func preallocate(f *os.File, size int64) error {
	if err := unix.Fallocate(int(f.Fd()), 0, 0, size); err == unix.ENOSPC || err == unix.EDQUOT || err == unix.EFBIG {
		return err
	}
	return nil
}

const (
	access  = unix.PROT_READ | unix.PROT_WRITE
	private = unix.MAP_PRIVATE | unix.MAP_NORESERVE
)

// reserve maps the address space of a memory and the image at its
// start.
func (m *memory) reserve(size uint64) error {
	im := m.from.image
	if size == 0 {
		return fmt.Errorf("cannot map an empty memory")
	}
	if one, ok := im.spares.take(size, m.image); ok {
		m.base, m.max, m.huge, m.was, m.ages = one.base, size, one.huge, one.grown, one.ages
		im.reserved.Add(int64(size))
		return nil
	}
	p, err := unix.MmapPtr(-1, 0, nil, uintptr(size), access, private|unix.MAP_ANONYMOUS)
	if err != nil {
		return err
	}
	base := unsafe.Slice((*byte)(p), size)
	if m.image {
		if im.closed {
			unmap(base)
			return os.ErrClosed
		}
		fd := im.source.(*fileSource).fd
		if _, err := unix.MmapPtr(fd, 0, p, uintptr(im.size), access, private|unix.MAP_FIXED); err != nil {
			unmap(base)
			return err
		}
		im.hot.prefault(base[:im.size])
	}
	m.base, m.max = base, size
	im.reserved.Add(int64(size))
	return nil
}

// overlay maps the pages of another image over the start of the memory.
func (m *memory) overlay(im *Image) error {
	_, err := unix.MmapPtr(im.source.(*fileSource).fd, 0, unsafe.Pointer(&m.base[0]), uintptr(im.size), access, private|unix.MAP_FIXED)
	return err
}

// unmap releases a reservation, which cannot fail for one from reserve.
func unmap(base []byte) {
	_ = unix.MunmapPtr(unsafe.Pointer(&base[0]), uintptr(len(base)))
}

// hugeAfter is how much a guest grows before large pages are requested for what it
// grows into: for less they cost more than they save.
const hugeAfter = 4 << 20

// grown requests large pages after a memory grew by hugeAfter.
func (m *memory) grown(size uint64) {
	start := m.from.image.size
	if m.huge || !m.image || size < start+hugeAfter {
		return
	}
	m.huge = true
	const large = 2 << 20
	at := uintptr(unsafe.Pointer(&m.base[0]))
	from := (at+uintptr(start)+large-1)&^(large-1) - at
	if from < uintptr(len(m.base)) {
		_ = unix.Madvise(m.base[from:], unix.MADV_HUGEPAGE) // a hint to the kernel
	}
}

// mapOver maps a part of a file over p, readable and executable. It returns
// false and changes nothing if that fails, for example on a file system mounted
// noexec.
func mapOver(p []byte, f *os.File, from int64) bool {
	at := unsafe.Pointer(&p[0])
	page := uintptr(os.Getpagesize())
	if uintptr(at)%page != 0 || uintptr(from)%page != 0 {
		return false
	}
	_, err := unix.MmapPtr(int(f.Fd()), from, at, uintptr(len(p)), unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_FIXED|unix.MAP_POPULATE)
	return err == nil
}
