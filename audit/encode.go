package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf8"
)

// maxLine bounds one record, its line end included.
const maxLine = 256 << 20

// encode appends the line of an event to dst, line end included, and returns
// the event's hash.
func encode(dst []byte, e *Event) (line []byte, hash string, err error) {
	body, err := encodeBody(nil, e)
	if err != nil {
		return dst, "", err
	}
	line, hash = seal(dst, e, body)
	return line, hash, nil
}

// encodeBody checks an event, sets its type, and appends the part that is set.
func encodeBody(dst []byte, e *Event) (body []byte, err error) {
	if e.Type = e.Kind(); e.Type == "" {
		return nil, errShape()
	}
	if y := e.Time.Year(); y < 0 || y > 9999 {
		return nil, unavailable("the time of the event has no RFC 3339 form")
	}
	switch e.Type {
	case TypeStart:
		body, err = appendStart(dst, e.Start)
	case TypeDecision:
		body, err = appendDecision(dst, e.Decision)
	case TypeCall:
		body = appendCall(dst, e.Call)
	case TypePrivacy:
		body, err = json.Marshal(e.Privacy)
	case TypeEnd:
		body, err = appendEnd(dst, e.End)
	}
	if err != nil {
		return nil, unavailable("the event has no JSON form: %w", err)
	}
	if len(body) > maxLine-maxRun*6-1000 || len(e.Run) > maxRun {
		return nil, unavailable("the event is larger than %d MiB", maxLine>>20)
	}
	return body, nil
}

// seal appends the line of an event. The hash covers the bytes of the line up
// to the comma before "hash", so that a reader checks it without knowing the
// fields.
func seal(dst []byte, e *Event, body []byte) (line []byte, hash string) {
	from := len(dst)
	dst = append(dst, `{"seq":`...)
	dst = strconv.AppendUint(dst, e.Seq, 10)
	dst = append(dst, `,"time":"`...)
	dst = e.Time.UTC().AppendFormat(dst, time.RFC3339Nano)
	dst = append(dst, `","run":`...)
	dst = appendText(dst, e.Run)
	dst = append(dst, `,"type":"`...)
	dst = append(dst, e.Type...)
	dst = append(dst, `","`...)
	dst = append(dst, e.Type...)
	dst = append(dst, `":`...)
	dst = append(dst, body...)
	dst = append(dst, `,"prev":`...)
	dst = appendText(dst, e.Prev)
	sum := sha256.Sum256(dst[from:])
	dst = append(dst, hashKey...)
	dst = hex.AppendEncode(dst, sum[:])
	dst = append(dst, lineEnd...)
	end := len(dst) - len(lineEnd)
	return dst, string(dst[end-2*sha256.Size : end])
}

// maxRun bounds the name of a run.
const maxRun = 4096

const (
	hashKey = `,"hash":"`
	lineEnd = "\"}\n"
	tailLen = len(hashKey) + 2*sha256.Size + len(lineEnd)
)

func appendText(dst []byte, s string) []byte {
	if plain(s) {
		dst = append(dst, '"')
		dst = append(dst, s...)
		return append(dst, '"')
	}
	if !utf8.ValidString(s) {
		s = string([]rune(s))
	}
	return appendString(dst, s)
}

// plain reports whether a text is ASCII that stands in JSON as it is, as names
// and digests do. It looks at eight bytes at a time.
func plain(s string) bool {
	const each, high = 0x0101010101010101, 0x8080808080808080
	for ; len(s) >= 8; s = s[8:] {
		x := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		quote, slash, del := x^each*'"', x^each*'\\', x^each*0x7f
		// a byte that is zero, or less than a space, borrows from its highest bit
		if (x|(x-each*' ')|(quote-each)|(slash-each)|(del-each))&high != 0 {
			return false
		}
	}
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			return false
		}
	}
	return true
}
