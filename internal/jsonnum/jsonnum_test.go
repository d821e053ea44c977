package jsonnum

import (
	"encoding/json"
	"fmt"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func TestIntegersKeepEveryDigit(t *testing.T) {
	for text, want := range map[string]any{
		"0":                      0.0,
		"-0":                     0.0,
		"1":                      1.0,
		"1.0":                    1.0,
		"1e0":                    1.0,
		"0.1":                    0.1,
		"-1.5e2":                 -150.0,
		"9007199254740991":       9007199254740991.0,
		"-9007199254740991":      -9007199254740991.0,
		"9007199254740992":       json.Number("9007199254740992"),
		"9007199254740993":       json.Number("9007199254740993"),
		"9007199254740993.0":     json.Number("9007199254740993"),
		"9.007199254740993e15":   json.Number("9007199254740993"),
		"90071992547409930E-1":   json.Number("9007199254740993"),
		"-9007199254740993":      json.Number("-9007199254740993"),
		"18446744073709551616":   json.Number("18446744073709551616"),
		"1e3":                    1000.0,
		"1E+20":                  json.Number("100000000000000000000"),
		"00.1e1":                 1.0, // not JSON
		"1000000000000000":       1e15,
		"0.0000000000000001e16":  1.0,
		"0e99999999999999999999": 0.0,
	} {
		if n, exact, err := Parse(text); n != want || !exact || err != nil {
			t.Errorf("%s is %#v, exact %v: %v", text, n, exact, err)
		}
	}
	for text, want := range map[string]float64{
		"0.1000000000000000055511151231257827": 0.1, "1e-400": 0, "1.5e-99999999999999999999": 0, "100.00000000000000000001": 100, "9007199254740990.5": 9007199254740990,
	} {
		if n, exact, err := Parse(text); n != want || exact || err != nil {
			t.Errorf("%s is %#v, exact %v: %v", text, n, exact, err)
		}
	}
	for _, text := range []string{"1e400", "-1e309"} {
		if _, _, err := Parse(text); err != ErrRange {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A text that is exact has the value of the number, and numbers compare as their
// texts do.
func TestNumbersAreThoseOfTheirTexts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var texts [2]string
		var numbers [2]any
		var values [2]*big.Rat
		near := rapid.SampledFrom([]int64{0, 1, 1 << 53, 1<<63 - 1, -1 << 53}).Draw(t, "near")
		for i := range texts {
			n := new(big.Int).Add(big.NewInt(near), big.NewInt(int64(rapid.IntRange(-3, 3).Draw(t, "offset"))))
			texts[i] = n.String() + rapid.SampledFrom([]string{"", "0", ".0", ".5", "e1", "e-1", "00e-2", "E+20", ".25e1"}).Draw(t, "form")
			var exact bool
			var err error
			if numbers[i], exact, err = Parse(texts[i]); err != nil {
				t.Fatal(err)
			}
			values[i], _ = new(big.Rat).SetString(texts[i])
			written, err := json.Marshal(numbers[i])
			if err != nil {
				t.Fatal(err)
			}
			if value, _ := new(big.Rat).SetString(string(written)); exact != (value.Cmp(values[i]) == 0) {
				t.Fatalf("%s is written %s, exact %v", texts[i], written, exact)
			}
			values[i], _ = new(big.Rat).SetString(string(written))
		}
		if got, want := Compare(numbers[0], numbers[1]), values[0].Cmp(values[1]); got != want || (numbers[0] == numbers[1]) != (want == 0) {
			t.Fatalf("%s and %s compare as %d, not %d", texts[0], texts[1], got, want)
		}
	})
}

func TestDecodeReadsNumbersEverywhere(t *testing.T) {
	v, err := Decode([]byte(`{"a":[9007199254740993,{"b":1}],"c":"9007199254740993"}`))
	if got := fmt.Sprintf("%#v", v); err != nil || got != `map[string]interface {}{"a":[]interface {}{"9007199254740993", map[string]interface {}{"b":1}}, "c":"9007199254740993"}` {
		t.Errorf("%s %v", got, err)
	}
	for _, doc := range []string{`1 2`, `{"a":1e999}`, `[`, ``} {
		if v, err := Decode([]byte(doc)); err == nil {
			t.Errorf("%s is %v", doc, v)
		}
	}
}
