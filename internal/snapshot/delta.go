package snapshot

import (
	"bufio"
	"bytes"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/tetratelabs/wazero/api"
)

// A delta is what an instance at rest has and its image does not: its mutable
// globals, and the pages of its memory that differ, XORed with those of the image,
// which makes them small when they are compressed. Pages are in ascending order, as
// ranges of a gap and a length, so that a page cannot occur twice:
//
//	size of the memory in WebAssembly pages
//	number of mutable globals; the value of each
//	ranges: length, gap since the range before, pages; a length of 0 ends them
//
// Numbers are unsigned varints.
const deltaPage = 4096

// ErrDelta is returned for a delta that is damaged, or of another guest.
var ErrDelta = errors.New("not a state of this guest")

func badDelta(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrDelta}, args...)...)
}

// WriteDelta writes what an instance at rest has and its image does not. The
// instance must be the one whose memory this allocator made.
func (a *Allocator) WriteDelta(w io.Writer, instance api.Module) error {
	m := a.guest
	if m == nil || m.deferred || m.freed {
		return errors.New("write a delta: the instance has no memory")
	}
	image, err := a.image.content()
	if err != nil {
		return fmt.Errorf("write a delta: %w", err)
	}
	out := deltaWriter{w: bufio.NewWriterSize(w, 16*deltaPage)}
	out.number(m.size / pageSize)
	globals, ok := mutableGlobals(instance)
	if !ok {
		return errors.New("write a delta: the globals of the instance are not where wazero 1.12 has them")
	}
	out.number(uint64(len(globals)))
	for _, g := range globals {
		value, _ := g.Value()
		out.number(value)
	}
	for _, s := range a.image.changed(m) {
		for at := s.from; at < s.to; at += deltaPage {
			out.page(at, m.base[at:at+deltaPage], image)
		}
	}
	out.flush()
	out.number(0)
	return out.w.Flush()
}

// deltaWriter writes a delta. Errors are kept by its buffer until Flush.
type deltaWriter struct {
	w     *bufio.Writer
	from  uint64 // of the pages that are not written yet
	pages []byte
	end   uint64 // of the range before
}

// deltaRange bounds the pages that wait to be written, in bytes.
const deltaRange = 64 * deltaPage

func (d *deltaWriter) number(n uint64) {
	var b [binary.MaxVarintLen64]byte
	_, _ = d.w.Write(binary.AppendUvarint(b[:0], n))
}

// page adds a page at an offset, if it is not the one of the image.
func (d *deltaWriter) page(at uint64, page, image []byte) {
	if at >= uint64(len(image)) {
		if zero(page) {
			return
		}
		d.next(at)
		d.pages = append(d.pages, page...)
		return
	}
	original := image[at : at+deltaPage]
	if bytes.Equal(page, original) {
		return
	}
	d.next(at)
	n := len(d.pages)
	d.pages = append(d.pages, page...)
	subtle.XORBytes(d.pages[n:], d.pages[n:], original)
}

// next begins a new range unless the page at an offset continues the present one.
func (d *deltaWriter) next(at uint64) {
	if at != d.from+uint64(len(d.pages)) || len(d.pages) >= deltaRange {
		d.flush()
		d.from = at
	}
}

// flush writes the range.
func (d *deltaWriter) flush() {
	if len(d.pages) == 0 {
		return
	}
	d.number(uint64(len(d.pages) / deltaPage))
	d.number((d.from - d.end) / deltaPage)
	_, _ = d.w.Write(d.pages)
	d.end = d.from + uint64(len(d.pages))
	d.pages = d.pages[:0]
}

// ReadDelta gives a fresh instance the state that [Allocator.WriteDelta] wrote, up
// to the end of r. The memory may not become larger than limit bytes. After an error
// the instance is in an unknown state and must not run.
func (a *Allocator) ReadDelta(r io.Reader, instance api.Module, limit uint64) error {
	if a.guest == nil || a.guest.deferred || a.guest.freed {
		return errors.New("read a delta: the instance has no memory")
	}
	in := deltaReader{r: bufio.NewReaderSize(r, 16*deltaPage)}
	memory, err := in.grow(instance.Memory(), limit)
	if err != nil {
		return err
	}
	globals, ok := mutableGlobals(instance)
	if !ok {
		return errors.New("read a delta: the globals of the instance are not where wazero 1.12 has them")
	}
	if err := in.globals(globals); err != nil {
		return err
	}
	return in.pages(memory)
}

// deltaReader reads a delta.
type deltaReader struct{ r *bufio.Reader }

func (d *deltaReader) number(what string) (uint64, error) {
	n, err := binary.ReadUvarint(d.r)
	if err != nil {
		return 0, badDelta("%s: %v", what, err)
	}
	return n, nil
}

// grow gives the memory its former size and returns it.
func (d *deltaReader) grow(memory api.Memory, limit uint64) ([]byte, error) {
	pages, err := d.number("the size of the memory")
	if err != nil {
		return nil, err
	}
	have := uint64(memory.Size()) / pageSize
	if pages < have || pages > min(limit, 1<<32-pageSize)/pageSize {
		return nil, badDelta("a memory of %d pages", pages)
	}
	if _, ok := memory.Grow(uint32(pages - have)); !ok {
		return nil, fmt.Errorf("the memory of the instance cannot grow to %d bytes", pages*pageSize)
	}
	all, ok := memory.Read(0, uint32(pages*pageSize))
	if !ok {
		return nil, badDelta("a memory of %d pages", pages)
	}
	return all, nil
}

// globals sets the mutable globals of an instance.
func (d *deltaReader) globals(of []global) error {
	n, err := d.number("the number of globals")
	if err != nil {
		return err
	}
	if n != uint64(len(of)) {
		return badDelta("%d globals instead of %d", n, len(of))
	}
	for _, g := range of {
		value, err := d.number("the value of a global")
		if err != nil {
			return err
		}
		g.SetValue(value, 0)
	}
	return nil
}

// pages changes the pages of a memory that is the image.
func (d *deltaReader) pages(memory []byte) error {
	page := make([]byte, deltaPage)
	for at := uint64(0); ; {
		length, err := d.number("the length of a range")
		if err != nil {
			return err
		}
		if length == 0 {
			break
		}
		gap, err := d.number("the place of a range")
		if err != nil {
			return err
		}
		left := (uint64(len(memory)) - at) / deltaPage
		if gap > left || length > left-gap {
			return badDelta("a range beyond the memory")
		}
		at += gap * deltaPage
		for ; length > 0; length-- {
			if _, err := io.ReadFull(d.r, page); err != nil {
				return badDelta("a page: %v", err)
			}
			own := memory[at : at+deltaPage]
			subtle.XORBytes(own, own, page)
			at += deltaPage
		}
	}
	if _, err := d.r.ReadByte(); err != io.EOF {
		return badDelta("it continues after its end")
	}
	return nil
}

// content returns the bytes of the image, which must not be changed.
func (im *Image) content() ([]byte, error) {
	if heap, ok := im.source.(heapSource); ok {
		return heap, nil
	}
	if mapped := im.pristine(); mapped != nil {
		return mapped, nil
	}
	b := make([]byte, im.size)
	return b, im.source.copyTo(b)
}
