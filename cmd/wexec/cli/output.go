package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/cmd/wexec/internal/terminal"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
)

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
