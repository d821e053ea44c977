// Package contact finds what leads to a person or a machine: mail addresses,
// telephone numbers, postal addresses, IP and hardware addresses.
package contact

import (
	"bytes"
	"strings"
	"sync"

	"github.com/wexec/wexec/privacy/internal/char"
	"github.com/wexec/wexec/privacy/internal/match"
)

// Bounds of a mail address.
const (
	maxLocal  = 64
	maxDomain = 253
)

// localByte reports the bytes of the part in front of the @.
func localByte(c byte) bool {
	switch c {
	case '.', '_', '%', '+', '-', '\'', '#', '$', '*', '~':
		return true
	}
	return char.IsWord(c)
}

// Email finds a mail address around an @. It returns where the scan goes on, and
// the start of the address if it counts, else -1.
func Email(s *match.Text, at int) (next, start int) {
	t := s.Bytes
	start = at
	for start > 0 && at-start < maxLocal && localByte(t[start-1]) {
		start--
	}
	for start < at && !char.IsWord(t[start]) {
		start++
	}
	if start == at || t[at-1] == '.' || bytes.Contains(t[start:at], []byte("..")) {
		return at + 1, -1
	}
	end, tld := domainEnd(t, at+1)
	if end == 0 || !topLevel(t[tld:end]) {
		return at + 1, -1
	}
	local, domain := string(t[start:at]), t[at+1:tld-1]
	switch {
	case start >= 3 && string(t[start-3:start]) == "://", isPassword(t, start, at): // a user in front of a host
	case (local == "git" || local == "hg") && end < len(t) && (t[end] == ':' || t[end] == '/'):
	case end < len(t) && t[end] == '(': // a method of a decorated name
	case s.LineLabel(start)&match.AboutMessage != 0:
	case char.CountDigits(domain) == len(domain) && !strings.Contains(" com net org cn ", " "+strings.ToLower(string(t[tld:end]))+" "):
		// 45.deg; a few large hosts have names of digits too
	case s.Hit(match.Email, start, end, 95, "an address with a known kind of domain"):
		return end, start
	}
	return end, -1
}

// isPassword reports that t[i:at] is the password in front of a host: behind a
// user, https://user:word@host, or by its own word, user:pass@host.
func isPassword(t []byte, i, at int) bool {
	if i < 2 || t[i-1] != ':' || !localByte(t[i-2]) {
		return false
	}
	user := i - 1
	for user > 0 && i-user < maxLocal && localByte(t[user-1]) {
		user--
	}
	label, _ := match.ReadLabel(t[i:at])
	return label.Kind == match.Secret || user >= 3 && string(t[user-3:user]) == "://"
}

// JudgeEmail judges a value that is labeled as a mail address and has no known
// domain; Email finds the others.
func JudgeEmail(v []byte, whole bool) (end int, sure uint8, why string) {
	at := bytes.IndexByte(v, '@')
	if !whole || at <= 0 || at+1 == len(v) || bytes.ContainsAny(v, " ,") || bytes.Count(v, []byte("@")) > 1 {
		return 0, 0, ""
	}
	if known, _ := domainEnd(v, at+1); known > 0 {
		return 0, 0, ""
	}
	return len(v), 60, "labeled as an address, without a known domain"
}

// domainEnd is the end of a host name at i and the start of its last label, 0 if
// there is no host name.
func domainEnd(t []byte, i int) (end, last int) {
	begin := i
	label := i
	dots := 0
	for ; i < len(t) && i-begin <= maxDomain; i++ {
		c := t[i]
		if c == '.' {
			if i == label || i+1 >= len(t) || !(char.IsLetter(t[i+1]) || char.IsDigit(t[i+1])) {
				break
			}
			dots++
			label = i + 1
			continue
		}
		if !(char.IsLetter(c) || char.IsDigit(c) || c == '-') {
			break
		}
	}
	for i > label && t[i-1] == '-' {
		i--
	}
	if dots == 0 || i-label < 2 || i-begin > maxDomain {
		return 0, 0
	}
	if i < len(t) && t[i] == '_' {
		return 0, 0
	}
	return i, label
}

// topLevel reports whether a label can end a host name: the two letters of a
// country, or a longer word that is not the extension of a file name.
func topLevel(label []byte) bool {
	if len(label) > 24 {
		return false
	}
	for _, c := range label {
		if !char.IsLetter(c) && !(len(label) > 4 && (string(label[:4]) == "xn--" || string(label[:4]) == "XN--")) {
			return false
		}
	}
	var store [24]byte
	known := topLevels()[string(char.Lower(&store, label))]
	return known == countryDomain || len(label) != 2 && known != fileExtension
}

// ending is what the last part of a word with dots is.
type ending uint8

const (
	countryDomain ending = iota + 1
	fileExtension
)

var topLevels = sync.OnceValue(func() map[string]ending {
	m := char.Set(fileExtension, fileExtensions)
	for w := range strings.FieldsSeq(countryDomains) {
		m[w] = countryDomain
	}
	return m
})

// countryDomains are the top-level domains of countries.
const countryDomains = " ac ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bm bn bo br bs bt bw by bz " +
	"ca cc cd cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm do dz ec ee eg er es et eu fi fj fk fm fo fr ga gb gd ge gf gg gh gi gl gm gn gp gq gr gs gt gu gw gy " +
	"hk hm hn hr ht hu id ie il im in io iq ir is it je jm jo jp ke kg kh ki km kn kp kr kw ky kz la lb lc li lk lr ls lt lu lv ly " +
	"ma mc md me mg mh mk ml mm mn mo mp mq mr ms mt mu mv mw mx my mz na nc ne nf ng ni nl no np nr nu nz om " +
	"pa pe pf pg ph pk pl pm pn pr ps pt pw py qa re ro rs ru rw sa sb sc sd se sg sh si sk sl sm sn so sr ss st su sv sx sy sz " +
	"tc td tf tg th tj tk tl tm tn to tr tt tv tw tz ua ug uk us uy uz va vc ve vg vi vn vu wf ws ye yt za zm zw "

// fileExtensions look like top-level domains of three or more letters, but mail
// does not go there.
const fileExtensions = " png jpg jpeg gif svg webp ico bmp tiff pdf css scss less html htm xml json yaml yml toml ini cfg conf log txt csv tsv " +
	"jsx tsx mjs cjs vue java class jar kt swift cpp hpp cxx php rb exe dll bin dat tar zip gz tgz bz2 xz zst rar iso img dmg deb rpm apk " +
	"wasm wat sql sqlite db bak tmp lock md5 sha sum test.go proto tmpl mod work exports default prototype length push " +
	"doc docx xls xlsx ppt pptx mp3 mp4 wav avi mov mkv ttf woff woff2 eot map min latest master main "
