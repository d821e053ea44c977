//go:build linux && (amd64 || arm64)

package snapshot

import (
	"bytes"
	"os"
	"runtime"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// spares are memories that have served and are clean again: their pages that
// nearly every run writes to hold the image once more, all others are the
// file's, or nothing. To make such a memory anew costs two mappings and a page
// fault for each page that is written to; to clean it is to copy those pages.
//
// Which pages were written to is asked of the kernel, so what is clean does
// not depend on anything a guest says or does. Where the kernel cannot tell,
// or a run did not end well, the memory is unmapped.
type spares struct {
	mu       sync.Mutex
	most     int // of each kind
	free     []spare
	grown    uint64   // of all that are free
	pagemap  *os.File // nil: not opened yet
	off      bool     // the kernel does not tell
	pristine []byte   // the image, to copy from
	regions  sync.Pool
}

type spare struct {
	base  []byte
	image bool
	huge  bool
	grown uint64  // bytes beyond the image that stay
	ages  []uint8 // by page of the image: runs since one wrote to it
}

// maxRegions is how many separate ranges a run may write to for its memory to
// be cleaned.
const maxRegions = 512

// region is a range of pages, as the kernel reports it.
type region struct{ start, end, categories uint64 }

// The kernel's PAGEMAP_SCAN, since Linux 6.7.
const (
	pagemapScan = 3<<30 | 96<<16 | 'f'<<8 | 16
	pageFile    = 1 << 2 // it is the file's: not written to
	pagePresent = 1 << 3
	pageSwapped = 1 << 4
)

type scan struct {
	size, flags, start, end, walkEnd, vec, vecLen, maxPages         uint64
	categoryInverted, categoryMask, categoryAnyofMask, returnedMask uint64
}

// take gives a spare memory of a size.
func (s *spares) take(size uint64, image bool) (spare, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := len(s.free) - 1; n >= 0; n-- {
		if one := s.free[n]; one.image == image && uint64(len(one.base)) == size {
			s.free = append(s.free[:n], s.free[n+1:]...)
			s.grown -= one.grown
			return one, true
		}
	}
	return spare{}, false
}

// growth reports whether so many bytes more may stay in what is kept.
func (s *spares) growth(n uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.grown+n <= growthAll
}

// wanted reports whether one more of a kind is kept.
func (s *spares) wanted(image bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.off {
		return false
	}
	if s.most == 0 {
		s.most = 4 * runtime.GOMAXPROCS(0)
	}
	n := 0
	for _, one := range s.free {
		if one.image == image {
			n++
		}
	}
	return n < s.most
}

// trim unmaps what is kept.
func (s *spares) trim() {
	s.mu.Lock()
	free := s.free
	s.free, s.grown = nil, 0
	s.mu.Unlock()
	for _, one := range free {
		unmap(one.base)
	}
}

// close gives everything back, for good.
func (s *spares) close() {
	s.trim()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.off = true
	if s.pagemap != nil {
		s.pagemap.Close()
	}
	if s.pristine != nil {
		unmap(s.pristine)
		s.pristine = nil
	}
}

// keep cleans a memory that ended and keeps it. It is false where that cannot
// be done; the memory is as it was then.
func (im *Image) keep(m *memory) bool {
	s := &im.spares
	if m.from.spoiled.Load() || im.size == 0 || !im.hot.learnt() || !s.wanted(m.image) {
		return false
	}
	buf, _ := s.regions.Get().(*[]region)
	if buf == nil {
		b := make([]region, maxRegions)
		buf = &b
	}
	defer s.regions.Put(buf)
	written, ok := s.written(m.base[:m.size], *buf)
	if !ok || !im.clean(m, written) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.off {
		return false
	}
	s.free = append(s.free, spare{m.base, m.image, m.huge, m.kept, m.ages})
	s.grown += m.kept
	return true
}

// written asks the kernel for the pages that were written to. It is false
// where the kernel does not tell, or they are too scattered.
func (s *spares) written(b []byte, regions []region) ([]region, bool) {
	s.mu.Lock()
	if s.pagemap == nil && !s.off {
		f, err := os.Open("/proc/self/pagemap")
		s.pagemap, s.off = f, err != nil
	}
	f, off := s.pagemap, s.off
	s.mu.Unlock()
	if off {
		return nil, false
	}
	at := uint64(uintptr(unsafe.Pointer(&b[0])))
	q := &scan{start: at, end: at + uint64(len(b)), vec: uint64(uintptr(unsafe.Pointer(&regions[0]))), vecLen: uint64(len(regions)),
		categoryInverted: pageFile, categoryMask: pageFile, categoryAnyofMask: pagePresent | pageSwapped, returnedMask: pagePresent | pageSwapped}
	q.size = uint64(unsafe.Sizeof(*q))
	n, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), pagemapScan, uintptr(unsafe.Pointer(q)))
	runtime.KeepAlive(regions)
	if errno != 0 {
		s.mu.Lock()
		s.off = true
		s.mu.Unlock()
		return nil, false
	}
	if q.walkEnd < q.end || n > uintptr(len(regions)) {
		return nil, false
	}
	for i := range regions[:n] {
		regions[i].start -= at
		regions[i].end -= at
	}
	return regions[:n], true
}

const (
	// gapPages is how many clean pages between two dirty ones are dropped with
	// them: to read them again costs less than another system call.
	gapPages = 4
	// imageEach is how much of the image may stay in one memory as pages of its
	// own, and maxAge how many runs may leave such a page as it was until it is
	// dropped. Where they are few, to look at them costs less than to fault in
	// again what some runs write to and others do not: fewAge holds for them.
	imageEach = 4 << 20
	maxAge    = 8
	imageFew  = 1 << 20
	fewAge    = 64
	// growthEach and growthAll are how much of what runs grew by stays, cleared,
	// in one memory and in all that are kept.
	growthEach = 16 << 20
	growthAll  = 64 << 20
)

// clean makes a memory what it was when it was made: pages are copied back or
// cleared where they stay, and dropped where they do not.
func (im *Image) clean(m *memory, written []region) bool {
	page := uint64(os.Getpagesize())
	c := cleaner{base: m.base, page: page, maxAge: maxAge}
	hot := []span(nil)
	if m.image {
		if hot, c.image = im.hot.spans(), im.original(); c.image == nil {
			return false
		}
	}
	start := uint64(len(c.image))
	inside, grown := uint64(0), uint64(0)
	for _, r := range written {
		inside += max(min(r.end, start), r.start) - r.start
		grown += r.end - max(min(r.end, start), r.start)
	}
	if m.image && m.ages == nil {
		m.ages = make([]uint8, start/page)
	}
	all := inside <= imageEach
	if inside <= imageFew {
		c.maxAge = fewAge
	}
	stays := grown <= growthEach && im.spares.growth(grown)
	if !stays && m.huge {
		return false // what is dropped would come back in large pages
	}
	if stays {
		m.kept = max(grown, m.was)
	}
	for _, r := range written {
		from := min(r.end, start)
		if r.start < from {
			if all {
				c.renew(r.start, from, m.ages)
			} else {
				hot = c.restore(r.start, from, hot)
			}
		}
		switch from = max(from, r.start); {
		case from == r.end:
		case stays:
			clear(m.base[from:r.end])
		default:
			c.drop(from, r.end)
		}
	}
	return c.flush() && !c.failed
}

// cleaner drops pages in as few system calls as it can.
type cleaner struct {
	base, image []byte
	page        uint64
	maxAge      uint8 // runs that may leave a page as it was
	wait        span  // to be dropped
	failed      bool
}

// renew puts the image back under a range, page by page. A page that nobody
// has written to for some runs is dropped.
func (c *cleaner) renew(from, to uint64, ages []uint8) {
	for at := from; at < to; at += c.page {
		age := &ages[at/c.page]
		own, image := c.base[at:at+c.page], c.image[at:at+c.page]
		switch {
		case !bytes.Equal(own, image):
			copy(own, image)
			*age = 0
		case *age < c.maxAge:
			*age++
		default:
			if c.wait.to != at {
				c.flush() // the pages in between stay
			}
			c.drop(at, at+c.page)
			*age = 0
		}
	}
}

// restore puts the image back under a range: hot pages are copied, others
// dropped. It returns the hot ranges that may still come.
func (c *cleaner) restore(from, to uint64, hot []span) []span {
	for len(hot) > 0 && hot[0].to <= from {
		hot = hot[1:]
	}
	for _, h := range hot {
		if h.from >= to {
			break
		}
		a, b := max(from, h.from), min(to, h.to)
		c.drop(from, a)
		c.flush()
		copy(c.base[a:b], c.image[a:b])
		from = b
	}
	c.drop(from, to)
	return hot
}

// drop notes a range whose pages are given back to the kernel.
func (c *cleaner) drop(from, to uint64) {
	if from >= to {
		return
	}
	if c.wait.to > c.wait.from && from-c.wait.to <= gapPages*c.page {
		c.wait.to = to
		return
	}
	c.flush()
	c.wait = span{from, to}
}

// flush gives back what was noted.
func (c *cleaner) flush() bool {
	if c.wait.to > c.wait.from && unix.Madvise(c.base[c.wait.from:c.wait.to], unix.MADV_DONTNEED) != nil {
		c.failed = true
	}
	c.wait = span{}
	return !c.failed
}

// original is the image to copy from, or nil.
func (im *Image) original() []byte {
	s := &im.spares
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pristine == nil && !s.off {
		p, err := unix.MmapPtr(im.source.(*fileSource).fd, 0, nil, uintptr(im.size), unix.PROT_READ, unix.MAP_SHARED|unix.MAP_NORESERVE)
		if err != nil {
			s.off = true
			return nil
		}
		s.pristine = unsafe.Slice((*byte)(p), im.size)
	}
	return s.pristine
}
