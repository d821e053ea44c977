package privacy

import (
	"bytes"
	"strings"
)

// Bounds of an address, as mail servers have them.
const (
	maxLocal  = 64
	maxDomain = 253
)

func localByte(c byte) bool {
	switch c {
	case '.', '_', '%', '+', '-', '\'', '#', '$', '*', '~':
		return true
	}
	return isWord(c)
}

// email looks around an @ and returns where to go on.
func (s *scanner) email(at int) int {
	t := s.t
	start := at
	for start > 0 && at-start < maxLocal && localByte(t[start-1]) {
		start--
	}
	for start < at && !isWord(t[start]) {
		start++
	}
	if start == at || t[at-1] == '.' || bytes.Contains(t[start:at], []byte("..")) {
		return at + 1
	}
	end, tld := domainEnd(t, at+1)
	if end == 0 || !topLevel(t[tld:end]) {
		return at + 1
	}
	local := t[start:at]
	switch {
	case start >= 3 && string(t[start-3:start]) == "://":
		// A user name in front of a host.
		return end
	case (string(local) == "git" || string(local) == "hg") && end < len(t) && (t[end] == ':' || t[end] == '/'):
		return end
	case end < len(t) && t[end] == '(':
		// A method of a decorated name.
		return end
	}
	if s.lineLabel(start)&saysMessage != 0 {
		return end
	}
	if label := tld - 1; numericLabel(t, at+1, label) && !strings.Contains(" com net org cn ", " "+strings.ToLower(string(t[tld:end]))+" ") {
		return end
	}
	if s.hit(Email, start, end, 95, "an address with a known kind of domain") {
		s.displayName(start)
	}
	return end
}

// numericLabel reports a domain whose only name consists of digits, as in
// 45.deg; those of a few large hosts do too.
func numericLabel(t []byte, from, to int) bool {
	for _, c := range t[from:to] {
		if !isDigit(c) {
			return false
		}
	}
	return true
}

// domainEnd reads a host name and gives the end of it and the start of its
// last label; 0 where there is none.
func domainEnd(t []byte, i int) (end, last int) {
	begin := i
	label := i
	dots := 0
	for ; i < len(t) && i-begin <= maxDomain; i++ {
		c := t[i]
		if c == '.' {
			if i == label || i+1 >= len(t) || !(isLetter(t[i+1]) || isDigit(t[i+1])) {
				break
			}
			dots++
			label = i + 1
			continue
		}
		if !(isLetter(c) || isDigit(c) || c == '-') {
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

// topLevel reports whether a label can end a host name: a country's two
// letters, or a longer word that is not the ending of a file's name.
func topLevel(label []byte) bool {
	if len(label) > 24 {
		return false
	}
	for _, c := range label {
		if !isLetter(c) && !(len(label) > 4 && (string(label[:4]) == "xn--" || string(label[:4]) == "XN--")) {
			return false
		}
	}
	var store [26]byte
	w := append(store[:0], ' ')
	w = append(w, label...)
	for i, c := range w {
		if isUpper(c) {
			w[i] = c | 0x20
		}
	}
	switch w = append(w, ' '); string(w) {
	case " com ", " org ", " net ":
		return true
	}
	if len(label) == 2 {
		return strings.Contains(countryDomains, string(w))
	}
	return !strings.Contains(fileEndings, string(w))
}

// countryDomains are the top-level domains of countries.
const countryDomains = " ac ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bm bn bo br bs bt bw by bz " +
	"ca cc cd cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm do dz ec ee eg er es et eu fi fj fk fm fo fr ga gb gd ge gf gg gh gi gl gm gn gp gq gr gs gt gu gw gy " +
	"hk hm hn hr ht hu id ie il im in io iq ir is it je jm jo jp ke kg kh ki km kn kp kr kw ky kz la lb lc li lk lr ls lt lu lv ly " +
	"ma mc md me mg mh mk ml mm mn mo mp mq mr ms mt mu mv mw mx my mz na nc ne nf ng ni nl no np nr nu nz om " +
	"pa pe pf pg ph pk pl pm pn pr ps pt pw py qa re ro rs ru rw sa sb sc sd se sg sh si sk sl sm sn so sr ss st su sv sx sy sz " +
	"tc td tf tg th tj tk tl tm tn to tr tt tv tw tz ua ug uk us uy uz va vc ve vg vi vn vu wf ws ye yt za zm zw "

// fileEndings look like top-level domains of three or more letters, and are
// none, or none that mail goes to.
const fileEndings = " png jpg jpeg gif svg webp ico bmp tiff pdf css scss less html htm xml json yaml yml toml ini cfg conf log txt csv tsv " +
	"jsx tsx mjs cjs vue java class jar kt swift cpp hpp cxx php rb exe dll bin dat tar zip gz tgz bz2 xz zst rar iso img dmg deb rpm apk " +
	"wasm wat sql sqlite db bak tmp lock md5 sha sum test.go proto tmpl mod work exports default prototype length push " +
	"doc docx xls xlsx ppt pptx mp3 mp4 wav avi mov mkv ttf woff woff2 eot map min latest master main "
