// Package tokens estimates how many tokens of the o200k vocabulary a text has.
// Building the exact tokenizer takes longer than most runs. A text is split
// exactly where o200k splits it: words with the one character before them, up to
// three digits, runs of punctuation, line breaks and space. Most pieces are one
// token; words and long runs of punctuation count as what such pieces cost on
// average over prose, code, JSON, logs and tables.
package tokens

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// The kinds of words, by what precedes them and by their case.
const (
	leadNone = iota
	leadSpace
	leadMark
	leadDigit // a digit before or after it
	leads
)
const (
	caseLower = iota
	caseTitle
	caseOther
	cases
)

// wordSizes is the number of word lengths with separate costs.
const wordSizes = 14

// A large text is estimated from samples spread over it.
const (
	sampleSize = 2 << 10
	samples    = 24
)

// Estimate returns about how many o200k tokens a text has.
func Estimate(text []byte) int64 {
	if len(text) <= sampleSize*samples {
		return int64(pieces(text) + 0.5)
	}
	sum, size := 0.0, 0
	step := (len(text) - sampleSize) / (samples - 1)
	for i := range samples {
		part := text[i*step : i*step+sampleSize]
		sum += pieces(part)
		size += len(part)
	}
	return int64(sum*float64(len(text))/float64(size) + 0.5)
}

func isUpper(c byte) bool  { return c >= 'A' && c <= 'Z' }
func isLower(c byte) bool  { return c >= 'a' && c <= 'z' }
func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isSpace(c byte) bool  { return c == ' ' || c >= '\t' && c <= '\r' }
func isMark(c byte) bool {
	return c < utf8.RuneSelf && !isLetter(c) && !isDigit(c) && !isSpace(c)
}

// pieces returns the sum of the costs of a text's pieces.
func pieces(b []byte) float64 {
	sum := 0.0
	for i := 0; i < len(b); {
		c := b[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRune(b[i:])
			i += n
			sum += foreign(r)
			continue
		}
		lead := leadNone
		word := i
		if c != '\r' && c != '\n' && !isLetter(c) && !isDigit(c) && i+1 < len(b) && isLetter(b[i+1]) {
			word++
			if lead = leadMark; c == ' ' {
				lead = leadSpace
			}
		}
		switch {
		case isLetter(b[word]):
			end, style := wordEnd(b, word)
			if (i > 0 && isDigit(b[i-1])) || (end < len(b) && isDigit(b[end])) {
				lead = leadDigit
			}
			n := end - word
			if cost := &wordCosts[lead][style]; n <= wordSizes {
				sum += float64(cost[n-1])
			} else {
				sum += float64(cost[wordSizes-1]) + longWord*float64(n-wordSizes)
			}
			i = end
			if i+1 < len(b) && b[i] == '\'' {
				i += contraction(b[i+1:])
			}
		case isDigit(c):
			n := 1
			for i++; i < len(b) && n < 3 && isDigit(b[i]); i++ {
				n++
			}
			sum++
		case isMark(c), c == ' ' && i+1 < len(b) && isMark(b[i+1]):
			if c == ' ' {
				i++
			}
			start := i
			for i++; i < len(b) && isMark(b[i]); i++ {
			}
			sum += marks(b[start:i])
			for ; i < len(b) && (b[i] == '\n' || b[i] == '\r' || b[i] == '/'); i++ {
			}
		default:
			end, last := i, -1
			for ; end < len(b) && isSpace(b[end]); end++ {
				if b[end] == '\n' || b[end] == '\r' {
					last = end
				}
			}
			sum++
			switch {
			case last >= 0:
				i = last + 1
			case end-i > 1 && end < len(b):
				i = end - 1
			default:
				i = end
			}
		}
	}
	return sum
}

// wordEnd returns the end of a word, which is capitals and then small letters,
// and its case.
func wordEnd(b []byte, i int) (end, style int) {
	start := i
	for ; i < len(b) && isUpper(b[i]); i++ {
	}
	capitals := i - start
	for ; i < len(b) && isLower(b[i]); i++ {
	}
	switch {
	case capitals == 0:
		return i, caseLower
	case capitals == 1 && i > start+1:
		return i, caseTitle
	}
	return i, caseOther
}

// contraction returns the length of 's and the like after a word, or 0.
func contraction(rest []byte) int {
	switch c := rest[0] | 0x20; {
	case c == 's', c == 't', c == 'm', c == 'd':
		return 2
	case len(rest) > 1:
		switch string([]byte{c, rest[1] | 0x20}) {
		case "re", "ve", "ll":
			return 3
		}
	}
	return 0
}

// marks returns the cost of a run of punctuation.
func marks(run []byte) float64 {
	switch len(run) {
	case 1:
		return 1
	case 2:
		if n := pairOf(run[0], run[1]); pairs[n/64]>>(n%64)&1 != 0 {
			return 1
		}
		return 2
	}
	switch {
	case bytes.Count(run, run[:1]) == len(run): // a ruler of one character
		return max(1, min(1+float64(len(run)-8)/16, 1.5), float64(len(run))/70)
	case len(run) == 3:
		if marks(run[:2])+marks(run[1:]) == 2 {
			return 1
		}
		return 2
	}
	switch string(run) { // common in JSON and code
	case `":{"`, `":["`, `},{"`, `"},{"`, `":[]`, `":{}`, `");`, `});`, `"}}`, `://`:
		return 1
	}
	return max(2, runCost*float64(len(run)))
}

// pairOf returns the number of a pair of punctuation characters.
func pairOf(a, b byte) int { return markNumber(a)<<5 | markNumber(b) }

// markNumber returns the number of a punctuation character of ASCII, of which
// there are 32. Control characters have the first number.
func markNumber(c byte) int {
	switch {
	case c >= '!' && c <= '/':
		return int(c - '!')
	case c >= ':' && c <= '@':
		return int(c-':') + 15
	case c >= '[' && c <= '`':
		return int(c-'[') + 22
	case c >= '{' && c <= '~':
		return int(c-'{') + 28
	}
	return 0
}

// foreign returns the cost of a character outside ASCII.
func foreign(r rune) float64 {
	switch {
	case r < 0x250:
		return 0.99
	case r >= 0x2e80 && r < 0xa4d0, r >= 0xac00 && r < 0xd7b0, r >= 0xf900 && r < 0xfb00, r >= 0x20000:
		return 0.93
	case unicode.IsLetter(r), unicode.Is(unicode.Mn, r):
		return 0.65
	}
	return 1.14
}
