package wasmmodules

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	_ "embed" // for the text
)

// contents is the part of the manifest that a process reads at start, without the build
// data. It is a separate text, because decoding
// the manifest with encoding/json at each start would
// take twenty times as long.
type contents struct {
	Name      string
	Version   string
	Library   string
	Artefacts map[string]Artefact
}

//go:embed contents.txt
var contentsText string

// Contents returns the part of the manifest that processes read:
// a line for each guest with its name, version and library, followed by a line for
// each artefact with its kind, its size and digest unpacked, and its file.
func (m *Manifest) Contents() []byte {
	var b bytes.Buffer
	for _, e := range m.Guests {
		fmt.Fprintln(&b, strings.TrimRight(fmt.Sprintf("guest %s %s %s", e.Name, e.Version, e.Library), " "))
		for _, kind := range slices.Sorted(maps.Keys(e.Artefacts)) {
			a := e.Artefacts[kind]
			fmt.Fprintln(&b, kind, a.Size, a.SHA256, a.File)
		}
	}
	return b.Bytes()
}

// parseContents parses the output of [Manifest.Contents].
func parseContents(text string) ([]contents, error) {
	var all []contents
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case len(words) >= 3 && len(words) <= 4 && words[0] == "guest":
			c := contents{Name: words[1], Version: words[2], Artefacts: map[string]Artefact{}}
			if len(words) == 4 {
				c.Library = words[3]
			}
			all = append(all, c)
		case len(words) == 4 && len(all) > 0:
			size, err := strconv.ParseInt(words[1], 10, 64)
			if err != nil || size < 0 || size > maxArtefact {
				return nil, fmt.Errorf("read contents.txt: size of %s is out of range", words[3])
			}
			all[len(all)-1].Artefacts[words[0]] = Artefact{Digested: Digested{Size: size, SHA256: words[2]}, File: words[3]}
		default:
			return nil, fmt.Errorf("read contents.txt: invalid line %q", strings.TrimSpace(line))
		}
	}
	return all, nil
}
