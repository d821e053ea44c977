package config

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/atomicfile"
)

// maxFile bounds a configuration file.
const maxFile = 4 << 20

// reader reads a file. Which one depends on who wrote the file.
type reader func(path string) ([]byte, error)

// readBounded reads a file that the user named, with a bounded size: it may be a
// device, which has no end.
func readBounded(path string) ([]byte, error) {
	f, err := os.Open(filepath.Clean(path))
	if err != nil {
		return nil, fault.New(fault.UsageFile, "read %s: %w", path, pathCause(err))
	}
	defer f.Close()
	return readAll(f, path)
}

// readAll reads a file of a bounded size.
func readAll(f *os.File, path string) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fault.New(fault.UsageFile, "read %s: %w", path, pathCause(err))
	}
	if len(data) > maxFile {
		return nil, fault.New(fault.UsageConfig, "%s is larger than %d MiB", path, maxFile>>20)
	}
	return data, nil
}

// readWithin reads a file of a tenant. A path or a link that leads out of its folder
// fails.
func (e *Environment) readWithin(path string) ([]byte, error) {
	name, err := filepath.Rel(e.Within, path)
	if err != nil {
		return nil, fault.New(fault.UsageFile, "read %s: %w", path, pathCause(err))
	}
	f, err := os.OpenInRoot(e.Within, name)
	if err != nil {
		return nil, fault.New(fault.UsageFile, "read %s: %w", path, pathCause(err))
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fault.New(fault.UsageConfig, "%s is not a regular file", path)
	}
	return readAll(f, path)
}

// readUntrusted reads a file that nobody named, such as one of a cloned project.
// It refuses anything but a regular file: opening a pipe or a terminal can block
// forever.
func readUntrusted(path string) ([]byte, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fault.New(fault.UsageConfig, "%s is not a regular file", path)
	}
	return readBounded(path)
}

// exists reports whether there is a regular file at a path.
func exists(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// pathCause returns the error of a PathError without the operation and the path.
func pathCause(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// readJSON reads a JSON file that wexec wrote. It changes nothing if the file is
// missing or path is "". The hint says how to repair the file.
func readJSON(path string, into any, what, hint string) error {
	if path == "" {
		return nil
	}
	data, err := readUntrusted(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		return fault.New(fault.UsageConfig, "read %s in %s: %w", what, path, err).WithHint("%s", hint)
	}
	return nil
}

// writeJSON writes a file as indented JSON.
func writeJSON(path string, v any, mode fs.FileMode) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err == nil {
		err = write(path, append(data, '\n'), mode)
	}
	if err != nil {
		return fault.New(fault.UsageConfig, "write %s: %w", path, pathCause(err))
	}
	return nil
}

// write writes a file and the folders above it.
func write(path string, data []byte, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return atomicfile.Write(path, data, mode)
}
