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

// link is what a chain is checked by.
type link struct {
	seq    uint64
	prev   string
	hash   string // as the line says
	intact bool   // the hash is that of the line
}

var errLine = errors.New("not a record")

// parseLine takes a line apart, its line end left out, without reading the
// event in it.
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

// parseEvent reads the event in a line. One that is not whole, or has not
// exactly one part, is usage.audit.
func parseEvent(line []byte) (Event, error) {
	r, err := parseLine(line)
	if err != nil {
		return Event{}, fault.New(fault.UsageAudit, "the line is no audit record")
	}
	if !r.intact {
		return Event{}, fault.New(fault.UsageAudit, "the record was changed: its hash is not the one it carries")
	}
	var e Event
	if err := json.Unmarshal(line, &e); err != nil {
		return Event{}, fault.New(fault.UsageAudit, "the record cannot be read: %w", err)
	}
	if e.Kind() == "" || e.Kind() != e.Type {
		return Event{}, fault.New(fault.UsageAudit, "the record has not exactly the part that its type names")
	}
	return e, nil
}

// lineReader reads whole lines, and remembers where it stands.
type lineReader struct {
	r    *bufio.Reader
	line int   // of the last line, from 1
	at   int64 // where the next line begins
}

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 64<<10)}
}

var errLong = errors.New("the line is too long")

// next gives the next whole line without its end. Half a line at the end of the
// file comes with io.ErrUnexpectedEOF. The slice holds until the next call.
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
