package toolmeta

import (
	"strings"
	"testing"
)

func TestCleaningTwiceIsCleaningOnce(t *testing.T) {
	for _, s := range []string{"plain", "<b>x", "<<b>i>y", "a\u202eb", "\xff\xfe", strings.Repeat("é", 300), "<!--<!-- -->-->"} {
		once := Text(s, 200)
		if strings.ContainsAny(once, "\u202e\x1b") || len(once) > 200 {
			t.Errorf("%q becomes %q", s, once)
		}
		if again := Text(once, 200); again != once {
			t.Errorf("%q becomes %q, and then %q", s, once, again)
		}
	}
}
