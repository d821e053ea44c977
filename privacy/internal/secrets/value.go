package secrets

import (
	"bytes"
	"math"
	"slices"
	"strings"

	"github.com/wexec/wexec/privacy/internal/char"
)

var schemes = []string{"Bearer", "bearer", "Basic", "basic", "Token", "token", "ApiKey"}

// IsScheme reports an authentication scheme, which is followed by the secret.
func IsScheme(w []byte) bool { return slices.Contains(schemes, string(w)) }

// SchemeLen is the length of the authentication schemes at the start of v, each
// with the space behind it.
func SchemeLen(v []byte) (size int) {
	for {
		n := bytes.IndexByte(v[size:], ' ')
		if n <= 0 || !IsScheme(v[size:size+n]) {
			return size
		}
		size += n + 1
	}
}

// Judge judges a value that is labeled as a secret. A weak label, such as "key",
// also names other things. quoted: the value is in quotes or the value of a
// field. whole: it is the value of a field of a document.
func Judge(v []byte, weak, quoted, whole bool) (sure uint8, why string) {
	if n := SchemeLen(v); n > 0 {
		v, weak = v[n:], false
	}
	if len(v) < 4 || len(v) > 4096 || placeholder(v) {
		return 0, ""
	}
	digits, letters, uppers, spaces := 0, 0, 0, 0
	for _, c := range v {
		switch {
		case char.IsDigit(c):
			digits++
		case char.IsLetter(c):
			letters++
			if char.IsUpper(c) {
				uppers++
			}
		case c == ' ':
			spaces++
		}
	}
	signs := len(v) - digits - letters - spaces
	if bytes.ContainsAny(v, "()") && !whole || bytes.HasPrefix(v, []byte("http")) {
		return 0, ""
	}
	if v[0] == '/' && bytes.IndexByte(v[1:], '/') > 0 {
		return 0, "" // a path, as in PWD
	}
	h := entropy(v)
	if weak {
		if spaces > 0 || len(v) < 16 || digits < 2 || letters < 4 || h < 3 || signs > len(v)/4 || dashedID(v) || codeLike(v) || bytes.IndexByte(v, ',') >= 0 {
			return 0, ""
		}
		return 75, "a label for keys in front of random characters"
	}
	switch {
	case whole && spaces <= 2:
		return 90, "a field for secrets"
	case spaces > 0:
		return 0, ""
	case codeLike(v), !quoted && identifier(v):
		return 0, ""
	case len(v) >= 16 && h >= 3 && digits > 0 && letters > 0:
		return 92, "a label for secrets in front of random characters"
	case len(v) >= 6 && digits > 0 && letters > 0 && (signs == 0 || signs <= len(v)/2):
		return 80, "a label for secrets in front of a value"
	case quoted && len(v) >= 8 && signs > 0 && letters > 0 && uppers > 0:
		return 75, "a label for secrets in front of a value in quotes"
	case len(v) >= 8 && signs > 0 && uppers > 0 && letters > uppers:
		return 60, "a label for secrets in front of a value"
	}
	return 40, "a label for secrets in front of a plain word"
}

// placeholder reports values that documentation has in the place of a secret.
func placeholder(v []byte) bool {
	if len(v) == 0 || char.AllSame(v) {
		return true
	}
	l := strings.ToLower(string(v[:min(len(v), 80)]))
	switch l[0] {
	case '$', '<', '{', '%', '[', '(', '*', '&', '#':
		return true
	}
	for _, word := range placeholderParts {
		if strings.Contains(l, word) {
			return true
		}
	}
	return placeholderWords[l]
}

var placeholderParts = []string{"your", "example", "placeholder", "changeme", "change_me", "change-me", "redacted", "xxxx", "****", "...", "dummy", "insert", "replace", "todo", "not-a-real", "process.env", "os.environ", "os.getenv", "getenv", "env:", "secrets.", "vault:", "null", "undefined", "[secret", "<secret", "fake", "${", "{{", "sample"}

var placeholderWords = char.Set(true, "password passwd secret token true false none nil string required optional test user:pass pass hidden masked empty unknown default admin pwd number boolean object any key apikey api_key yes no basic bearer")

// entropy is the information of a byte of b, in bits.
func entropy(b []byte) float64 {
	var count [256]int
	for _, c := range b {
		count[c]++
	}
	sum := 0.0
	for _, n := range count {
		if n > 0 {
			p := float64(n) / float64(len(b))
			sum -= p * math.Log2(p)
		}
	}
	return sum
}

// identifier reports the name of a variable or a field in code, as in
// ClientSecret: cfg.Auth.ClientSecret.
func identifier(v []byte) bool {
	v = bytes.TrimRight(bytes.TrimLeft(v, "*&!"), ",;")
	if len(v) == 0 || !char.IsLetter(v[0]) {
		return false
	}
	small := false
	for i, c := range v {
		switch {
		case char.IsLower(c):
			small = true
		case char.IsUpper(c):
			if i > 0 && char.IsUpper(v[i-1]) && (i+1 == len(v) || !char.IsLower(v[i+1])) && i > 5 {
				return false // random letters rather than words
			}
		case c == '.' && i+1 < len(v) && char.IsLetter(v[i+1]), c == '_':
		default:
			return false
		}
	}
	return small
}

// codeLike reports values that are code: os.Getenv, config.password, Secret{Name:.
func codeLike(v []byte) bool {
	for i, c := range v {
		if (c == '.' || c == '[') && i > 0 && i+1 < len(v) && char.IsLetter(v[i-1]) && (char.IsLetter(v[i+1]) || c == '[') && !bytes.ContainsAny(v, "!@#$%^*+?") && len(v) < 40 {
			return true
		}
		if c == ';' && i == len(v)-1 && i < 20 {
			return true
		}
		if c == '{' && identifier(v[:i]) && (i == len(v)-1 || v[len(v)-1] == ':' && identifier(v[i+1:len(v)-1])) {
			return true
		}
	}
	return bytes.Contains(v, []byte("->")) || bytes.Contains(v, []byte("::")) || bytes.Contains(v, []byte("==")) && len(v) < 12
}

// dashedID reports UUIDs, dates and names with hyphens.
func dashedID(v []byte) bool {
	return len(v) == 36 && v[8] == '-' && v[13] == '-' && v[18] == '-' && v[23] == '-' || bytes.Count(v, []byte("-")) > 2 || bytes.Count(v, []byte("/")) > 1 || bytes.IndexByte(v, ':') >= 0
}
