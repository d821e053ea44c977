package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"io"
	"io/fs"
	"strings"
	"time"
)

// file is one file of an archive.
type file struct {
	name string // a folder's ends with a slash
	data []byte
	run  bool // executable
}

func (f file) mode() fs.FileMode {
	if f.run || f.isFolder() {
		return 0o755
	}
	return 0o644
}

func (f file) isFolder() bool { return strings.HasSuffix(f.name, "/") }

// tarball packs files in a folder. The archive has no data of this machine: no
// owner, and only the given time.
func tarball(folder string, files []file, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	packed, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(packed)
	for _, f := range files {
		kind := byte(tar.TypeReg)
		if f.isFolder() {
			kind = tar.TypeDir
		}
		err := w.WriteHeader(&tar.Header{Typeflag: kind, Name: folder + "/" + f.name, Mode: int64(f.mode()), Size: int64(len(f.data)), ModTime: at, Format: tar.FormatUSTAR})
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if err := packed.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// zipped packs files for Windows.
func zipped(folder string, files []file, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	w.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) { return flate.NewWriter(out, flate.BestCompression) })
	for _, f := range files {
		h := &zip.FileHeader{Name: folder + "/" + f.name, Method: zip.Deflate, Modified: at}
		h.SetMode(f.mode())
		to, err := w.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := to.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
