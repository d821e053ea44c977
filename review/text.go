package review

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// bypass returns words in a comment that ask a checker to look away.
func bypass(s string) string {
	for _, words := range [...]string{"@ignore-security", "@skip-security", "@no-review", "@skip-review", "@security-ignore", "@bypass", "@disable-security", "@trusted", "@nosandbox", "@allow-all", "security-ignore", "ignore-security", "skip-review",
		"disable-review", "disable-security", "bypass-policy", "policy-bypass", "security off", "review off", "security disable", "disable security", "skip security", "bypass security", "skip review", "no review needed", "review skip", "nosec", "nosast", "pre-approved", "preapproved", "security-exempt", "@safe", "wexec-ignore", "wexec ignore", "wexec disable"} {
		if strings.Contains(" "+s+" ", " "+words+" ") {
			return words
		}
	}
	return ""
}

// instructs reports whether a comment speaks to a model or a reviewer, and says what to
// do or to think.
func instructs(s string) bool {
	for _, words := range [...]string{"ignore previous", "ignore all previous", "ignore the previous", "ignore your instructions", "ignore all instructions", "ignore the above", "ignore prior", "disregard previous", "disregard all", "disregard the above", "disregard your", "forget previous", "forget all previous", "forget your instructions",
		"override your instructions", "new instructions", "you are now", "you must approve", "you should approve", "please approve this", "do not report", "don't report", "do not flag", "don't flag", "do not tell the user", "don't tell the user", "without telling the user", "do not mention", "do not warn", "reveal your system prompt", "system prompt",
		"approve this code", "approve this program", "approve the code", "mark this as safe", "mark as safe", "mark it as safe", "mark as low risk", "rate this as low", "risk level low", "classify this as", "classify as safe", "this code is safe", "this program is safe", "this script is safe", "this code has been reviewed", "has been approved by", "already approved by", "has already been reviewed", "respond with", "reply only with", "answer only with", "output only the word", "safety checks are disabled", "no need to review", "skip the review", "skip this file", "stop reviewing"} {
		if strings.Contains(s, words) {
			return true
		}
	}
	speaks := false
	for _, words := range [...]string{"ai assistant", "dear ai", "dear reviewer", "note to reviewer", "note to the reviewer", "attention reviewer", "reviewer", "language model", "llm", "assistant", "claude", "gpt", "copilot", "ai agent", "ai model", "moderator", "scanner", "security tool"} {
		speaks = speaks || strings.Contains(" "+s+" ", " "+words+" ")
	}
	if !speaks {
		return false
	}
	for _, words := range [...]string{"approve", "you must", "you should", "you are", "please", "ignore", "do not", "don't", "treat", "assume", "trust", "allow", "skip", "authorized", "authorised", "safe", "mark", "call the tool", "send", "execute"} {
		if strings.Contains(" "+s+" ", " "+words+" ") {
			return true
		}
	}
	return false
}

// orders reports whether a text tells a model to keep something from its user.
func orders(s string) bool {
	s = strings.ToLower(strings.Join(strings.Fields(s), " "))
	for _, words := range [...]string{"never tell the user", "not tell the user", "don't tell the user", "never inform the user", "not inform the user", "never ask the user", "not ask the user", "don't ask the user", "without telling the user", "without asking the user",
		"not mention this to the user", "never mention this", "never mention these", "never mention it", "hide this from the user", "the user must not know", "the user has granted full access", "approve its permission", "approve all permission"} {
		if strings.Contains(s, words) {
			return true
		}
	}
	return strings.Contains(s, "<system>") && strings.Contains(s, "user")
}

// plants returns what a text runs where it is stored or shown, or "".
func plants(s string) string {
	if len(s) < 16 || len(s) > maxText {
		return ""
	}
	lower := strings.ToLower(s)
	loads := strings.Contains(lower, "curl ") || strings.Contains(lower, "wget ") || strings.Contains(lower, "iwr ")
	switch {
	case loads && runsDownload(lower):
		return "a command that runs what it downloads"
	case loads && strings.Contains(s, "${{") && strings.Contains(lower, "secrets") && strings.Contains(lower, "://"):
		return "a command that sends away the secrets of a job"
	case (strings.Contains(lower, "onerror=") || strings.Contains(lower, "onload=") || strings.Contains(lower, "<script")) && (strings.Contains(lower, "document.cookie") || strings.Contains(lower, "new image().src") || strings.Contains(lower, "localstorage.getitem")):
		return "a script that sends away data of the page"
	case strings.Contains(s, "require('http") && strings.Contains(s, "eval("), strings.Contains(s, "urllib") && strings.Contains(s, "exec("):
		return "a program that runs what it downloads"
	}
	return ""
}

// runsDownload reports whether a command gives a shell or an interpreter what it
// downloads.
func runsDownload(s string) bool {
	words := strings.Join(strings.Fields(strings.NewReplacer("|", " | ", "`", " ", "\"", " ", "'", " ", ")", " ").Replace(s)), " ") + " "
	for _, to := range [...]string{"sh", "bash", "zsh", "sudo", "python", "python3", "node", "perl", "iex"} {
		if strings.Contains(words, "| "+to+" ") {
			return true
		}
	}
	return false
}

// lures reports whether a text asks its readers to give credentials or data at a link.
func lures(s string) bool {
	s = strings.ToLower(s)
	if !strings.Contains(s, "http://") && !strings.Contains(s, "https://") {
		return false
	}
	count := 0
	for _, words := range [...]string{"confirm your account", "verify your account", "confirm your identity", "verify your identity", "confirm your password", "re-enter your", "reenter your", "your payroll details", "your bank details", "your password expires", "your account will be", "has been suspended", "within 24 hours", "within 48 hours", "/login", "/verify", "/signin", "the only official", "confirm today", "update your payment"} {
		if strings.Contains(s, words) {
			count++
		}
	}
	return count >= 2
}

// mixesScripts reports whether a name has letters of two alphabets that look alike.
func mixesScripts(s string) bool {
	latin, other := false, false
	for _, c := range s {
		latin = latin || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		other = other || unicode.Is(unicode.Cyrillic, c) || unicode.Is(unicode.Greek, c) && !strings.ContainsRune("αβγδΔεθλμπΠρσΣτφχψωΩ", c) || unicode.Is(unicode.Armenian, c)
	}
	return latin && other
}

// trojan returns the place of a character that hides text, or -1.
func trojan(s string) int {
	for i, c := range s {
		switch {
		case c < 0x80:
		case c >= 0x202a && c <= 0x202e, c >= 0x2066 && c <= 0x2069, c >= 0xe0000 && c <= 0xe007f, c == 0x115f, c == 0x1160, c == 0x3164, c == 0xffa0, c == 0x2062, c == 0x2063, c == 0x180e:
			return i
		case c == 0x200b || c == 0x2060 || c == 0xfeff && i > 0:
			return i
		}
	}
	return -1
}

// bare reports whether code is written with brackets and signs only.
func bare(s string) bool {
	signs, letters := 0, 0
	for _, c := range s[:min(len(s), 64<<10)] {
		switch {
		case strings.ContainsRune("[]()!+{}", c):
			signs++
		case unicode.IsLetter(c), unicode.IsDigit(c):
			letters++
		}
	}
	return signs > 200 && signs > 6*letters
}

// hidesOutput reports whether a text has a part that a person does not see.
func hidesOutput(s string) bool {
	lower := strings.ToLower(s)
	if strings.Contains(lower, "<hidden") && strings.Contains(lower, ">") || strings.Contains(s, "\x1b[8m") {
		return true
	}
	invisible := 0
	for _, c := range s {
		if c >= 0xe0000 && c <= 0xe007f || c == 0x200b || c == 0x2060 || c == 0x200c || c == 0x2063 {
			invisible++
		}
	}
	return invisible >= 8
}

// hasCredential reports whether a text has a key, a token or a password of a known
// form.
func hasCredential(s string) bool { return credentialIn(s) != "" }

// credentialIn returns what credential a text has, or "".
func credentialIn(s string) string {
	if len(s) < 16 {
		return ""
	}
	if _, key, ok := strings.Cut(s, "PRIVATE KEY"+dashes); ok && strings.Contains(s, dashes+"BEGIN ") && len(strings.TrimSpace(key)) >= 16 {
		return "a private key"
	}
	for _, f := range [...]struct {
		prefix string
		more   int
		what   string
	}{
		{"AKIA", 16, "an AWS access key"}, {"ASIA", 16, "an AWS access key"}, {"ghp_", 30, "a GitHub token"}, {"gho_", 30, "a GitHub token"}, {"ghs_", 30, "a GitHub token"}, {"ghu_", 30, "a GitHub token"}, {"github_pat_", 30, "a GitHub token"}, {"glpat-", 18, "a GitLab token"},
		{"sk-ant-", 20, "an Anthropic key"}, {"sk-proj-", 20, "an OpenAI key"}, {"sk-", 32, "an API key"}, {"sk_live_", 16, "a Stripe key"}, {"rk_live_", 16, "a Stripe key"}, {"xoxb-", 20, "a Slack token"}, {"xoxp-", 20, "a Slack token"}, {"xapp-", 20, "a Slack token"},
		{"AIza", 35, "a Google key"}, {"ya29.", 20, "a Google token"}, {"SG.", 40, "a SendGrid key"}, {"npm_", 30, "an npm token"}, {"pypi-", 40, "a PyPI token"}, {"hf_", 30, "a Hugging Face token"}, {"wx_", 40, "a wexec token"}, {"dop_v1_", 40, "a DigitalOcean token"}, {"shpat_", 30, "a Shopify token"}, {"eyJ", 60, "a JSON Web Token"},
	} {
		for rest := s; ; {
			i := strings.Index(rest, f.prefix)
			if i < 0 {
				break
			}
			tail := rest[i+len(f.prefix):]
			n := 0
			for n < len(tail) && (isAlphanumeric(tail[n]) || strings.IndexByte("-_.", tail[n]) >= 0) {
				n++
			}
			if n >= f.more && (i == 0 || !isAlphanumeric(rest[i-1])) && mixed(tail[:n]) && !sample(tail[:n]) {
				return f.what
			}
			rest = tail
		}
	}
	if _, after, ok := strings.Cut(s, "://"); ok {
		account, host, at := strings.Cut(after, "@")
		if user, password, ok := strings.Cut(account, ":"); at && ok && host != "" && user != "" && !strings.Contains(account, hole) && !strings.ContainsAny(account, "/{}$<> ") && len(password) >= 4 && !sample(password) {
			return "a password in a URL"
		}
	}
	return ""
}

func isAlphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// mixed reports whether a text has letters and digits.
func mixed(s string) bool {
	return strings.ContainsAny(s, "0123456789") && strings.ContainsFunc(s, unicode.IsLetter)
}

// sample reports whether a text only shows where a credential goes.
func sample(s string) bool {
	lower := strings.ToLower(s)
	for _, part := range [...]string{"example", "sample", "your", "xxxx", "test", "dummy", "changeme", "placeholder", "insert", "redacted", "fake", "demo", "....", "0000000", "password", "secret", "abcdef", "1234567"} {
		if strings.Contains(lower, part) {
			return true
		}
	}
	return false
}

// credentialName reports whether a variable or an argument of this name holds a
// credential.
func credentialName(name string) bool {
	s := strings.ToLower(strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(name, "_", ""), "-", ""), ".", ""))
	for _, part := range [...]string{"password", "passwd", "apikey", "secretkey", "accesskey", "authtoken", "accesstoken", "clientsecret", "privatekey", "bearertoken", "dbpass", "apitoken", "secrettoken"} {
		if strings.HasSuffix(s, part) {
			return true
		}
	}
	return s == "pwd" || s == "secret" || s == "token" || s == "pass"
}

// credentialValue reports whether a text that is assigned to a name for credentials is a credential.
func credentialValue(s string) bool {
	if strings.HasPrefix(s, "eyJ") && len(s)-strings.LastIndexByte(s, '.') < 16 {
		return false // a web token without a signature opens nothing
	}
	return len(s) >= 8 && len(s) <= 512 && !strings.Contains(s, hole) && !strings.ContainsAny(s, " \t\n{}<>$/[]") && !sample(s) && mixed(s) && entropy(s) > 2.8
}

func entropy(s string) float64 {
	var count [256]float64
	for i := range len(s) {
		count[s[i]]++
	}
	sum := 0.0
	for _, c := range count {
		if c > 0 {
			sum -= c / float64(len(s)) * math.Log2(c/float64(len(s)))
		}
	}
	return sum
}

// shorten returns the start of a text on one line.
func shorten(s string) string {
	s = strings.Join(strings.Fields(s[:min(len(s), 4*maxClip)]), " ")
	if utf8.RuneCountInString(s) > maxClip {
		s = string([]rune(s)[:maxClip]) + "…"
	}
	return s
}

// dashes begin and end the lines around a key in PEM.
const dashes = "-----"
