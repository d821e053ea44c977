package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/wexec/wexec/fault"
)

// Project is the nearest folder, up to the root of the repository, that has
// files for wexec.
type Project struct {
	Dir     string            // empty: none
	Files   map[string]string // name to SHA-256 of each file that is read
	Trusted bool              // a person has said so of exactly these files

	texts map[string][]byte // of Files, by path: what was looked at is what holds
}

// read gives a file of the project as it was when its digest was taken. What
// was not there then is not there now.
func (p *Project) read(path string) ([]byte, error) {
	text, ok := p.texts[path]
	if !ok {
		return nil, fault.New(fault.UsageFile, "read %s: %w", path, fs.ErrNotExist)
	}
	return text, nil
}

// projectFiles are read in a project's folder.
var projectFiles = []string{"wexec.yaml", "policy.yaml", ".mcp.json"}

// findProject looks from the working folder upwards.
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

// readProject takes the digests of everything that a project's files say,
// those that wexec.yaml refers to included.
func readProject(env *Environment, dir string) (Project, error) {
	p := Project{Dir: dir, Files: map[string]string{}, texts: map[string][]byte{}}
	for names := slices.Clone(projectFiles); len(names) > 0; names = names[1:] {
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
		p.texts[path] = slices.Grow(data, 1) // not nil, though it may be empty
		if name == "wexec.yaml" {            // what is wrong with it is said when it is used
			if f, err := parseFile(path, data); err == nil {
				names = append(append(names, f.Policy...), f.MCP...)
			}
		}
		sum := sha256.Sum256(data)
		p.Files[name] = hex.EncodeToString(sum[:])
	}
	all, err := readTrust(env)
	if err != nil {
		return Project{}, err
	}
	known := all[dir]
	p.Trusted = len(known) == len(p.Files)
	for name, sum := range p.Files {
		if known[name] != sum {
			p.Trusted = false
		}
	}
	return p, nil
}

// trustFile is where a person's word is kept.
func trustFile(env *Environment) (string, error) {
	dir := env.stateDir()
	if dir == "" {
		return "", fault.New(fault.UsageConfig, "there is no home folder to keep trust in").WithHint("set XDG_STATE_HOME")
	}
	return filepath.Join(dir, "trust.json"), nil
}

func readTrust(env *Environment) (map[string]map[string]string, error) {
	path, err := trustFile(env)
	if err != nil {
		return nil, nil // nowhere to keep it: nothing is trusted
	}
	data, err := readBounded(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all map[string]map[string]string
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, fault.New(fault.UsageConfig, "%s is damaged: %v", path, err).WithHint("remove it and trust your projects again")
	}
	return all, nil
}

// Trust notes that a person has read the project's files as they are now and
// lets them start servers and allow tools. A change asks again.
func Trust(env *Environment) (Project, error) {
	p, err := findProject(env)
	if err != nil {
		return Project{}, err
	}
	if p.Dir == "" {
		return Project{}, fault.New(fault.UsageConfig, "there is nothing to trust here: no wexec.yaml and no .mcp.json up to the root of the repository").
			WithHint("wexec init writes them")
	}
	all, err := readTrust(env)
	if err != nil {
		return Project{}, err
	}
	if all == nil {
		all = map[string]map[string]string{}
	}
	all[p.Dir] = p.Files
	data, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return Project{}, err
	}
	path, err := trustFile(env)
	if err != nil {
		return Project{}, err
	}
	if err := writePrivate(path, append(data, '\n')); err != nil {
		return Project{}, fault.New(fault.UsageConfig, "write %s: %w", path, pathCause(err))
	}
	p.Trusted = true
	return p, nil
}

// writePrivate writes a file that only its owner can read, whole or not at
// all.
func writePrivate(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
