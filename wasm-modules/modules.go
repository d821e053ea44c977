// Package wasmmodules embeds the guests: for each a metered, code-only module,
// its memory image, and other files, compressed and
// verified against manifest.json before use. The interface between guests and engine
// is in ABI.md; each guest has a folder with its build recipe.
package wasmmodules

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/wexec/wexec/fault"
)

// BakeNanotime is the latest value of the monotonic clock while the images
// were made. If the clock of a host starts earlier, a restored guest sees time
// go backwards, which for example crashes Go's runtime.
const BakeNanotime = time.Millisecond

//go:embed manifest.json artefacts
var embedded embed.FS

// Module is one guest. Each part is unpacked and
// verified on use.
type Module struct {
	Name    string
	Version string
	// Digest identifies the guest: code, image and library.
	Digest string
	// CodeSHA256, ImageSHA256, LibrarySHA256 and StubSHA256 are the digests
	// of the parts, unpacked; zero for a missing library.
	CodeSHA256, ImageSHA256, LibrarySHA256, StubSHA256 [32]byte
	// ImageSize, LibrarySize and StubSize are sizes in bytes, unpacked.
	ImageSize, LibrarySize, StubSize uint64
	// LibraryName is the name of the library's file below /lib, or empty.
	LibraryName string

	files     fs.FS
	artefacts map[string]Artefact
}

var manifest = sync.OnceValues(func() (*Manifest, error) {
	data, err := embedded.ReadFile("manifest.json")
	if err != nil {
		return nil, err
	}
	return ParseManifest(data)
})

// Committed returns the embedded manifest. It must not be changed.
func Committed() (*Manifest, error) {
	m, err := manifest()
	if err != nil {
		return nil, fault.New(fault.Internal, "%w", err)
	}
	return m, nil
}

var inside = sync.OnceValues(func() ([]contents, error) {
	guests, err := parseContents(contentsText)
	if err != nil {
		return nil, fault.New(fault.Internal, "%w", err)
	}
	return guests, nil
})

// Names returns the names of the embedded guests.
func Names() []string {
	guests, err := inside()
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range guests {
		if len(e.Artefacts) > 0 {
			names = append(names, e.Name)
		}
	}
	return names
}

// Open opens an embedded guest.
func Open(name string) (*Module, error) {
	guests, err := inside()
	if err != nil {
		return nil, err
	}
	for _, e := range guests {
		if e.Name == name {
			return open(embedded, e)
		}
	}
	return open(embedded, contents{Name: name})
}

// OpenFrom opens a guest of a manifest with artefacts in files, for
// tests of a new build.
func OpenFrom(files fs.FS, m *Manifest, name string) (*Module, error) {
	e := m.Entry(name)
	if e == nil {
		return open(files, contents{Name: name})
	}
	return open(files, contents{Name: e.Name, Version: e.Version, Library: e.Library, Artefacts: e.Artefacts})
}

func open(files fs.FS, e contents) (*Module, error) {
	if len(e.Artefacts) == 0 {
		return nil, fault.New(fault.Internal, "no guest %q in this program", e.Name)
	}
	mod := &Module{Name: e.Name, Version: e.Version, LibraryName: e.Library, files: files, artefacts: e.Artefacts}
	whole := sha256.New()
	for _, part := range []struct {
		kind   string
		digest *[32]byte
		size   *uint64
		must   bool
	}{
		{artefactCode, &mod.CodeSHA256, nil, true},
		{artefactImage, &mod.ImageSHA256, &mod.ImageSize, true},
		{artefactLibrary, &mod.LibrarySHA256, &mod.LibrarySize, e.Library != ""},
		{artefactStub, &mod.StubSHA256, &mod.StubSize, false},
	} {
		a, ok := e.Artefacts[part.kind]
		if !ok {
			if part.must {
				return nil, fault.New(fault.Internal, "guest %s has no %s", e.Name, part.kind)
			}
			continue
		}
		if len(a.SHA256) != 2*sha256.Size {
			return nil, fault.New(fault.Internal, "guest %s: invalid digest of %s", e.Name, part.kind)
		}
		if _, err := hex.Decode(part.digest[:], []byte(a.SHA256)); err != nil {
			return nil, fault.New(fault.Internal, "guest %s: invalid digest of %s", e.Name, part.kind)
		}
		if part.size != nil {
			*part.size = uint64(a.Size)
		}
		if part.kind != artefactStub { // derived from the code
			fmt.Fprintf(whole, "%s %s\n", part.kind, a.SHA256)
		}
	}
	mod.Digest = hex.EncodeToString(whole.Sum(nil))
	return mod, nil
}

// Code returns the metered, code-only module.
func (m *Module) Code() ([]byte, error) { return m.unpack(artefactCode) }

// Image returns the memory that every instance starts from.
func (m *Module) Image() ([]byte, error) { return m.unpack(artefactImage) }

// Stub returns the code-only module without function bodies. A cache
// that stores the native code of the whole module under the stub loads it
// without decoding and validating the module.
func (m *Module) Stub() ([]byte, error) { return m.unpack(artefactStub) }

// Library returns the archive of the guest's standard library, the file LibraryName
// in /lib. It is empty if the guest has none.
func (m *Module) Library() ([]byte, error) {
	if m.LibraryName == "" {
		return nil, nil
	}
	return m.unpack(artefactLibrary)
}

// Verify unpacks every part and checks its digest.
func (m *Module) Verify() error {
	for kind := range m.artefacts {
		if _, err := m.unpack(kind); err != nil {
			return err
		}
	}
	return nil
}

func (m *Module) unpack(kind string) ([]byte, error) {
	a, ok := m.artefacts[kind]
	if !ok {
		return nil, fault.New(fault.Internal, "guest %s has no %s", m.Name, kind)
	}
	data, err := m.read(a)
	if err != nil {
		return nil, fault.New(fault.Internal, "%s of guest %s is damaged: %w", kind, m.Name, err).
			WithHint("reinstall wexec: its files are damaged")
	}
	return data, nil
}

// read unpacks an artefact. Nothing is trusted but the digest at the end.
func (m *Module) read(a Artefact) ([]byte, error) {
	f, err := m.files.Open("artefacts/" + a.File)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	dec, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxArtefact), zstd.WithDecoderMaxWindow(maxArtefact))
	if err != nil {
		return nil, err
	}
	defer dec.Close()
	data := make([]byte, a.Size)
	if n, err := io.ReadFull(dec, data); err != nil {
		return nil, fmt.Errorf("it ends after %d of %d bytes: %w", n, a.Size, err)
	}
	if n, err := dec.Read(make([]byte, 1)); n > 0 || err != io.EOF {
		return nil, fmt.Errorf("it goes on after its %d bytes", a.Size)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != a.SHA256 {
		return nil, fmt.Errorf("its digest is %x and not %s", sum, a.SHA256)
	}
	return data, nil
}
