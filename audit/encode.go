package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"
	"unicode/utf8"
)

// maxLine bounds one record, its line end included.
const maxLine = 256 << 20

// encode appends the line of an event to dst, line end included, and returns
// the event's hash. The hash covers the bytes of the line up to the comma
// before "hash", so that a reader checks it without knowing the fields.
func encode(dst []byte, e *Event) (line []byte, hash string, err error) {
	kind := e.Kind()
	if kind == "" {
		return dst, "", errShape()
	}
	e.Type = kind
	if y := e.Time.Year(); y < 0 || y > 9999 {
		return dst, "", unavailable("the time of the event has no RFC 3339 form")
	}
	from := len(dst)
	dst = append(dst, `{"seq":`...)
	dst = appendUint(dst, e.Seq)
	dst = append(dst, `,"time":"`...)
	dst = e.Time.UTC().AppendFormat(dst, time.RFC3339Nano)
	dst = append(dst, `","run":`...)
	dst = appendText(dst, e.Run)
	dst = append(dst, `,"type":"`...)
	dst = append(dst, kind...)
	dst = append(dst, `","`...)
	dst = append(dst, kind...)
	dst = append(dst, `":`...)
	var body []byte
	switch kind {
	case TypeStart:
		body, err = json.Marshal(e.Start)
	case TypeDecision:
		body, err = json.Marshal(e.Decision)
	case TypeCall:
		body, err = json.Marshal(e.Call)
	case TypePrivacy:
		body, err = json.Marshal(e.Privacy)
	case TypeEnd:
		body, err = json.Marshal(e.End)
	}
	if err != nil {
		return dst[:from], "", unavailable("the event has no JSON form: %w", err)
	}
	dst = append(dst, body...)
	dst = append(dst, `,"prev":`...)
	dst = appendText(dst, e.Prev)
	if len(dst)-from > maxLine-100 {
		return dst[:from], "", unavailable("the event is larger than %d MiB", maxLine>>20)
	}
	sum := sha256.Sum256(dst[from:])
	dst = append(dst, hashKey...)
	dst = hex.AppendEncode(dst, sum[:])
	dst = append(dst, lineEnd...)
	end := len(dst) - len(lineEnd)
	return dst, string(dst[end-2*sha256.Size : end]), nil
}

const (
	hashKey = `,"hash":"`
	lineEnd = "\"}\n"
	tailLen = len(hashKey) + 2*sha256.Size + len(lineEnd)
)

func appendText(dst []byte, s string) []byte {
	if !utf8.ValidString(s) {
		s = string([]rune(s))
	}
	return appendString(dst, []byte(s))
}

func appendUint(dst []byte, n uint64) []byte {
	var buf [20]byte
	i := len(buf)
	for {
		i--
		buf[i] = byte('0' + n%10)
		if n /= 10; n == 0 {
			return append(dst, buf[i:]...)
		}
	}
}
