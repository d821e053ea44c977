package text

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
)

func TestALongTextMatchesAsAShortOne(t *testing.T) {
	for _, n := range []int{0, 10, maxPiece - 3, maxPiece, 3 * maxPiece} {
		s := strings.Repeat("ä", n/2) + "error: x"
		for pattern, want := range map[string]bool{`error: \w$`: true, `^error`: n < 2, `ä{20}error`: n >= 40, `warning`: false} {
			if got, err := Match(t.Context(), regexp.MustCompile(pattern), []byte(s)); got != want || err != nil {
				t.Errorf("%s in %d bytes: %t, %v", pattern, len(s), got, err)
			}
		}
	}
}

func TestTheEndOfTheContextEndsAMatch(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	why := errors.New("enough")
	read := 0
	r := &runes{ctx: ctx, text: bytes.NewReader(make([]byte, 1<<20))}
	for {
		if _, _, err := r.ReadRune(); err != nil {
			break
		}
		if read++; read == 5000 {
			cancel(why)
		}
	}
	if read > 5000+maxPiece {
		t.Errorf("%d bytes were read after the end", read-5000)
	}
	if _, err := Match(ctx, regexp.MustCompile("a"), []byte("a")); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
}
