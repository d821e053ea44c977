package wasmmodules

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

// Manifest is the single source of versions, digests, sources, flags and licences
// of the guests: the file manifest.json.
type Manifest struct {
	Guests []Entry `json:"guests"`
}

// Entry describes one guest. Fields that people edit come first, then those that
// the baker writes.
type Entry struct {
	Name     string            `json:"name"`
	Version  string            `json:"version"`
	Summary  string            `json:"summary"`
	Sources  []Source          `json:"sources"`
	Tools    []string          `json:"tools"`              // the toolchain, with versions
	Flags    map[string]string `json:"flags,omitempty"`    // by step of the recipe
	Settings map[string]string `json:"settings,omitempty"` // other values that the recipe reads
	Prelude  string            `json:"prelude,omitempty"`  // folder in the repository, seen as /prelude while the image is made
	Library  string            `json:"library,omitempty"`  // name of the standard library's archive below /lib
	First    json.RawMessage   `json:"first,omitempty"`    // input of a run before the image is taken
	Proof    Proof             `json:"proof"`

	Raw       Digested            `json:"raw"`                      // the module as the recipe built it
	Pages     uint64              `json:"pages"`                    // of memory in the image
	Fuel      int64               `json:"fuel"`                     // what the proof used
	PreludeIs string              `json:"prelude_sha256,omitempty"` // digest over the prelude's files
	Artefacts map[string]Artefact `json:"artefacts"`
}

// Source is an input of the build of a guest.
type Source struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	From    string `json:"from"` // a Debian suite and package, or a Go module
	File    string `json:"file,omitempty"`
	SHA256  string `json:"sha256"`
	Licence string `json:"licence"`
}

// Proof is a program that shows that a guest matches the manifest.
type Proof struct {
	Input json.RawMessage `json:"input"` // the input document, see ABI.md
	Value json.RawMessage `json:"value"` // the expected value
}

// Digested is a size and a SHA-256 in hexadecimal.
type Digested struct {
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Artefact is a committed, compressed file.
type Artefact struct {
	Digested
	File   string   `json:"file"`
	Packed Digested `json:"packed"`
}

// The artefacts of a guest, as the manifest names them.
const (
	artefactCode    = "code"
	artefactImage   = "image"
	artefactStub    = "stub"
	artefactLibrary = "library"
)

// maxArtefact bounds an unpacked artefact.
const maxArtefact = 128 << 20

// isPlain reports whether a name is valid for a guest: lower-case letters, digits and
// hyphens after a letter.
func isPlain(name string) bool {
	return len(name) > 0 && len(name) <= 32 && 'a' <= name[0] && name[0] <= 'z' &&
		strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// ParseManifest parses a manifest strictly.
func ParseManifest(data []byte) (*Manifest, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var m Manifest
	if err := dec.Decode(&m); err != nil {
		return nil, fmt.Errorf("read manifest.json: %w", err)
	}
	seen := map[string]bool{}
	for _, e := range m.Guests {
		if !isPlain(e.Name) || seen[e.Name] {
			return nil, fmt.Errorf("read manifest.json: invalid or duplicate name %q", e.Name)
		}
		seen[e.Name] = true
		for kind, a := range e.Artefacts {
			if a.Size < 0 || a.Size > maxArtefact || a.Packed.Size < 0 || a.Packed.Size > maxArtefact {
				return nil, fmt.Errorf("read manifest.json: %s %s: size is out of range", e.Name, kind)
			}
			for _, s := range []string{a.SHA256, a.Packed.SHA256} {
				if b, err := hex.DecodeString(s); err != nil || len(b) != 32 {
					return nil, fmt.Errorf("read manifest.json: %s %s: invalid SHA-256 %q", e.Name, kind, s)
				}
			}
		}
	}
	return &m, nil
}

// JSON returns the manifest in its committed form.
func (m *Manifest) JSON() ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(m); err != nil {
		return nil, fmt.Errorf("write manifest.json: %w", err)
	}
	return buf.Bytes(), nil
}

// Entry returns the guest with a name, or nil.
func (m *Manifest) Entry(name string) *Entry {
	for i := range m.Guests {
		if m.Guests[i].Name == name {
			return &m.Guests[i]
		}
	}
	return nil
}
