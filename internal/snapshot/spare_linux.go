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

// spares are memories of ended instances, cleaned for reuse: pages that
// nearly every run writes to are copied from the image, all others are
// dropped. A new memory costs two mappings and a page
// fault for each page that is written to; cleaning costs the copies.
//
// The kernel reports which pages were written to, so cleanliness does
// not depend on the guest. If the kernel cannot tell,
// or a run did not end normally, the memory is unmapped.
type spares struct {
	mu       sync.Mutex
	most     int // per kind
	free     []spare
	grown    uint64   // sum over free
	pagemap  *os.File // nil: not opened yet
	off      bool     // the kernel does not report written pages
	pristine []byte   // read-only mapping of the image
	regions  sync.Pool
}

type spare struct {
	base  []byte
	image bool
	huge  bool
	grown uint64  // bytes beyond the image that are kept
	ages  []uint8 // by page of the image: runs since one wrote to it
}

// maxRegions is how many separate ranges a run may write to if its memory is to
// be reused.
const maxRegions = 512

// region is a range of pages, in the layout of the kernel.
type region struct{ start, end, categories uint64 }

// The kernel's PAGEMAP_SCAN, since Linux 6.7.
const (
	pagemapScan = 3<<30 | 96<<16 | 'f'<<8 | 16
	pageFile    = 1 << 2 // backed by the file: not written to
	pagePresent = 1 << 3
	pageSwapped = 1 << 4
)

type scan struct {
	size, flags, start, end, walkEnd, vec, vecLen, maxPages         uint64
	categoryInverted, categoryMask, categoryAnyofMask, returnedMask uint64
}

// take returns a spare memory of a size.
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

// growth reports whether the spare memories may keep n more bytes.
func (s *spares) growth(n uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.grown+n <= growthAll
}

// wanted reports whether there is space for one more of a kind.
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

// trim unmaps the spare memories.
func (s *spares) trim() {
	s.mu.Lock()
	free := s.free
	s.free, s.grown = nil, 0
	s.mu.Unlock()
	for _, one := range free {
		unmap(one.base)
	}
}

// close unmaps everything and stops reuse.
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

// recycle cleans a memory and keeps it for reuse. It returns false and changes nothing if that
// is not possible.
func (im *Image) recycle(m *memory) bool {
	s := &im.spares
	if m.from.noReuse.Load() || im.size == 0 || !im.hot.learned() || !s.wanted(m.image) {
		return false
	}
	buf, release := s.buffer()
	defer release()
	written, ok := s.written(m.base[:m.size], buf)
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

// buffer returns room for maxRegions regions. It is on the heap: the kernel is given
// its address as a number, and a stack can move.
func (s *spares) buffer() (regions []region, release func()) {
	buf, _ := s.regions.Get().(*[]region)
	if buf == nil {
		b := make([]region, maxRegions)
		buf = &b
	}
	return *buf, func() { s.regions.Put(buf) }
}

// changed returns the parts of a guest's memory that may differ from the image. The
// kernel knows which pages were written to. If the kernel cannot tell, it is the whole memory.
func (im *Image) changed(m *memory) []span {
	whole := []span{{0, m.size}}
	if m.heap || !m.image || m.overlaid {
		return whole
	}
	var parts []span
	regions, release := im.spares.buffer()
	defer release()
	for from := uint64(0); from < m.size; {
		found, end, ok := im.spares.scan(m.base[from:m.size], regions)
		if !ok || end == 0 {
			return whole
		}
		for _, r := range found {
			parts = append(parts, span{from + r.start, from + r.end})
		}
		from += end
	}
	return parts
}

// written asks the kernel for the pages that were written to. It returns false
// if the kernel cannot tell, or if they are too scattered.
func (s *spares) written(b []byte, regions []region) ([]region, bool) {
	found, end, ok := s.scan(b, regions)
	return found, ok && end == uint64(len(b))
}

// scan asks the kernel for the first pages that were written to, as many as regions
// has room for, and returns where it ended.
func (s *spares) scan(b []byte, regions []region) (found []region, end uint64, ok bool) {
	s.mu.Lock()
	if s.pagemap == nil && !s.off {
		f, err := os.Open("/proc/self/pagemap")
		s.pagemap, s.off = f, err != nil
	}
	f, off := s.pagemap, s.off
	s.mu.Unlock()
	if off {
		return nil, 0, false
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
		return nil, 0, false
	}
	if n > uintptr(len(regions)) || q.walkEnd < at || q.walkEnd > q.end {
		return nil, 0, false
	}
	for i := range regions[:n] {
		regions[i].start -= at
		regions[i].end -= at
	}
	return regions[:n], q.walkEnd - at, true
}

const (
	// gapPages is how many clean pages between two dirty ones are dropped as well:
	// reading them again costs less than another system call.
	gapPages = 4
	// imageEach is how much of the image may stay in one memory as private
	// pages, and maxAge how many runs may leave such a page unchanged before it is
	// dropped. Up to imageFew bytes, comparing pages costs less than faulting in
	// again those that only some runs write to: their limit is fewAge.
	imageEach = 4 << 20
	maxAge    = 8
	imageFew  = 1 << 20
	fewAge    = 64
	// growthEach and growthAll bound the memory beyond the image that stays, cleared,
	// in one spare memory and in all of them.
	growthEach = 16 << 20
	growthAll  = 64 << 20
)

// clean restores the initial content of a memory: pages that stay are copied back or
// cleared, the others are dropped.
func (im *Image) clean(m *memory, written []region) bool {
	page := uint64(os.Getpagesize())
	c := cleaner{base: m.base, page: page, maxAge: maxAge}
	hot := []span(nil)
	if m.image {
		if hot, c.image = im.hot.spans(), im.pristine(); c.image == nil {
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
		return false // dropped memory would come back in large pages
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

// cleaner restores a memory and drops pages in few system calls.
type cleaner struct {
	base, image []byte
	page        uint64
	maxAge      uint8 // runs that may leave a page unchanged
	wait        span  // to be dropped by flush
	failed      bool
}

// renew restores a range page by page. A page that was not
// written to for maxAge runs is dropped.
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

// restore restores a range: hot pages are copied, others
// dropped. It returns the hot ranges that are left.
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

// drop schedules a range to be returned to the kernel.
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

// flush drops the scheduled range.
func (c *cleaner) flush() bool {
	if c.wait.to > c.wait.from && unix.Madvise(c.base[c.wait.from:c.wait.to], unix.MADV_DONTNEED) != nil {
		c.failed = true
	}
	c.wait = span{}
	return !c.failed
}

// pristine returns a read-only mapping of the image, or nil.
func (im *Image) pristine() []byte {
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
