package privacy

import (
	"bufio"
	"os"
	"strings"
	"testing"

	"github.com/wexec/wexec/privacy"
)

// documentLines are numbers of documents behind their words, made by the formats
// that countries publish. Each line begins with the country.
func documentLines(t *testing.T) []Sample {
	t.Helper()
	f, err := os.Open("testdata/documents.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []Sample
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if line := lines.Text(); line != "" && !strings.HasPrefix(line, "## ") {
			country, text, _ := strings.Cut(line, " ")
			s, err := Parse(country, text)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, s)
		}
	}
	return all
}

func TestNumbersOfDocumentsAreFoundBehindTheirWords(t *testing.T) {
	scores := Measure(detector(t), documentLines(t))
	for _, kind := range []privacy.Kind{privacy.Passport, privacy.NationalID, privacy.VAT, privacy.Licence} {
		s := scores[kind]
		t.Logf("%-10s %d of %d", kind, s.Found, s.Found+s.Missed)
		for _, m := range s.Misses {
			t.Logf("   missed %s", m)
		}
		for _, m := range s.Alarms {
			t.Logf("   false  %s", m)
		}
		if s.Recall() < 95 || s.Precision() < 99 {
			t.Errorf("%s: precision %.1f%%, recall %.1f%%", kind, s.Precision(), s.Recall())
		}
	}
}
