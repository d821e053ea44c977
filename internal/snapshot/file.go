package snapshot

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/wexec/wexec/internal/atomicfile"
	"github.com/wexec/wexec/internal/ownfile"
)

// The file of an image is the image itself, so that it can be mapped, followed by
// a trailer with a magic number, the size and the digest.
const (
	trailerMagic = "wexec memory image 1\n\x00\x00\x00"
	trailerSize  = len(trailerMagic) + 8 + sha256.Size
)

// ErrStale is returned by [OpenFile] if the file is not the expected
// one; write it again.
var ErrStale = errors.New("not the expected image")

// WriteFile writes an image to path, readable by its owner only. The file is
// replaced atomically, and mappings of a replaced file
// stay valid.
func WriteFile(path string, image []byte) error {
	err := atomicfile.WriteFunc(path, 0o600, func(f *os.File) error {
		if err := preallocate(f, int64(len(image))); err != nil {
			return err
		}
		if err := writeSparse(f, image); err != nil {
			return err
		}
		_, err := f.WriteAt(trailer(uint64(len(image)), sha256.Sum256(image)), int64(len(image)))
		return err
	})
	if err != nil {
		return fmt.Errorf("write image: %w", err)
	}
	return nil
}

// OpenFile opens the image in a file that [WriteFile] wrote and whose SHA-256 is
// known. It checks that only this user and root can have written the file, and
// its size and trailer. It does not read the image: the digest was computed when
// the file was written. The file must never be modified, only replaced.
func OpenFile(path string, digest [sha256.Size]byte, mode Mode) (*Image, error) {
	f, err := ownfile.Open(path)
	var refused *ownfile.Error
	if errors.As(err, &refused) {
		return nil, fmt.Errorf("open image: %w: %w", ErrStale, err)
	}
	if err != nil {
		return nil, fmt.Errorf("open image: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("open image: %w", err)
	}
	size := info.Size() - int64(trailerSize)
	if size <= 0 || size%pageSize != 0 || size > 1<<32 {
		return nil, fmt.Errorf("open image: %w: size %d", ErrStale, info.Size())
	}
	end := make([]byte, trailerSize)
	if _, err := f.ReadAt(end, size); err != nil {
		return nil, fmt.Errorf("open image: %w", err)
	}
	if string(end) != string(trailer(uint64(size), digest)) {
		return nil, fmt.Errorf("open image: %w", ErrStale)
	}
	im := &Image{size: uint64(size)}
	if mode == Auto && canMap {
		if im.source, err = mapFile(f); err == nil {
			im.mapped = true
			return im, nil
		}
	}
	image := make([]byte, size)
	if _, err := io.ReadFull(io.NewSectionReader(f, 0, size), image); err != nil {
		return nil, fmt.Errorf("open image: %w", err)
	}
	im.source = heapSource(image)
	return im, nil
}

func trailer(size uint64, digest [sha256.Size]byte) []byte {
	b := append([]byte(nil), trailerMagic...)
	b = binary.LittleEndian.AppendUint64(b, size)
	return append(b, digest[:]...)
}

// writeSparse writes an image with holes for zeros.
func writeSparse(f *os.File, image []byte) error {
	if err := f.Truncate(int64(len(image))); err != nil {
		return err
	}
	const block = 4096
	for from := 0; from < len(image); {
		if zero(image[from : from+block]) {
			from += block
			continue
		}
		to := from + block
		for to < len(image) && !zero(image[to:to+block]) {
			to += block
		}
		if _, err := f.WriteAt(image[from:to], int64(from)); err != nil {
			return err
		}
		from = to
	}
	return nil
}

func zero(b []byte) bool {
	for len(b) >= 8 {
		if binary.NativeEndian.Uint64(b) != 0 {
			return false
		}
		b = b[8:]
	}
	return true
}
