package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/fault"
)

// ownName is what wexec is called in the files of clients.
const ownName = "wexec"

func (d *door) installCommand() *cli.Command {
	return &cli.Command{
		Name: "install", Usage: "make wexec a server of an MCP client",
		Description: "Shows what changes in the client's file, keeps a copy of it, and leaves comments and order alone.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "client", Usage: "`NAME`: claude-code, claude-desktop, cursor, vscode, codex or gemini"},
			&cli.StringFlag{Name: "command", Usage: "`PATH`: what the client starts in place of this program", TakesFile: true},
			&cli.StringSliceFlag{Name: "policy", Usage: "`FILE`: the policy that the client starts it with", TakesFile: true},
			&cli.StringSliceFlag{Name: "mcp", Usage: "`FILE`: the servers that the client starts it with", TakesFile: true},
			&cli.BoolFlag{Name: "dry-run", Usage: "show the difference, write nothing"},
			&cli.BoolFlag{Name: "remove", Usage: "take wexec out again"},
		},
		Action: d.install,
	}
}

// client finds a client by its name.
func (d *door) client(name string) (config.Client, error) {
	var names []string
	for _, c := range config.Clients(d.inv.Env) {
		if c.Name == name {
			return c, nil
		}
		names = append(names, c.Name)
	}
	if name == "" {
		return config.Client{}, fault.New(fault.UsageFlag, "name the client").WithHint("--client %s", strings.Join(names, "|"))
	}
	err := fault.New(fault.UsageFlag, "there is no client %q", name)
	if near := catalogue.NearestOf(name, names); near != "" {
		return config.Client{}, err.WithHint("did you mean %s?", near)
	}
	return config.Client{}, err.WithHint("one of %s", strings.Join(names, ", "))
}

func (d *door) install(ctx *cli.Context) error {
	if ctx.Args().Len() > 0 {
		return fault.New(fault.UsageFlag, "mcp install takes no arguments").WithHint("wexec mcp install --client %s", ctx.Args().First())
	}
	c, err := d.client(ctx.String("client"))
	if err != nil {
		return err
	}
	e := entry{section: c.Key, name: ownName}
	if !ctx.Bool("remove") {
		if e.command = ctx.String("command"); e.command == "" {
			if e.command, err = os.Executable(); err != nil {
				return fault.New(fault.UsageConfig, "the path of this program cannot be told: %w", err).WithHint("name it with --command PATH")
			}
		}
		e.args = []string{"mcp"}
		for _, name := range []string{"policy", "mcp"} {
			for _, path := range d.paths(ctx.StringSlice(name)) {
				e.args = append(e.args, "--"+name, path)
			}
		}
		if len(e.args) == 1 && !c.InProject {
			if e.args, err = d.ofProject(e.args); err != nil {
				return err
			}
		}
		e.value = entryValue(c, e)
	}
	return d.change(c, e, ctx.Bool("dry-run"))
}

// ofProject names the project that somebody stands in, for a client that starts
// its servers elsewhere.
func (d *door) ofProject(args []string) ([]string, error) {
	settings, err := config.Load(d.inv.Env, config.Flags{})
	if err != nil || settings.Project.Dir == "" {
		return args, err
	}
	return append(args, "--project", settings.Project.Dir), nil
}

// entryValue is the entry as the client writes it.
func entryValue(c config.Client, e entry) any {
	server := struct {
		Type    string   `json:"type,omitempty"`
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}{Command: e.command, Args: e.args}
	if c.Key == "servers" {
		server.Type = "stdio"
	}
	return server
}

// change edits a client's file, and shows how.
func (d *door) change(c config.Client, e entry, dry bool) error {
	before, err := c.Text()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	after, err := edited(string(before), e, filepath.Ext(c.Path) == ".toml")
	if err != nil {
		return unreadable(c, before, err).WithHint("mend it, or add the server by hand")
	}
	if after == string(before) {
		if e.value == nil {
			d.voice.note("%s has no server %s (%s)", c.Name, e.name, c.Path)
		} else {
			d.voice.note("%s has it already (%s)", c.Name, c.Path)
		}
		return nil
	}
	if err := d.rewrite(c, before, after, dry); err != nil || dry {
		return err
	}
	if e.value != nil {
		d.voice.say("next: start %s anew, and look at what programs may do with  wexec tools list", c.Name)
	}
	return nil
}

// misplaced is what is wrong at a place of a client's file.
type misplaced struct {
	at   int // in bytes
	what string
}

func (m misplaced) Error() string { return m.what }

// unreadable is the error of a client's file that is not what it should be, with
// the place where that is known.
func unreadable(c config.Client, text []byte, err error) *fault.Error {
	where := c.Path
	if m := (misplaced{}); errors.As(err, &m) {
		before := string(text[:min(m.at, len(text))])
		where += fmt.Sprintf(":%d:%d", 1+strings.Count(before, "\n"), len(before)-strings.LastIndexByte(before, '\n'))
	}
	return fault.New(fault.UsageConfig, "%s cannot be read: %v", where, err)
}

// rewrite shows how a client's file changes, keeps a copy, and writes it.
func (d *door) rewrite(c config.Client, before []byte, after string, dry bool) error {
	fmt.Fprintf(d.inv.Stdout, "%s\n", c.Path)
	for _, line := range difference(string(before), after) {
		fmt.Fprintln(d.inv.Stdout, d.coloured(line))
	}
	if dry {
		d.voice.note("nothing was written")
		return nil
	}
	if len(before) > 0 {
		backup, err := keepCopy(c.Path, before)
		if err != nil {
			return err
		}
		d.voice.note("the file as it was: %s", backup)
	}
	return replaceFile(c.Path, []byte(after))
}

func (d *door) coloured(line string) string {
	if o, ok := d.inv.Stdout.(*outlet); !ok || o.w != io.Writer(os.Stdout) || !d.voice.colour {
		return line
	}
	switch {
	case strings.HasPrefix(line, "+"):
		return d.voice.paint("32", line)
	case strings.HasPrefix(line, "-"):
		return d.voice.paint("31", line)
	}
	return line
}

// keepCopy writes a file's content beside it, under a name that is free.
func keepCopy(path string, data []byte) (string, error) {
	for i := range 100 {
		name := path + ".bak"
		if i > 0 {
			name = fmt.Sprintf("%s.bak%d", path, i)
		}
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err == nil {
			_, err = f.Write(data)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			return "", fault.New(fault.UsageFile, "keep a copy of %s: %w", path, err)
		}
		return name, nil
	}
	return "", fault.New(fault.UsageFile, "keep a copy of %s: there are too many already", path)
}

// replaceFile writes a file whole or not at all, with the permissions it had.
// A link is followed.
func replaceFile(path string, data []byte) error {
	mode := fs.FileMode(0o600)
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	var f *os.File
	if err == nil {
		f, err = os.CreateTemp(filepath.Dir(path), ".wexec-*")
	}
	if err == nil {
		_, err = f.Write(data)
		err = errors.Join(err, f.Chmod(mode), f.Close())
		if err == nil {
			err = os.Rename(f.Name(), path)
		}
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}
	if err != nil {
		return fault.New(fault.UsageFile, "write %s: %w", path, err)
	}
	return nil
}
