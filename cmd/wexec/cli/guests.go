package cli

import (
	"fmt"

	"github.com/urfave/cli/v2"

	wasmmodules "github.com/wexec/wexec/wasm-modules"
)

func (d *door) guestsCommand() *cli.Command {
	return &cli.Command{
		Name:  "guests",
		Usage: "list, verify and prepare the languages",
		Subcommands: []*cli.Command{
			{Name: "list", Usage: "list what is inside this program", Action: d.guestsList, Flags: []cli.Flag{&cli.BoolFlag{Name: "json", Usage: "print JSON"}}},
			{Name: "verify", Usage: "check every part against its digest", Action: d.guestsVerify},
		},
	}
}

func (d *door) guestsList(ctx *cli.Context) error {
	type row struct {
		Name    string `json:"name"`
		Version string `json:"version"`
		SHA256  string `json:"sha256"`
		Image   uint64 `json:"image_bytes"`
	}
	rows := []row{}
	for _, name := range wasmmodules.Names() {
		m, err := wasmmodules.Open(name)
		if err != nil {
			return err
		}
		rows = append(rows, row{m.Name, m.Version, m.Digest, m.ImageSize})
	}
	if ctx.Bool("json") {
		return d.printJSON(map[string]any{"guests": rows})
	}
	for _, r := range rows {
		fmt.Fprintf(d.inv.Stdout, "%-10s %-12s %8s  %s\n", r.Name, r.Version, bytesText(int64(r.Image)), r.SHA256[:16])
	}
	return nil
}

func (d *door) guestsVerify(*cli.Context) error {
	for _, name := range wasmmodules.Names() {
		m, err := wasmmodules.Open(name)
		if err == nil {
			err = m.Verify()
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(d.inv.Stdout, "%s %s: whole\n", m.Name, m.Version)
	}
	return nil
}
