package cli

import (
	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/cmd/wexec/internal/terminal"
	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns/packages"
	"github.com/wexec/wexec/internal/text"
)

func (a *app) packagesCommand() *cli.Command {
	return &cli.Command{
		Name:  "packages",
		Usage: "let programs import pure packages",
		Subcommands: []*cli.Command{
			{
				Name: "add", Usage: "add packages to the project, or replace them", ArgsUsage: "WHEEL|FOLDER|TARBALL…",
				Description: "Packages of Python come from a wheel (.whl) or a folder, packages of npm from a folder in node_modules or a\n" +
					"tarball (.tgz) and become one bundle. An archive of each is written next to wexec.yaml, which has its digest.\n" +
					"Native modules are refused. Programs cannot add packages.",
				Flags: []cli.Flag{jsonFlag()}, Action: a.packagesAdd,
			},
			{Name: "list", Usage: "list the packages that programs may import", Flags: []cli.Flag{jsonFlag()}, Action: a.packagesList},
			{Name: "remove", Usage: "remove packages from the project", ArgsUsage: "NAME…", Action: a.packagesRemove},
		},
	}
}

// packageRow is a package in a list.
type packageRow struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	Kind    string `json:"kind,omitempty"`
	State   string `json:"state"` // added (just now), ok, changed or missing
	Path    string `json:"path"`
	SHA256  string `json:"sha256"`
	Origin  string `json:"origin"`
}

func newPackageRow(about packages.About, state string, p config.PinnedPackage) packageRow {
	return packageRow{about.Name, about.Version, about.Kind, state, p.Path, p.SHA256, p.Origin}
}

func (a *app) packagesAdd(ctx *cli.Context) error {
	if ctx.Args().Len() == 0 {
		return fault.New(fault.UsageFlag, "no package to add").WithHint("name a wheel, a folder or a tarball of npm: wexec packages add PATH")
	}
	settings, err := config.Load(a.Env, config.Flags{})
	if err != nil {
		return err
	}
	rows := []packageRow{}
	for _, name := range ctx.Args().Slice() {
		p, err := packages.Read(a.path(name))
		if err != nil {
			return err
		}
		if p.NeedsBundle() {
			if p, err = bundled(ctx, settings.Cache, p); err != nil {
				return err
			}
		}
		pinned, err := config.AddPackage(a.Env, p)
		if err != nil {
			return err
		}
		row := newPackageRow(p.About, "added", pinned)
		if rows = append(rows, row); !ctx.Bool("json") {
			a.term.Note("%s %s added: %s, %s", row.Name, row.Version, row.Path, terminal.Count(len(p.Files), "file"))
		}
	}
	if after, err := config.Load(a.Env, config.Flags{}); err == nil && after.Project.Dir != "" && !after.Project.Trusted {
		a.term.Warn("%s is not trusted, so programs cannot import its packages", after.Project.Dir)
		a.term.Hint("read its files, then run: wexec config trust")
	}
	if ctx.Bool("json") {
		return a.printJSON(map[string]any{"packages": rows})
	}
	return nil
}

// bundled bundles a package of npm.
func bundled(ctx *cli.Context, cache string, p *packages.Package) (*packages.Package, error) {
	eng, err := engine.New(ctx.Context, engine.Config{Cache: cache, Ready: -1})
	if err != nil {
		return nil, err
	}
	defer func() { _ = eng.Close() }()
	files := map[string]string{}
	for name, data := range p.Files {
		files[name] = string(data)
	}
	code, err := eng.Bundle(ctx.Context, p.Name, files)
	if err != nil {
		return nil, err
	}
	return p.Bundled([]byte(code)), nil
}

func (a *app) packagesList(ctx *cli.Context) error {
	settings, err := config.Load(a.Env, config.Flags{})
	if err != nil {
		return err
	}
	rows := []packageRow{}
	for _, p := range settings.Packages {
		state := "ok"
		if _, err := p.Read(); err != nil {
			if state = "changed"; !fileExists(p.Path) {
				state = "missing"
			}
		}
		rows = append(rows, newPackageRow(packages.Describe(p.Path), state, p))
	}
	if ctx.Bool("json") {
		return a.printJSON(map[string]any{"packages": rows})
	}
	if len(rows) == 0 {
		a.term.Note("programs may import no packages: add one with wexec packages add PATH")
	}
	for _, r := range rows {
		a.printf("%-8s %-6s %-24s %-10s %s  %s\n", r.State, r.Kind, r.Name, r.Version, text.Prefix(r.SHA256, 12), r.Path)
	}
	return nil
}

func (a *app) packagesRemove(ctx *cli.Context) error {
	if ctx.Args().Len() == 0 {
		return fault.New(fault.UsageFlag, "no package to remove").WithHint("list them with wexec packages list")
	}
	for _, name := range ctx.Args().Slice() {
		if err := config.RemovePackage(a.Env, name); err != nil {
			return err
		}
		a.term.Note("%s removed", text.Clip(name, 128))
	}
	return nil
}
