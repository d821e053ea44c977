package secrets

import (
	"bytes"
	"strings"

	"github.com/wexec/wexec/privacy/internal/char"
	"github.com/wexec/wexec/privacy/internal/match"
)

// Connection finds an address with a password in it, or a webhook, around the ://
// at i. It returns the end of the match, or 0.
func Connection(s *match.Text, i int) int {
	t := s.Bytes
	start := i
	for start > 0 && i-start < 24 && (char.IsWord(t[start-1]) || t[start-1] == '+' || t[start-1] == '-' || t[start-1] == '.') && t[start-1] < 0x80 {
		start--
	}
	if start == i {
		return 0
	}
	for start < i && !char.IsLetter(t[start]) {
		start++
	}
	j := i + 3
	sep, at := 0, 0
	limit := min(len(t), j+256)
	for k := j; k < limit; k++ {
		c := t[k]
		if c == '@' {
			at = k
		} else if c == ':' && sep == 0 {
			sep = k
		} else if c <= ' ' || strings.IndexByte("\"'<>`/\\)", c) >= 0 {
			break
		}
	}
	if at == 0 {
		return webhook(s, start, j)
	}
	if sep == 0 || sep > at || at-sep < 4 {
		return 0
	}
	if placeholder(t[sep+1 : at]) {
		return 0
	}
	end := at + 1
	for end < len(t) && end-start < 1024 && t[end] > ' ' && strings.IndexByte("\"'<>`\\)|]}", t[end]) < 0 {
		end++
	}
	for end > at+1 && (t[end-1] == '.' || t[end-1] == ',' || t[end-1] == ';') {
		end--
	}
	if end == at+1 || !s.Hit(match.Secret, start, end, 92, "an address with a password in it") {
		return 0
	}
	return end
}

// webhook reads an address whose path is the secret.
func webhook(s *match.Text, start, j int) int {
	t := s.Bytes
	for _, w := range []struct {
		host  string
		least int
	}{{"hooks.slack.com/services/", 30}, {"discord.com/api/webhooks/", 60}, {"discordapp.com/api/webhooks/", 60}} {
		if !bytes.HasPrefix(t[j:], []byte(w.host)) {
			continue
		}
		end := j + len(w.host)
		for end < len(t) && end-j < 300 && (keyByte(t[end]) || t[end] == '/') {
			end++
		}
		if end-j-len(w.host) >= w.least && s.Hit(match.Secret, start, end, 93, "a webhook's address") {
			return end
		}
	}
	return 0
}
