package match

import (
	"bytes"

	"github.com/wexec/wexec/privacy/internal/char"
)

// Bounds of a number that is written in groups.
const (
	maxGroups = 24
	MaxDigits = 34
)

// Number is a number as it is written: groups of digits with single signs
// between them.
type Number struct {
	Start   int  // of the first sign, a plus or a bracket
	First   int  // of the first digit
	Plus    bool // a plus is in front of it
	Parens  bool // a group is in brackets
	Glued   bool // a word, a dot or a hyphen is joined to its front
	Crowded bool // other numbers are next to it
	Stop    int  // behind the last digit that was read, which can be part of a word
	Groups  []Group
	Joints  [maxGroups]byte // the sign in front of each group
	Digits  []byte          // of all groups

	context Context
	read    bool // context is valid
	groups  [maxGroups]Group
	digits  [MaxDigits]byte
}

// Group is a run of digits of a Number.
type Group struct {
	From, To int
	UpTo     int  // how many digits of the number there are up to its end
	Unit     bool // the number can end here
}

// Len is the number of digits of a group.
func (g Group) Len() int { return g.To - g.From }

// IsNumberSign reports the signs that are written between groups of digits.
func IsNumberSign(c byte) bool {
	return c == ' ' || c == '-' || c == '.' || c == '/' || c == '(' || c == ')'
}

// begin reads what is in front of a number: a plus, a bracket, and what it is
// glued to.
func (n *Number) begin(t []byte, i int) {
	n.Start, n.First = i, i
	n.Plus, n.Parens, n.Glued, n.Crowded, n.read = false, false, false, false, false
	n.Groups, n.Digits = n.groups[:0], n.digits[:0]
	k := i
	if k > 0 && t[k-1] == '(' {
		k--
		n.Start = k
		if k > 0 && t[k-1] == '+' {
			k--
			n.Start, n.Plus = k, true
		}
	} else if k > 0 && t[k-1] == '+' && (k < 2 || !char.IsDigit(t[k-2])) {
		k--
		n.Start, n.Plus = k, true
		if k > 0 && t[k-1] == '(' {
			k--
			n.Start = k
		}
	}
	if k > 1 && !n.Plus && (t[k-1] == '-' || t[k-1] == '.' || t[k-1] == '/' || t[k-1] == '+') && (char.IsWord(t[k-2]) || t[k-2] == '/') {
		n.Glued = true
	}
	if k > 0 && (t[k-1] == '$' || t[k-1] == '#') {
		n.Glued = true
	}
	if k > 1 && t[k-1] == ' ' && char.IsDigit(t[k-2]) {
		n.Crowded = true
	}
}

// Read reads the number whose first group is t[i:j]. It returns the end of the
// digits that are joined without spaces.
func (n *Number) Read(t []byte, i, j int) int {
	n.begin(t, i)
	joinedEnd := 0
	joint := byte(0)
	for {
		n.Joints[len(n.Groups)] = joint
		n.Digits = append(n.Digits, t[i:min(j, i+MaxDigits-len(n.Digits))]...)
		n.Groups = append(n.Groups, Group{From: i, To: j, UpTo: len(n.Digits)})
		// What follows: the next group, or the end.
		k := j
		joint = 0
		closes := false
		for k < len(t) && k < j+3 && IsNumberSign(t[k]) {
			switch c := t[k]; {
			case c == '(' || c == ')':
				closes = closes || c == ')'
				if joint == 0 {
					joint = ' '
				}
			case joint == 0 || joint == ' ' && c != ' ':
				joint = c
			}
			k++
		}
		more := k > j && k < len(t) && char.IsDigit(t[k]) && len(n.Groups) < maxGroups && len(n.Digits) < MaxDigits
		n.Parens = n.Parens || closes && more
		last := &n.Groups[len(n.Groups)-1]
		if !more {
			last.Unit = !(j < len(t) && (char.IsWord(t[j]) && !(t[j]|0x20 == 'x' && j+1 < len(t) && char.IsDigit(t[j+1])) || (t[j] == '-' || t[j] == '.' || t[j] == '/') && j+1 < len(t) && char.IsWord(t[j+1])))
			break
		}
		if joint == ' ' {
			last.Unit = true
			if joinedEnd == 0 {
				joinedEnd = j
			}
			if k > j+1 && t[j] == ' ' && t[j+1] == ' ' {
				break
			}
		}
		i = k
		j = k + 1
		for j < len(t) && char.IsDigit(t[j]) {
			j++
		}
		if j < len(t) && char.IsWord(t[j]) && !(t[j]|0x20 == 'x' || t[j]|0x20 == 'e') {
			// A word with digits: what is joined to it is not a number either.
			if joint != ' ' {
				for len(n.Groups) > 0 && !n.Groups[len(n.Groups)-1].Unit {
					n.Groups = n.Groups[:len(n.Groups)-1]
				}
			}
			break
		}
	}
	if !n.Parens && !n.Plus && t[n.Start] == '(' {
		n.Start = n.First // the bracket belongs to something else
	}
	n.Stop = j
	if joinedEnd == 0 {
		joinedEnd = j
		if len(n.Groups) > 0 {
			joinedEnd = max(n.Groups[0].To, n.Groups[len(n.Groups)-1].To)
		}
	}
	return joinedEnd
}

// Context is the context in front of the number, read once.
func (n *Number) Context(t *Text) Context {
	if !n.read {
		n.context, n.read = t.Before(n.Start), true
	}
	return n.context
}

// Sizes compares the lengths of the first b groups.
func (n *Number) Sizes(b int, want ...int) bool {
	if b != len(want) {
		return false
	}
	for i, w := range want {
		if n.Groups[i].Len() != w {
			return false
		}
	}
	return true
}

// EachOf reports that the first b groups have size digits each.
func (n *Number) EachOf(b, size int) bool {
	for _, g := range n.Groups[:b] {
		if g.Len() != size {
			return false
		}
	}
	return true
}

// Joined reports that the first b groups have the same sign between them: sign,
// or any sign if it is 0.
func (n *Number) Joined(b int, sign byte) bool {
	for i := 1; i < b; i++ {
		if n.Joints[i] != n.Joints[1] || sign != 0 && n.Joints[i] != sign {
			return false
		}
	}
	return true
}

// DigitByDigit reports that the digits are written one by one.
func (n *Number) DigitByDigit(b int) bool { return b > 6 && n.EachOf(b, 1) }

// Singles counts the groups of one digit.
func (n *Number) Singles(b int) int {
	count := 0
	for _, g := range n.Groups[:b] {
		if g.Len() == 1 {
			count++
		}
	}
	return count
}

// LeadingDigits is the digits at the start of v with single signs between them,
// and where they end. More digits than most are not a number of that kind.
func LeadingDigits(v []byte, most int) (end int, digits []byte) {
	digits = make([]byte, 0, 24)
	for i, c := range v {
		if char.IsDigit(c) {
			if len(digits) == most {
				return 0, nil
			}
			digits = append(digits, c)
			end = i + 1
			continue
		}
		if bytes.IndexByte([]byte(" -./"), c) < 0 || i == 0 || i > end {
			if char.IsWord(c) && i == end {
				return 0, nil
			}
			break
		}
	}
	return end, digits
}
