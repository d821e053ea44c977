package fetch

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/http"
	"strings"

	"github.com/wexec/wexec/fault"
)

// stream is the body of a response.
type stream struct {
	r     io.Reader
	close func()
}

func (s *stream) Read(b []byte) (int, error) {
	n, err := s.r.Read(b)
	if err != nil && err != io.EOF && fault.CodeOf(err) == fault.Internal {
		err = fault.New(fault.UpstreamUnavailable, "the response was cut off")
	}
	return n, err
}

func (s *stream) Close() error { s.close(); return nil }

// encoding returns the compression of a body, or "" if there is none or it is not
// supported.
func encoding(res *http.Response) string {
	e := strings.ToLower(strings.TrimSpace(res.Header.Get("Content-Encoding")))
	switch e {
	case "gzip", "x-gzip":
		return "gzip"
	case "deflate":
		return e
	}
	return ""
}

// decoded reports whether the program gets a decompressed
// body.
func decoded(res *http.Response) bool { return encoding(res) != "" }

// decompress decompresses on demand, so that a compression bomb
// costs only what the program reads.
func decompress(res *http.Response) (io.Reader, error) {
	switch encoding(res) {
	case "gzip":
		return &lazy{open: func() (io.Reader, error) { return gzip.NewReader(res.Body) }}, nil
	case "deflate":
		return &lazy{open: func() (io.Reader, error) {
			// Some servers send raw deflate and some the zlib format.
			in := bufio.NewReader(res.Body)
			if two, err := in.Peek(2); err == nil && two[0]&0x0f == 8 && (uint(two[0])<<8|uint(two[1]))%31 == 0 {
				return zlib.NewReader(in)
			}
			return flate.NewReader(in), nil
		}}, nil
	}
	return res.Body, nil
}

// lazy opens a reader on the first read.
type lazy struct {
	open func() (io.Reader, error)
	r    io.Reader
	err  error
}

func (l *lazy) Read(b []byte) (int, error) {
	if l.r == nil && l.err == nil {
		if l.r, l.err = l.open(); l.err == io.EOF {
			return 0, io.EOF // an empty body
		}
	}
	if l.err != nil {
		return 0, fault.New(fault.ToolFailed, "invalid compressed response")
	}
	n, err := l.r.Read(b)
	if err != nil && err != io.EOF {
		err = fault.New(fault.ToolFailed, "invalid compressed response")
	}
	return n, err
}

// bounded fails if a body is too long.
type bounded struct {
	r           io.Reader
	left, limit int64
}

func (l *bounded) Read(b []byte) (int, error) {
	if l.left <= 0 {
		var one [1]byte
		if n, err := l.r.Read(one[:]); n == 0 && err == io.EOF {
			return 0, io.EOF
		}
		return 0, fault.New(fault.ToolTooLarge, "response exceeds %d bytes", l.limit).
			WithHint("request less data, or a range")
	}
	if int64(len(b)) > l.left {
		b = b[:l.left]
	}
	n, err := l.r.Read(b)
	l.left -= int64(n)
	return n, err
}
