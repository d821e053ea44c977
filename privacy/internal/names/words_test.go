package names

import (
	"strings"
	"testing"
)

func TestHeadingsOfWordsAreKnown(t *testing.T) {
	for line := range strings.Lines(words) {
		if line[0] != '[' {
			continue
		}
		for name := range strings.FieldsSeq(strings.Trim(line, "[]\n")) {
			if roleNames[name] == 0 {
				t.Errorf("words.txt: unknown role %s", name)
			}
		}
	}
}
