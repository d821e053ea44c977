package privacy

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/wexec/wexec/privacy"
)

// goal is what a kind must reach, in percent.
type goal struct{ precision, recall float64 }

func goalOf(k privacy.Kind) goal {
	switch k {
	case privacy.Phone, privacy.Secret:
		return goal{97, 97}
	case privacy.Name, privacy.Address:
		return goal{90, 90}
	}
	return goal{99, 99}
}

func detector(t testing.TB) *privacy.Detector {
	t.Helper()
	d, err := privacy.NewDetector(privacy.Config{Regions: phoneRegions})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// report prints the figures and checks the goals.
func report(t *testing.T, scores map[privacy.Kind]*Score) {
	t.Helper()
	t.Logf("%-11s %6s %6s %6s %9s %8s %7s", "kind", "there", "found", "false", "precision", "recall", "F1")
	for _, info := range privacy.Kinds() {
		s := scores[info.Kind]
		if s == nil {
			continue
		}
		t.Logf("%-11s %6d %6d %6d %8.2f%% %7.2f%% %6.2f%%", info.Kind, s.Found+s.Missed, s.Found, s.False, s.Precision(), s.Recall(), s.F1())
		for _, m := range s.Misses {
			t.Logf("   missed %s", m)
		}
		for _, m := range s.Alarms {
			t.Logf("   false  %s", m)
		}
		g := goalOf(info.Kind)
		if s.Precision() < g.precision || s.Recall() < g.recall {
			t.Errorf("%s: precision %.2f%%, recall %.2f%%; the goal is %.0f and %.0f", info.Kind, s.Precision(), s.Recall(), g.precision, g.recall)
		}
	}
}

func TestGeneratedCorpusReachesTheGoals(t *testing.T) {
	n := 1000
	if testing.Short() {
		n = 250
	}
	report(t, Measure(detector(t), Generate(1, n)))
}

func hardLines(t testing.TB) []Sample {
	t.Helper()
	f, err := os.Open("testdata/hard.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []Sample
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		if line == "" || strings.HasPrefix(line, "## ") {
			continue
		}
		s, err := Parse(fmt.Sprintf("hard.txt:%d", n), line)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

func TestHardLinesReachTheGoals(t *testing.T) {
	lines := hardLines(t)
	if len(lines) < 400 {
		t.Errorf("there are %d hard lines; want at least 400", len(lines))
	}
	t.Logf("%d lines", len(lines))
	report(t, Measure(detector(t), lines))
}

// TestTheDocumentStatesTheGoals compares docs/operate/privacy.md with the goals of
// the tests.
func TestTheDocumentStatesTheGoals(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	others, phone, name := goalOf(privacy.Email), goalOf(privacy.Phone), goalOf(privacy.Name)
	for _, want := range []string{
		fmt.Sprintf("precision and recall are at least %.0f %% for structured kinds, %.0f %% for telephone numbers and secrets, and %.0f %% for names and addresses", others.recall, phone.recall, name.recall),
		fmt.Sprintf("scans %.0f MB per second of answers without personal data, and %.0f MB per second if every record has some", plainSpeed, denseSpeed),
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("docs/operate/privacy.md does not say %q", want)
		}
	}
}

func TestGeneratorIsTheSameForASeed(t *testing.T) {
	a, b := Generate(7, 20), Generate(7, 20)
	if !slices.EqualFunc(a, b, func(x, y Sample) bool { return x.Text == y.Text }) {
		t.Error("two runs with one seed differ")
	}
}
