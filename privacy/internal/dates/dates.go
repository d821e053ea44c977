// Package dates reads dates as people write them in English, German, French,
// Spanish and Italian: 1980-03-12, 12.3.80, 12. März 1980, March 12, 1980.
package dates

import (
	"bytes"
	"sync"

	"github.com/wexec/wexec/privacy/internal/char"
)

// At reads a date that begins with a number at i, and a time of day behind it.
// It returns where they end.
func At(t []byte, i int) (end int, ok bool) {
	a, n := char.Number(t, i)
	if n == 0 || n > 4 {
		return 0, false
	}
	j := i + n
	if j+1 >= len(t) {
		return 0, false
	}
	sign := t[j]
	if sign == '-' || sign == '/' || sign == '.' {
		b, m := char.Number(t, j+1)
		if m > 0 && m <= 2 {
			k := j + 1 + m
			if k+1 < len(t) && t[k] == sign {
				c, o := char.Number(t, k+1)
				end := k + 1 + o
				switch {
				case n == 4 && o > 0 && o <= 2 && Year(a) && month(b) && day(c):
				case n <= 2 && (o == 4 && Year(c) || o == 2 && (sign != '-' || m == 2)) && (day(a) && month(b) || month(a) && day(b)):
				default:
					return 0, false
				}
				if o == 2 && end < len(t) && t[end] == '-' {
					if _, digits := char.Number(t, end+1); digits == 3 {
						return 0, false // a national number that begins with a birthday
					}
				}
				if end < len(t) && (char.IsDigit(t[end]) || t[end] == sign && end+1 < len(t) && char.IsDigit(t[end+1])) {
					return 0, false
				}
				return timeAfter(t, end), true
			}
		}
	}
	// 12 March 1980, 12. März 1980, 12 de marzo de 1980
	if n <= 2 && day(a) {
		k := j
		for k < len(t) && k < j+5 && (t[k] == '.' || t[k] == ' ' || char.IsLetter(t[k]) && k+1 < len(t) && string(t[k:k+2]) == "de") {
			if char.IsLetter(t[k]) {
				k++
			}
			k++
		}
		return monthAndYear(t, k)
	}
	return 0, false
}

// WithMonth reads a date whose first word is t[i:j]: March 12, 1980.
func WithMonth(t []byte, i, j int) (end int, ok bool) {
	if !isMonth(t[i:j]) {
		return 0, false
	}
	for j < len(t) && (t[j] == '.' || t[j] == ' ') {
		j++
	}
	d, n := char.Number(t, j)
	if n == 0 || n > 2 || !day(d) {
		return 0, false
	}
	j += n
	for k := 0; k < 2 && j < len(t) && char.IsLetter(t[j]); k++ { // th
		j++
	}
	for j < len(t) && (t[j] == ',' || t[j] == ' ') {
		j++
	}
	y, n := char.Number(t, j)
	return j + n, n == 4 && Year(y)
}

func monthAndYear(t []byte, k int) (int, bool) {
	w := k
	for w < len(t) && w < k+14 && char.IsLetter(t[w]) {
		w++
	}
	if !isMonth(t[k:w]) {
		return 0, false
	}
	for w < len(t) && w < k+22 && (t[w] == '.' || t[w] == ' ' || t[w] == ',' || t[w] == 'd' || t[w] == 'e' || t[w] == 'l') {
		w++
	}
	y, n := char.Number(t, w)
	return w + n, n == 4 && Year(y)
}

// timeAfter is the end of a time of day behind a date, or i.
func timeAfter(t []byte, i int) int {
	if i+3 < len(t) && (t[i] == 'T' || t[i] == ' ') && char.IsDigit(t[i+1]) {
		k := i + 1
		for k < len(t) && k < i+20 && (char.IsDigit(t[k]) || t[k] == ':' || t[k] == '.') {
			k++
		}
		if k > i+5 && bytes.IndexByte(t[i:k], ':') > 0 {
			return k
		}
	}
	return i
}

// Year reports a year that a person of today may be born or act in.
func Year(n int) bool  { return n >= 1880 && n <= 2100 }
func month(n int) bool { return n >= 1 && n <= 12 }
func day(n int) bool   { return n >= 1 && n <= 31 }

// Months are names of months and their short forms, in lower case.
const Months = "january february march april may june july august september october november december jan feb mar apr jun jul aug sep sept oct nov dec " +
	"januar februar märz maerz mai juni juli oktober dezember mär okt dez janvier février fevrier mars avril juin juillet août aout septembre octobre novembre décembre decembre " +
	"enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre gennaio febbraio aprile maggio giugno luglio settembre ottobre dicembre "

var months = sync.OnceValue(func() map[string]bool { return char.Set(true, Months) })

func isMonth(w []byte) bool {
	var store [24]byte
	return len(w) >= 3 && len(w) <= 12 && months()[string(char.Lower(&store, w))]
}
