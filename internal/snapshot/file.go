package snapshot

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// The file of an image is the image itself, so that it can be mapped, and after
// it a trailer: what it is, its size, its digest.
const (
	trailerMagic = "wexec memory image 1\n\x00\x00\x00"
	trailerSize  = len(trailerMagic) + 8 + sha256.Size
)

// ErrStale is the answer of [OpenFile] where the file is not the one that was
// wanted; lay it again.
var ErrStale = errors.New("the file is not the image that is wanted")

// WriteFile lays an image at path: readable for its owner alone, and put in
// place whole, so that nobody ever sees a part of it and a file that is mapped
// already stays as it is.
func WriteFile(path string, image []byte) error {
	err := replace(path, func(f *os.File) error {
		if err := claim(f, int64(len(image))); err != nil {
			return err
		}
		if err := writeSparse(f, image); err != nil {
			return err
		}
		_, err := f.WriteAt(trailer(uint64(len(image)), sha256.Sum256(image)), int64(len(image)))
		return err
	})
	if err != nil {
		return fmt.Errorf("lay the image: %w", err)
	}
	return nil
}

// replace writes a file aside and puts it in the place of path, for its owner
// alone.
func replace(path string, write func(*os.File) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	err = write(f)
	if err == nil {
		if err = f.Chmod(0o600); errors.Is(err, errors.ErrUnsupported) {
			err = nil
		}
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// OpenFile makes an image of a file that [WriteFile] laid, whose digest (SHA-256) is
// known. It looks at owner, permissions, size and trailer, and reads no more: the
// digest was computed when the file was laid. The file must never be written to
// again, only replaced.
func OpenFile(path string, digest [sha256.Size]byte, mode Mode) (*Image, error) {
	before, err := os.Lstat(path) // a link or a pipe is not even opened
	if err != nil {
		return nil, fmt.Errorf("open the image: %w", err)
	}
	if !before.Mode().IsRegular() {
		return nil, fmt.Errorf("open the image: %w: it is no regular file", ErrStale)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open the image: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("open the image: %w", err)
	}
	if !os.SameFile(before, info) || !ownedAlone(info) {
		return nil, fmt.Errorf("open the image: %w: others can write to it", ErrStale)
	}
	size := info.Size() - int64(trailerSize)
	if size <= 0 || size%pageSize != 0 || size > 1<<32 {
		return nil, fmt.Errorf("open the image: %w: its size is %d", ErrStale, info.Size())
	}
	end := make([]byte, trailerSize)
	if _, err := f.ReadAt(end, size); err != nil {
		return nil, fmt.Errorf("open the image: %w", err)
	}
	if string(end) != string(trailer(uint64(size), digest)) {
		return nil, fmt.Errorf("open the image: %w", ErrStale)
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
		return nil, fmt.Errorf("open the image: %w", err)
	}
	im.source = heapSource(image)
	return im, nil
}

func trailer(size uint64, digest [sha256.Size]byte) []byte {
	b := append([]byte(nil), trailerMagic...)
	b = binary.LittleEndian.AppendUint64(b, size)
	return append(b, digest[:]...)
}

// writeSparse writes an image and leaves holes where it is zero.
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
