package review_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wexec/wexec/review"
)

func TestOrdinaryProgramsAreNotRaised(t *testing.T) {
	files, err := filepath.Glob("../tests/firsttries/*/*.*s")
	if err != nil {
		t.Fatal(err)
	}
	python, err := filepath.Glob("../tests/firsttries/*/*.py")
	if err != nil {
		t.Fatal(err)
	}
	all, raised := 0, 0
	for _, file := range append(files, python...) {
		code, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all++
		if a := assess(t, languageOf(t, file), string(code), review.Context{}); a.Level.Reaches(review.Medium) {
			raised++
			t.Logf("%s is %s: %+v", file, a.Level, a.Findings)
		}
	}
	if all < 300 || raised*50 >= all {
		t.Errorf("%d of %d ordinary programs reach medium; fewer than 2 %% may", raised, all)
	}
}

// The writer of the programs in unseen did not know the rules.
func TestHostileProgramsAreHigh(t *testing.T) {
	files, err := filepath.Glob("testdata/hostile/unseen/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	all, high := 0, 0
	for _, file := range files {
		for _, p := range programsIn(t, file) {
			if strings.TrimSpace(p.code) == "" {
				continue
			}
			all++
			if a := assess(t, p.language, p.code, review.Context{Intent: intentOf(p.code)}); a.Level.Reaches(review.High) {
				high++
			} else {
				t.Logf("%s of %s is %s: %+v", p.name, file, a.Level, a.Findings)
			}
		}
	}
	t.Logf("%d of %d", high, all)
	if all < 100 || high*100 < 95*all {
		t.Errorf("%d of %d hostile programs reach high", high, all)
	}
}
