package contact

import (
	"bytes"
	"net/netip"

	"github.com/wexec/wexec/privacy/internal/char"
	"github.com/wexec/wexec/privacy/internal/match"
)

// IPv4 finds an address in the first four groups of a number. It returns the end
// of the address, or 0.
func IPv4(s *match.Text, n *match.Number) int {
	t := s.Bytes
	if n.Plus || string(n.Joints[1:4]) != "..." {
		return 0
	}
	from, to := n.Groups[0].From, n.Groups[3].To
	if from > 0 && (t[from-1] == '.' || t[from-1] == '-' && from > 1 && char.IsWord(t[from-2])) {
		return 0
	}
	if to < len(t) && (char.IsWord(t[to]) || (t[to] == '.' || t[to] == '-') && to+1 < len(t) && char.IsWord(t[to+1])) {
		return 0
	}
	a, err := netip.ParseAddr(string(t[from:to]))
	if err != nil {
		return 0
	}
	sure, why := judgeIPv4(s, a, n, from, to)
	s.Hit(match.IP, from, to, sure, why)
	return to
}

func judgeIPv4(s *match.Text, a netip.Addr, n *match.Number, from, to int) (sure uint8, why string) {
	t, b := s.Bytes, a.As4()
	if a.IsLoopback() || a.IsUnspecified() || b[0] == 0 || b[0] >= 240 || a.IsMulticast() {
		return 20, "an address of no particular machine"
	}
	context := n.Context(s)
	switch {
	case isNetwork(t, a, to):
		return 35, "a network, not a machine in it"
	case context&match.AboutIP != 0:
		return 97, "labeled as an address, and valid"
	case from > 0 && (t[from-1] == 'v' || t[from-1] == '/' && from > 1 && char.IsWord(t[from-2])) || context&match.AboutVersion != 0 && b[0] < 30 && n.Groups[0].Len() <= 2 && n.Groups[1].Len() <= 2:
		return 40, "four small numbers behind a word for versions"
	case b[0] < 10 && b[1] < 20 && b[2] < 20 && b[3] < 20:
		return 45, "four small numbers, more like a version"
	case b[0] != 10 && b[0] < 30 && b[1] < 20 && b[2] < 20 && inProse(t, from, to):
		return 45, "small numbers in a sentence, more like the number of a section"
	}
	return 90, "a valid address"
}

// inProse reports that a value is surrounded by spaces or punctuation: it is not
// in quotes, and without a port or a path.
func inProse(t []byte, from, to int) bool {
	return (from == 0 || bytes.IndexByte([]byte(" \n\t("), t[from-1]) >= 0) && (to == len(t) || bytes.IndexByte([]byte(" ,.)\n\r"), t[to]) >= 0)
}

// isNetwork reports that the length of a prefix follows an address that has no
// bits behind that prefix: 10.0.0.0/8 is a network, 10.0.0.7/8 a machine.
func isNetwork(t []byte, a netip.Addr, i int) bool {
	if i >= len(t) || t[i] != '/' {
		return false
	}
	bits, n := char.Number(t, i+1)
	if n == 0 || bits >= a.BitLen() {
		return false
	}
	p, err := a.Prefix(bits)
	return err == nil && p.Addr() == a
}

// MAC finds a hardware address at i, six pairs of hexadecimal digits, and
// reports whether it counts.
func MAC(s *match.Text, i int) bool {
	t := s.Bytes
	if i+17 > len(t) || !(t[i+2] == ':' || t[i+2] == '-') || !char.IsHex(t[i]) || !char.IsHex(t[i+1]) {
		return false
	}
	sign := t[i+2]
	trivial, digits := 0, 0
	for k, c := range t[i : i+17] {
		switch {
		case k%3 == 2:
			if c != sign {
				return false
			}
			continue
		case !char.IsHex(c):
			return false
		case c == '0' || c|0x20 == 'f':
			trivial++
		}
		if char.IsDigit(c) {
			digits++
		}
	}
	if trivial == 12 || i > 0 && (char.IsWord(t[i-1]) || t[i-1] == sign) || i+17 < len(t) && (char.IsWord(t[i+17]) || t[i+17] == sign) {
		return false
	}
	sure := uint8(90)
	if sign == '-' && digits == 12 && s.Before(i)&match.AboutMAC == 0 {
		sure = 45 // numbers of other kinds are pairs of digits too
	}
	return s.Hit(match.MAC, i, i+17, sure, "six pairs of a hardware address")
}

// DottedMAC finds a hardware address at i in three groups of four hexadecimal
// digits, 0012.3456.789a. It returns the end of the address, or 0.
func DottedMAC(s *match.Text, i int) int {
	t := s.Bytes
	end := i + 14
	if end > len(t) || t[i+4] != '.' || t[i+9] != '.' || i > 0 && (char.IsWord(t[i-1]) || t[i-1] == '.') || end < len(t) && (char.IsWord(t[end]) || t[end] == '.' && end+1 < len(t) && char.IsWord(t[end+1])) {
		return 0
	}
	digits := char.CountDigits(t[i:end])
	if !char.AllHex(t[i:i+4]) || !char.AllHex(t[i+5:i+9]) || !char.AllHex(t[i+10:end]) {
		return 0
	}
	sure := uint8(85)
	if digits == 12 && s.Before(i)&match.AboutMAC == 0 {
		sure = 45 // numbers of other kinds are groups of digits too
	}
	return s.HitTo(match.MAC, i, end, sure, "three groups of a hardware address")
}

// IPv6 finds an address around the first colon in it, at i, and returns where
// the scan goes on.
func IPv6(s *match.Text, i int) int {
	t := s.Bytes
	start := i
	for start > 0 && i-start < 40 && char.IsHex(t[start-1]) {
		start--
	}
	if i-start > 4 || start > 0 && (char.IsWord(t[start-1]) || t[start-1] == ':' || t[start-1] == '.') {
		return i + 1
	}
	end := start
	for end < len(t) && end-start < 46 && (char.IsHex(t[end]) || t[end] == ':' || t[end] == '.') {
		end++
	}
	for end > start && (t[end-1] == '.' || t[end-1] == ':' && !(end-start > 1 && t[end-2] == ':')) {
		end--
	}
	colons := bytes.Count(t[start:end], []byte(":"))
	if end < len(t) && (char.IsWord(t[end]) || t[end] == ':') || colons < 2 {
		return i + 1
	}
	a, err := netip.ParseAddr(string(t[start:end]))
	if err != nil || !a.Is6() {
		return i + 1
	}
	groups, longest := 0, 0
	for g := range bytes.SplitSeq(t[start:end], []byte(":")) {
		if longest = max(longest, len(g)); len(g) > 0 {
			groups++
		}
	}
	digits := char.CountDigits(t[start:end]) > 0
	labeled := s.Before(start)&match.AboutIP != 0
	sure, why := uint8(40), "a short address that can be something else"
	switch {
	case isNetwork(t, a, end):
		sure, why = 35, "a network, not a machine in it"
	case a.IsLoopback() || a.IsUnspecified() || a.IsMulticast():
		sure, why = 20, "an address of no particular machine"
	case a.Is4In6() && !a.Unmap().IsLoopback():
		sure, why = 90, "an IPv4 address in an IPv6 one"
	case colons >= 7 && groups == 8 && longest < 3 && !labeled:
		why = "eight pairs, more like a fingerprint"
	case groups == 8 || groups >= 3 && digits && longest >= 3 || longest == 4 && digits || labeled:
		sure, why = 95, "a valid address"
	}
	s.Hit(match.IP, start, end, sure, why)
	return end
}

// JudgeIP judges a value that is labeled as an IP address.
func JudgeIP(v []byte) (end int, sure uint8, why string) {
	if a, err := netip.ParseAddr(string(v)); err == nil && !a.IsLoopback() && !a.IsUnspecified() {
		return len(v), 95, "labeled as an address, and valid"
	}
	return 0, 0, ""
}
