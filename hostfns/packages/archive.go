package packages

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// NeedsBundle reports whether a package of npm has not been bundled.
func (p *Package) NeedsBundle() bool {
	_, done := p.Files[path.Join(p.Name, "package.json")]
	return p.Kind == NPM && !done
}

// Bundled returns the package with its bundle, a CommonJS module, instead of its
// files.
func (p *Package) Bundled(code []byte) *Package {
	// Text can always be encoded.
	about, _ := json.Marshal(map[string]string{"name": p.Name, "version": p.Version, "main": "index.cjs"})
	return &Package{About: p.About, Files: map[string][]byte{
		path.Join(p.Name, "package.json"): append(about, '\n'), path.Join(p.Name, "index.cjs"): code,
	}}
}

// FileName returns the name of the archive.
func (p *Package) FileName() string {
	name := strings.ReplaceAll(strings.TrimPrefix(p.Name, "@"), "/", "__")
	if p.Version != "" {
		name += "-" + p.Version
	}
	return name + ".zip"
}

// nameOf returns the name of a package from the name of its archive.
func nameOf(fileName string) string {
	name := strings.TrimSuffix(fileName, ".zip")
	for at := 1; at < len(name); at++ {
		if name[at-1] == '-' && name[at] >= '0' && name[at] <= '9' {
			name = name[:at-1]
		}
	}
	if scope, rest, ok := strings.Cut(name, "__"); ok {
		return "@" + scope + "/" + rest
	}
	return name
}

// Archive returns the package as a zip archive. Equal packages have equal
// archives.
func (p *Package) Archive() ([]byte, error) {
	about, err := json.Marshal(p.About)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(p.Files)) {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate})
		if err == nil {
			_, err = w.Write(p.Files[name])
		}
		if err != nil {
			return nil, err
		}
	}
	if err := z.SetComment(string(about)); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	if b.Len() > maxArchive {
		return nil, refused("the archive is larger than %d MiB", maxArchive>>20)
	}
	return b.Bytes(), nil
}

// openZip opens a zip archive with a bounded number of files.
func openZip(data []byte) (*zip.Reader, error) {
	// The reader makes a record for each header before it says how many there
	// are.
	if bytes.Count(data, []byte("PK\x01\x02")) > maxFiles+maxFiles/10 {
		return nil, refused("more than %d files", maxFiles)
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, refused("read the zip archive: %w", err)
	}
	return z, nil
}

// inflate returns the content of a file of at most limit bytes, whatever size its
// header names.
func inflate(f *zip.File, limit int64) ([]byte, error) {
	if f.UncompressedSize64 > uint64(limit) {
		return nil, refused("more than %d MiB of files", maxBytes>>20)
	}
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return readAll(r, limit)
}

// openArchive opens an archive that [Package.Archive] made.
func openArchive(data []byte) (About, map[string]*zip.File, error) {
	var about About
	z, err := openZip(data)
	if err != nil {
		return about, nil, err
	}
	if err := json.Unmarshal([]byte(z.Comment), &about); err != nil || about.Name == "" {
		return about, nil, refused("not an archive of wexec packages add")
	}
	files := map[string]*zip.File{}
	var size uint64
	for _, f := range z.File {
		switch err := checkPath(f.Name); {
		case err != nil:
			return about, nil, err
		case files[f.Name] != nil || !f.Mode().IsRegular() || isNative(f.Name):
			return about, nil, refused("the archive has the file %.100q, which cannot be imported", f.Name)
		}
		files[f.Name] = f
		if size += f.UncompressedSize64; f.UncompressedSize64 > maxBytes || size > maxBytes {
			return about, nil, refused("more than %d MiB of files", maxBytes>>20)
		}
	}
	return about, files, checkCase(files)
}

// Describe returns what the archive in a file is of. Of one that cannot be read it
// is the name that the file's name suggests.
func Describe(file string) About {
	data, err := ReadArchive(file)
	if err == nil {
		if about, _, err := openArchive(data); err == nil {
			return about
		}
	}
	return About{Name: nameOf(filepath.Base(file))}
}
