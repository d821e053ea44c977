package wasmmodules

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/klauspost/compress/zstd"

	"github.com/wexec/wexec/fault"
)

func TestEveryGuestIsWhatTheManifestSays(t *testing.T) {
	names := Names()
	if len(names) != 4 {
		t.Fatalf("guests: %v", names)
	}
	for _, name := range names {
		m, err := Open(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Verify(); err != nil {
			t.Error(err)
		}
		if m.Version == "" || len(m.Digest) != 64 || m.ImageSize == 0 || m.ImageSize%(64<<10) != 0 {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

func TestArtefactsAreTheManifestsAndNothingElse(t *testing.T) {
	m, err := Committed()
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]int64{}
	total := int64(0)
	for _, e := range m.Guests {
		for _, a := range e.Artefacts {
			named[a.File] = a.Packed.Size
			data, err := embedded.ReadFile("artefacts/" + a.File)
			if err != nil {
				t.Error(err)
				continue
			}
			total += int64(len(data))
			if int64(len(data)) != a.Packed.Size {
				t.Errorf("%s: %d bytes, not %d", a.File, len(data), a.Packed.Size)
			}
		}
	}
	entries, err := fs.ReadDir(embedded, "artefacts")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if _, ok := named[e.Name()]; !ok {
			t.Errorf("%s is in no manifest", e.Name())
		}
	}
	if total >= 13e6 {
		t.Errorf("the artefacts are %d bytes together; 13 MB is the bound", total)
	}
}

func TestManifestIsWrittenAsItIsRead(t *testing.T) {
	data, err := os.ReadFile("manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	m, err := ParseManifest(data)
	if err != nil {
		t.Fatal(err)
	}
	again, err := m.JSON()
	if err != nil || !bytes.Equal(data, again) {
		t.Errorf("it changes when the baker writes it: %v", err)
	}
	for _, e := range m.Guests {
		if len(e.Sources) == 0 || len(e.Tools) == 0 || e.Proof.Input == nil {
			t.Errorf("%s does not say what it is made of", e.Name)
		}
		for _, s := range e.Sources {
			if s.Licence == "" || s.Version == "" || s.From == "" {
				t.Errorf("%s: source %s: no licence, version or origin", e.Name, s.Name)
			}
			if strings.Contains(s.From, "://") {
				t.Errorf("%s: source %s names a host", e.Name, s.Name)
			}
		}
	}
}

// The proof of a guest is run where it is baked and in the baker's tests; here
// it is seen that it asks the guest for its version.
func TestEveryProofAsksForTheVersion(t *testing.T) {
	m, err := Committed()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range m.Guests {
		if !strings.Contains(string(e.Proof.Value), e.Version) || strings.Contains(string(e.Proof.Input), e.Version) {
			t.Errorf("the proof of %s does not tell that it is %s: %s", e.Name, e.Version, e.Proof.Value)
		}
	}
}

func TestNoticeNamesEveryLicenceInside(t *testing.T) {
	notice, err := os.ReadFile("../NOTICE")
	if err != nil {
		t.Fatal(err)
	}
	m, _ := Committed()
	for _, e := range m.Guests {
		for _, s := range e.Sources {
			name, note, _ := strings.Cut(s.Name, " (")
			if strings.HasPrefix(note, "for the tests") {
				continue // nothing of it is inside
			}
			if !strings.Contains(strings.ToLower(string(notice)), strings.ToLower(name)) {
				t.Errorf("NOTICE does not name %s, which is in %s", s.Name, e.Name)
			}
		}
	}
}

// made is a manifest and files of one guest whose image is data.
func made(t *testing.T, data []byte) (*Manifest, fstest.MapFS) {
	t.Helper()
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	packed := enc.EncodeAll(data, nil)
	a := Artefact{Digested: Digested{int64(len(data)), digest(data)}, File: "g.zst", Packed: Digested{int64(len(packed)), digest(packed)}}
	return &Manifest{Guests: []Entry{{Name: "g", Artefacts: map[string]Artefact{artefactCode: a, artefactImage: a}}}},
		fstest.MapFS{"artefacts/g.zst": {Data: packed}}
}

func TestDamagedArtefactIsAClearErrorAndNothingComesOut(t *testing.T) {
	good := bytes.Repeat([]byte("some memory "), 10_000)
	for name, damage := range map[string]func(m *Manifest, files fstest.MapFS){
		"gone":           func(_ *Manifest, f fstest.MapFS) { delete(f, "artefacts/g.zst") },
		"empty":          func(_ *Manifest, f fstest.MapFS) { f["artefacts/g.zst"].Data = nil },
		"cut":            func(_ *Manifest, f fstest.MapFS) { d := f["artefacts/g.zst"]; d.Data = d.Data[:len(d.Data)-3] },
		"not compressed": func(_ *Manifest, f fstest.MapFS) { f["artefacts/g.zst"].Data = good },
		"longer":         func(m *Manifest, _ fstest.MapFS) { change(m, func(a *Artefact) { a.Size-- }) },
		"shorter":        func(m *Manifest, _ fstest.MapFS) { change(m, func(a *Artefact) { a.Size++ }) },
		"another digest": func(m *Manifest, _ fstest.MapFS) { change(m, func(a *Artefact) { a.SHA256 = strings.Repeat("0", 64) }) },
		"other content":  func(_ *Manifest, f fstest.MapFS) { f["artefacts/g.zst"] = flipped(t, good) },
	} {
		m, files := made(t, good)
		mod, err := OpenFrom(files, m, "g")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := mod.Image(); err != nil || !bytes.Equal(got, good) {
			t.Fatalf("undamaged: %v", err)
		}
		damage(m, files)
		if mod, err = OpenFrom(files, m, "g"); err != nil {
			t.Errorf("%s: refused to open: %v", name, err)
			continue
		}
		got, err := mod.Image()
		if got != nil || fault.CodeOf(err) != fault.Internal || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
		if mod.Verify() == nil {
			t.Errorf("%s: verified", name)
		}
	}
	m, files := made(t, good)
	for i := range files["artefacts/g.zst"].Data {
		damaged := bytes.Clone(files["artefacts/g.zst"].Data)
		damaged[i] ^= 0x10
		mod, _ := OpenFrom(fstest.MapFS{"artefacts/g.zst": {Data: damaged}}, m, "g")
		if got, err := mod.Code(); err == nil && !bytes.Equal(got, good) {
			t.Errorf("byte %d changed, and so did the content", i)
		}
	}
}

func change(m *Manifest, f func(a *Artefact)) {
	for k, a := range m.Guests[0].Artefacts {
		f(&a)
		m.Guests[0].Artefacts[k] = a
	}
}

func flipped(t *testing.T, data []byte) *fstest.MapFile {
	other := bytes.Clone(data)
	other[7]++
	_, files := made(t, other)
	return files["artefacts/g.zst"]
}

func TestStrangeManifestsAreRefused(t *testing.T) {
	sum := strings.Repeat("a", 64)
	for _, c := range []string{
		``, `{"guests": [{"name": "../x"}]}`, `{"guests": [{"name": "a"}, {"name": "a"}]}`, `{"unknown": 1}`,
		`{"guests": [{"name": "a", "artefacts": {"code": {"size": -1, "sha256": "` + sum + `", "packed": {"sha256": "` + sum + `"}}}}]}`,
		`{"guests": [{"name": "a", "artefacts": {"code": {"size": 999999999999, "sha256": "` + sum + `", "packed": {"sha256": "` + sum + `"}}}}]}`,
		`{"guests": [{"name": "a", "artefacts": {"code": {"size": 1, "sha256": "xyz", "packed": {"sha256": "` + sum + `"}}}}]}`,
	} {
		if _, err := ParseManifest([]byte(c)); err == nil {
			t.Errorf("read: %.80s", c)
		}
	}
	if _, err := Open("perl"); fault.CodeOf(err) != fault.Internal {
		t.Error(err)
	}
}

func TestLibraryFolderIsAFileSystem(t *testing.T) {
	data := []byte("the archive")
	dir := Folder("lib.zip", int64(len(data)), bytes.NewReader(data))
	if err := fstest.TestFS(dir, "lib.zip"); err != nil {
		t.Error(err)
	}
	f, err := dir.Open("lib.zip")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, ok := f.(io.ReaderAt); !ok {
		t.Error("it cannot be read from the middle")
	}
	if _, err := dir.Open("other"); err == nil {
		t.Error("another file is there")
	}
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
