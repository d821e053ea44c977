package config

import (
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// secretName matches the names of variables and headers that contain secrets.
var secretName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(token|secret|passw|credential|cookie|authorization|api[_-]?key|private[_-]?key|access[_-]?key|[_-]key$|^key$|[_-]pat$|[_-]auth$|[_-]pwd$|dsn$|connection[_-]?string|database_url$)`)
})

// plainNames are variables whose values are common in texts and never secrets.
var plainNames = []string{"HOME", "PATH", "USER", "LOGNAME", "SHELL", "PWD", "OLDPWD", "TMPDIR", "LANG", "TERM", "TZ", "HOSTNAME"}

// expandedText is one text of a server's configuration with what was filled in.
type expandedText struct {
	name string            // of the variable or header; empty for arguments and addresses
	text string            // expanded
	used map[string]string // environment variables that were filled in, by name
}

// secretsIn returns the values that must not appear in what a server sends: the
// values of variables and headers with the name of a secret, values filled in
// from such a variable, and values that look like a key.
func secretsIn(all []expandedText) []string {
	var out []string
	for _, g := range all {
		if secretName().MatchString(g.name) {
			out = append(out, g.text)
			if scheme, rest, _ := strings.Cut(g.text, " "); slices.Contains([]string{"bearer", "basic", "token"}, strings.ToLower(scheme)) {
				out = append(out, rest)
			}
		}
		for name, value := range g.used {
			if slices.Contains(plainNames, name) || filepath.IsAbs(value) {
				continue
			}
			if secretName().MatchString(name) || looksLikeKey(value) {
				out = append(out, value)
			}
		}
		if u, err := url.Parse(g.text); err == nil && u.User != nil {
			if password, ok := u.User.Password(); ok {
				out = append(out, password)
			}
		}
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(v string) bool { return v == "" })
}

// IsSecret reports whether a value that a file gives to a variable, header or flag
// is a secret, by its name or its form. What is filled in from a variable is not.
func IsSecret(name, value string) bool {
	if value == "" || strings.Contains(value, "${") || slices.Contains(plainNames, name) || filepath.IsAbs(value) {
		return false
	}
	return secretName().MatchString(strings.TrimLeft(name, "-")) || looksLikeKey(value)
}

// HasSecret reports whether an address has a password, or a secret in its query.
func HasSecret(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	if password, ok := u.User.Password(); ok && !strings.Contains(password, "${") {
		return true
	}
	for name, values := range u.Query() {
		for _, value := range values {
			if IsSecret(name, value) {
				return true
			}
		}
	}
	return slices.ContainsFunc(strings.Split(u.Path, "/"), func(part string) bool { return len(part) >= 32 && IsSecret("", part) })
}

// looksLikeKey reports whether a text is long and random like a generated key.
func looksLikeKey(v string) bool {
	if len(v) < 20 || strings.ContainsFunc(v, func(r rune) bool {
		return r > unicode.MaxASCII || !(unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-+/=.", r))
	}) {
		return false
	}
	digits := strings.ContainsFunc(v, unicode.IsDigit)
	upper, lower := strings.ContainsFunc(v, unicode.IsUpper), strings.ContainsFunc(v, unicode.IsLower)
	hex := strings.Trim(strings.ToLower(v), "0123456789abcdef") == ""
	return digits && (hex || upper && lower)
}
