package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

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
	term           *terminal.Printer
	loaded         *engine.Cache                // has begun to load the guest of a run; nil: nothing is loading
	programs       struct{ Out, Err io.Writer } // where programs print
	stdoutTerminal bool
	stdoutWidth    int // columns of the terminal; 0: unknown
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

// output is standard output. It keeps its first error, since commands that print
// line by line ignore it.
type output struct {
	io.Writer
	err error
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if err != nil && o.err == nil {
		o.err = err
	}
	return n, err
}

func (a *app) printf(format string, args ...any) { fmt.Fprintf(a.Stdout, format, args...) }

// printValue prints a program's value: text as it is, anything else as indented
// JSON, and nothing for null.
func (a *app) printValue(value json.RawMessage) error {
	if len(value) == 0 || bytes.Equal(value, []byte("null")) {
		return nil
	}
	var b bytes.Buffer
	var s string
	switch {
	case value[0] == '"' && json.Unmarshal(value, &s) == nil:
		b.WriteString(s)
	case json.Indent(&b, value, "", "  ") != nil:
		b.Reset()
		b.Write(value)
	}
	b.WriteByte('\n')
	_, err := a.Stdout.Write(b.Bytes())
	return err
}

// printJSON prints indented JSON.
func (a *app) printJSON(v any) error { return writeJSON(a.Stdout, v, "  ") }

// printLine prints JSON on one line.
func (a *app) printLine(v any) error { return writeJSON(a.Stdout, v, "") }

func writeJSON(w io.Writer, v any, indent string) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	return enc.Encode(v)
}

// printStats prints what a run used.
func (a *app) printStats(res *engine.Result) {
	u := res.Usage
	row := func(name, format string, args ...any) {
		a.term.Print("%s %s", a.term.Paint(terminal.Dim, fmt.Sprintf("%8s", name)), fmt.Sprintf(format, args...))
	}
	row("status", "%s", res.Status)
	row("time", "%d ms, %d in the guest", u.WallMS, u.GuestMS)
	row("fuel", "%s", terminal.Thousands(u.Fuel))
	row("memory", "%s", terminal.Bytes(u.MemoryPeak))
	if u.ToolCalls > 0 {
		row("tools", "%s, %s", terminal.Count(u.ToolCalls, "call"), terminal.Bytes(u.ToolBytes))
	}
	row("result", "%s", terminal.Bytes(u.ResultSize))
	if u.ContextSavings != nil {
		row("tokens", "%s in tools, %s out: %.2f %% saved", terminal.Thousands(u.TokensInTools), terminal.Thousands(u.TokensOut), 100**u.ContextSavings)
	}
	if p := res.Privacy; p != nil && len(p.Counts) > 0 {
		row("privacy", "%s: %s", p.Mode, terminal.Kinds(p.Counts))
	}
	if res.Cache != "" && res.Cache != "off" {
		row("cache", "%s", res.Cache)
	}
}

// statusOf turns the error of a run into the exit status of the command, which
// does not depend on how the result is printed.
func statusOf(res *engine.Result, err error) error {
	if err == nil {
		return nil
	}
	if res != nil && res.Error != nil && res.Error.Code == fault.GuestExit {
		if res.Error.Exit == 0 {
			return nil
		}
		return exitStatus(res.Error.Exit & 0xff)
	}
	return exitStatus(fault.CodeOf(err).Class().Exit())
}

// failed is the error of a run that did not start. With --json it is printed as
// a Result.
func (a *app) failed(ctx *cli.Context, err error) error {
	if !ctx.Bool("json") && !ctx.Bool("jsonl") {
		return err
	}
	return a.failedJSON(err, ctx.Bool("jsonl"))
}

func (a *app) failedJSON(err error, oneLine bool) error {
	code := fault.CodeOf(err)
	res := &engine.Result{Status: engine.StatusError, Started: time.Now().UTC(), Cache: "off", Error: &engine.Error{
		Code: code, Class: code.Class(), Message: err.Error(), Hint: fault.HintOf(err)}}
	show := a.printJSON
	if oneLine {
		show = a.printLine
	}
	if werr := show(res); werr != nil {
		return werr
	}
	return exitStatus(code.Class().Exit())
}
