package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/wexec/wexec/fault"
)

// Project is the nearest folder, up to the root of the repository, that
// configures wexec.
type Project struct {
	Dir     string            // empty: none
	Files   map[string]string // SHA-256 of each file that is read, by name
	Trusted bool              // a person trusts exactly these files
	Changed []string          // the names of files that are not as they were trusted; none if nobody trusted any

	texts map[string][]byte // of Files, by path: what was hashed is what is used
}

// read returns a file of the project as it was when it was hashed.
func (p *Project) read(path string) ([]byte, error) {
	text, ok := p.texts[path]
	if !ok {
		return nil, fault.New(fault.UsageFile, "read %s: %w", path, fs.ErrNotExist)
	}
	return text, nil
}

// findProject searches the working folder and those above it.
func findProject(env *Environment) (Project, error) {
	for dir := filepath.Clean(env.Dir); ; dir = filepath.Dir(dir) {
		if exists(filepath.Join(dir, "wexec.yaml")) || exists(filepath.Join(dir, ".mcp.json")) {
			return readProject(env, dir)
		}
		_, err := os.Stat(filepath.Join(dir, ".git"))
		if err == nil || dir == filepath.Dir(dir) || dir == env.Home {
			return Project{}, nil
		}
	}
}

// readProject reads and hashes the files of a project, including those that
// wexec.yaml refers to.
func readProject(env *Environment, dir string) (Project, error) {
	p := Project{Dir: dir, Files: map[string]string{}, texts: map[string][]byte{}}
	for names := []string{"wexec.yaml", "policy.yaml", ".mcp.json"}; len(names) > 0; names = names[1:] {
		name := names[0]
		path := absolute(dir, name)
		if _, ok := p.Files[name]; ok {
			continue
		}
		data, err := readUntrusted(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return Project{}, err
		}
		p.texts[path] = slices.Grow(data, 1) // not nil, even if it is empty
		if name == "wexec.yaml" {            // problems are reported when it is used
			if f, err := parseFile(path, data); err == nil {
				names = append(append(names, f.Policy...), f.MCP...)
			}
		}
		sum := sha256.Sum256(data)
		p.Files[name] = hex.EncodeToString(sum[:])
	}
	trusted, _, err := readTrust(env)
	if err != nil {
		return Project{}, err
	}
	p.Trusted = maps.Equal(trusted[dir], p.Files)
	if was := trusted[dir]; was != nil {
		all := maps.Clone(p.Files)
		maps.Copy(all, was)
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if was[name] != p.Files[name] {
				p.Changed = append(p.Changed, name)
			}
		}
	}
	return p, nil
}

// untrusted says why the files of a project allow nothing and what a person can
// do. It returns "" if they are trusted.
func (p *Project) untrusted() string {
	if p.Dir == "" || p.Trusted {
		return ""
	}
	todo := "read them, then run: wexec config trust"
	if len(p.Changed) > 0 {
		todo = strings.Join(p.Changed, ", ") + " changed since a person trusted them: " + todo
	}
	return fmt.Sprintf("%s is not trusted: its files start no server and allow nothing; only what its policy denies or asks for applies (%s)", p.Dir, todo)
}

// trustedFiles are the hashes of the files that a person trusts, by project and
// name.
type trustedFiles map[string]map[string]string

// readTrust reads the file that records trust. Its path is "" if there is no home
// folder.
func readTrust(env *Environment) (all trustedFiles, path string, err error) {
	all, path = trustedFiles{}, below(env.stateDir(), "trust.json")
	err = readJSON(path, &all, "the trusted projects", "remove the file and trust your projects again")
	return all, path, err
}

// Trust records that a person has read the project's files as they are now and
// lets them start servers and allow tools. Changed files must be trusted again.
func Trust(env *Environment) (Project, error) {
	p, err := findProject(env)
	if err != nil {
		return Project{}, err
	}
	if p.Dir == "" {
		return Project{}, fault.New(fault.UsageConfig, "there is nothing to trust: no wexec.yaml or .mcp.json up to the root of the repository").
			WithHint("run wexec init to write them")
	}
	all, path, err := readTrust(env)
	if err != nil {
		return Project{}, err
	}
	if path == "" {
		return Project{}, fault.New(fault.UsageConfig, "there is no home folder to record trust in").WithHint("set XDG_STATE_HOME")
	}
	all[p.Dir] = p.Files
	if err := writeJSON(path, all, 0o600); err != nil {
		return Project{}, err
	}
	p.Trusted = true
	return p, nil
}
