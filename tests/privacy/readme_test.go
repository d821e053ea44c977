package privacy

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/wexec/wexec/internal/tools/testenv"
	"github.com/wexec/wexec/privacy"
)

// authors is the text around the names in documentation of packages: links,
// copyrights, lists of people, mail addresses.
var authors = regexp.MustCompile(`(?im)https?:|recv-keys|mailto:|@|copyright|©|\(c\)|author|written|by |thanks|maintain|contribut|collaborat|\*\*|<td>|alt=|name|license|^\s*[-*] `)

// TestDocumentationOfPackagesHasFewFalseAlarms reads the documentation of the
// packages that tests/npm.sh installs. Its names are those of authors.
func TestDocumentationOfPackagesHasFewFalseAlarms(t *testing.T) {
	dir := filepath.Join(testenv.NPM(t), "node_modules")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("needs the packages of tests/npm.sh")
	}
	d := detector(t)
	files, names, alarms := 0, 0, 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || !strings.HasPrefix(strings.ToLower(e.Name()), "readme") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		for _, f := range d.Scan(text) {
			around := string(text[max(0, f.Start-80):min(len(text), f.End+60)])
			switch {
			case f.Kind == privacy.Email && strings.Contains(string(text[max(0, f.Start-40):f.Start]), "://user"):
				t.Errorf("%s:%d: a password is taken for an address: %q", path, f.Line, around)
			case f.Kind == privacy.Name:
				if names++; !authors.MatchString(around) {
					alarms++
					t.Logf("%s:%d: %q in %q", path, f.Line, text[f.Start:f.End], around)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d files, %d names, %d of them not in the text around authors", files, names, alarms)
	if alarms*20 > names {
		t.Errorf("%d of %d names are not those of authors", alarms, names)
	}
}
