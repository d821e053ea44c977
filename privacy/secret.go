package privacy

import (
	"bytes"
	"math"
	"strings"
)

// keyForm is a key that its issuer made easy to know.
type keyForm struct {
	prefix string
	least  int // characters behind the prefix
	most   int // 0: no limit
	what   string
}

// keyForms are written with the prefixes that their issuers document, by first
// letter below.
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

func keyByte(c byte) bool {
	return c < 0x80 && isWord(c) || c == '-'
}

// knownKey reads a key with a known prefix at i; it returns the end, or 0.
func (s *scanner) knownKey(i int) int {
	t := s.t
	if i+12 > len(t) {
		return 0
	}
	if string(t[i:i+3]) == "eyJ" {
		return s.jwt(i)
	}
	for k := range keyForms {
		f := &keyForms[k]
		if t[i] != f.prefix[0] || t[i+1] != f.prefix[1] || t[i+2] != f.prefix[2] || !bytes.HasPrefix(t[i:], []byte(f.prefix)) {
			continue
		}
		end := i + len(f.prefix)
		from := end
		limit := min(len(t), from+512)
		digits := 0
		for end < limit && (keyByte(t[end]) || t[end] == '.' && end+1 < limit && keyByte(t[end+1]) && strings.Contains(f.prefix, ".")) {
			if isDigit(t[end]) {
				digits++
			}
			end++
		}
		n := end - from
		if n < f.least || f.most > 0 && n > f.most || digits == 0 && entropy(t[from:end]) < 2.8 || entropy(t[from:end]) < 2.2 {
			continue
		}
		if f.prefix == "key-" && !hexOnly(t[from:end]) {
			continue
		}
		if f.prefix == "sk-" && bytes.IndexByte(t[from:end], '-') >= 0 && digits < 4 {
			continue
		}
		if s.hit(Secret, i, end, 97, f.what) {
			return end
		}
	}
	return 0
}

func hexOnly(b []byte) bool {
	for _, c := range b {
		if !hexByte(c) {
			return false
		}
	}
	return true
}

// jwt reads a signed token: three parts, the first an object in base64.
func (s *scanner) jwt(i int) int {
	t := s.t
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
	if !s.hit(Secret, i, end, 97, "a signed token (JWT)") {
		return 0
	}
	return end
}

// pem looks at hyphens for the start of a private key, and returns where to go
// on.
func (s *scanner) pem(i int) int {
	t := s.t
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
		s.hit(Secret, i, end, 45, "the frame of a private key without a key")
		return end
	}
	s.hit(Secret, i, end, 99, "a private key")
	return end
}

// dashed looks at a short word in small letters with a hyphen behind it.
func (s *scanner) dashed(i, j int) int {
	if j-i == 2 && hexByte(s.t[i]) && s.mac(i) {
		return i + 17
	}
	if end := s.knownKey(i); end > 0 {
		return end
	}
	return j
}

// longWord looks at a long word, or one with a hyphen behind it, for keys and
// for text in base64. It returns the end of what it found, or 0.
func (s *scanner) longWord(i, j, shape int) int {
	t := s.t
	if i > 0 && (t[i-1] == '-' || t[i-1] == '_') && i > 1 && isWord(t[i-2]) {
		return 0
	}
	if j-i == 2 && t[j] == '-' {
		if hexByte(t[i]) && s.mac(i) {
			return i + 17
		}
	}
	if end := s.knownKey(i); end > 0 {
		return end
	}
	if end := s.telegram(i, j); end > 0 {
		return end
	}
	return s.base64(i)
}

// telegram reads 123456789:AA… of 35 characters.
func (s *scanner) telegram(i, j int) int {
	t := s.t
	if j-i < 30 || i < 9 || t[i-1] != ':' || t[i] != 'A' || !isDigit(t[i-2]) {
		return 0
	}
	end := j
	for end < len(t) && keyByte(t[end]) {
		end++
	}
	start := i - 1
	for start > 0 && isDigit(t[start-1]) && i-start < 14 {
		start--
	}
	if end-i != 35 || i-1-start < 8 || start > 0 && isWord(t[start-1]) {
		return 0
	}
	if !s.hit(Secret, start, end, 92, "a Telegram bot's token") {
		return 0
	}
	return end
}

// connection looks at :// for an address with a password in it; it returns the
// end, or 0.
func (s *scanner) connection(i int) int {
	t := s.t
	start := i
	for start > 0 && i-start < 24 && (isWord(t[start-1]) || t[start-1] == '+' || t[start-1] == '-' || t[start-1] == '.') && t[start-1] < 0x80 {
		start--
	}
	if start == i {
		return 0
	}
	for start < i && !isLetter(t[start]) {
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
		} else if c <= ' ' || c == '"' || c == '\'' || c == '/' && at == 0 || c == '<' || c == '>' || c == '`' || c == '/' || c == '\\' || c == ')' {
			break
		}
	}
	if at == 0 {
		return s.webhook(start, j)
	}
	if sep == 0 || sep > at || at-sep < 4 {
		return 0
	}
	if placeholder(t[sep+1 : at]) {
		return 0
	}
	end := at + 1
	for end < len(t) && end-start < 1024 && t[end] > ' ' && t[end] != '"' && t[end] != '\'' && t[end] != '<' && t[end] != '>' && t[end] != '`' && t[end] != '\\' && t[end] != ')' && t[end] != '|' && t[end] != ']' && t[end] != '}' {
		end++
	}
	for end > at+1 && (t[end-1] == '.' || t[end-1] == ',' || t[end-1] == ';') {
		end--
	}
	if end == at+1 || !s.hit(Secret, start, end, 92, "an address with a password in it") {
		return 0
	}
	return end
}

// webhook reads addresses whose path is the secret.
func (s *scanner) webhook(start, j int) int {
	t := s.t
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
		if end-j-len(w.host) >= w.least && s.hit(Secret, start, end, 93, "a webhook's address") {
			return end
		}
	}
	return 0
}

// entropy is the information in a byte of b, in bits.
func entropy(b []byte) float64 {
	if len(b) == 0 {
		return 0
	}
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

// placeholder reports values that stand for a secret and are none.
func placeholder(v []byte) bool {
	if len(v) == 0 || same(v) {
		return true
	}
	l := strings.ToLower(string(v[:min(len(v), 80)]))
	switch l[0] {
	case '$', '<', '{', '%', '[', '(', '*', '&', '#':
		return true
	}
	for _, word := range []string{"your", "example", "placeholder", "changeme", "change_me", "change-me", "redacted", "xxxx", "****", "...", "dummy", "insert", "replace", "todo", "not-a-real", "process.env", "os.environ", "os.getenv", "getenv", "secrets.", "vault:", "null", "undefined", "[secret", "<secret", "fake", "${", "{{", "sample"} {
		if strings.Contains(l, word) {
			return true
		}
	}
	switch l {
	case "password", "passwd", "secret", "token", "true", "false", "none", "nil", "string", "required", "optional", "test", "user:pass", "pass", "hidden", "masked", "empty", "unknown", "default", "admin", "pwd", "number", "boolean", "object", "any", "key", "apikey", "api_key", "yes", "no", "basic", "bearer":
		return true
	}
	return false
}

// secretValue judges a value behind a name for secrets. quoted: it stands in
// quotes or in a field of its own; loose: it stands in running text.
func secretValue(v []byte, weak, quoted, own bool) (uint8, string) {
	for _, scheme := range []string{"Bearer ", "bearer ", "Basic ", "basic ", "Token ", "token ", "ApiKey "} {
		if bytes.HasPrefix(v, []byte(scheme)) {
			v = v[len(scheme):]
			weak = false
		}
	}
	if len(v) < 4 || len(v) > 4096 || placeholder(v) {
		return 0, ""
	}
	digits, letters, uppers, signs, spaces := 0, 0, 0, 0, 0
	for _, c := range v {
		switch {
		case isDigit(c):
			digits++
		case isUpper(c):
			uppers++
			letters++
		case isLetter(c):
			letters++
		case c == ' ':
			spaces++
		default:
			signs++
		}
	}
	if bytes.ContainsAny(v, "()") && !own || bytes.HasPrefix(v, []byte("http")) {
		return 0, ""
	}
	if v[0] == '/' && bytes.IndexByte(v[1:], '/') > 0 {
		return 0, "" // a path, as in PWD
	}
	h := entropy(v)
	if weak {
		if spaces > 0 || len(v) < 16 || digits < 2 || letters < 4 || h < 3 || signs > len(v)/4 {
			return 0, ""
		}
		if dashedID(v) || codeLike(v) || bytes.IndexByte(v, ',') >= 0 {
			return 0, ""
		}
		return 75, "a name for keys in front of random characters"
	}
	switch {
	case own:
		if len(v) < 4 || spaces > 2 {
			return 0, ""
		}
		return 90, "a field for secrets"
	case spaces > 0:
		return 0, ""
	case codeLike(v), !quoted && identifier(v):
		return 0, ""
	case len(v) >= 16 && h >= 3 && digits > 0 && letters > 0:
		return 92, "a name for secrets in front of random characters"
	case len(v) >= 6 && digits > 0 && letters > 0 && (signs == 0 || signs <= len(v)/2):
		return 80, "a name for secrets in front of a value"
	case quoted && len(v) >= 8 && signs > 0 && letters > 0 && uppers > 0:
		return 75, "a name for secrets in front of a value in quotes"
	case len(v) >= 8 && signs > 0 && uppers > 0 && letters > uppers:
		return 60, "a name for secrets in front of a value"
	}
	return 40, "a name for secrets in front of a plain word"
}

// identifier reports the name of a variable or a field, as in
// ClientSecret: cfg.Auth.ClientSecret, with what code has around it.
func identifier(v []byte) bool {
	v = bytes.TrimRight(bytes.TrimLeft(v, "*&!"), ",;")
	if len(v) == 0 || !isLetter(v[0]) {
		return false
	}
	small := false
	for i, c := range v {
		switch {
		case isLower(c):
			small = true
		case isUpper(c):
			if i > 0 && isUpper(v[i-1]) && (i+1 == len(v) || !isLower(v[i+1])) && i > 5 {
				return false // random letters rather than words
			}
		case c == '.' && i+1 < len(v) && isLetter(v[i+1]), c == '_':
		default:
			return false
		}
	}
	return small
}

// codeLike reports values that are code: os.Getenv, config.password, len-1.
func codeLike(v []byte) bool {
	for i, c := range v {
		if (c == '.' || c == '[') && i > 0 && i+1 < len(v) && isLetter(v[i-1]) && (isLetter(v[i+1]) || c == '[') && !bytes.ContainsAny(v, "!@#$%^*+?") && len(v) < 40 {
			return true
		}
		if c == ';' && i == len(v)-1 && i < 20 {
			return true
		}
	}
	return bytes.Contains(v, []byte("->")) || bytes.Contains(v, []byte("::")) || bytes.Contains(v, []byte("==")) && len(v) < 12
}

// dashedID reports UUIDs, dates and names with hyphens.
func dashedID(v []byte) bool {
	return len(v) == 36 && v[8] == '-' && v[13] == '-' && v[18] == '-' && v[23] == '-' || bytes.Count(v, []byte("-")) > 2 || bytes.Count(v, []byte("/")) > 1 || bytes.IndexByte(v, ':') >= 0
}
