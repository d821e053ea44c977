package privacy

import (
	"bufio"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/wexec/wexec/internal/tools/figures"
	"github.com/wexec/wexec/privacy"
)

var update = flag.Bool("update", false, "write the figures into the document")

// page shows the figures.
const page = "../../docs/operate/privacy.md"

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

// languages are the names of the languages of the files.
var languages = map[string]string{"de": "German", "en": "English", "es": "Spanish", "fr": "French", "it": "Italian", "nl": "Dutch", "pl": "Polish", "pt": "Portuguese"}

const writePeople = "go test ./tests/privacy -run RunningText -update"

// TestPeopleAreFoundInRunningText compares the figures of docs/operate/privacy.md
// with those that it measures.
func TestPeopleAreFoundInRunningText(t *testing.T) {
	d := detector(t)
	// The names of people.txt are not in the table of names, those of people-built.txt
	// are.
	files, rows, precision := []string{"people.txt", "people-built.txt"}, map[string]string{}, 100.0
	var sizes [2][2]int // the fewest names and streets of a language, by file
	for i, file := range files {
		all := runningText(t, file)
		for _, code := range slices.Sorted(maps.Keys(all)) {
			language, ok := languages[code]
			if !ok {
				t.Fatalf("%s: unknown language %s", file, code)
			}
			streets := func(s Sample) bool { return len(s.Truth) > 0 && s.Truth[0].Kind == privacy.Address }
			// Streets are named for people: a name in a street that is missed is not a false
			// alarm.
			names := Measure(d, slices.DeleteFunc(slices.Clone(all[code]), streets))[privacy.Name]
			addresses := Measure(d, all[code])[privacy.Address]
			for _, alarm := range append(names.Alarms, addresses.Alarms...) {
				t.Logf("   false %s", alarm)
			}
			least := min(names.Precision(), addresses.Precision())
			if i == 0 && (names.Recall() < 75 || addresses.Recall() < 80 || least < 95) {
				t.Errorf("%s: the goals are 75%% of names and 80%% of streets with a precision of 95%%", language)
			}
			if i == 0 {
				precision = min(precision, least)
			}
			rows[language] += fmt.Sprintf(" %.0f %% | %.0f %% |", names.Recall(), addresses.Recall())
			for j, score := range []*Score{names, addresses} {
				if n := score.Found + score.Missed; sizes[i][j] == 0 || n < sizes[i][j] {
					sizes[i][j] = n
				}
			}
		}
	}
	table := "| language | names | streets with number | names, own lists | streets, own lists |\n|---|---|---|---|---|\n"
	for _, language := range slices.Sorted(maps.Keys(rows)) {
		table += "| " + language + " |" + rows[language] + "\n"
	}
	table += fmt.Sprintf("\nMeasured on %s, with %d names and %d streets for each language (%d and %d for the own lists). Of the findings in the first two columns at least %.0f %% are right.\n",
		figures.Today, sizes[0][0], sizes[0][1], sizes[1][0], sizes[1][1], math.Floor(precision))
	figures.Compare(t, page, writePeople, table, *update)
}
