package privacy

import (
	"net/netip"
)

// ipv4 looks at four groups with dots between them.
func (s *scanner) ipv4(n *numeral) int {
	t := s.t
	for k := 1; k < 4; k++ {
		if n.joints[k] != '.' {
			return 0
		}
	}
	from, to := n.groups[0].from, n.groups[3].to
	if n.plus || from > 0 && (t[from-1] == '.' || t[from-1] == '-' && from > 1 && isWord(t[from-2])) {
		return 0
	}
	if to < len(t) && (isWord(t[to]) || (t[to] == '.' || t[to] == '-') && to+1 < len(t) && isWord(t[to+1])) {
		return 0
	}
	a, err := netip.ParseAddr(string(t[from:to]))
	if err != nil {
		return 0
	}
	s.address4(a, n, from, to)
	return to
}

func (s *scanner) address4(a netip.Addr, n *numeral, from, to int) {
	b := a.As4()
	if a.IsLoopback() || a.IsUnspecified() || b[0] == 0 || b[0] >= 240 || a.IsMulticast() {
		s.hit(IP, from, to, 20, "an address of no machine in particular")
		return
	}
	context := s.context(n)
	switch {
	case s.network(a, to):
		s.hit(IP, from, to, 35, "a network, not a machine in it")
	case context&saysIP != 0:
		s.hit(IP, from, to, 97, "named an address, and valid")
	case from > 0 && (s.t[from-1] == 'v' || s.t[from-1] == '/' && from > 1 && isWord(s.t[from-2])) || context&saysVersion != 0 && b[0] < 30 && n.looksVersion():
		s.hit(IP, from, to, 40, "four small numbers behind a word for versions")
	case b[0] < 10 && b[1] < 20 && b[2] < 20 && b[3] < 20:
		s.hit(IP, from, to, 45, "four small numbers, more like a version")
	case b[0] != 10 && b[0] < 30 && b[1] < 20 && b[2] < 20 && s.inProse(from, to):
		s.hit(IP, from, to, 45, "small numbers in a sentence, more like the number of a section")
	default:
		s.hit(IP, from, to, 90, "a valid address")
	}
}

// inProse reports that spaces, commas or ends of lines are around a value: no
// quotes, no port, no path.
func (s *scanner) inProse(from, to int) bool {
	t := s.t
	return (from == 0 || t[from-1] == ' ' || t[from-1] == '\n' || t[from-1] == '\t' || t[from-1] == '(') &&
		(to == len(t) || t[to] == ' ' || t[to] == ',' || t[to] == '.' || t[to] == ')' || t[to] == '\n' || t[to] == '\r')
}

// network reports that the length of a prefix follows an address that has
// nothing behind that prefix: 10.0.0.0/8 is a network, 10.0.0.7/8 a machine.
func (s *scanner) network(a netip.Addr, i int) bool {
	if i >= len(s.t) || s.t[i] != '/' {
		return false
	}
	bits, n := digitsAt(s.t, i+1)
	if n == 0 || bits > a.BitLen() {
		return false
	}
	p, err := a.Prefix(bits)
	return err == nil && p.Addr() == a && bits < a.BitLen()
}

// looksVersion reports small numbers, as versions have them.
func (n *numeral) looksVersion() bool {
	for _, g := range n.groups[:2] {
		if g.to-g.from > 2 {
			return false
		}
	}
	return true
}

func hexByte(c byte) bool { _, ok := hexDigit(c); return ok }

// mac looks at six pairs of hexadecimal digits that begin at i.
func (s *scanner) mac(i int) bool {
	t := s.t
	if i+17 > len(t) || !(t[i+2] == ':' || t[i+2] == '-') || !hexByte(t[i]) || !hexByte(t[i+1]) {
		return false
	}
	sign := t[i+2]
	zeros, digits := 0, 0
	for k := 0; k < 17; k++ {
		c := t[i+k]
		if k%3 == 2 {
			if c != sign {
				return false
			}
			continue
		}
		if !hexByte(c) {
			return false
		}
		if c == '0' || c|0x20 == 'f' {
			zeros++
		}
		if isDigit(c) {
			digits++
		}
	}
	if i > 0 && (isWord(t[i-1]) || t[i-1] == sign) || i+17 < len(t) && (isWord(t[i+17]) || t[i+17] == sign) {
		return false
	}
	if zeros == 12 {
		return false
	}
	sure := uint8(90)
	if sign == '-' && digits == 12 {
		// Six pairs of digits with hyphens are a number of another kind too.
		sure = 45
		if s.before(i)&saysMAC != 0 {
			sure = 90
		}
	}
	return s.hit(MAC, i, i+17, sure, "six pairs of a hardware address")
}

// colon looks around a colon for an IPv6 address, and returns where to go on.
func (s *scanner) colon(i int) int {
	t := s.t
	if i+3 < len(t) && t[i+1] == '/' && t[i+2] == '/' {
		return max(i+3, s.connection(i))
	}
	if i+1 >= len(t) || !(t[i+1] == ':' || hexByte(t[i+1])) {
		return i + 1
	}
	if i >= 2 && i+3 < len(t) && t[i+1] != ':' && s.mac(i-2) {
		return i + 15
	}
	start := i
	for start > 0 && i-start < 40 && hexByte(t[start-1]) {
		start--
	}
	if i-start > 4 || start > 0 && (isWord(t[start-1]) || t[start-1] == ':' || t[start-1] == '.') {
		return i + 1
	}
	end, colons, dots := start, 0, 0
	for end < len(t) && end-start < 46 && (hexByte(t[end]) || t[end] == ':' || t[end] == '.') {
		if t[end] == ':' {
			colons++
		}
		if t[end] == '.' {
			dots++
		}
		end++
	}
	for end > start && (t[end-1] == '.' || t[end-1] == ':' && !(end-start > 1 && t[end-2] == ':')) {
		if t[end-1] == ':' {
			colons--
		}
		end--
	}
	if end < len(t) && (isWord(t[end]) || t[end] == ':') || colons < 2 {
		return i + 1
	}
	a, err := netip.ParseAddr(string(t[start:end]))
	if err != nil || !a.Is6() {
		return i + 1
	}
	groups, digits, longest, run := 0, 0, 0, 0
	for k := start; k <= end; k++ {
		if k < end && t[k] != ':' {
			run++
			if isDigit(t[k]) {
				digits++
			}
			continue
		}
		if run > 0 {
			groups++
		}
		longest, run = max(longest, run), 0
	}
	context := s.before(start)
	switch {
	case s.network(a, end):
		s.hit(IP, start, end, 35, "a network, not a machine in it")
	case a.IsLoopback() || a.IsUnspecified() || a.IsMulticast():
		s.hit(IP, start, end, 20, "an address of no machine in particular")
	case colons >= 7 && groups == 8 && longest < 3 && context&saysIP == 0:
		s.hit(IP, start, end, 40, "eight pairs, more like a fingerprint")
	case groups == 8 || groups >= 3 && digits > 0 && longest >= 3 || longest == 4 && digits > 0 || context&saysIP != 0:
		s.hit(IP, start, end, 95, "a valid address")
	default:
		s.hit(IP, start, end, 40, "a short address that can be something else")
	}
	return end
}
