package cli

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
)

// maxProgram is the most that is read of a file or of standard input.
const maxProgram = 64 << 20

// path is a path as seen from the working folder of the invocation.
func (d *door) path(p string) string {
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(d.inv.Env.Dir, p)
}

func (d *door) paths(list []string) []string {
	var out []string
	for _, p := range list {
		out = append(out, d.path(p))
	}
	return out
}

// readInput reads standard input as what it is named for.
func (d *door) readInput(what string) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(d.inv.Stdin, maxProgram+1))
	if err != nil {
		return nil, fault.New(fault.UsageFile, "read %s from standard input: %w", what, err)
	}
	if len(data) > maxProgram {
		return nil, fault.New(fault.UsageFile, "%s on standard input is larger than %d MiB", what, maxProgram>>20)
	}
	return data, nil
}

// readBounded reads a file that a person named, which may be a pipe or a device
// without an end.
func readBounded(path string) ([]byte, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil, fault.New(fault.UsageFile, "%s is a folder", path).WithHint("name a file in it")
	}
	var data []byte
	f, err := os.Open(path)
	if err == nil {
		defer f.Close()
		data, err = io.ReadAll(io.LimitReader(f, maxProgram+1))
	}
	if len(data) > maxProgram {
		return nil, fault.New(fault.UsageFile, "%s is larger than %d MiB", path, maxProgram>>20)
	}
	if err != nil {
		var p *os.PathError
		if errors.As(err, &p) {
			err = p.Err
		}
		wrong := fault.New(fault.UsageFile, "read %s: %w", path, err)
		if near := besideIt(path); near != "" && errors.Is(err, fs.ErrNotExist) {
			return nil, wrong.WithHint("did you mean %s?", near)
		}
		return nil, wrong
	}
	return data, nil
}

// besideIt is the file of the same folder whose name is nearest to that of one
// that is not there.
func besideIt(path string) string {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) > 10_000 {
		return ""
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() && e.Name() != filepath.Base(path) {
			names = append(names, e.Name())
		}
	}
	return catalogue.NearestOf(filepath.Base(path), names)
}
