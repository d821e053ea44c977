package artifacts

import (
	"bytes"
	"encoding/binary"
	"mime"
	"strings"
	"unicode/utf8"

	"github.com/wexec/wexec/fault"
)

// pageSize bounds a page of a text. Reading any line reads and searches at most the
// pages that it is in.
const pageSize = 64 << 10

// Pager cuts a text into pages while it is written. A page ends where personal data
// rarely continues: at an empty line, a line, or a space, in this order.
type Pager struct {
	Declared bool // the media type describes a text

	invalid bool // the content is not UTF-8
	buf     []byte
	index   []byte // of each page the size and how many lines begin in it
}

// IsText reports whether content of a media type is a text, in any encoding.
func IsText(media string) bool {
	media, _, _ = mime.ParseMediaType(media)
	if strings.HasPrefix(media, "text/") || strings.HasSuffix(media, "+json") || strings.HasSuffix(media, "+xml") {
		return true
	}
	switch media {
	case "application/json", "application/x-ndjson", "application/xml", "application/yaml", "application/x-yaml", "application/toml", "application/javascript", "application/sql":
		return true
	}
	return false
}

// Write implements io.Writer.
func (p *Pager) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 && !p.binary() {
		k := min(pageSize-len(p.buf), len(b))
		p.buf, b = append(p.buf, b[:k]...), b[k:]
		if len(p.buf) == pageSize {
			p.cut(pageEnd(p.buf))
		}
	}
	return n, nil
}

// binary reports whether the content is known not to be a text.
func (p *Pager) binary() bool { return p.invalid && !p.Declared }

// Close ends the last page and returns where the pages are, and whether the content
// is a text.
func (p *Pager) Close() (index []byte, text bool) {
	if len(p.buf) > 0 {
		p.cut(len(p.buf))
	}
	if p.binary() {
		return nil, false
	}
	return p.index, true
}

func (p *Pager) cut(n int) {
	page := p.buf[:n]
	p.invalid = p.invalid || !utf8.Valid(page)
	p.index = binary.AppendUvarint(p.index, uint64(n))
	p.index = binary.AppendUvarint(p.index, uint64(lineCount(page)))
	p.buf = append(p.buf[:0], p.buf[n:]...)
}

// lineCount returns how many lines a page has. The end of a page ends a line.
func lineCount(page []byte) int {
	n := bytes.Count(page, []byte("\n"))
	if len(page) > 0 && page[len(page)-1] != '\n' {
		n++
	}
	return n
}

// maxToken is more than the bytes of a token.
const maxToken = 256

// pageEnd returns where a page ends.
func pageEnd(b []byte) int {
	late := len(b) / 2
	if i := bytes.LastIndex(b, []byte("\n\n")); i >= late {
		return i + 2
	}
	for _, end := range []string{"\n", " \t,;"} {
		if i := bytes.LastIndexAny(b[late:], end); i >= 0 {
			return late + i + 1
		}
	}
	if i := bytes.LastIndexByte(b, '['); i >= len(b)-maxToken {
		return i // it may begin a token
	}
	for n := len(b); n > len(b)-utf8.UTFMax; n-- {
		if r, size := utf8.DecodeLastRune(b[:n]); r != utf8.RuneError || size > 1 {
			return n
		}
	}
	return len(b)
}

// page is a part of a text.
type page struct {
	at    int64 // in the content
	size  int
	line  int // the number of its first line, from 1
	lines int
}

// pagesOf reads where the pages of a text are.
func pagesOf(index []byte) (all []page, err error) {
	next := page{line: 1}
	for len(index) > 0 {
		size, n := binary.Uvarint(index)
		lines, m := binary.Uvarint(index[max(n, 0):])
		if n <= 0 || m <= 0 || size > pageSize || lines > pageSize {
			return nil, fault.New(fault.StoreUnavailable, "the index of the lines of an artifact is damaged")
		}
		index = index[n+m:]
		next.size, next.lines = int(size), int(lines)
		all = append(all, next)
		next.at, next.line = next.at+int64(size), next.line+int(lines)
	}
	return all, nil
}
