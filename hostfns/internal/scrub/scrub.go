// Package scrub removes secrets from text and bytes: as they are, and in the
// forms in which programs and servers usually write them. These are percent
// encoding, JSON and string escapes (also nested), HTML entities, hexadecimal and
// base64 of both alphabets at every alignment. A secret may be written partly in
// one form and partly in another.
//
// One pass finds all secrets. It takes linear time and bounded memory.
package scrub

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Shortest and Longest are the lengths of secrets that are removed, in bytes. A
// shorter one cannot be distinguished from ordinary text.
const (
	Shortest = 6
	Longest  = 64 << 10
)

// maxSecrets bounds the secrets of a Scrubber. The one that was added first is
// forgotten first.
const maxSecrets = 400

// Scrubber removes the secrets that were added to it. The zero value has none. It
// is safe for concurrent use.
type Scrubber struct {
	mu      sync.Mutex
	secrets []secret
	used    atomic.Bool         // there are secrets
	set     atomic.Pointer[set] // of secrets; nil: not made yet
}

// Add adds a secret and reports whether its length allows to remove it. The name
// is shown in its place and may be empty.
func (s *Scrubber) Add(name, value string) bool { return s.Replace(value, markOf(name, value)) }

// Replace is Add with the text that takes the place of the secret.
func (s *Scrubber) Replace(value, mark string) bool {
	if len(value) < Shortest || len(value) > Longest {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(s.secrets, func(x secret) bool { return x.value == value }) {
		return true
	}
	s.secrets = append(s.secrets[max(0, len(s.secrets)+1-maxSecrets):], secret{mark, value})
	s.set.Store(nil)
	s.used.Store(true)
	return true
}

// current returns the set of the secrets, or nil if there are none.
func (s *Scrubber) current() *set {
	if s.Empty() {
		return nil
	}
	if now := s.set.Load(); now != nil {
		return now
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.set.Load()
	if now == nil {
		now = newSet(slices.Clone(s.secrets))
		s.set.Store(now)
	}
	return now
}

// markOf returns what is shown in the place of a secret.
func markOf(name, value string) string {
	if json.Valid([]byte(value)) && strings.Trim(value, "-+.eE0123456789") == "" {
		return "0" // it may be a number in JSON, which must stay valid
	}
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r > '~' || strings.ContainsRune(`"\<>&`, r) }) {
		return "[secret]"
	}
	return "[secret " + name + "]"
}

// Empty reports whether there is nothing to remove.
func (s *Scrubber) Empty() bool { return s == nil || !s.used.Load() }

// Bytes returns data without secrets. If there are none it returns data itself.
func (s *Scrubber) Bytes(data []byte) []byte {
	if s.Empty() {
		return data
	}
	now := s.current()
	m := now.machine()
	defer now.release(m)
	m.scan(data, 0)
	if len(m.spans) == 0 {
		return data
	}
	out, _ := m.edit(nil, data, len(data))
	return out
}

// Text is Bytes for a string.
func (s *Scrubber) Text(t string) string {
	if s.Empty() || t == "" {
		return t
	}
	return string(s.Bytes([]byte(t)))
}
