package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"unicode/utf8"

	"github.com/wexec/wexec/fault"
)

// Blob is bytes that are kept exactly as they were. In JSON it is a string
// where the bytes are UTF-8, else {"$bytes": "base64"}: the whitespace of a
// JSON answer is part of what a program saw, and of what it cost to read.
type Blob []byte

type wrappedBytes struct {
	Bytes *string `json:"$bytes"`
}

// MarshalJSON writes the form the type's comment names.
func (b Blob) MarshalJSON() ([]byte, error) {
	return appendBlob(make([]byte, 0, len(b)+2), b), nil
}

func appendBlob(dst []byte, b Blob) []byte {
	if utf8.Valid(b) {
		return appendString(dst, b)
	}
	dst = append(dst, `{"$bytes":"`...)
	dst = base64.StdEncoding.AppendEncode(dst, b)
	return append(dst, `"}`...)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (b *Blob) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(data, []byte("{")) {
		var w wrappedBytes
		if err := json.Unmarshal(data, &w); err != nil || w.Bytes == nil {
			return fault.New(fault.UsageAudit, "bytes are neither a string nor {\"$bytes\": …}")
		}
		raw, err := base64.StdEncoding.DecodeString(*w.Bytes)
		if err != nil {
			return fault.New(fault.UsageAudit, "bytes are not base64")
		}
		*b = raw
		return nil
	}
	if string(data) == "null" {
		*b = nil
		return nil
	}
	var s string
	if err := json.Unmarshal(data, &s); err != nil {
		return fault.New(fault.UsageAudit, "bytes are neither a string nor {\"$bytes\": …}")
	}
	*b = Blob(s)
	return nil
}

// Digest is the SHA-256 of data in hex, as the records show it.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	var text [2 * sha256.Size]byte
	hex.Encode(text[:], sum[:])
	return string(text[:])
}

// appendString writes valid UTF-8 as a JSON string. Control characters are
// escaped, and so are the two separators that some readers take for line ends.
func appendString[T ~string | ~[]byte](dst []byte, s T) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' && c != 0x7f && c != 0xe2 {
			continue
		}
		if c == 0xe2 {
			if i+2 < len(s) && s[i+1] == 0x80 && s[i+2]|1 == 0xa9 {
				dst = append(dst, s[from:i]...)
				dst = append(dst, '\\', 'u', '2', '0', '2', digits[s[i+2]&15])
				i += 2
				from = i + 1
			}
			continue
		}
		dst = append(dst, s[from:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		}
		from = i + 1
	}
	dst = append(dst, s[from:]...)
	return append(dst, '"')
}
