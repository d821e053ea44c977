package snapshot

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"unsafe"

	"github.com/wexec/wexec/internal/atomicfile"
	"github.com/wexec/wexec/internal/ownfile"
)

// Native code in wazero's cache files starts in the middle of a page, so
// it can only be read, not mapped: 25 MB for a large interpreter at each start of a
// process, after one system call for each of its ten thousand
// functions. [AlignCode] rewrites such a file with the code on whole pages, and
// [MapCode] makes wazero map it.
//
// The file: the bytes before the code, the bytes after it, zeros up to a
// whole page, the code, and a trailer with the three sizes and a digest of
// everything but the code, which has wazero's checksum.
const (
	codeMagic   = "wexec native code 1\n\x00\x00\x00\x00"
	codeTrailer = len(codeMagic) + 3*8 + sha256.Size
	codePage    = 64 << 10 // whole pages on every machine
)

// wazeroMagic starts wazero's cache files.
const wazeroMagic = "WAZEVO"

// codeParts finds the code in a cache file: the size of what comes before it, and
// its own.
func codeParts(file []byte) (before, code int, err error) {
	bad := errors.New("not a native code file of wazero 1.12")
	if len(file) < len(wazeroMagic)+1 || string(file[:len(wazeroMagic)]) != wazeroMagic {
		return 0, 0, bad
	}
	at := uint64(len(wazeroMagic)) + 1 + uint64(file[len(wazeroMagic)])
	if at+4 > uint64(len(file)) {
		return 0, 0, bad
	}
	at += 4 + 8*uint64(binary.LittleEndian.Uint32(file[at:]))
	if at+8 > uint64(len(file)) {
		return 0, 0, bad
	}
	size := binary.LittleEndian.Uint64(file[at:])
	at += 8
	if size == 0 || size > uint64(len(file))-at {
		return 0, 0, bad
	}
	return int(at), int(size), nil
}

// AlignCode rewrites a file of native code that wazero wrote, so that it can
// be mapped. The file is replaced atomically.
func AlignCode(path string) error {
	file, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("align native code: %w", err)
	}
	before, size, err := codeParts(file)
	if err != nil {
		return fmt.Errorf("align native code: %w", err)
	}
	head := append(append([]byte(nil), file[:before]...), file[before+size:]...)
	padded := (len(head) + codePage - 1) / codePage * codePage
	trailer := []byte(codeMagic)
	for _, n := range []int{before, len(head) - before, size} {
		trailer = binary.LittleEndian.AppendUint64(trailer, uint64(n))
	}
	sum := sha256.Sum256(head)
	trailer = append(trailer, sum[:]...)
	err = atomicfile.WriteFunc(path, 0o600, func(f *os.File) error {
		for _, part := range [][]byte{head, make([]byte, padded-len(head)), file[before : before+size], trailer} {
			if _, err := f.Write(part); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("align native code: %w", err)
	}
	return nil
}

// codeFiles is the file store of wazero's compilation cache.
type codeFiles interface {
	Get(key [32]byte) (content io.ReadCloser, ok bool, err error)
	Add(key [32]byte, content io.Reader) error
	Delete(key [32]byte) error
}

// MapCode makes a compilation cache of wazero read the files that [AlignCode]
// writes. It returns false if the cache is not that of wazero 1.12: then such files
// cannot be read and must not be written.
func MapCode(cache any) bool {
	v := reflect.ValueOf(cache)
	if !isStructPointer(v) {
		return false
	}
	f := v.Elem().FieldByName("fileCache")
	if !f.IsValid() || f.Kind() != reflect.Interface || f.IsNil() || !reflect.TypeFor[*mappedFiles]().Implements(f.Type()) {
		return false
	}
	field := reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem()
	files, ok := field.Interface().(codeFiles)
	if !ok {
		return false
	}
	field.Set(reflect.ValueOf(&mappedFiles{files}))
	return true
}

// mappedFiles reads files of both formats, and only those that no user except
// this one and root can have written: what they hold is executed.
type mappedFiles struct{ codeFiles }

// Get implements codeFiles. A file that is refused counts as missing, so that
// wazero compiles the module and replaces the file.
func (m *mappedFiles) Get(key [32]byte) (io.ReadCloser, bool, error) {
	content, ok, err := m.codeFiles.Get(key)
	f, isFile := content.(*os.File)
	if !ok || err != nil || !isFile {
		return content, ok, err
	}
	path := f.Name() // wazero has followed links
	f.Close()
	if ownfile.Sub(filepath.Dir(path)) != nil {
		return nil, false, nil
	}
	if f, err = ownfile.Open(path); err != nil {
		return nil, false, nil
	}
	c, err := openCode(f)
	switch {
	case err != nil:
		f.Close()
		return nil, false, err
	case c == nil:
		return f, true, nil
	}
	return c, true, nil
}

// code is an aligned file, read as if it were wazero's.
type code struct {
	f      *os.File
	head   []byte // the bytes before and after the code
	before int
	from   int64 // offset of the code in the file
	size   int
	at     int // read position, as in wazero's file
}

// openCode opens an aligned file. It returns nil for a file of wazero's format.
func openCode(f *os.File) (*code, error) {
	info, err := f.Stat()
	if err != nil || info.Size() < int64(codeTrailer) {
		return nil, err
	}
	trailer := make([]byte, codeTrailer)
	if _, err := f.ReadAt(trailer, info.Size()-int64(codeTrailer)); err != nil {
		return nil, err
	}
	if string(trailer[:len(codeMagic)]) != codeMagic {
		return nil, nil
	}
	var n [3]uint64
	for i := range n {
		if n[i] = binary.LittleEndian.Uint64(trailer[len(codeMagic)+8*i:]); n[i] > uint64(info.Size()) {
			return nil, errors.New("the file of native code has invalid sizes")
		}
	}
	padded := (n[0] + n[1] + codePage - 1) / codePage * codePage
	if padded+n[2]+uint64(codeTrailer) != uint64(info.Size()) {
		return nil, errors.New("the file of native code has invalid sizes")
	}
	c := &code{f: f, head: make([]byte, n[0]+n[1]), before: int(n[0]), from: int64(padded), size: int(n[2])}
	if _, err = f.ReadAt(c.head, 0); err != nil {
		return nil, err
	}
	if sha256.Sum256(c.head) != [sha256.Size]byte(trailer[codeTrailer-sha256.Size:]) {
		return nil, errors.New("the file of native code is damaged")
	}
	return c, nil
}

// Read returns the bytes that wazero's file would have. If all of the code is
// requested at once, p is memory that wazero mapped for it: the file is
// mapped over it.
func (c *code) Read(p []byte) (n int, err error) {
	switch in := c.at - c.before; {
	case in < 0:
		n = copy(p, c.head[c.at:c.before])
	case in == 0 && len(p) == c.size && mapOver(p, c.f, c.from):
		n = c.size
	case in < c.size:
		n, err = c.f.ReadAt(p[:min(len(p), c.size-in)], c.from+int64(in))
	case in-c.size < len(c.head)-c.before:
		n = copy(p, c.head[c.at-c.size:])
	default:
		return 0, io.EOF
	}
	c.at += n
	if n > 0 {
		err = nil
	}
	return n, err
}

// Close closes the file; mappings stay.
func (c *code) Close() error { return c.f.Close() }
