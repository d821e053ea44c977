package audit

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"unicode/utf8"

	"github.com/wexec/wexec/fault"
)

// Blob is bytes that are kept unchanged. In JSON it is a string if the bytes
// are UTF-8, else {"$bytes": "base64"}. It is never embedded as JSON: the
// whitespace of an answer is part of what a program read.
type Blob []byte

// MarshalJSON implements [json.Marshaler].
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

// UnmarshalJSON implements [json.Unmarshaler].
func (b *Blob) UnmarshalJSON(data []byte) error {
	var text string
	var wrapped struct {
		Bytes *string `json:"$bytes"`
	}
	switch {
	case string(data) == "null":
		*b = nil
	case json.Unmarshal(data, &text) == nil:
		*b = Blob(text)
	case json.Unmarshal(data, &wrapped) == nil && wrapped.Bytes != nil:
		raw, err := base64.StdEncoding.DecodeString(*wrapped.Bytes)
		if err != nil {
			return fault.New(fault.UsageAudit, "invalid base64 in $bytes")
		}
		*b = raw
	default:
		return fault.New(fault.UsageAudit, "bytes must be a string or {\"$bytes\": \"base64\"}")
	}
	return nil
}

// Digest returns the SHA-256 of data in hex, as the records have it.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	var text [2 * sha256.Size]byte
	hex.Encode(text[:], sum[:])
	return string(text[:])
}

// appendText appends a text as a JSON string. Invalid UTF-8 is replaced.
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

// plain reports whether a text is ASCII that needs no escape in JSON, as names
// and digests are. It tests eight bytes at a time.
func plain(s string) bool {
	const each, high = 0x0101010101010101, 0x8080808080808080
	for ; len(s) >= 8; s = s[8:] {
		x := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		quote, slash, del := x^each*'"', x^each*'\\', x^each*0x7f
		// A byte that is zero, or less than a space, borrows from its highest bit.
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

// appendString appends valid UTF-8 as a JSON string. It escapes control
// characters, and U+2028 and U+2029, which some readers take for line ends.
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
