package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v2"

	wasmmodules "github.com/wexec/wexec/wasm-modules"
)

func (d *door) versionCommand() *cli.Command {
	return &cli.Command{
		Name: "version", Usage: "print the version, and with --json those of the guests",
		Flags: []cli.Flag{&cli.BoolFlag{Name: "json", Usage: "print JSON"}},
		Action: func(ctx *cli.Context) error {
			if !ctx.Bool("json") {
				_, err := fmt.Fprintf(d.inv.Stdout, "wexec %s %s/%s %s\n", d.inv.Version, runtime.GOOS, runtime.GOARCH, runtime.Version())
				return err
			}
			type guest struct {
				Name    string `json:"name"`
				Version string `json:"version"`
				SHA256  string `json:"sha256"`
			}
			out := struct {
				Version string  `json:"version"`
				Commit  string  `json:"commit,omitempty"`
				Go      string  `json:"go"`
				OS      string  `json:"os"`
				Arch    string  `json:"arch"`
				Guests  []guest `json:"guests"`
			}{d.inv.Version, commit(), runtime.Version(), runtime.GOOS, runtime.GOARCH, []guest{}}
			for _, name := range wasmmodules.Names() {
				m, err := wasmmodules.Open(name)
				if err != nil {
					return err
				}
				out.Guests = append(out.Guests, guest{m.Name, m.Version, m.Digest})
			}
			return d.printJSON(out)
		},
	}
}

// unversioned is what main says of a command that no release gave a version.
const unversioned = "devel"

// versionOf is the version that a release set, else the one that the go command
// installed, else "devel".
func versionOf(set string) string {
	if set != "" && set != unversioned {
		return set
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return unversioned
}

// commit is what the command was built from, where the go command knew it.
func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	var revision, dirty string
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+dirty"
		}
	}
	return revision + dirty
}
