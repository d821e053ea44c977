package upstream

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// shortest is the length below which a secret cannot be distinguished from ordinary
// text.
const shortest = 6

// scrubber removes the secrets that a server got from what it sends:
// in plain form, and in the encodings of JSON, URLs and base64.
type scrubber struct {
	mu      sync.RWMutex
	known   []string
	replace []replacement
}

type replacement struct{ from, to []byte }

// add adds the values of secrets.
func (s *scrubber) add(values ...string) {
	s.mu.RLock()
	news := slices.ContainsFunc(values, func(v string) bool { return len(v) >= shortest && !slices.Contains(s.known, v) })
	s.mu.RUnlock()
	if !news {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range values {
		if len(v) < shortest || slices.Contains(s.known, v) {
			continue
		}
		s.known = append(s.known, v)
		to := "[secret]"
		if json.Valid([]byte(v)) && strings.Trim(v, "-+.eE0123456789") == "" {
			to = "0" // the secret may be a JSON number, which must stay valid
		}
		forms := []string{v, url.QueryEscape(v), url.PathEscape(v), base64.StdEncoding.EncodeToString([]byte(v)), base64.RawURLEncoding.EncodeToString([]byte(v))}
		for _, escapeHTML := range []bool{true, false} {
			forms = append(forms, jsonForm(v, escapeHTML))
		}
		for _, f := range forms {
			if !slices.ContainsFunc(s.replace, func(r replacement) bool { return string(r.from) == f }) {
				s.replace = append(s.replace, replacement{[]byte(f), []byte(to)})
			}
		}
	}
	// A secret that contains another is replaced first.
	slices.SortStableFunc(s.replace, func(a, b replacement) int { return cmp.Compare(len(b.from), len(a.from)) })
}

// jsonForm returns the JSON encoding of a string, without quotes.
func jsonForm(v string, escapeHTML bool) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(escapeHTML)
	if enc.Encode(v) != nil {
		return v
	}
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(b.String()), `"`), `"`)
}

// bytes returns data without the secrets. It returns data itself if there
// are none.
func (s *scrubber) bytes(data []byte) []byte {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, r := range s.replace {
		if bytes.Contains(data, r.from) {
			data = bytes.ReplaceAll(data, r.from, r.to)
		}
	}
	return data
}

// text is bytes for a string.
func (s *scrubber) text(t string) string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, r := range s.replace {
		t = strings.ReplaceAll(t, string(r.from), string(r.to))
	}
	return t
}
