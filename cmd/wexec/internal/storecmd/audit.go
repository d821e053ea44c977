package storecmd

import (
	"crypto/ed25519"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/cmd/wexec/internal/terminal"
	"github.com/wexec/wexec/service"
	"github.com/wexec/wexec/service/chains"
	"github.com/wexec/wexec/store"
)

// AuditFlags are the flags of wexec audit verify that name a store.
func AuditFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "store", Usage: "`URL`: check the chains of servers in this store, and those in the data folder"},
		&cli.StringFlag{Name: "data", Usage: "`DIR`: the data folder of a server (default $XDG_DATA_HOME/wexec)", TakesFile: true},
		&cli.StringFlag{Name: "seal-key", Usage: "`FILE`: the seal key of the servers (default seal.key in the data folder)", TakesFile: true},
	}
}

// VerifyAudit checks the chains that servers have in a store, and compares them with
// the folders of the audit logs in the data folder. Heads must be signed by one of the
// keys if there are some.
func (c Commands) VerifyAudit(keys []ed25519.PublicKey) cli.ActionFunc {
	return c.with(existing(), func(ctx *cli.Context, s *store.Store, address string) error {
		data, err := c.Env.DataDir(ctx.String("data"))
		if err != nil {
			return err
		}
		file := ctx.String("seal-key")
		if file != "" {
			file = c.path(file)
		}
		seal, err := service.OpenKeys(ctx.Context, s, c.Env, data, file)
		if err != nil {
			return err
		}
		found, err := chains.Archive{Store: s, Keys: seal}.Verify(ctx.Context, "", keys...)
		if err != nil {
			return err
		}
		folders, err := c.folders(data, found, keys)
		if err != nil {
			return err
		}
		return c.printChains(ctx, address, found, folders)
	})
}

// folder is what was found in the folder of an audit log.
type folder struct {
	Dir string `json:"dir"`
	audit.Report
}

// folders checks the audit logs in a data folder, and compares what was found in the
// store with them.
func (c Commands) folders(data string, found []chains.Chain, keys []ed25519.PublicKey) ([]folder, error) {
	dirs, err := filepath.Glob(filepath.Join(data, "tenants", "*", "audit"))
	if err != nil {
		return nil, err
	}
	all := []folder{}
	for _, dir := range dirs {
		r, err := audit.Verify(dir, keys...)
		if err != nil {
			return nil, err
		}
		id, err := chains.IDOf(dir)
		if err != nil {
			return nil, err
		}
		for i := range found {
			if found[i].ID == id {
				found[i].Compare(r)
			}
		}
		all = append(all, folder{dir, r})
	}
	return all, nil
}

// printChains prints what was found.
func (c Commands) printChains(ctx *cli.Context, address string, found []chains.Chain, folders []folder) error {
	records, segments, problems := 0, 0, 0
	for _, one := range found {
		records, segments, problems = records+one.Records, segments+len(one.Segments), problems+len(one.Problems)
	}
	for _, f := range folders {
		problems += len(f.Problems)
	}
	if ctx.Bool("json") {
		if err := c.PrintJSON(map[string]any{"store": store.Redacted(address), "ok": problems == 0, "chains": found, "folders": folders}); err != nil {
			return err
		}
	} else {
		for _, one := range found {
			for _, p := range one.Problems {
				c.printf("tenant %s, chain %s, %s\n", terminal.Visible(one.Tenant), terminal.Visible(one.ID), terminal.Visible(p.String()))
			}
		}
		for _, f := range folders {
			for _, p := range f.Problems {
				c.printf("%s\n", terminal.Visible(filepath.Join(f.Dir, p.String())))
			}
		}
		c.printf("%s in %s of %s, %s: %s\n", terminal.Count(records, "record"), terminal.Count(segments, "sealed segment"), terminal.Count(len(found), "chain"),
			terminal.Count(len(folders), "folder"), terminal.Count(problems, "problem"))
	}
	if problems > 0 {
		return c.Faulty
	}
	return nil
}
