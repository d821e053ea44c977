package cli

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/cmd/wexec/internal/commandline"
	"github.com/wexec/wexec/cmd/wexec/internal/storecmd"
	"github.com/wexec/wexec/cmd/wexec/internal/terminal"
	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns/files"
)

// recordTypes and effects are the values of flags that select records.
var (
	recordTypes = []string{"start", "decision", "call", "privacy", "end", "anchor", "deletion"}
	effects     = []string{"allow", "ask", "deny"}
)

func (a *app) auditCommand() *cli.Command {
	flags := func(own ...cli.Flag) []cli.Flag {
		return append(own, &cli.StringFlag{Name: "audit", Usage: "`DIR`: the folder of the records", TakesFile: true}, jsonFlag())
	}
	return &cli.Command{
		Name:  "audit",
		Usage: "show, verify and replay the records of runs",
		Subcommands: []*cli.Command{
			{Name: "show", Usage: "show records, or those of one run", ArgsUsage: "[RUN]", Action: a.auditShow, Flags: flags(
				&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "wait for new records"},
				&cli.BoolFlag{Name: "last", Usage: "show the run that started last"},
				&cli.IntFlag{Name: "limit", Usage: "`N`: show only the last N records"},
				&cli.StringFlag{Name: "type", Usage: "`TYPE`: only records of this type: start, decision, call, privacy, end or anchor"},
				&cli.StringFlag{Name: "tool", Usage: "`TOOL`: only records about this tool"},
				&cli.StringFlag{Name: "effect", Usage: "`EFFECT`: only decisions with this effect: allow, ask or deny"},
				&cli.StringFlag{Name: "since", Usage: "`TIME`: only records after a time, such as 2026-01-31T08:00:00Z, or not older than a duration, such as 2h"})},
			{Name: "verify", Usage: "find records that were changed, removed, reordered or cut off", Action: a.auditVerify, Flags: append(flags(
				&cli.StringSliceFlag{Name: "key", Usage: "`FILE`: a public key that must have signed the heads (default the configured key); repeatable", TakesFile: true},
				&cli.StringFlag{Name: "anchor", Usage: "`FILE`: heads that were kept elsewhere, or a report of verify --json; - is standard input (default the configured anchor)", TakesFile: true}), storecmd.AuditFlags()...)},
			{Name: "replay", Usage: "run a recorded program again with the recorded answers", ArgsUsage: "RUN", Action: a.auditReplay,
				Description: "No tool is called, no file is opened and nothing is recorded. A run can be replayed if it was recorded in full: under a\n" +
					"policy with  audit: {code: full, inputs: full, outputs: full}.  Such a record includes the clock, random bytes and files that\n" +
					"the program saw. Value, output, calls and fuel are compared, and the first difference is an error.",
				Flags: flags()},
		},
	}
}

// auditSettings loads the configuration for a command that reads records.
func (a *app) auditSettings(ctx *cli.Context) (*config.Settings, error) {
	s, err := config.Load(a.Env, config.Flags{Audit: ctx.String("audit")})
	if err == nil && s.Audit.Dir == "" {
		err = fault.New(fault.UsageAudit, "there is no folder of records").WithHint("set --audit DIR")
	}
	return s, err
}

func (a *app) auditDir(ctx *cli.Context) (string, error) {
	s, err := a.auditSettings(ctx)
	if err != nil {
		return "", err
	}
	return s.Audit.Dir, nil
}

func (a *app) auditShow(ctx *cli.Context) error {
	dir, err := a.auditDir(ctx)
	if err != nil {
		return err
	}
	if err := errors.Join(commandline.OneOf("type", ctx.String("type"), recordTypes...), commandline.OneOf("effect", ctx.String("effect"), effects...)); err != nil {
		return err
	}
	filter := audit.Filter{Run: ctx.Args().First(), Type: audit.Type(ctx.String("type")), Tool: ctx.String("tool"), Effect: ctx.String("effect")}
	if filter.Since, err = commandline.Past(ctx, "since"); err != nil {
		return err
	}
	if err := checkSelection(ctx); err != nil {
		return err
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		a.term.Note("there are no records yet: the first run creates %s", dir)
		return nil
	}
	var records iter.Seq2[audit.Event, error]
	switch {
	case ctx.Bool("last"):
		if filter.Run, records = lastRun(ctx.Context, dir, filter); filter.Run == "" {
			a.term.Note("there is no record of a run in %s", dir)
			return nil
		}
	case ctx.IsSet("limit"):
		records = audit.Newest(ctx.Context, dir, filter)
	default:
		follow := filter
		follow.Follow = ctx.Bool("follow")
		records = audit.Read(ctx.Context, dir, follow)
	}
	if ctx.Bool("last") || ctx.IsSet("limit") {
		records = reversed(records, ctx.Int("limit"))
	}
	first := time.Time{}
	for e, err := range records {
		if err != nil {
			a.term.Warn("%s", err)
			continue
		}
		if first.IsZero() {
			first = e.Time
		}
		switch {
		case ctx.Bool("json"):
			if err := a.printLine(e); err != nil {
				return err
			}
		case filter.Run != "":
			a.printf("%8.1f ms  %s\n", float64(e.Time.Sub(first).Microseconds())/1000, eventLine(&e))
		default:
			a.printf("%s  %s  %s\n", e.Time.Local().Format("2006-01-02 15:04:05.000"), e.Run, eventLine(&e))
		}
	}
	switch {
	case !first.IsZero():
	case filter == (audit.Filter{Run: filter.Run}) && filter.Run != "":
		return fault.New(fault.UsageAudit, "there is no record of run %q in %s", terminal.Clip(terminal.Visible(filter.Run), 64), dir).
			WithHint("list the runs with wexec audit show --type start")
	case ctx.Bool("json"):
	case filter == audit.Filter{}:
		a.term.Note("there are no records in %s", dir)
	default:
		a.term.Note("no record in %s matches: remove a filter, or the run", dir)
	}
	return nil
}

// checkSelection checks the flags that select records by their place.
func checkSelection(ctx *cli.Context) error {
	switch last, limited := ctx.Bool("last"), ctx.IsSet("limit"); {
	case limited && ctx.Int("limit") < 1:
		return fault.New(fault.UsageFlag, "--limit must be at least 1")
	case last && ctx.Args().Present():
		return fault.New(fault.UsageFlag, "--last selects the run: do not name one")
	case ctx.Bool("follow") && (last || limited):
		return fault.New(fault.UsageFlag, "--follow shows all records: it cannot be combined with --last and --limit").
			WithHint("use --since 0s to see only new records")
	}
	return nil
}

// lastRun returns the run that started last, empty if there is none, and its
// selected records from the last to the first.
func lastRun(ctx context.Context, dir string, filter audit.Filter) (run string, records iter.Seq2[audit.Event, error]) {
	for e, err := range audit.Newest(ctx, dir, audit.Filter{Type: audit.TypeStart}) {
		if err == nil {
			run = e.Run
			break
		}
	}
	filter.Run = run
	return run, func(yield func(audit.Event, error) bool) {
		for e, err := range audit.Newest(ctx, dir, audit.Filter{Run: run}) {
			if (err != nil || filter.Matches(&e)) && !yield(e, err) || e.Start != nil {
				return
			}
		}
	}
}

// reversed takes the first items of a sequence, all if limit is 0, and returns
// them from the last to the first.
func reversed(records iter.Seq2[audit.Event, error], limit int) iter.Seq2[audit.Event, error] {
	return func(yield func(audit.Event, error) bool) {
		type item struct {
			event audit.Event
			err   error
		}
		var all []item
		for e, err := range records {
			if all = append(all, item{e, err}); len(all) == limit {
				break
			}
		}
		for _, i := range slices.Backward(all) {
			if !yield(i.event, i.err) {
				return
			}
		}
	}
}

// eventLine is one record without its time and its run.
func eventLine(e *audit.Event) string {
	clip := func(s string, n int) string { return terminal.Clip(terminal.Visible(s), n) }
	line := string(e.Type)
	switch {
	case e.Start != nil:
		line = "start     " + e.Start.Language + " " + e.Start.File
		if e.Start.Plugin != "" {
			line = "start     plugin " + e.Start.Plugin + " " + e.Start.Function
		}
		if e.Start.Intent != "" {
			line += " (" + clip(e.Start.Intent, 80) + ")"
		}
	case e.Decision != nil:
		line = fmt.Sprintf("%-9s %s  %s %s", e.Decision.Effect, terminal.Visible(strings.TrimSpace(e.Decision.Tool+" "+e.Decision.Target)),
			e.Decision.Rule, clip(e.Decision.Message, 100))
	case e.Call != nil && e.Call.OK:
		line = fmt.Sprintf("called    %s  %d ms, %s", e.Call.Tool, e.Call.MS, terminal.Bytes(e.Call.Bytes))
	case e.Call != nil:
		line = fmt.Sprintf("failed    %s  %d ms, %s: %s", e.Call.Tool, e.Call.MS, e.Call.Code, clip(e.Call.Message, 100))
	case e.Privacy != nil:
		line = fmt.Sprintf("privacy   %s %s: %s", e.Privacy.Mode, e.Privacy.Tool, terminal.Kinds(e.Privacy.Counts))
	case e.Anchor != nil && e.Anchor.OK:
		line = "anchor    keeps the head again"
	case e.Anchor != nil:
		line = "anchor    failed: " + clip(e.Anchor.Error, 200)
	case e.End != nil:
		line = fmt.Sprintf("end       %s %s %d ms, fuel %s", e.End.Status, e.End.Code, e.End.Usage.WallMS, terminal.Thousands(e.End.Usage.Fuel))
	}
	return strings.TrimSpace(line)
}

func (a *app) auditVerify(ctx *cli.Context) error {
	keys, err := a.publicKeys(ctx)
	if err != nil {
		return err
	}
	if ctx.IsSet("store") || ctx.IsSet("data") {
		for _, name := range []string{"audit", "anchor"} {
			if ctx.IsSet(name) {
				return fault.New(fault.UsageFlag, "--%s has no effect with --store and --data, which name the logs of servers", name)
			}
		}
		return a.lasting().VerifyAudit(keys)(ctx)
	}
	s, err := a.auditSettings(ctx)
	if err != nil {
		return err
	}
	if len(keys) == 0 && !ctx.IsSet("audit") {
		if keys, err = a.configuredKey(); err != nil {
			return err
		}
	}
	rep, err := a.verified(ctx, s, keys)
	if err != nil {
		return err
	}
	if rep.Anchor == nil {
		a.term.Note("not checked against rollback: no anchor is set; an older copy of the folder would verify")
	}
	if ctx.Bool("json") {
		if err := a.printJSON(rep); err != nil {
			return err
		}
	} else {
		for _, p := range rep.Problems {
			a.printf("%s\n", p)
		}
		if n := rep.Anchor; n != nil && n.Newest != nil {
			a.printf("checked against %s: record %d of %s is the newest\n", terminal.Count(n.Heads, "head"), n.Newest.Seq, n.Newest.Segment)
		}
		a.printf("%s in %s, %s\n", terminal.Count(rep.Records, "record"), terminal.Count(len(rep.Segments), "segment"), terminal.Count(len(rep.Problems), "problem"))
	}
	if !rep.OK() {
		return exitStatus(fault.ClassGuest.Exit())
	}
	return nil
}

// publicKeys reads the keys of --key.
func (a *app) publicKeys(ctx *cli.Context) (keys []ed25519.PublicKey, err error) {
	for _, path := range ctx.StringSlice("key") {
		data, err := readFile(a.path(path))
		if err != nil {
			return nil, err
		}
		k, err := audit.ParsePublicKey(data)
		if err != nil {
			return nil, err
		}
		keys = append(keys, k)
	}
	return keys, nil
}

// verified compares the records with the heads that --anchor names, or else with
// those of the configured anchor.
func (a *app) verified(ctx *cli.Context, s *config.Settings, keys []ed25519.PublicKey) (audit.Report, error) {
	var heads []byte
	var err error
	switch file := ctx.String("anchor"); file {
	case "":
		return a.verifySettings(ctx.Context, s, keys)
	case "-":
		heads, err = a.readStdin("the heads")
	default:
		heads, err = readFile(a.path(file))
	}
	if err != nil {
		return audit.Report{}, err
	}
	return audit.VerifyAnchored(s.Audit.Dir, heads, keys...)
}

// verifySettings compares the records with the configured anchor, if there is
// one.
func (a *app) verifySettings(ctx context.Context, s *config.Settings, keys []ed25519.PublicKey) (audit.Report, error) {
	heads, anchored, err := s.AnchoredHeads(ctx, config.Options{Env: a.Env, Version: a.Version, Logger: terminal.Logger(a.term, s.Log)})
	if err != nil {
		return audit.Report{}, err
	}
	if !anchored {
		return audit.Verify(s.Audit.Dir, keys...)
	}
	return audit.VerifyAnchored(s.Audit.Dir, heads, keys...)
}

// configuredKey is the public half of the key in the configuration, if any.
func (a *app) configuredKey() ([]ed25519.PublicKey, error) {
	s, err := config.Load(a.Env, config.Flags{})
	if err != nil || s.Audit.Key == "" {
		return nil, err
	}
	data, err := readFile(s.Audit.Key)
	if err != nil {
		return nil, err
	}
	key, err := audit.ParseKey(data)
	if err != nil {
		return nil, err
	}
	return []ed25519.PublicKey{key.Public().(ed25519.PublicKey)}, nil
}

func (a *app) auditReplay(ctx *cli.Context) error {
	run := ctx.Args().First()
	if run == "" {
		return fault.New(fault.UsageAudit, "name the run to replay").WithHint("list the runs with wexec audit show --type start")
	}
	dir, err := a.auditDir(ctx)
	if err != nil {
		return err
	}
	settings, err := config.Load(a.Env, config.Flags{})
	if err != nil {
		return err
	}
	rec, err := audit.LoadRecording(dir, run)
	if err != nil {
		return err
	}
	eng, err := engine.New(ctx.Context, engine.Config{Cache: settings.Cache, Logger: terminal.Logger(a.term, settings.Log)})
	if err != nil {
		return err
	}
	defer func() { _ = eng.Close() }()
	res, err := eng.Replay(ctx.Context, rec, files.New())
	if ctx.Bool("json") {
		if werr := a.printJSON(res); werr != nil {
			return werr
		}
	}
	switch fault.CodeOf(err) {
	case fault.UsageAudit, fault.Cancelled, fault.Internal:
		return err
	}
	if !ctx.Bool("json") {
		a.term.Note("identical: %s, %s, fuel %s", res.Status, terminal.Count(len(res.Calls), "call"), terminal.Thousands(res.Usage.Fuel))
	}
	return nil
}
