package audit

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"

	"github.com/wexec/wexec/fault"
)

// link is the part of a record that chains it to the one before.
type link struct {
	seq    uint64
	prev   string
	hash   string // as stored in the line
	intact bool   // the hash matches the line
}

var errLine = errors.New("not a record")

// parseLine reads the link of a line, given without its line end. It does not
// decode the event.
func parseLine(line []byte) (link, error) {
	at := len(line) - (tailLen - 1)
	if at < 0 || string(line[at:at+len(hashKey)]) != hashKey || string(line[len(line)-2:]) != `"}` {
		return link{}, errLine
	}
	stored := line[at+len(hashKey) : len(line)-2]
	var r struct {
		Seq  *uint64 `json:"seq"`
		Prev *string `json:"prev"`
	}
	if err := json.Unmarshal(line, &r); err != nil || r.Seq == nil || r.Prev == nil {
		return link{}, errLine
	}
	sum := sha256.Sum256(line[:at])
	var want [2 * sha256.Size]byte
	hex.Encode(want[:], sum[:])
	return link{seq: *r.Seq, prev: *r.Prev, hash: string(stored), intact: bytes.Equal(want[:], stored)}, nil
}

// parseEvent decodes the event of a line. A line that was changed, or that does
// not have exactly one part, is a usage.audit error.
func parseEvent(line []byte) (Event, error) {
	r, err := parseLine(line)
	if err != nil {
		return Event{}, fault.New(fault.UsageAudit, "not an audit record")
	}
	if !r.intact {
		return Event{}, fault.New(fault.UsageAudit, "the record was changed: its hash does not match")
	}
	var e Event
	if err := json.Unmarshal(line, &e); err != nil {
		return Event{}, fault.New(fault.UsageAudit, "decode the record: %w", err)
	}
	if e.Kind() == "" || e.Kind() != e.Type {
		return Event{}, fault.New(fault.UsageAudit, "the record must have exactly the part named by its type")
	}
	return e, nil
}

// lineReader reads complete lines and tracks its position.
type lineReader struct {
	r    *bufio.Reader
	line int   // number of the last line, from 1
	at   int64 // offset of the next line
}

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 64<<10)}
}

var errLong = errors.New("the line is too long")

// next returns the next line without its line end. An incomplete line at the
// end of the file is returned with io.ErrUnexpectedEOF. The slice is valid until
// the next call.
func (l *lineReader) next(buf []byte) ([]byte, error) {
	buf = buf[:0]
	for {
		part, err := l.r.ReadSlice('\n')
		buf = append(buf, part...)
		switch {
		case err == nil:
			l.line++
			l.at += int64(len(buf))
			return buf[:len(buf)-1], nil
		case errors.Is(err, bufio.ErrBufferFull):
			if len(buf) > maxLine {
				return nil, errLong
			}
		case errors.Is(err, io.EOF) && len(buf) > 0:
			return buf, io.ErrUnexpectedEOF
		default:
			return nil, err
		}
	}
}
