package privacy

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/wexec/wexec/internal/tools/figures"
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

const writeDocuments = "go test ./tests/privacy -run NumbersOfDocuments -update"

// TestNumbersOfDocumentsAreFoundBehindTheirWords compares the figures of
// docs/operate/privacy.md with those that it measures.
func TestNumbersOfDocumentsAreFoundBehindTheirWords(t *testing.T) {
	scores := Measure(detector(t), documentLines(t))
	var found []string
	for _, k := range []struct {
		kind privacy.Kind
		name string
	}{{privacy.Passport, "passports"}, {privacy.NationalID, "national numbers"}, {privacy.VAT, "VAT numbers"}, {privacy.Licence, "driving licences"}} {
		kind, s := k.kind, scores[k.kind]
		found = append(found, fmt.Sprintf("%d of %d %s", s.Found, s.Found+s.Missed, k.name))
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
	figures.Compare(t, page, writeDocuments, "Found on "+figures.Today+": "+strings.Join(found, ", ")+".\n", *update)
}
