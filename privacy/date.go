package privacy

import "strings"

// dateAt reads a date in numbers or with the name of a month at the start of a
// number, with a time behind it, and gives its end.
func dateAt(t []byte, i int) (int, bool) {
	a, n := digitsAt(t, i)
	if n == 0 || n > 4 {
		return 0, false
	}
	j := i + n
	if j+1 >= len(t) {
		return 0, false
	}
	sign := t[j]
	if sign == '-' || sign == '/' || sign == '.' {
		b, m := digitsAt(t, j+1)
		if m > 0 && m <= 2 {
			k := j + 1 + m
			if k+1 < len(t) && t[k] == sign {
				c, o := digitsAt(t, k+1)
				end := k + 1 + o
				switch {
				case n == 4 && o > 0 && o <= 2 && year(a) && month(b) && day(c):
				case n <= 2 && (o == 4 && year(c) || o == 2 && (sign != '-' || m == 2)) && (day(a) && month(b) || month(a) && day(b)):
				default:
					return 0, false
				}
				if end < len(t) && (isDigit(t[end]) || t[end] == sign && end+1 < len(t) && isDigit(t[end+1])) {
					return 0, false
				}
				return timeAfter(t, end), true
			}
		}
		// 2.3.1980 with spaces, as in German: 2. 3. 1980
	}
	// 12 March 1980, 12. März 1980, 12 de marzo de 1980
	if n <= 2 && day(a) {
		k := j
		for k < len(t) && k < j+5 && (t[k] == '.' || t[k] == ' ' || isLetter(t[k]) && k+1 < len(t) && string(t[k:k+2]) == "de") {
			if isLetter(t[k]) {
				k += 2
				continue
			}
			k++
		}
		if end, ok := yearBehindMonth(t, k); ok {
			return end, true
		}
	}
	return 0, false
}

// monthDate reads March 12, 1980 at a word.
func monthDate(t []byte, i, j int) (int, bool) {
	if !monthName(t[i:j]) {
		return 0, false
	}
	for j < len(t) && (t[j] == '.' || t[j] == ' ') {
		j++
	}
	d, n := digitsAt(t, j)
	if n == 0 || n > 2 || !day(d) {
		return 0, false
	}
	j += n
	for k := 0; k < 2 && j < len(t) && isLetter(t[j]); k++ { // th
		j++
	}
	for j < len(t) && (t[j] == ',' || t[j] == ' ') {
		j++
	}
	y, n := digitsAt(t, j)
	if n != 4 || !year(y) {
		return 0, false
	}
	return j + n, true
}

func yearBehindMonth(t []byte, k int) (int, bool) {
	w := k
	for w < len(t) && w < k+14 && isLetter(t[w]) {
		w++
	}
	if !monthName(t[k:w]) {
		return 0, false
	}
	for w < len(t) && w < k+22 && (t[w] == '.' || t[w] == ' ' || t[w] == ',' || t[w] == 'd' || t[w] == 'e' || t[w] == 'l') {
		w++
	}
	y, n := digitsAt(t, w)
	if n != 4 || !year(y) {
		return 0, false
	}
	return w + n, true
}

// timeAfter takes in a time of day behind a date.
func timeAfter(t []byte, i int) int {
	if i+3 < len(t) && (t[i] == 'T' || t[i] == ' ') && isDigit(t[i+1]) {
		k := i + 1
		for k < len(t) && k < i+20 && (isDigit(t[k]) || t[k] == ':' || t[k] == '.') {
			k++
		}
		if k > i+5 && strings.IndexByte(string(t[i:k]), ':') > 0 {
			return k
		}
	}
	return i
}

func digitsAt(t []byte, i int) (value, n int) {
	for i+n < len(t) && isDigit(t[i+n]) && n < 5 {
		value = value*10 + int(t[i+n]-'0')
		n++
	}
	return value, n
}

func year(n int) bool  { return n >= 1880 && n <= 2100 }
func month(n int) bool { return n >= 1 && n <= 12 }
func day(n int) bool   { return n >= 1 && n <= 31 }

// months are names of months in five languages, and their short forms.
const months = "january february march april may june july august september october november december jan feb mar apr jun jul aug sep sept oct nov dec " +
	"januar februar märz maerz mai juni juli oktober dezember mär okt dez janvier février fevrier mars avril juin juillet août aout septembre octobre novembre décembre decembre " +
	"enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre gennaio febbraio aprile maggio giugno luglio settembre ottobre dicembre "

func monthName(w []byte) bool {
	var low [12]byte
	if len(w) < 3 || len(w) > len(low) {
		return false
	}
	for i, c := range w {
		if isUpper(c) {
			c |= 0x20
		}
		low[i] = c
	}
	return words().names[string(low[:len(w)])]&monthWord != 0
}
