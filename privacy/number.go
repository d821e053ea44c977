package privacy

// Bounds of a number written in groups.
const (
	maxGroups = 24
	maxDigits = 34
)

// numeral is a number as it is written: groups of digits with single signs
// between them.
type numeral struct {
	start   int // of the first sign, a plus or a bracket
	first   int // of the first digit
	plus    bool
	parens  bool
	glued   bool // a word, a dot or a hyphen goes on in front of it
	crowded bool // other numbers stand beside it
	groups  []group
	joints  [maxGroups]byte // the sign in front of each group
	digits  []byte
	context uint32
	looked  bool
	store   [maxGroups]group
	bytes   [maxDigits]byte
}

type group struct {
	from, to int
	upTo     int // digits up to its end
	unit     bool
}

// number looks at a number and returns where to go on.
func (s *scanner) number(i int) int {
	t := s.t
	j := i + 1
	for j < len(t) && isDigit(t[j]) {
		j++
	}
	if j < len(t) && isWord(t[j]) {
		return s.digitWord(i, j)
	}
	if j-i == 2 && j < len(t) && t[j] == '-' && s.mac(i) {
		return i + 17
	}
	single := j-i < 7 && (j+1 >= len(t) || !numberSign(t[j]) || !numberNext(t, j))
	if single || j-i > maxDigits {
		if j-i <= 2 && j+4 < len(t) && (t[j] == ' ' || t[j] == '.') && s.d.wants(Birthdate) {
			if end, ok := dateAt(t, i); ok && s.before(i)&saysBirth != 0 && s.hit(Birthdate, i, end, 85, "a date behind a word for birth") {
				return end
			}
		}
		if s.shortNumber(i, j) {
			return s.hits[len(s.hits)-1].end
		}
		return j
	}
	n := &s.numeric
	end := s.read(n, i, j)
	if len(n.groups) == 0 {
		return end
	}
	if stop := s.numeral(n); stop > 0 {
		return stop
	}
	return end
}

func numberSign(c byte) bool {
	return c == ' ' || c == '-' || c == '.' || c == '/' || c == '(' || c == ')'
}

// numberNext reports that digits follow behind one or two signs.
func numberNext(t []byte, j int) bool {
	for k := j + 1; k < len(t) && k <= j+2; k++ {
		if isDigit(t[k]) {
			return true
		}
		if !numberSign(t[k]) {
			return false
		}
	}
	return false
}

// begin looks at what stands in front of a number: a plus, a bracket, and what
// it is glued to.
func (n *numeral) begin(t []byte, i int) {
	n.start, n.first = i, i
	n.plus, n.parens, n.glued, n.crowded, n.looked = false, false, false, false, false
	n.groups, n.digits = n.store[:0], n.bytes[:0]
	k := i
	if k > 0 && t[k-1] == '(' {
		k--
		n.start = k
		if k > 0 && t[k-1] == '+' {
			k--
			n.start, n.plus = k, true
		}
	} else if k > 0 && t[k-1] == '+' && (k < 2 || !isDigit(t[k-2])) {
		k--
		n.start, n.plus = k, true
		if k > 0 && t[k-1] == '(' {
			k--
			n.start = k
		}
	}
	if k > 1 && !n.plus && (t[k-1] == '-' || t[k-1] == '.' || t[k-1] == '/' || t[k-1] == '+') && (isWord(t[k-2]) || t[k-2] == '/') {
		n.glued = true
	}
	if k > 0 && (t[k-1] == '$' || t[k-1] == '#') {
		n.glued = true
	}
	if k > 1 && t[k-1] == ' ' && isDigit(t[k-2]) {
		n.crowded = true
	}
}

// read takes a number apart and returns the end of its first unit: the digits
// that are joined without spaces.
func (s *scanner) read(n *numeral, i, j int) int {
	t := s.t
	n.begin(t, i)
	unitEnd := 0
	joint := byte(0)
	for {
		n.joints[len(n.groups)] = joint
		for c := i; c < j && len(n.digits) < maxDigits; c++ {
			n.digits = append(n.digits, t[c])
		}
		n.groups = append(n.groups, group{from: i, to: j, upTo: len(n.digits)})
		// What follows: the next group, or the end.
		k := j
		joint = 0
		closes := false
		for k < len(t) && k < j+3 && numberSign(t[k]) {
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
		more := k > j && k < len(t) && isDigit(t[k]) && len(n.groups) < maxGroups && len(n.digits) < maxDigits
		n.parens = n.parens || closes && more
		last := &n.groups[len(n.groups)-1]
		if !more {
			last.unit = !(j < len(t) && (isWord(t[j]) && !(t[j]|0x20 == 'x' && j+1 < len(t) && isDigit(t[j+1])) || (t[j] == '-' || t[j] == '.' || t[j] == '/') && j+1 < len(t) && isWord(t[j+1])))
			break
		}
		if joint == ' ' {
			last.unit = true
			if unitEnd == 0 {
				unitEnd = j
			}
			if k > j+1 && t[j] == ' ' && t[j+1] == ' ' {
				break
			}
		}
		i = k
		j = k + 1
		for j < len(t) && isDigit(t[j]) {
			j++
		}
		if j < len(t) && isWord(t[j]) && !(t[j]|0x20 == 'x' || t[j]|0x20 == 'e') {
			// A word with digits: what it is joined to is no number either.
			if joint != ' ' {
				for len(n.groups) > 0 && !n.groups[len(n.groups)-1].unit {
					n.groups = n.groups[:len(n.groups)-1]
				}
			}
			break
		}
	}
	if !n.parens && !n.plus && t[n.start] == '(' {
		n.start = n.first // the bracket belongs to something else
	}
	if unitEnd == 0 {
		unitEnd = j
		if len(n.groups) > 0 {
			unitEnd = max(n.groups[0].to, n.groups[len(n.groups)-1].to)
		}
	}
	return unitEnd
}

// context is what the words in front of a number say, looked at once.
func (s *scanner) context(n *numeral) uint32 {
	if !n.looked {
		n.context, n.looked = s.before(n.start), true
	}
	return n.context
}

// numeral tries each window of units from the longest on; it returns the end
// of what was found, or 0.
func (s *scanner) numeral(n *numeral) int {
	t := s.t
	if len(n.groups) == 4 || len(n.groups) > 4 && n.joints[4] == ' ' {
		if end := s.ipv4(n); end > 0 {
			return end
		}
	}
	if n.sizes(min(len(n.groups), 3), 2, 2, 2) && n.joined(3, '-') && s.context(n)&saysRouting != 0 {
		if s.hit(Account, n.first, n.groups[2].to, 80, "named a sort code") {
			return n.groups[2].to
		}
	}
	if !n.plus {
		if end, ok := dateAt(t, n.first); ok {
			if s.context(n)&saysBirth != 0 {
				s.hit(Birthdate, n.first, end, 85, "a date behind a word for birth")
			}
			return end
		}
	}
	if n.glued {
		return s.shortOrNothing(n)
	}
	for b := len(n.groups); b > 0; b-- {
		g := n.groups[b-1]
		if !g.unit || g.upTo < 7 {
			continue
		}
		before := len(s.hits)
		if b < len(n.groups) {
			crowd := n.crowded
			n.crowded = true
			s.window(n, b)
			n.crowded = crowd
		} else {
			s.window(n, b)
		}
		if len(s.hits) > before && !s.hits[len(s.hits)-1].dropped {
			return s.hits[len(s.hits)-1].end
		}
	}
	return s.shortOrNothing(n)
}

func (s *scanner) shortOrNothing(n *numeral) int {
	if len(n.groups) > 0 && s.shortNumber(n.groups[0].from, n.groups[0].to) {
		return s.hits[len(s.hits)-1].end
	}
	return 0
}

// window tries each kind of number on the first b groups.
func (s *scanner) window(n *numeral, b int) {
	from, to := n.start, n.groups[b-1].to
	digits := n.digits[:n.groups[b-1].upTo]
	if !n.plus {
		inner := n.first
		if sure, why := s.card(n, b, digits); sure > 0 && s.hit(Card, inner, to, sure, why) {
			return
		}
		if sure, why := s.ssn(n, b, digits); sure > 0 && s.hit(SSN, inner, to, sure, why) {
			return
		}
		if sure, why := s.nationalNumber(n, b, digits); sure > 0 && s.hit(NationalID, inner, to, sure, why) {
			return
		}
		if sure, why := s.accountNumber(n, b, digits); sure > 0 && s.hit(Account, inner, to, sure, why) {
			return
		}
		if kind, sure, why := s.document(n, digits); sure > 0 && s.hit(kind, inner, to, sure, why) {
			return
		}
	}
	if sure, why := s.phone(n, b); sure > 0 {
		if n.parens && s.t[n.start] != '(' && n.start < n.first && s.t[n.start] != '+' {
			from = n.first
		}
		s.hit(Phone, from, s.extension(to), sure, why)
	}
}

// extension takes in what is written behind a phone number: ext. 12, x12.
func (s *scanner) extension(to int) int {
	t := s.t
	i := to
	for i < len(t) && i < to+2 && (t[i] == ' ' || t[i] == ',') {
		i++
	}
	rest := t[i:min(len(t), i+12)]
	n := 0
	for n < len(rest) && isLetter(rest[n]) && rest[n] < 0x80 {
		n++
	}
	switch string(rest[:n]) {
	case "x", "X", "ext", "Ext", "EXT", "extension":
	default:
		return to
	}
	for n < len(rest) && (rest[n] == '.' || rest[n] == ' ' || rest[n] == ':') {
		n++
	}
	from := n
	for n < len(rest) && isDigit(rest[n]) {
		n++
	}
	if n == from || n-from > 6 || i+n < len(t) && isWord(t[i+n]) {
		return to
	}
	return i + n
}

// american reports groups of the form 212-555-0134, with or without a 1.
func (n *numeral) american(b int) bool {
	g := n.groups[:b]
	if len(g) == 4 && g[0].to-g[0].from == 1 {
		g = g[1:]
	}
	return len(g) == 3 && g[0].to-g[0].from == 3 && g[1].to-g[1].from == 3 && g[2].to-g[2].from == 4 ||
		len(g) == 2 && g[0].to-g[0].from == 3 && g[1].to-g[1].from == 7 && n.parens
}

// phoneLike reports signs as people put them into phone numbers.
func (n *numeral) phoneLike(b int) bool {
	for _, j := range n.joints[1:b] {
		if j != ' ' && j != '-' && j != '.' && j != '/' {
			return false
		}
	}
	return true
}

// sizes compares the lengths of the first b groups.
func (n *numeral) sizes(b int, want ...int) bool {
	if b != len(want) {
		return false
	}
	for i, w := range want {
		if n.groups[i].to-n.groups[i].from != w {
			return false
		}
	}
	return true
}

// joined reports that the first b groups have the same sign between them; c 0:
// whichever.
func (n *numeral) joined(b int, c byte) bool {
	for i := 1; i < b; i++ {
		if n.joints[i] != n.joints[1] || c != 0 && n.joints[i] != c {
			return false
		}
	}
	return true
}

// single reports that digits are written one by one.
func (n *numeral) single(b int) bool {
	for _, g := range n.groups[:b] {
		if g.to-g.from != 1 {
			return false
		}
	}
	return b > 6
}
