package cli

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/cmd/wexec/internal/terminal"
	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
)

// Invocation is one call of the command: what a process has, as values, like
// exec.Cmd. Run it with [Invocation.Run].
type Invocation struct {
	Args    []string // with the program's name first
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Env     *config.Environment
	Version string
}

// app is an invocation and what its commands share.
type app struct {
	Invocation
	term   *terminal.Printer
	loaded *engine.Cache // has begun to load the guest of a run; nil: nothing is loading
}

func newApp(inv *Invocation) *app {
	return &app{Invocation: *inv, term: newPrinter(inv)}
}

func newPrinter(inv *Invocation) *terminal.Printer {
	lookup := func(string) (string, bool) { return "", false }
	if inv.Env != nil {
		lookup = inv.Env.Lookup
	}
	return terminal.New(inv.Stderr, lookup)
}

// exitStatus is the error of a command that has printed why it failed.
type exitStatus int

// Error is never printed.
func (exitStatus) Error() string { return "" }

// canAsk reports whether a person can answer at the terminal.
func (a *app) canAsk() bool { return a.term.CanAsk(a.Stdin) }

// maxInput bounds what is read of a file or of standard input.
const maxInput = 64 << 20

// path resolves a path of the command line.
func (a *app) path(p string) string {
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(a.Env.Dir, p)
}

func (a *app) paths(list []string) []string {
	var out []string
	for _, p := range list {
		out = append(out, a.path(p))
	}
	return out
}

// readStdin reads standard input to its end. The name is for errors.
func (a *app) readStdin(name string) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(a.Stdin, maxInput+1))
	if err != nil {
		return nil, fault.New(fault.UsageFile, "read %s from standard input: %w", name, err)
	}
	if len(data) > maxInput {
		return nil, fault.New(fault.UsageFile, "read %s from standard input: larger than %d MiB", name, maxInput>>20)
	}
	return data, nil
}

// readFile reads a file up to a limit, since it may be a pipe or a device.
func readFile(path string) ([]byte, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil, fault.New(fault.UsageFile, "read %s: it is a folder", path).WithHint("name a file in it")
	}
	var data []byte
	f, err := os.Open(path)
	if err == nil {
		defer f.Close()
		data, err = io.ReadAll(io.LimitReader(f, maxInput+1))
	}
	if err != nil {
		wrong := fault.New(fault.UsageFile, "read %s: %w", path, reason(err))
		if near := similarFile(path); near != "" && errors.Is(err, fs.ErrNotExist) {
			return nil, wrong.WithHint("did you mean %s?", near)
		}
		return nil, wrong
	}
	if len(data) > maxInput {
		return nil, fault.New(fault.UsageFile, "read %s: larger than %d MiB", path, maxInput>>20)
	}
	return data, nil
}

// reason is a file error without the operation and the path.
func reason(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// similarFile returns the file in the same folder with the nearest name.
func similarFile(path string) string {
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

func fileExists(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
