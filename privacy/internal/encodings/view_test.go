package encodings

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestPlacesInJSONAreThoseOfTheText converts spans of random texts and compares
// what they hold.
func TestPlacesInJSONAreThoseOfTheText(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	parts := []string{"a", "ü", `\n`, `\"`, `\u0041`, `\u00fc`, `\ud83d\ude00`, "word", "  ", `\/`}
	for range 5000 {
		var raw strings.Builder
		starts := []int{}
		for range r.IntN(12) {
			starts = append(starts, raw.Len())
			raw.WriteString(parts[r.IntN(len(parts))])
		}
		starts = append(starts, raw.Len())
		src := []byte(raw.String())
		text := TextOfJSON(src)
		var want string
		if err := json.Unmarshal([]byte(`"`+raw.String()+`"`), &want); err != nil || want != string(text) {
			t.Fatalf("%s: text %q, want %q, %v", src, text, want, err)
		}
		// spans between parts
		var offsets, wants []int
		at := 0
		for i := 0; i+1 < len(starts); i++ {
			size := len(TextOfJSON(src[starts[i]:starts[i+1]]))
			if r.IntN(2) == 0 {
				offsets, wants = append(offsets, at, at+size), append(wants, starts[i], starts[i+1])
			}
			at += size
		}
		got := append([]int(nil), offsets...)
		PlacesInJSON(src, got)
		for i := range got {
			if got[i] != wants[i] {
				t.Fatalf("%s: offsets %v give %v, want %v", src, offsets, got, wants)
			}
		}
	}
	inside := []int{1, 2} // the second of the four bytes of 😀
	PlacesInJSON([]byte(`\ud83d\ude00!`), inside)
	if inside[0] != 0 || inside[1] != 12 {
		t.Errorf("a span inside an escape is %v", inside)
	}
}

// TestAViewIsSmall decodes a text of nothing but encoded characters.
func TestAViewIsSmall(t *testing.T) {
	src := bytes.Repeat([]byte("%41"), 1<<18)
	allocated := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			Rounds(src)
		}
	}).AllocedBytesPerOp()
	if allocated > int64(len(src))*25 {
		t.Errorf("%d bytes for a text of %d", allocated, len(src))
	}
}
