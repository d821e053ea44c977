// Command namegen writes the table of first names and surnames that package names
// embeds. The names come from lists of npm packages with the MIT license:
// @faker-js/faker, chance and gender-detection-from-name. Which of them are
// ordinary words is counted in the help texts of LibreOffice in eight languages and
// in an English dictionary, from Debian. It needs npm, apt-get and dpkg-deb.
//
//	go generate ./privacy/internal/names
package main

import (
	"flag"
	"fmt"
	"html"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/wexec/wexec/internal/nametable"
)

var packages = []string{"@faker-js/faker@10.6.0", "chance@1.1.13", "gender-detection-from-name@1.11.5"}

// texts are Debian's packages with ordinary text, and the directories of it.
var texts = []string{"libreoffice-help-de", "libreoffice-help-en-us", "libreoffice-help-es", "libreoffice-help-fr", "libreoffice-help-it",
	"libreoffice-help-nl", "libreoffice-help-pl", "libreoffice-help-pt", "wamerican"}

// common are the locales whose names are mostly found by their lists. Names of other
// locales are words of these languages too often: they need a surname.
var common = regexp.MustCompile(`^(de|en|es|fr|it|nl|pl|pt|da|nb|sv|fi|cs|sk|hr|hu|ro|tr|sl|sr|us|uk|ca)(_|$)`)

func main() {
	out := flag.String("out", "names.bin", "the file to write")
	work := flag.String("work", filepath.Join(os.TempDir(), "wexec-names"), "the directory for downloads")
	flag.Parse()
	data, err := build(*work)
	if err == nil {
		err = os.WriteFile(*out, data, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "namegen:", err)
		os.Exit(1)
	}
	fmt.Fprintf(os.Stderr, "namegen: %d bytes\n", len(data))
}

func build(work string) ([]byte, error) {
	work, err := filepath.Abs(work)
	if err != nil {
		return nil, err
	}
	words, err := ordinaryWords(work)
	if err != nil {
		return nil, err
	}
	lists, err := nameLists(work)
	if err != nil {
		return nil, err
	}
	return encode(lists, words)
}

// entry is what the lists say about a word.
type entry struct {
	first, last, place bool // in a list of a common locale, or of places
	rareFirst          bool // only in a list of rare names or of another locale
	rareLast           bool
}

// encode decides the roles of each name and writes the table.
func encode(lists map[string]*entry, words map[string]usage) ([]byte, error) {
	roles := make(map[string]nametable.Role)
	for name, e := range lists {
		var r nametable.Role
		use := words[name]
		ordinary := e.place || use.small > 1 || use.all > 20 || utf8.RuneCountInString(name) < 3
		if e.first || e.rareFirst && !ordinary {
			r |= nametable.First
		}
		if e.last || e.rareLast && !ordinary {
			r |= nametable.Last
		}
		if r&nametable.First != 0 && (ordinary || !e.first) {
			r |= nametable.WeakFirst
		}
		if r&nametable.Last != 0 && (ordinary || !e.last) {
			r |= nametable.WeakLast
		}
		if r != 0 {
			roles[name] = r
		}
	}
	fmt.Fprintf(os.Stderr, "namegen: %d names\n", len(roles))
	return nametable.Encode(roles)
}

// nameLists installs the packages and reads their lists.
func nameLists(work string) (map[string]*entry, error) {
	install := exec.Command("npm", append([]string{"install", "--prefix", work, "--ignore-scripts", "--no-audit", "--no-fund", "--no-save", "--loglevel=error"}, packages...)...)
	install.Stderr = os.Stderr
	if err := install.Run(); err != nil {
		return nil, fmt.Errorf("install the lists: %w", err)
	}
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return nil, err
	}
	out, err := exec.Command("node", filepath.Join(strings.TrimSpace(string(root)), "internal/tools/namegen/lists.mjs"), work).Output()
	if err != nil {
		return nil, fmt.Errorf("read the lists: %w", err)
	}
	all := make(map[string]*entry)
	for line := range strings.Lines(string(out)) {
		role, rest, _ := strings.Cut(strings.TrimSpace(line), "\t")
		source, text, _ := strings.Cut(rest, "\t")
		for name := range strings.FieldsSeq(strings.ToLower(text)) {
			if !isName(name) {
				continue
			}
			e := all[name]
			if e == nil {
				e = &entry{}
				all[name] = e
			}
			switch frequent := common.MatchString(source); {
			case role == "place":
				e.place = true
			case role == "first" && frequent:
				e.first = true
			case role == "first":
				e.rareFirst = true
			case frequent:
				e.last = true
			default:
				e.rareLast = true
			}
		}
	}
	return all, nil
}

// isName reports a word of Latin letters that the detectors look up.
func isName(w string) bool {
	for _, r := range w {
		if !unicode.Is(unicode.Latin, r) && r != '-' && r != '\'' {
			return false
		}
	}
	return len(w) >= 2 && len(w) <= nametable.MaxName
}

// usage counts a word in ordinary text: all is how often it occurs, small how often
// without a capital.
type usage struct{ all, small int }

var (
	tags    = regexp.MustCompile(`(?s)<(script|style).*?</(script|style)>|<[^>]*>`)
	letters = regexp.MustCompile(`[\pL'-]+`)
)

// ordinaryWords downloads the texts and counts their words.
func ordinaryWords(work string) (map[string]usage, error) {
	dir := filepath.Join(work, "texts")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	for _, name := range texts {
		get := exec.Command("sh", "-c", "ls $1_*.deb >/dev/null 2>&1 || apt-get download -q $1; dpkg-deb -x $1_*.deb .", "sh", name)
		get.Dir = dir
		if out, err := get.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("download %s: %w: %s", name, err, out)
		}
	}
	words := make(map[string]usage)
	count := func(text string, times int) {
		for _, w := range letters.FindAllString(text, -1) {
			lower := strings.ToLower(w)
			u := words[lower]
			u.all += times
			if w == lower {
				u.small += times
			}
			words[lower] = u
		}
	}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		dictionary := filepath.Base(path) == "american-english"
		if !dictionary && filepath.Ext(path) != ".html" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if dictionary {
			count(string(text), 2)
		} else {
			count(html.UnescapeString(string(tags.ReplaceAll(text, []byte("\n")))), 1)
		}
		return nil
	})
	return words, err
}
