package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/cmd/wexec/internal/clients"
	"github.com/wexec/wexec/cmd/wexec/internal/terminal"
	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/atomicfile"
)

// clientNames are the clients that help and completion name.
var clientNames = []string{"claude-code", "claude-desktop", "cursor", "vscode", "codex", "gemini"}

func clientFlag() cli.Flag {
	return &cli.StringFlag{Name: "client", Usage: "`NAME`: " + strings.Join(clientNames[:len(clientNames)-1], ", ") + " or " + clientNames[len(clientNames)-1]}
}

func (a *app) installCommand() *cli.Command {
	return &cli.Command{
		Name: "install", Usage: "add wexec to the servers of an MCP client",
		Description: "Prints the change of the client's file and keeps a copy of the file. Comments and order stay as they are.",
		Flags: []cli.Flag{
			clientFlag(),
			&cli.StringFlag{Name: "command", Usage: "`PATH`: the command that the client starts (default this program)", TakesFile: true},
			&cli.StringSliceFlag{Name: "policy", Usage: "`FILE`: a policy that the client passes to wexec; repeatable", TakesFile: true},
			&cli.StringSliceFlag{Name: "mcp", Usage: "`FILE`: MCP servers that the client passes to wexec; repeatable", TakesFile: true},
			&cli.BoolFlag{Name: "dry-run", Usage: "print the change and write nothing"},
			&cli.BoolFlag{Name: "remove", Usage: "remove wexec from the client's servers"},
		},
		Action: a.install,
	}
}

func (a *app) importCommand() *cli.Command {
	return &cli.Command{
		Name: "import", Usage: "copy the servers of an MCP client to a file for wexec",
		Description: "Writes the client's servers to a file that wexec reads. With --move, they are also removed from the client's file and\n" +
			"replaced by wexec; the change is printed and a copy of the file is kept.",
		Flags: []cli.Flag{
			clientFlag(),
			&cli.StringFlag{Name: "out", Usage: "`FILE`: the file to write", Value: "mcp.json", TakesFile: true},
			&cli.BoolFlag{Name: "move", Usage: "remove the servers from the client's file and add wexec"},
			&cli.StringFlag{Name: "command", Usage: "`PATH`: with --move, the command that the client starts (default this program)", TakesFile: true},
			&cli.StringSliceFlag{Name: "policy", Usage: "`FILE`: with --move, a policy that the client passes to wexec; repeatable", TakesFile: true},
			&cli.BoolFlag{Name: "dry-run", Usage: "print what would be written and write nothing"},
		},
		Action: a.importServers,
	}
}

// client returns a client of this machine by its name.
func (a *app) client(name string) (config.Client, error) {
	var names []string
	for _, c := range config.Clients(a.Env) {
		if c.Name == name {
			return c, nil
		}
		names = append(names, c.Name)
	}
	if name == "" {
		return config.Client{}, fault.New(fault.UsageFlag, "name the client").WithHint("set --client %s", strings.Join(names, "|"))
	}
	return config.Client{}, suggest(fault.New(fault.UsageFlag, "unknown client %q", name), name, names)
}

// launch returns the command with which a client starts wexec: "wexec mcp" with
// the flags of ctx that are files.
func (a *app) launch(ctx *cli.Context, args ...string) (clients.Launch, error) {
	l := clients.Launch{Command: ctx.String("command"), Args: append([]string{"mcp"}, args...)}
	if l.Command == "" {
		path, err := os.Executable()
		if err != nil {
			return l, fault.New(fault.UsageConfig, "find the path of this program: %w", err).WithHint("set --command PATH")
		}
		l.Command = path
	}
	for _, flag := range []string{"policy", "mcp"} {
		for _, path := range a.paths(ctx.StringSlice(flag)) {
			l.Args = append(l.Args, "--"+flag, path)
		}
	}
	return l, nil
}

func (a *app) install(ctx *cli.Context) error {
	if ctx.Args().Len() > 0 {
		return fault.New(fault.UsageFlag, "mcp install takes no arguments").WithHint("wexec mcp install --client %s", ctx.Args().First())
	}
	c, err := a.client(ctx.String("client"))
	if err != nil {
		return err
	}
	before, err := c.Text()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	remove := ctx.Bool("remove")
	var after string
	if remove {
		after, err = clients.Remove(c, string(before), clients.Self)
	} else {
		l, lerr := a.launch(ctx)
		if lerr != nil {
			return lerr
		}
		if len(l.Args) == 1 && !c.InProject { // the client starts its servers in another folder
			settings, err := config.Load(a.Env, config.Flags{})
			if err != nil {
				return err
			}
			if settings.Project.Dir != "" {
				l.Args = append(l.Args, "--project", settings.Project.Dir)
			}
		}
		after, err = clients.Install(c, string(before), l)
	}
	switch {
	case err != nil:
		return invalidFile(c, err).WithHint("fix the file, or add the server by hand")
	case after == string(before) && remove:
		a.term.Note("%s has no server %s (%s)", c.Name, clients.Self, c.Path)
		return nil
	case after == string(before):
		a.term.Note("%s already has wexec (%s)", c.Name, c.Path)
		return nil
	}
	if err := a.replaceClientFile(c, before, after, ctx.Bool("dry-run")); err != nil || ctx.Bool("dry-run") {
		return err
	}
	if !remove {
		a.term.Print("next: restart %s, and see what programs may call with  wexec tools list", c.Name)
	}
	return nil
}

func (a *app) importServers(ctx *cli.Context) error {
	c, err := a.client(ctx.String("client"))
	if err != nil {
		return err
	}
	if !fileExists(c.Path) {
		return fault.New(fault.UsageFile, "%s has no servers: there is no %s", c.Name, c.Path).WithHint("list the clients that have servers with wexec doctor")
	}
	before, err := c.Text()
	if err != nil {
		return err
	}
	const fix = "fix the file first"
	servers, err := clients.Servers(c, string(before))
	if err != nil {
		return invalidFile(c, err).WithHint(fix)
	}
	if len(servers) == 0 {
		a.term.Note("%s has no servers except wexec (%s)", c.Name, c.Path)
		return nil
	}
	file, err := clients.File(servers)
	if err != nil {
		return invalidFile(c, err).WithHint(fix)
	}
	out, dry, move := ctx.String("out"), ctx.Bool("dry-run"), ctx.Bool("move")
	if dry {
		a.printf("%s", file)
	} else {
		if fileExists(a.path(out)) {
			return fault.New(fault.UsageFile, "write %s: the file exists", out).WithHint("set another file with --out")
		}
		if err := writeFile(a.path(out), file); err != nil {
			return err
		}
		a.term.Note("wrote %s to %s", terminal.Count(len(servers), "server"), out)
	}
	if move {
		after, err := a.moved(ctx, c, string(before), servers)
		if err != nil {
			return err
		}
		if err := a.replaceClientFile(c, before, after, dry); err != nil {
			return err
		}
	}
	switch {
	case dry:
	case move:
		a.term.Print("next: write a policy for them with wexec init --mcp %s; without one every tool is denied", out)
	default:
		a.term.Print("next: wexec init --mcp %s, then wexec mcp install --client %s", out, c.Name)
	}
	return nil
}

// moved returns the text of a client's file with wexec in the place of its
// servers.
func (a *app) moved(ctx *cli.Context, c config.Client, text string, servers []clients.Server) (string, error) {
	l, err := a.launch(ctx, "--mcp", a.path(ctx.String("out")))
	if err != nil {
		return "", err
	}
	if !ctx.IsSet("policy") && !c.InProject {
		l.Args = append(l.Args, "--project", a.Env.Dir) // for the policy that wexec init writes there
	}
	var names []string
	for _, s := range servers {
		names = append(names, s.Name)
	}
	if text, err = clients.Remove(c, text, names...); err == nil {
		text, err = clients.Install(c, text, l)
	}
	if err != nil {
		return "", invalidFile(c, err).WithHint("fix the file first")
	}
	return text, nil
}

// invalidFile is the error of a client's file, with the place if it is known.
func invalidFile(c config.Client, err error) *fault.Error {
	var e *clients.SyntaxError
	if errors.As(err, &e) {
		return fault.New(fault.UsageConfig, "read %s:%s", c.Path, e)
	}
	return fault.New(fault.UsageConfig, "read %s: %w", c.Path, err)
}

// replaceClientFile prints how a client's file changes, keeps a copy of it and
// writes it.
func (a *app) replaceClientFile(c config.Client, before []byte, after string, dry bool) error {
	a.printf("%s\n", c.Path)
	for _, line := range terminal.Diff(string(before), after) {
		if a.stdoutTerminal {
			line = a.term.PaintDiff(line)
		}
		a.printf("%s\n", line)
	}
	if dry {
		a.term.Note("nothing was written")
		return nil
	}
	if len(before) > 0 {
		backup, err := keepCopy(c.Path, before)
		if err != nil {
			return fault.New(fault.UsageFile, "keep a copy of %s: %w", c.Path, err)
		}
		a.term.Note("the old file is in %s", backup)
	}
	return writeFile(c.Path, []byte(after))
}

// keepCopy writes data to path with the first free suffix of .bak, .bak1, ….
func keepCopy(path string, data []byte) (string, error) {
	for i := range 100 {
		name := path + ".bak"
		if i > 0 {
			name += fmt.Sprint(i)
		}
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err == nil {
			_, err = f.Write(data)
			err = errors.Join(err, f.Close())
		}
		return name, err
	}
	return "", errors.New("there are too many copies")
}

// writeFile replaces a file, or the target of a link, and keeps its permissions.
func writeFile(path string, data []byte) error {
	mode := fs.FileMode(0o600)
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = atomicfile.Write(path, data, mode)
	}
	if err != nil {
		return fault.New(fault.UsageFile, "write %s: %w", path, reason(err))
	}
	return nil
}
