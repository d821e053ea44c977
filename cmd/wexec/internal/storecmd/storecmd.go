// Package storecmd has the commands over what a store or a server keeps: wexec store,
// ps, logs, kill, runs, usage and token. They open a store themselves and work while
// servers use it.
package storecmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/cmd/wexec/internal/terminal"
	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/store"
)

// Commands makes the commands of an invocation.
type Commands struct {
	Env       *config.Environment
	Term      *terminal.Printer
	Stdout    io.Writer
	Programs  struct{ Out, Err io.Writer } // where output of programs goes
	PrintJSON func(v any) error
	Resume    cli.ActionFunc // goes on with a durable run of this machine
	Faulty    error          // what wexec store check returns after it printed faults
}

// flags returns the flags that say which store, after those of a command.
func flags(own ...cli.Flag) []cli.Flag {
	return append(own,
		&cli.StringFlag{Name: "store", Usage: "`URL`: the store, sqlite:FILE or postgres://USER@HOST/DATABASE (default wexec.db in the data folder)"},
		&cli.StringFlag{Name: "data", Usage: "`DIR`: the data folder (default $XDG_DATA_HOME/wexec)", TakesFile: true},
		&cli.BoolFlag{Name: "json", Usage: "print JSON"})
}

// tenantFlag says whose records a command shows.
func tenantFlag() cli.Flag {
	return &cli.StringFlag{Name: "tenant", Usage: "`NAME`: the tenant", Value: "default"}
}

// address returns the address of the store that the flags name.
func (c Commands) address(ctx *cli.Context) (string, error) {
	return c.Env.Store(ctx.String("store"), ctx.String("data"))
}

// with makes an action that opens the store and closes it. Unless the options say
// otherwise, the store is created and migrated.
func (c Commands) with(o store.Options, action func(ctx *cli.Context, s *store.Store, address string) error) cli.ActionFunc {
	return func(ctx *cli.Context) error {
		address, err := c.address(ctx)
		if err != nil {
			return err
		}
		return use(ctx.Context, address, o, func(s *store.Store) error { return action(ctx, s, address) })
	}
}

// use opens a store for a function.
func use(ctx context.Context, address string, o store.Options, f func(s *store.Store) error) error {
	s, err := store.Open(ctx, address, o)
	if err != nil {
		return explained(err, address)
	}
	return explained(errors.Join(f(s), s.Close()), address)
}

// existing are the options of commands that do not create or migrate a store.
func existing() store.Options { return store.Options{Existing: true} }

// explained adds what to do to the failure of a database.
func explained(err error, address string) error {
	known, ok := errors.AsType[*fault.Error](err)
	if !ok || known.Code != fault.StoreUnavailable || known.Hint != "" {
		return err
	}
	if strings.HasPrefix(address, "sqlite:") {
		return known.WithHint("check that no other process keeps the file locked, that it can be written and that the disk has room")
	}
	return known.WithHint("check that PostgreSQL runs at this address and that the user may log in; PGPASSWORD sets the password")
}

// table prints rows below a header, in columns.
func (c Commands) table(header string, rows [][]string) error {
	w := tabwriter.NewWriter(c.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.ReplaceAll(header, " ", "\t"))
	for _, row := range rows {
		for i, cell := range row {
			if row[i] = terminal.Visible(cell); row[i] == "" {
				row[i] = "-"
			}
		}
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	return w.Flush()
}

// at writes a time for a person; "" is no time.
func at(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04")
}

// printf prints to standard output, which keeps its first error.
func (c Commands) printf(format string, args ...any) { fmt.Fprintf(c.Stdout, format, args...) }
