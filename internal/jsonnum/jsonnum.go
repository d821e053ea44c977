// Package jsonnum reads the numbers of JSON so that large integers keep every
// digit. A policy that decides on a rounded number decides on another one than
// the tool gets.
//
// A number is a float64 or, if it is an integer of 2^53 or more, a json.Number
// with its digits and nothing else. Thus two numbers are equal exactly if they
// are == as interface values.
package jsonnum

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
)

// ErrRange is returned for a number that is larger than a float64 can be.
var ErrRange = errors.New("the number is too large")

// largest is where a float64 ceases to have every integer.
const largest = 1 << 53

// Parse returns the number that a JSON text writes. exact is false if the text
// has a fraction with more digits than a float64 has: the number is then the
// nearest float64.
func Parse(text string) (n any, exact bool, err error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, false, ErrRange
	}
	if math.Abs(f) < largest && len(text) <= 15 && strings.IndexByte(text, 'e') < 0 && strings.IndexByte(text, 'E') < 0 {
		return f, true, nil // a float64 has 15 digits
	}
	switch d := parse(text); {
	case f == 0:
		return f, d.digits == "", nil
	case math.Abs(f) < largest:
		return f, d == parse(strconv.FormatFloat(f, 'e', -1, 64)), nil
	case d.exp < 0: // a fraction
		return json.Number(strconv.FormatFloat(f, 'f', 0, 64)), false, nil
	default:
		return json.Number(d.sign + d.digits + strings.Repeat("0", d.exp)), true, nil
	}
}

// decimal is sign, digits and a power of ten: -12e3. The digits neither begin nor
// end with 0; those of 0 are empty.
type decimal struct {
	sign, digits string
	exp          int
}

func parse(text string) decimal {
	var d decimal
	text, negative := strings.CutPrefix(text, "-")
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		d.exp, _ = strconv.Atoi(text[i+1:]) // out of range: the number is 0 or was refused
		text = text[:i]
	}
	whole, fraction, _ := strings.Cut(text, ".")
	d.exp -= len(fraction)
	digits := strings.TrimLeft(whole+fraction, "0")
	d.digits = strings.TrimRight(digits, "0")
	d.exp += len(digits) - len(d.digits)
	switch {
	case d.digits == "":
		return decimal{}
	case negative:
		d.sign = "-"
	}
	return d
}

// Decode decodes one JSON value as encoding/json does, with the numbers of Parse.
func Decode(doc []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("unexpected data after the value")
	}
	return convert(v)
}

// convert replaces the numbers in a decoded value.
func convert(v any) (any, error) {
	var err error
	switch v := v.(type) {
	case json.Number:
		n, _, err := Parse(string(v))
		return n, err
	case []any:
		for i := range v {
			if v[i], err = convert(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for key := range v {
			if v[key], err = convert(v[key]); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// Compare compares two numbers as cmp.Compare does.
func Compare(a, b any) int {
	x, xIsFloat := a.(float64)
	y, yIsFloat := b.(float64)
	switch {
	case xIsFloat && yIsFloat:
		return cmp.Compare(x, y)
	case xIsFloat: // less far from 0 than b
		return -sign(b)
	case yIsFloat:
		return sign(a)
	}
	s, t := digits(a), digits(b)
	if sign(a) != sign(b) {
		return sign(a)
	}
	return sign(a) * cmp.Or(cmp.Compare(len(s), len(t)), cmp.Compare(s, t))
}

func sign(integer any) int {
	if strings.HasPrefix(string(integer.(json.Number)), "-") {
		return -1
	}
	return 1
}

func digits(integer any) string { return strings.TrimPrefix(string(integer.(json.Number)), "-") }

// Float returns the float64 that is nearest to a number.
func Float(n any) float64 {
	if f, ok := n.(float64); ok {
		return f
	}
	f, _ := n.(json.Number).Float64()
	return f
}
