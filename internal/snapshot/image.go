// Package snapshot starts guests from the memory of an instance that is already
// initialized.
//
// [Split] takes a module and an initialized, idle instance of it, and returns a
// module without data and without initializers, and the bytes of the
// memory. An [Image] holds such bytes, and [Image.Memory] is the allocator that
// makes the linear memory of one new instance for wazero: on Linux a
// copy-on-write mapping of the image, on other systems a pooled copy.
//
// Mappings are outside Go's heap. Close an instance only when nothing runs in it
// any more: access to unmapped memory is fatal to the
// process.
//
// This is the only package that uses unsafe.
package snapshot

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// pageSize is the size of a WebAssembly page.
const pageSize = 64 << 10

// KernelSize is the size of the first memory that Extism allocates, for its
// kernel. An image must not have that size: the allocator could not tell the two
// apart.
const KernelSize = 16 * pageSize

// Mode selects how linear memories are made.
type Mode uint8

const (
	// Auto maps the image copy-on-write on platforms that support it, and copies it
	// on others.
	Auto Mode = iota
	// Copy copies the image into pooled memory on every platform.
	Copy
)

// Image is the memory of an initialized guest, from which any number of
// instances start. It is safe for concurrent use.
type Image struct {
	size   uint64
	source source // the bytes
	mapped bool   // memories are mappings
	pool   sync.Pool
	hot    hotPages
	spares spares // memories to reuse

	memories, reserved, copies atomic.Int64 // in use: memories, bytes of address space, memories on the heap

	mu     sync.RWMutex // read-held while a memory is made; held by Close
	closed bool
}

// source stores the bytes of an image.
type source interface {
	// copyTo fills dst, which has the image's size.
	copyTo(dst []byte) error
	close() error
}

// heapSource is bytes on Go's heap.
type heapSource []byte

func (h heapSource) copyTo(dst []byte) error { copy(dst, h); return nil }
func (h heapSource) close() error            { return nil }

// New makes an image of bytes, whose number must be a multiple of a WebAssembly
// page. The caller must not change them afterwards.
func New(image []byte, mode Mode) (*Image, error) {
	if len(image)%pageSize != 0 || uint64(len(image)) > 1<<32 {
		return nil, fmt.Errorf("make image: %d bytes are not a multiple of the page size", len(image))
	}
	im := &Image{size: uint64(len(image))}
	if mode == Auto {
		if s, err := anonymousFile(image); err == nil {
			im.source, im.mapped = s, true
			return im, nil
		}
	}
	im.source = heapSource(image)
	return im, nil
}

// Empty returns an image without bytes: every memory starts with zeros. It
// serves modules that were not split.
func Empty(mode Mode) *Image {
	return &Image{source: heapSource(nil), mapped: mode == Auto && canMap}
}

// Size is the size of the image in bytes.
func (im *Image) Size() uint64 { return im.size }

// Mapped reports whether memories are copy-on-write mappings.
func (im *Image) Mapped() bool { return im.mapped }

// Trim unmaps the memories that are kept for reuse.
func (im *Image) Trim() { im.spares.trim() }

// ErrInUse is returned by [Image.Close] while instances are in use.
var ErrInUse = errors.New("image is in use")

// Close releases the image. If memories are in use it does nothing and
// returns [ErrInUse].
func (im *Image) Close() error {
	im.mu.Lock()
	defer im.mu.Unlock()
	if im.closed {
		return nil
	}
	if im.memories.Load() > 0 {
		return ErrInUse
	}
	im.closed = true
	im.spares.close()
	return im.source.close()
}

// fill copies the image to the start of dst.
func (im *Image) fill(dst []byte) error {
	if im.closed {
		return errors.New("the image is closed")
	}
	return im.source.copyTo(dst[:im.size])
}

// span is a range of bytes between page boundaries.
type span struct{ from, to uint64 }
