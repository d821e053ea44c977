package match

import (
	"strings"
	"testing"
)

func TestHeadingsOfLabelsAreKnown(t *testing.T) {
	for line := range strings.Lines(labelWords) {
		if line[0] != '[' {
			continue
		}
		heading, about := strings.CutPrefix(strings.Trim(line, "[]\n"), "about ")
		heading = strings.TrimSuffix(heading, " weak")
		if contextOf(Kind(heading)) == 0 && (about && contexts[heading] == 0 || !about && heading != "none") {
			t.Errorf("labels.txt: unknown heading %s", line)
		}
	}
}
