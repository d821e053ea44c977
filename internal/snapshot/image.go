package snapshot

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// Mode says how linear memories are made.
type Mode uint8

const (
	// Auto maps the image copy-on-write where the platform can, and copies it
	// elsewhere.
	Auto Mode = iota
	// Copy makes a copy into pooled memory, on every platform.
	Copy
)

// Image is the memory of a guest that has started, from which any number of
// instances begin. It is safe for concurrent use.
type Image struct {
	size   uint64
	source source // where the bytes are
	mapped bool   // memories are mappings
	pool   sync.Pool
	hot    hotPages
	spares spares // memories that are clean again

	memories, reserved, copies atomic.Int64

	mu     sync.RWMutex // held while a memory is made, against Close
	closed bool
}

// source is where the bytes of an image are kept.
type source interface {
	// copyTo fills dst, which has the image's size.
	copyTo(dst []byte) error
	close() error
}

// heapSource keeps them on Go's heap.
type heapSource []byte

func (h heapSource) copyTo(dst []byte) error { copy(dst, h); return nil }
func (h heapSource) close() error            { return nil }

// New makes an image of bytes, whose number is a multiple of a WebAssembly
// page. They are copied or kept: the caller must not change them.
func New(image []byte, mode Mode) (*Image, error) {
	if len(image)%pageSize != 0 || uint64(len(image)) > 1<<32 {
		return nil, fmt.Errorf("make an image: %d bytes are no whole pages of a memory", len(image))
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

// Blank is the image of no guest: every memory it makes starts with zeros. It
// serves modules that were never split.
func Blank(mode Mode) *Image {
	return &Image{source: heapSource(nil), mapped: mode == Auto && canMap}
}

// Size is the size of the image in bytes.
func (im *Image) Size() uint64 { return im.size }

// Mapped reports whether memories are copy-on-write mappings.
func (im *Image) Mapped() bool { return im.mapped }

// Live says what the memories that were made and not yet freed hold.
type Live struct {
	Memories int64 // linear memories
	Reserved int64 // bytes of address space mapped for them
	Copies   int64 // of the memories, those on Go's heap
}

// Live counts the memories in use.
func (im *Image) Live() Live {
	return Live{Memories: im.memories.Load(), Reserved: im.reserved.Load(), Copies: im.copies.Load()}
}

// Trim gives back the memories that are kept for the next instances.
func (im *Image) Trim() { im.spares.trim() }

// ErrInUse is Close's answer while instances are left.
var ErrInUse = errors.New("the image is in use")

// Close gives the image back. With memories still in use it does nothing and
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

// fill copies the image to dst, as far as both reach.
func (im *Image) fill(dst []byte) error {
	if im.closed {
		return errors.New("the image is closed")
	}
	return im.source.copyTo(dst[:im.size])
}
