package cli

import (
	"fmt"
	"runtime"

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
				Go      string  `json:"go"`
				OS      string  `json:"os"`
				Arch    string  `json:"arch"`
				Guests  []guest `json:"guests"`
			}{d.inv.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH, []guest{}}
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
