package storecmd

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/cmd/wexec/internal/commandline"
	"github.com/wexec/wexec/cmd/wexec/internal/terminal"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/units"
	"github.com/wexec/wexec/service"
	"github.com/wexec/wexec/store"
)

// Store is wexec store.
func (c Commands) Store() *cli.Command {
	return &cli.Command{
		Name:  "store",
		Usage: "create, check, back up, move and prune the store of runs and tokens",
		Subcommands: []*cli.Command{
			{Name: "migrate", Usage: "create the store, or bring it to the version of this wexec", Flags: flags(), Action: c.migrate},
			{Name: "check", Usage: "find damage and records that contradict each other", Flags: flags(), Action: c.with(existing(), c.check)},
			{Name: "backup", Usage: "write a copy to a new file", ArgsUsage: "FILE", Flags: flags(), Action: c.with(existing(), c.backup),
				Description: "The file is a SQLite store, also if the database is PostgreSQL. It has the state of one moment; servers go on writing."},
			{Name: "restore", Usage: "copy a backup into a new store", ArgsUsage: "FILE", Action: c.restore, Flags: flags(
				&cli.StringFlag{Name: "key", Usage: "`FILE`: the seal key of the servers (default seal.key in the data folder)", TakesFile: true}),
				Description: "Deletions of people that the data folder has a record of, and that are later than the backup, are applied again."},
			{Name: "copy", Usage: "copy a store into a new one, such as from SQLite to PostgreSQL", ArgsUsage: "FROM TO", Action: c.copy, Flags: []cli.Flag{
				&cli.BoolFlag{Name: "json", Usage: "print JSON"}}},
			{Name: "prune", Usage: "remove old runs with their events, approvals and usage", Action: c.with(existing(), c.prune), Flags: flags(
				&cli.StringFlag{Name: "older-than", Usage: "`DURATION`: keep runs that ended within it", Value: "30d"})},
		},
	}
}

func (c Commands) migrate(ctx *cli.Context) error {
	if _, err := commandline.Arguments(ctx); err != nil {
		return err
	}
	address, err := c.address(ctx)
	if err != nil {
		return err
	}
	before, now, err := store.Migrate(ctx.Context, address, store.Options{})
	if err != nil {
		return explained(err, address)
	}
	shown := store.Redacted(address)
	switch {
	case ctx.Bool("json"):
		return c.PrintJSON(map[string]any{"store": shown, "before": before, "version": now})
	case before == 0:
		c.printf("created %s with version %d\n", shown, now)
	case before == now:
		c.printf("%s has version %d already\n", shown, now)
	default:
		c.printf("migrated %s from version %d to %d\n", shown, before, now)
	}
	return nil
}

func (c Commands) check(ctx *cli.Context, s *store.Store, address string) error {
	if _, err := commandline.Arguments(ctx); err != nil {
		return err
	}
	r, err := s.Check(ctx.Context)
	if err != nil {
		return err
	}
	if ctx.Bool("json") {
		err = c.PrintJSON(map[string]any{"store": store.Redacted(address), "version": r.Version, "rows": r.Rows, "faults": append([]string{}, r.Faults...)})
	} else {
		for _, f := range r.Faults {
			c.printf("%s\n", terminal.Visible(f))
		}
		c.printf("version %d, %s: %s\n", r.Version, contents(r), terminal.Count(len(r.Faults), "fault"))
	}
	if err == nil && len(r.Faults) > 0 {
		err = c.Faulty
	}
	return err
}

// contents says what a store has.
func contents(r store.Report) string {
	var parts []string
	for _, table := range []string{"run", "event", "approval", "token"} {
		parts = append(parts, terminal.Count(int(r.Rows[table+"s"]), table))
	}
	return strings.Join(parts, ", ")
}

func (c Commands) backup(ctx *cli.Context, s *store.Store, address string) error {
	args, err := commandline.Arguments(ctx, "the file of the backup")
	if err != nil {
		return err
	}
	file := c.path(args[0])
	if err := s.Backup(ctx.Context, file); err != nil {
		return err
	}
	return c.copied(ctx, "wrote "+args[0], "sqlite:"+file, map[string]any{"store": store.Redacted(address), "file": file})
}

func (c Commands) restore(ctx *cli.Context) error {
	args, err := commandline.Arguments(ctx, "the file of the backup")
	if err != nil {
		return err
	}
	address, err := c.address(ctx)
	if err != nil {
		return err
	}
	file := c.path(args[0])
	if _, err := os.Stat(file); err != nil { // before the store is created
		return fault.New(fault.UsageFile, "the backup cannot be read: %w", err)
	}
	data, err := c.Env.DataDir(ctx.String("data"))
	if err != nil {
		return err
	}
	applied := 0
	if err := use(ctx.Context, address, store.Options{}, func(s *store.Store) error {
		if err := s.Restore(ctx.Context, file); err != nil {
			return err
		}
		applied, err = service.ApplyDeletions(ctx.Context, s, data, func() (*service.Keys, error) {
			key := ctx.String("key")
			if key != "" {
				key = c.path(key)
			}
			return service.OpenKeys(ctx.Context, s, c.Env, data, key)
		})
		if err != nil {
			c.Term.Warn("the backup is restored, and later deletions of people are not applied to it yet: the first start of wexec serve with the seal key applies them")
		}
		return err
	}); err != nil {
		return err
	}
	if applied > 0 {
		c.Term.Note("applied %s again", terminal.Count(applied, "deletion"))
	}
	return c.copied(ctx, fmt.Sprintf("restored %s in %s", args[0], store.Redacted(address)), address, map[string]any{"store": store.Redacted(address), "file": file})
}

func (c Commands) copy(ctx *cli.Context) error {
	args, err := commandline.Arguments(ctx, "the store to copy", "the store to copy it into")
	if err != nil {
		return err
	}
	var addresses [2]string
	for i := range addresses {
		if addresses[i], err = c.Env.Store(args[i], ""); err != nil {
			return err
		}
	}
	from, to := addresses[0], addresses[1]
	if err := use(ctx.Context, from, existing(), func(source *store.Store) error {
		return use(ctx.Context, to, store.Options{}, func(target *store.Store) error { return source.Copy(ctx.Context, target) })
	}); err != nil {
		return err
	}
	return c.copied(ctx, fmt.Sprintf("copied %s to %s", store.Redacted(from), store.Redacted(to)), to, map[string]any{"from": store.Redacted(from), "to": store.Redacted(to)})
}

// copied reads a new copy as a check does, and prints what it has.
func (c Commands) copied(ctx *cli.Context, what, address string, report map[string]any) error {
	return use(ctx.Context, address, existing(), func(s *store.Store) error {
		r, err := s.Check(ctx.Context)
		if err != nil {
			return err
		}
		for _, f := range r.Faults {
			c.Term.Warn("the copy has %s", terminal.Visible(f))
		}
		if ctx.Bool("json") {
			report["version"], report["rows"] = r.Version, r.Rows
			return c.PrintJSON(report)
		}
		c.printf("%s: %s\n", what, contents(r))
		return nil
	})
}

func (c Commands) prune(ctx *cli.Context, s *store.Store, address string) error {
	if _, err := commandline.Arguments(ctx); err != nil {
		return err
	}
	keep, err := units.ParseDuration(ctx.String("older-than"))
	if err != nil {
		return fault.New(fault.UsageFlag, "--older-than: %w", err).WithHint("use 30d or 12h")
	}
	before := time.Now().Add(-keep).UTC().Truncate(time.Microsecond)
	removed, err := s.Prune(ctx.Context, "", before)
	if err != nil {
		return err
	}
	if ctx.Bool("json") {
		return c.PrintJSON(map[string]any{"store": store.Redacted(address), "ended_before": before, "removed": removed})
	}
	c.printf("removed %s that ended before %s\n", terminal.Count(removed, "run"), at(before))
	return nil
}

// path resolves a path of the command line.
func (c Commands) path(p string) string {
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(c.Env.Dir, p)
}
