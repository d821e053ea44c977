package privacy

import (
	"bufio"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/wexec/wexec/privacy"
)

// runningText reads a file whose lines begin with a language.
func runningText(t *testing.T, file string) map[string][]Sample {
	t.Helper()
	f, err := os.Open("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all := make(map[string][]Sample)
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		language, text, _ := strings.Cut(lines.Text(), " ")
		s, err := Parse(language, text)
		if err != nil {
			t.Fatal(err)
		}
		all[language] = append(all[language], s)
	}
	return all
}

// TestPeopleAreFoundInRunningText prints the figures of docs/operate/privacy.md.
func TestPeopleAreFoundInRunningText(t *testing.T) {
	d := detector(t)
	for _, file := range []string{"people-built.txt", "people.txt"} {
		all := runningText(t, file)
		for _, language := range slices.Sorted(maps.Keys(all)) {
			streets := func(s Sample) bool { return len(s.Truth) > 0 && s.Truth[0].Kind == privacy.Address }
			// Streets are named for people: a name in a street that is missed is not a false
			// alarm.
			names := Measure(d, slices.DeleteFunc(slices.Clone(all[language]), streets))[privacy.Name]
			addresses := Measure(d, all[language])[privacy.Address]
			t.Logf("%-16s %s: names %3.0f%% of %d, precision %.0f%%; streets %3.0f%% of %d, precision %.0f%%", file, language,
				names.Recall(), names.Found+names.Missed, names.Precision(), addresses.Recall(), addresses.Found+addresses.Missed, addresses.Precision())
			for _, alarm := range append(names.Alarms, addresses.Alarms...) {
				t.Logf("   false %s", alarm)
			}
			if file == "people.txt" && (names.Recall() < 75 || addresses.Recall() < 80 || min(names.Precision(), addresses.Precision()) < 95) {
				t.Errorf("%s: the goals are 75%% of names and 80%% of streets with a precision of 95%%", language)
			}
		}
	}
}
