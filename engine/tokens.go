package engine

import (
	"unicode"
	"unicode/utf8"
)

// Token counts in a Result are estimates: building the exact tokenizer takes
// longer than most runs. A text is cut where o200k cuts it (words, groups of
// three digits, runs of marks and of space), and each kind of piece counts what
// such pieces cost on average over prose, code, JSON, logs and tables.

// The kinds of pieces. Words of plain letters come by place and length.
const (
	pieceAlone  = 0             // words after a space, a line break or at the start
	pieceInner  = wordSizes     // words after anything else
	pieceMixed  = 2 * wordSizes // words next to a digit
	pieceDigits = 3*wordSizes + iota - 3
	pieceLead   // one mark right before a word
	pieceMark   // other runs of marks
	pieceMarks  // marks of a run after the second
	pieceBreak  // line breaks with the space around them
	pieceIndent // runs of two spaces or more
	pieceLatin  // letters with accents
	pieceScript // letters of other alphabets
	pieceIdeo   // ideographs and kana
	pieceOther  // anything else outside ASCII
	pieceKinds
)

// wordSizes is how many lengths of words are told apart.
const wordSizes = 14

// A large text is judged by samples spread over it.
const (
	sampleSize = 2 << 10
	samples    = 24
)

// tokens estimates how many o200k tokens a text has.
func tokens(text []byte) int64 {
	var p [pieceKinds]int
	if len(text) <= sampleSize*samples {
		countPieces(text, &p)
		return int64(weigh(&p) + 0.5)
	}
	step := (len(text) - sampleSize) / (samples - 1)
	for i := range samples {
		countPieces(text[i*step:i*step+sampleSize], &p)
	}
	return int64(weigh(&p)*float64(len(text))/(sampleSize*samples) + 0.5)
}

func weigh(p *[pieceKinds]int) float64 {
	sum := 0.0
	for i, n := range p {
		sum += float64(n) * pieceCosts[i]
	}
	return sum
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isLower(c byte) bool  { return c >= 'a' && c <= 'z' }
func isSpace(c byte) bool  { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// countPieces adds the pieces of a text to p.
func countPieces(b []byte, p *[pieceKinds]int) {
	for i := 0; i < len(b); {
		start, c := i, b[i]
		switch {
		case isLetter(c):
			// a word ends where small letters are followed by a capital
			for i++; i < len(b) && isLetter(b[i]) && (isLower(b[i]) || !isLower(b[i-1])); i++ {
			}
			if i < len(b) && isLower(b[i-1]) != isLower(c) && i-start > 2 && !isLower(b[start+1]) {
				// HTTPServer: the last capital begins the next word
				for j := start + 1; j < i; j++ {
					if isLower(b[j]) {
						i = j - 1
						break
					}
				}
			}
			kind := pieceInner
			switch {
			case start > 0 && isDigit(b[start-1]), i < len(b) && isDigit(b[i]):
				kind = pieceMixed
			case start == 0, isSpace(b[start-1]):
				kind = pieceAlone
			}
			n := i - start
			if n > wordSizes {
				p[kind+wordSizes-1] += (n + 3) / 6
				break
			}
			p[kind+n-1]++
		case isDigit(c):
			for i++; i < len(b) && isDigit(b[i]); i++ {
			}
			p[pieceDigits] += (i - start + 2) / 3
		case isSpace(c):
			breaks := false
			for ; i < len(b) && isSpace(b[i]); i++ {
				breaks = breaks || b[i] == '\n'
			}
			switch {
			case breaks:
				p[pieceBreak]++
				if last := b[i-1]; last != '\n' && i-start > 2 {
					p[pieceIndent]++
				}
			case i-start > 1:
				p[pieceIndent]++
			}
		case c < utf8.RuneSelf:
			for i++; i < len(b) && b[i] < utf8.RuneSelf && !isLetter(b[i]) && !isDigit(b[i]) && !isSpace(b[i]); i++ {
			}
			n := i - start
			if n == 1 && i < len(b) && isLetter(b[i]) {
				p[pieceLead]++
				break
			}
			p[pieceMark]++
			p[pieceMarks] += max(n-2, 0)
		default:
			r, n := utf8.DecodeRune(b[i:])
			i += n
			switch {
			case r < 0x250:
				p[pieceLatin]++
			case r >= 0x2e80 && r < 0xa4d0, r >= 0xac00 && r < 0xd7b0, r >= 0xf900 && r < 0xfb00, r >= 0x20000:
				p[pieceIdeo]++
			case unicode.IsLetter(r), unicode.Is(unicode.Mn, r):
				p[pieceScript]++
			default:
				p[pieceOther]++
			}
		}
	}
}

// pieceCosts are the average tokens of a piece of each kind, fitted against
// o200k over sources, documents, JSON, tables and logs.
var pieceCosts = [pieceKinds]float64{
	1.04, 0.92, 0.67, 0.83, 1.03, 1.06, 0.94, 1.19, 1.42, 1.51, 1.65, 1.83, 1.93, 2.04,
	1.54, 0.98, 0.51, 0.61, 0.84, 1.11, 1.13, 1.44, 1.44, 1.58, 1.69, 1.82, 1.94, 1.99,
	1.13, 1.00, 0.98, 0.97, 0.99, 1.13, 1.25, 1.37, 1.48, 1.60, 1.72, 1.84, 1.96, 2.08,
	1.03, 0.81, 1.05, 0.41, 0.52, 0.78, 0.99, 0.65, 0.93, 1.14,
}
