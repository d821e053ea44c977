package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns/packages"
	"github.com/wexec/wexec/internal/yamldoc"
)

// PinnedPackage is an archive of a package that programs may import, with the
// digest that it must have.
type PinnedPackage struct {
	Path   string
	SHA256 string
	Origin string // the wexec.yaml
}

// Read returns the archive if it has its digest.
func (p PinnedPackage) Read() ([]byte, error) {
	data, err := packages.ReadArchive(p.Path)
	if err != nil {
		return nil, p.wrong("read the package %s: %w", p.Path, err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != strings.ToLower(p.SHA256) {
		return nil, p.wrong("the package %s has the digest %x, not the one in %s", p.Path, sum, p.Origin)
	}
	return data, nil
}

func (p PinnedPackage) wrong(format string, args ...any) error {
	return fault.New(fault.UsageConfig, format, args...).
		WithHint("restore the file, or pin it as it is: wexec packages add %s", p.Path)
}

// openPackages opens packages, or returns nil if there are none.
func openPackages(pinned []PinnedPackage) (*packages.Set, error) {
	if len(pinned) == 0 {
		return nil, nil
	}
	var archives [][]byte
	for _, p := range pinned {
		data, err := p.Read()
		if err != nil {
			return nil, err
		}
		archives = append(archives, data)
	}
	set, err := packages.Open(archives...)
	if err != nil {
		return nil, fault.New(fault.UsageConfig, "open the packages: %w", err).WithHint("%s", fault.HintOf(err))
	}
	return set, nil
}

// packagesFolder is the folder of archives next to a wexec.yaml.
const packagesFolder = "wexec_packages"

// packagesFile returns the wexec.yaml that names the packages of the project, or
// that would.
func packagesFile(env *Environment, p Project) string {
	if p.Dir != "" {
		return filepath.Join(p.Dir, "wexec.yaml")
	}
	return filepath.Join(env.Dir, "wexec.yaml")
}

// AddPackage writes the archive of a package next to the project's wexec.yaml, or
// that of the working folder, and names it there with its digest, instead of an
// earlier version. A person asks for it, so the project stays trusted if it was.
func AddPackage(env *Environment, p *packages.Package) (PinnedPackage, error) {
	archive, err := p.Archive()
	if err != nil {
		return PinnedPackage{}, err
	}
	sum := sha256.Sum256(archive)
	pinned := filePackage{packagesFolder + "/" + p.FileName(), hex.EncodeToString(sum[:])}
	return changePackages(env, &pinned, archive, func(about packages.About) bool {
		return about.Name == p.Name && (about.Kind == p.Kind || about.Kind == "")
	})
}

// RemovePackage removes the packages with a name from the project's wexec.yaml,
// and their archives.
func RemovePackage(env *Environment, name string) error {
	_, err := changePackages(env, nil, nil, func(about packages.About) bool { return about.Name == name })
	return err
}

// changePackages removes the packages that match, by what they are or by the path
// of the new one, and adds the new one, if there is one.
func changePackages(env *Environment, added *filePackage, archive []byte, match func(packages.About) bool) (PinnedPackage, error) {
	project, err := findProject(env)
	if err != nil {
		return PinnedPackage{}, err
	}
	file := packagesFile(env, project)
	dir := filepath.Dir(file)
	text, err := readUntrusted(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return PinnedPackage{}, err
	}
	f, err := parseFile(file, text)
	if err != nil {
		return PinnedPackage{}, err
	}
	var removed []string
	var at []yamldoc.Position
	left := []filePackage{}
	for _, item := range f.Packages {
		path := absolute(dir, item.V.Path)
		if match(packages.Describe(path)) || added != nil && item.V.Path == added.Path {
			removed, at = append(removed, path), append(at, item.Pos)
		} else {
			left = append(left, item.V)
		}
	}
	if added != nil {
		left = append(left, *added)
	} else if len(removed) == 0 {
		return PinnedPackage{}, fault.New(fault.UsageConfig, "%s has no such package", file).WithHint("list them with wexec packages list")
	}
	edited, err := editPackages(file, string(text), at, added, left)
	if err != nil {
		return PinnedPackage{}, err
	}
	var pinned PinnedPackage
	if added != nil {
		pinned = PinnedPackage{absolute(dir, added.Path), added.SHA256, file}
		if err := write(pinned.Path, archive, 0o644); err != nil {
			return PinnedPackage{}, fault.New(fault.UsageFile, "write %s: %w", pinned.Path, pathCause(err))
		}
	}
	if err := write(file, []byte(edited), 0o644); err != nil {
		return PinnedPackage{}, fault.New(fault.UsageFile, "write %s: %w", file, pathCause(err))
	}
	for _, path := range removed {
		if path != pinned.Path && filepath.Base(filepath.Dir(path)) == packagesFolder {
			_ = os.Remove(path) // it is not used any more
		}
	}
	// A new wexec.yaml must not make other files of the folder trusted.
	if project.Trusted || project.Dir == "" && !exists(filepath.Join(dir, "policy.yaml")) {
		_, err = Trust(env)
	}
	return pinned, err
}

// packagesKey matches the line of the key, before its items or with an empty list.
var packagesKey = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^packages:[ \t]*(?:\[[ \t]*\])?[ \t]*(?:#.*)?\n`)
})

// editPackages removes the items at some places from the text of a wexec.yaml and
// adds one. Comments stay. The result must name the packages in want.
func editPackages(file, text string, removed []yamldoc.Position, added *filePackage, want []filePackage) (string, error) {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	lines := strings.SplitAfter(text, "\n")
	for _, at := range slices.Backward(removed) {
		from := min(at.Line-1, len(lines)-1)
		to := from + 1
		indent := len(lines[from]) - len(strings.TrimLeft(lines[from], " "))
		for to < len(lines) && strings.HasPrefix(lines[to], strings.Repeat(" ", indent+1)) {
			to++
		}
		lines = slices.Delete(lines, from, to)
	}
	text = strings.Join(lines, "")
	item := ""
	if added != nil {
		item = "  - path: " + added.Path + "\n    sha256: " + added.SHA256 + "\n"
	}
	const key = "packages:\n"
	head := packagesKey().FindStringIndex(text)
	switch {
	case head == nil && item != "":
		text += key + item
	case head != nil && len(want) == 0:
		text = text[:head[0]] + text[head[1]:]
	case head != nil && item != "":
		text = text[:head[0]] + key + item + text[head[1]:]
	}
	f, err := parseFile(file, []byte(text))
	if err == nil {
		have := yamldoc.Values(f.Packages)
		if len(have) != len(want) || slices.ContainsFunc(want, func(p filePackage) bool { return !slices.Contains(have, p) }) {
			err = errors.New("its list of packages has another form")
		}
	}
	if err != nil {
		return "", fault.New(fault.UsageConfig, "change the packages in %s: %w", file, err).
			WithHint("write each package as two lines:  - path: FILE  and  sha256: DIGEST")
	}
	return text, nil
}
