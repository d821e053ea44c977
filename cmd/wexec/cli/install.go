package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/cmd/wexec/internal/clients"
	"github.com/wexec/wexec/cmd/wexec/internal/commandline"
	"github.com/wexec/wexec/cmd/wexec/internal/terminal"
	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/atomicfile"
	"github.com/wexec/wexec/internal/policyfile"
	"github.com/wexec/wexec/internal/yamldoc"
	"github.com/wexec/wexec/policy"
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
		Description: "Writes the client's servers to a file that wexec reads, or adds them to the file. Their secrets become entries of the policy\n" +
			"that read them from the environment, or from a file outside the project that only you can read. With --move, the servers\n" +
			"are also removed from the client's file and replaced by wexec; the change is printed and --undo takes it back.",
		Flags: []cli.Flag{
			clientFlag(),
			&cli.StringFlag{Name: "out", Usage: "`FILE`: the file to write", Value: "mcp.json", TakesFile: true},
			&cli.BoolFlag{Name: "move", Usage: "remove the servers from the client's file and add wexec"},
			&cli.BoolFlag{Name: "undo", Usage: "undo the last --move: restore the client's file, and remove the servers from the file that they were moved to"},
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
	return config.Client{}, commandline.Suggest(fault.New(fault.UsageFlag, "unknown client %q", name), name, names)
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
	if err := a.replaceClientFile(c, before, after, ctx.Bool("dry-run"), true); err != nil || ctx.Bool("dry-run") {
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
	if ctx.Bool("undo") {
		return a.undoMove(c, ctx.Bool("dry-run"))
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
	out, dry, move := ctx.String("out"), ctx.Bool("dry-run"), ctx.Bool("move")
	var present []byte
	if fileExists(a.path(out)) {
		if present, err = readFile(a.path(out)); err != nil {
			return err
		}
	}
	var secrets []clients.Secret
	var kept []clients.Server
	for _, s := range servers {
		s, found, err := s.Portable()
		if err != nil {
			a.term.Warn("%s", err)
			continue
		}
		secrets, kept = append(secrets, found...), append(kept, s)
	}
	text, different, err := clients.Merge(string(present), kept)
	if err != nil {
		return fault.New(fault.UsageConfig, "add the servers to %s: %w", out, err).WithHint("set another file with --out")
	}
	isDifferent := func(name string) bool { return slices.Contains(different, name) }
	for _, name := range different {
		a.term.Warn("server %q is another one in %s, and is not imported: rename it in one of the files", name, out)
	}
	kept = slices.DeleteFunc(kept, func(s clients.Server) bool { return isDifferent(s.Name) })
	secrets = slices.DeleteFunc(secrets, func(s clients.Secret) bool { return isDifferent(s.Server) })
	if len(kept) == 0 {
		return fault.New(fault.UsageConfig, "no server of %s can be imported", c.Name)
	}
	m := config.Moved{Path: c.Path, Before: string(before), Out: a.path(out)}
	for _, s := range kept {
		m.Servers = append(m.Servers, s.Name)
	}
	if dry {
		a.printf("%s", text)
		for _, s := range secrets {
			a.term.Note("%s of server %s would become a secret of the policy", s.Name, s.Server)
		}
	} else {
		if err := writeFile(a.path(out), []byte(text)); err != nil {
			return err
		}
		a.term.Note("wrote %s to %s", terminal.Count(len(kept), "server"), out)
		if m.Secrets, err = a.keepSecrets(secrets, out); err != nil {
			return err
		}
	}
	if move {
		if m.After, err = a.moved(ctx, c, string(before), kept); err != nil {
			return err
		}
		if !dry {
			all, err := c.Moves(a.Env)
			if err == nil {
				err = c.SaveMoves(a.Env, append(all, m))
			}
			if err != nil {
				return err
			}
		}
		// The record of the move has the old text. A copy in the project would have
		// the secrets.
		if err := a.replaceClientFile(c, before, m.After, dry, !c.InProject); err != nil {
			return err
		}
	}
	switch {
	case dry:
	case move:
		a.term.Print("next: write a policy for them with wexec init --mcp %s; without one every tool is denied\nto take the servers back: wexec mcp import --client %s --undo", out, c.Name)
	default:
		a.term.Print("next: wexec init --mcp %s, then wexec mcp install --client %s", out, c.Name)
	}
	return nil
}

// keepSecrets adds secrets to the policy of the project, which it writes if there is
// none, and returns the files that they were written to.
func (a *app) keepSecrets(secrets []clients.Secret, servers string) (files []string, err error) {
	if len(secrets) == 0 {
		return nil, nil
	}
	settings, err := config.Load(a.Env, config.Flags{})
	if err != nil {
		return nil, err
	}
	var items []yamldoc.Item
	for _, s := range secrets {
		from, file, err := config.SaveSecret(a.Env, s.Server, s.Name, s.Value)
		if err != nil {
			return nil, err
		}
		if file != "" {
			files = append(files, file)
		}
		quoted := make([]any, 0, 4)
		for _, text := range []string{s.Server + "." + s.Name, from, "server:" + s.Server, s.As} {
			data, err := json.Marshal(text) // a string of JSON is one of YAML
			if err != nil {
				return nil, err
			}
			quoted = append(quoted, data)
		}
		items = append(items, yamldoc.Item{Text: fmt.Sprintf("{name: %s, from: %s, to: [%s], as: %s}", quoted...)})
	}
	path, data := settings.PolicyFile(), []byte(policyfile.Starter(nil))
	if path == "" {
		path = filepath.Join(a.Env.Dir, "policy.yaml")
		if config := filepath.Join(a.Env.Dir, "wexec.yaml"); !fileExists(config) {
			if err := a.write(config, []byte(a.starterSettings([]string{servers}))); err != nil {
				return files, err
			}
		}
	} else if data, err = readFile(path); err != nil {
		return files, err
	}
	if data, err = yamldoc.Append(data, []string{"secrets"}, items...); err == nil {
		_, err = policy.Parse(a.shown(path), data)
	}
	if err != nil {
		return files, fault.New(fault.UsagePolicy, "add secrets to %s: %w", a.shown(path), err).WithHint("add them with an editor: %s", items[0].Text)
	}
	if err := writeFile(path, data); err != nil {
		return files, err
	}
	a.term.Note("wrote %s to %s; the values are in %s", terminal.Count(len(secrets), "secret"), a.shown(path), secretPlaces(files))
	if settings.Project.Dir == "" || settings.Project.Trusted {
		_, err = config.Trust(a.Env)
	}
	return files, err
}

// secretPlaces names where secrets are kept.
func secretPlaces(files []string) string {
	if len(files) == 0 {
		return "the environment"
	}
	return filepath.Dir(files[0])
}

// undoMove takes the last move of a client's servers back.
func (a *app) undoMove(c config.Client, dry bool) error {
	all, err := c.Moves(a.Env)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return fault.New(fault.UsageFile, "no servers were moved out of %s", c.Path)
	}
	m := all[len(all)-1]
	now, err := c.Text()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text, err := clients.Restore(c, string(now), m)
	if err != nil {
		return err
	}
	if err := a.replaceClientFile(c, now, text, dry, false); err != nil || dry {
		return err
	}
	if data, err := readFile(m.Out); err == nil {
		rest, err := clients.Without(string(data), m.Servers...)
		if err == nil {
			err = writeFile(m.Out, []byte(rest))
		}
		if err != nil {
			return fault.New(fault.UsageFile, "remove the servers from %s: %w", m.Out, err)
		}
		a.term.Note("removed %s from %s", terminal.Count(len(m.Servers), "server"), a.shown(m.Out))
	}
	for _, file := range m.Secrets {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fault.New(fault.UsageFile, "remove a secret: %w", err)
		}
	}
	if len(m.Secrets) > 0 {
		a.term.Note("removed the files of %s; their entries in the policy have no effect", terminal.Count(len(m.Secrets), "secret"))
	}
	return c.SaveMoves(a.Env, all[:len(all)-1])
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

// replaceClientFile prints how a client's file changes, keeps a copy of it if keep is
// set, and writes it.
func (a *app) replaceClientFile(c config.Client, before []byte, after string, dry, keep bool) error {
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
	if len(before) > 0 && keep {
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
