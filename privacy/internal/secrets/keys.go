// Package secrets finds keys, tokens, passwords, private keys and addresses with
// a password in them: by the prefixes that issuers document, by the form, and
// behind a label by how random a value is.
package secrets

import (
	"bytes"
	"strings"

	"github.com/wexec/wexec/privacy/internal/char"
	"github.com/wexec/wexec/privacy/internal/match"
)

// keyForm is the form of a key with a documented prefix.
type keyForm struct {
	prefix string
	least  int // characters behind the prefix
	most   int // 0: no limit
	why    string
}

var keyForms = []keyForm{
	{"AKIA", 16, 16, "an AWS access key"}, {"ASIA", 16, 16, "an AWS access key"}, {"AIza", 35, 35, "a Google API key"},
	{"AGE-SECRET-KEY-1", 50, 60, "an age key"}, {"GOCSPX-", 24, 40, "a Google client secret"}, {"SG.", 60, 75, "a SendGrid key"},
	{"NRAK-", 20, 40, "a New Relic key"}, {"PMAK-", 40, 80, "a Postman key"}, {"EAACEdEose0cBA", 10, 0, "a Facebook token"},
	{"ghp_", 36, 40, "a GitHub token"}, {"gho_", 36, 40, "a GitHub token"}, {"ghu_", 36, 40, "a GitHub token"}, {"ghs_", 36, 40, "a GitHub token"}, {"ghr_", 36, 80, "a GitHub token"},
	{"github_pat_", 22, 100, "a GitHub token"}, {"glpat-", 20, 40, "a GitLab token"}, {"glsa_", 32, 60, "a Grafana token"}, {"gsk_", 40, 80, "a Groq key"},
	{"xoxb-", 20, 120, "a Slack token"}, {"xoxp-", 20, 120, "a Slack token"}, {"xoxa-", 20, 120, "a Slack token"}, {"xoxr-", 20, 120, "a Slack token"}, {"xoxs-", 20, 120, "a Slack token"}, {"xapp-", 20, 140, "a Slack token"},
	{"sk-ant-", 20, 160, "an Anthropic key"}, {"sk-proj-", 20, 220, "an OpenAI key"}, {"sk-", 32, 64, "an API key"},
	{"sk_live_", 16, 120, "a Stripe key"}, {"sk_test_", 16, 120, "a Stripe key"}, {"rk_live_", 16, 120, "a Stripe key"}, {"rk_test_", 16, 120, "a Stripe key"}, {"whsec_", 24, 64, "a webhook secret"},
	{"npm_", 36, 40, "an npm token"}, {"pypi-", 60, 250, "a PyPI token"}, {"hf_", 30, 44, "a Hugging Face token"}, {"hvs.", 24, 130, "a Vault token"}, {"dop_v1_", 64, 64, "a DigitalOcean token"},
	{"shpat_", 32, 32, "a Shopify token"}, {"shpss_", 32, 32, "a Shopify secret"}, {"dckr_pat_", 20, 50, "a Docker token"}, {"lin_api_", 32, 60, "a Linear key"}, {"rubygems_", 48, 48, "a RubyGems key"},
	{"sq0atp-", 22, 22, "a Square token"}, {"sq0csp-", 43, 43, "a Square secret"}, {"ya29.", 30, 0, "a Google access token"}, {"key-", 32, 32, "a Mailgun key"}, {"dapi", 32, 34, "a Databricks token"},
	{"pat-na1-", 36, 36, "a HubSpot token"}, {"tfp_", 40, 60, "a token"}, {"atlasv1.", 40, 90, "a Terraform token"}, {"figd_", 36, 60, "a Figma token"}, {"secret_", 40, 50, "a Notion token"}, {"ntn_", 40, 50, "a Notion token"}, {"PRIVATE-", 40, 60, "a key"},
}

// keyByte reports the bytes that keys consist of.
func keyByte(c byte) bool {
	return c < 0x80 && char.IsWord(c) || c == '-'
}

// Key finds a key with a known prefix at i. It returns the end of the match, or 0.
func Key(s *match.Text, i int) int {
	t := s.Bytes
	if i+12 > len(t) {
		return 0
	}
	if string(t[i:i+3]) == "eyJ" {
		return jwt(s, i)
	}
	for k := range keyForms {
		f := &keyForms[k]
		if t[i] != f.prefix[0] || t[i+1] != f.prefix[1] || t[i+2] != f.prefix[2] || !bytes.HasPrefix(t[i:], []byte(f.prefix)) {
			continue
		}
		end := i + len(f.prefix)
		from, limit := end, min(len(t), end+512)
		for end < limit && (keyByte(t[end]) || t[end] == '.' && end+1 < limit && keyByte(t[end+1]) && strings.Contains(f.prefix, ".")) {
			end++
		}
		key := t[from:end]
		digits, bits := char.CountDigits(key), entropy(key)
		switch {
		case len(key) < f.least, f.most > 0 && len(key) > f.most, digits == 0 && bits < 2.8, bits < 2.2:
		case f.prefix == "key-" && !char.AllHex(key):
		case f.prefix == "sk-" && digits < 4 && bytes.IndexByte(key, '-') >= 0:
		case s.Hit(match.Secret, i, end, 97, f.why):
			return end
		}
	}
	return 0
}

// jwt reads a JSON Web Token: up to three parts, the first an object in base64.
func jwt(s *match.Text, i int) int {
	t := s.Bytes
	end, dots, part := i, 0, 0
	for end < len(t) && end-i < 16<<10 && (keyByte(t[end]) || t[end] == '.' && dots < 2) {
		if t[end] == '.' {
			if part < 4 {
				return 0
			}
			dots++
			part = 0
		} else {
			part++
		}
		end++
	}
	if dots == 0 || end-i < 30 {
		return 0
	}
	for t[end-1] == '.' {
		end--
	}
	return s.HitTo(match.Secret, i, end, 97, "a signed token (JWT)")
}

// PEM finds a private key that begins with the hyphens at i. It returns where the
// scan goes on.
func PEM(s *match.Text, i int) int {
	t := s.Bytes
	j := i
	for j < len(t) && t[j] == '-' {
		j++
	}
	if j-i != 5 || !bytes.HasPrefix(t[j:], []byte("BEGIN ")) {
		return j
	}
	head := t[j:min(len(t), j+64)]
	stop := bytes.Index(head, []byte("-----"))
	if stop < 0 || !bytes.Contains(head[:stop], []byte("PRIVATE KEY")) {
		return j
	}
	body := j + stop + 5
	var end int
	if next := bytes.Index(t[body:], []byte("-----")); next >= 0 {
		end = body + next
		if bytes.HasPrefix(t[end:], []byte("-----END ")) {
			tail := t[end+9 : min(len(t), end+9+64)]
			if k := bytes.Index(tail, []byte("-----")); k >= 0 {
				end += 9 + k + 5
			}
		}
	} else {
		end = min(len(t), body+8<<10)
	}
	if end-body < 60 && end < len(t) {
		s.Hit(match.Secret, i, end, 45, "the header of a private key without a key")
		return end
	}
	s.Hit(match.Secret, i, end, 99, "a private key")
	return end
}

// Telegram finds the token of a Telegram bot, 123456789:AA…, whose second part
// begins with the word t[i:j]. It returns the end of the match, or 0.
func Telegram(s *match.Text, i, j int) int {
	t := s.Bytes
	if j-i < 30 || i < 9 || t[i-1] != ':' || t[i] != 'A' || !char.IsDigit(t[i-2]) {
		return 0
	}
	end := j
	for end < len(t) && keyByte(t[end]) {
		end++
	}
	start := i - 1
	for start > 0 && char.IsDigit(t[start-1]) && i-start < 14 {
		start--
	}
	if end-i != 35 || i-1-start < 8 || start > 0 && char.IsWord(t[start-1]) {
		return 0
	}
	return s.HitTo(match.Secret, start, end, 92, "a Telegram bot's token")
}
