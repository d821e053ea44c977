package privacy

import (
	"bytes"
	"net/netip"
	"strings"
)

// value looks at the stretch behind a label. What it takes is reported; the
// scan goes on there nevertheless, and what it finds within is dropped.
func (s *scanner) value(e evidence, context uint32, from, to int, assigned bool) {
	t := s.t
	v := t[from:to]
	if e.kind == Secret {
		// Names within a value are looked at too, a few of them.
		if from < s.secretEnd {
			if s.secretTries++; s.secretTries > 4 {
				return
			}
		} else {
			s.secretTries = 0
		}
		s.secretEnd = max(s.secretEnd, to)
		quoted := from > 0 && (t[from-1] == '"' || t[from-1] == '\'' || t[from-1] == '`')
		if !quoted {
			for end := from; end < to; end++ {
				if c := t[end]; c == ';' || assigned && c == '&' || c == ',' && assigned || c == '\'' || c == ')' && bytes.IndexByte(v, '(') < 0 {
					v = t[from:end]
					break
				}
			}
		}
		if sure, why := secretValue(v, e.weak, quoted, false); sure > 0 {
			start := from
			for _, scheme := range []string{"Bearer ", "bearer ", "Basic ", "basic ", "Token ", "token ", "ApiKey "} {
				if bytes.HasPrefix(v, []byte(scheme)) {
					start += len(scheme)
				}
			}
			s.hit(Secret, start, from+len(v), sure, why)
		} else if !e.weak && len(v) > 0 {
			// The value of "Authorization: Bearer" ends at the first space.
			s.scheme(from, to)
		}
		return
	}
	if from < s.paired {
		return
	}
	n, sure, why := s.judge(e, context, v, false)
	if n > 0 && s.hit(e.kind, from, from+n, sure, why) {
		s.paired = from + n
	}
}

// scheme looks at what stands behind Bearer and the like.
func (s *scanner) scheme(from, to int) {
	v := s.t[from:to]
	if i := bytes.IndexByte(v, ' '); i > 0 && i < 8 {
		if sure, why := secretValue(v[i+1:], true, false, false); sure > 0 {
			s.hit(Secret, from+i+1, to, sure, why)
		}
	}
}

// whole looks at the value of a field as one: a JSON string or a cell.
func (s *scanner) whole() bool {
	if s.f == nil {
		return false
	}
	v := bytes.TrimSpace(s.t)
	if len(v) == 0 {
		return false
	}
	if n, _ := tokenAt(v, s.d); n == len(v) {
		return false // a token already
	}
	from := bytes.IndexByte(s.t, v[0])
	if s.f.always && s.alwaysHit(from, from+len(v)) {
		return true
	}
	e := s.f.says
	if e.kind == "" || !s.d.wants(e.kind) || len(v) > maxValue && e.kind != Secret {
		return false
	}
	if e.kind == Secret {
		if sure, why := secretValue(v, e.weak, true, !e.weak && !s.f.column); sure > 0 {
			for _, scheme := range []string{"Bearer ", "Basic ", "Token ", "bearer ", "basic ", "token "} {
				if bytes.HasPrefix(v, []byte(scheme)) {
					from += len(scheme)
					v = v[len(scheme):]
				}
			}
			return s.hit(Secret, from, from+len(v), sure, why)
		}
		return false
	}
	n, sure, why := s.judge(e, s.f.context, v, true)
	if n < len(v) {
		return false
	}
	return s.hit(e.kind, from, from+n, sure, why)
}

// alwaysHit takes a value in a field that the policy always hides. Its kind is
// the one that its form or its name says.
func (s *scanner) alwaysHit(from, to int) bool {
	probe := scanner{t: s.t[from:to], d: s.d.everything(), f: &field{says: s.f.says, context: s.f.context}, nested: maxNested}
	if !probe.whole() {
		probe.run()
	}
	kind := s.f.says.kind
	if len(probe.hits) == 1 && probe.hits[0].start == 0 && probe.hits[0].end == to-from {
		kind = probe.hits[0].kind
	}
	if kind == "" {
		kind = Personal
	}
	s.hits = append(s.hits, span{start: from, end: to, kind: kind, sure: 100, why: "a field that is always hidden"})
	return true
}

// everything is the same detector with all kinds switched on.
func (d *Detector) everything() *Detector {
	if d.kinds == nil {
		return d
	}
	all := *d
	all.kinds = nil
	return &all
}

// judge says how much at the start of v is a value of a kind, given that its
// name says so. whole: v stands alone in its field.
func (s *scanner) judge(e evidence, context uint32, v []byte, whole bool) (n int, sure uint8, why string) {
	switch e.kind {
	case Email:
		if at := bytes.IndexByte(v, '@'); at > 0 && bytes.IndexByte(v, ' ') < 0 && at+1 < len(v) && bytes.IndexByte(v[at+1:], '@') < 0 && bytes.IndexByte(v, ',') < 0 {
			if end, _ := domainEnd(v, at+1); end == 0 && whole {
				return len(v), 60, "named an address, without a known domain"
			}
		}
	case Phone:
		return judgePhone(v, whole)
	case SSN:
		n, digits := numberPrefix(v, 9)
		if len(digits) == 9 && validSSN(digits) {
			return n, 97, "named a social security number"
		}
	case Card:
		n, digits := numberPrefix(v, 19)
		if len(digits) >= 12 && luhn(digits) && !same(digits) {
			return n, 95, "named a card, with its check digit"
		}
	case Account:
		n, digits := numberPrefix(v, 20)
		if len(digits) >= 5 && context&saysOrder == 0 {
			return n, 75, "named an account"
		}
	case IP:
		if a, err := netip.ParseAddr(string(v)); err == nil && !a.IsLoopback() && !a.IsUnspecified() {
			return len(v), 95, "named an address, and valid"
		}
	case Address:
		return judgeAddress(v, e.weak, whole)
	case Name:
		return s.judgeName(e, context, v, whole)
	case Birthdate:
		if end, ok := dateAt(v, 0); ok {
			return end, 95, "named a date of birth"
		}
		w := 0
		for w < len(v) && isLetter(v[w]) {
			w++
		}
		if end, ok := monthDate(v, 0, w); ok {
			return end, 95, "named a date of birth"
		}
		if whole && len(v) == 8 {
			if y, k := digitsAt(v, 0); k > 0 && year(y/10) && len(onlyDigits(string(v))) == 8 {
				return 8, 90, "named a date of birth"
			}
		}
	case Passport, Licence, NationalID, VAT:
		return judgeDocument(e.kind, v)
	}
	return 0, 0, ""
}

func judgePhone(v []byte, whole bool) (int, uint8, string) {
	digits, end := 0, 0
	for i, c := range v {
		if isDigit(c) {
			digits++
			end = i + 1
			continue
		}
		if !numberSign(c) && c != '+' || digits >= 17 {
			if c|0x20 == 'x' || c|0x20 == 'e' {
				s := scanner{t: v}
				if more := s.extension(end); more > end {
					end = more
				}
			} else if isWord(c) && i == end {
				return 0, 0, ""
			}
			break
		}
		if c == ' ' && i > 0 && v[i-1] == ' ' {
			break
		}
	}
	if digits < 5 || digits > 17 || digits < 6 && !whole {
		return 0, 0, ""
	}
	if stop, ok := dateAt(v, 0); ok && stop >= end {
		return 0, 0, ""
	}
	if end < len(v) && v[end] == ')' {
		end++
	}
	return end, 85, "named a phone number"
}

// numberPrefix is the digits at the start of v, with single signs between
// them, and where they end.
func numberPrefix(v []byte, most int) (int, []byte) {
	digits := make([]byte, 0, 24)
	end := 0
	for i, c := range v {
		if isDigit(c) {
			if len(digits) == most {
				return 0, nil
			}
			digits = append(digits, c)
			end = i + 1
			continue
		}
		if c != ' ' && c != '-' && c != '.' && c != '/' || i == 0 || i > end {
			if isWord(c) && i == end {
				return 0, nil
			}
			break
		}
	}
	return end, digits
}

// judgeDocument takes the first run of capitals and digits.
func judgeDocument(kind Kind, v []byte) (int, uint8, string) {
	end, digits, letters := 0, 0, 0
	for i, c := range v {
		if isDigit(c) {
			digits++
		} else if isUpper(c) {
			letters++
		} else if (c == ' ' || c == '-' || c == '.' || c == '/') && i > 0 && i == end && i+1 < len(v) && (isDigit(v[i+1]) || isUpper(v[i+1]) && (c != ' ' || i+2 >= len(v) || !isLower(v[i+2]))) && digits+letters < 22 {
			end = i + 1
			continue
		} else {
			if isLower(c) && i == end && i > 0 {
				return 0, 0, ""
			}
			break
		}
		end = i + 1
	}
	for end > 0 && !isWord(v[end-1]) {
		end--
	}
	if digits < 4 || digits+letters < 6 || digits+letters > 24 || letters > digits && digits+letters != 16 && kind != Licence {
		return 0, 0, ""
	}
	if _, ok := dateAt(v, 0); ok {
		return 0, 0, ""
	}
	return end, 85, "named " + strings.ToLower(string(kind))
}
