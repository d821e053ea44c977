package cli

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns/files"
	"github.com/wexec/wexec/internal/units"
)

func (d *door) auditCommand() *cli.Command {
	dir := func(more ...cli.Flag) []cli.Flag {
		return append(more,
			&cli.StringFlag{Name: "audit", Usage: "`DIR`: where the records are", TakesFile: true},
			&cli.BoolFlag{Name: "json", Usage: "print JSON"})
	}
	return &cli.Command{
		Name:  "audit",
		Usage: "read, verify and replay the record of what programs did",
		Subcommands: []*cli.Command{
			{Name: "show", Usage: "show records, or the time line of one run", ArgsUsage: "[RUN]", Action: d.auditShow, Flags: dir(
				&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "go on with what is recorded later"},
				&cli.StringFlag{Name: "type", Usage: "`TYPE`: only these: start, decision, call, privacy or end"},
				&cli.StringFlag{Name: "tool", Usage: "`TOOL`: only what concerns this tool"},
				&cli.StringFlag{Name: "effect", Usage: "`EFFECT`: only these decisions: allow, ask or deny"},
				&cli.StringFlag{Name: "since", Usage: "`WHEN`: only what is younger than 2h, say, or 2026-01-31T08:00:00Z"})},
			{Name: "verify", Usage: "find any record that was changed, removed, reordered or cut", Action: d.auditVerify, Flags: dir(
				&cli.StringSliceFlag{Name: "key", Usage: "`FILE`: a public key that heads must be signed with (default the configured one)", TakesFile: true})},
			{Name: "replay", Usage: "run a recorded program again, its calls answered from the record", ArgsUsage: "RUN", Action: d.auditReplay,
				Description: "No tool is called, no file is opened and nothing is recorded. Runs recorded in full, under a policy with  audit: {code: full, inputs: full, outputs: full},\n" +
					"can be replayed: such a record also has what the program saw of clock, chance and files. Value, output, calls and fuel are compared,\n" +
					"and the first difference is an error.",
				Flags: dir()},
		},
	}
}

func (d *door) auditDir(ctx *cli.Context) (string, error) {
	s, err := config.Load(d.inv.Env, config.Flags{Audit: ctx.String("audit")})
	if err != nil {
		return "", err
	}
	if s.Audit.Dir == "" {
		return "", fault.New(fault.UsageAudit, "there is no folder with records").WithHint("name it with --audit DIR")
	}
	return s.Audit.Dir, nil
}

func (d *door) auditShow(ctx *cli.Context) error {
	dir, err := d.auditDir(ctx)
	if err != nil {
		return err
	}
	f := audit.Filter{Run: ctx.Args().First(), Type: audit.Type(ctx.String("type")), Tool: ctx.String("tool"),
		Effect: ctx.String("effect"), Follow: ctx.Bool("follow")}
	if err := errors.Join(oneOf("type", ctx.String("type"), "start", "decision", "call", "privacy", "end"),
		oneOf("effect", ctx.String("effect"), "allow", "ask", "deny")); err != nil {
		return err
	}
	if since := ctx.String("since"); since != "" {
		if f.Since, err = sinceTime(since); err != nil {
			return err
		}
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		d.voice.note("no record yet: %s is made by the first run", dir)
		return nil
	}
	shown := 0
	first := time.Time{}
	for e, err := range audit.Read(ctx.Context, dir, f) {
		if err != nil {
			d.voice.warn("%s", err)
			continue
		}
		shown++
		if ctx.Bool("json") {
			if err := d.printLine(e); err != nil {
				return err
			}
			continue
		}
		if first.IsZero() {
			first = e.Time
		}
		at := e.Time.Local().Format("2006-01-02 15:04:05.000")
		if f.Run != "" {
			at = fmt.Sprintf("%8.1f ms", float64(e.Time.Sub(first).Microseconds())/1000)
		}
		run := e.Run
		if f.Run != "" {
			run = ""
		}
		fmt.Fprintln(d.inv.Stdout, strings.TrimSpace(strings.Join([]string{at, run, eventText(&e)}, "  ")))
	}
	if shown > 0 {
		return nil
	}
	f.Follow = false
	if f == (audit.Filter{Run: f.Run}) && f.Run != "" {
		return fault.New(fault.UsageAudit, "there is no record of run %q in %s", cut(visibleText(f.Run), 64), dir).
			WithHint("wexec audit show --type start lists runs")
	}
	switch {
	case ctx.Bool("json"):
	case f == audit.Filter{}:
		d.voice.note("no record yet: %s is empty", dir)
	default:
		d.voice.note("no record in %s fits: take a filter away, or wexec audit show without a run", dir)
	}
	return nil
}

// sinceTime reads a time, or how long ago.
func sinceTime(text string) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	ago, err := units.ParseDuration(text)
	if err != nil {
		return time.Time{}, fault.New(fault.UsageFlag, "--since %s is neither a time nor a duration", text).WithHint("2h, or 2026-01-31T08:00:00Z")
	}
	return time.Now().Add(-ago), nil
}

// eventText is one record as a line.
func eventText(e *audit.Event) string {
	switch {
	case e.Start != nil:
		s := e.Start
		text := "start     " + s.Language + " " + s.File
		if s.Plugin != "" {
			text = "start     plugin " + s.Plugin + " " + s.Function
		}
		if s.Intent != "" {
			text += " (" + cut(visibleText(s.Intent), 80) + ")"
		}
		return text
	case e.Decision != nil:
		s := e.Decision
		what := s.Tool
		if s.Target != "" {
			what += " " + s.Target
		}
		return strings.TrimSpace(fmt.Sprintf("%-9s %s  %s %s", s.Effect, visibleText(what), s.Rule, cut(visibleText(s.Message), 100)))
	case e.Call != nil:
		s := e.Call
		if !s.OK {
			return fmt.Sprintf("failed    %s  %d ms, %s: %s", s.Tool, s.MS, s.Code, cut(visibleText(s.Message), 100))
		}
		return fmt.Sprintf("called    %s  %d ms, %s", s.Tool, s.MS, bytesText(s.Bytes))
	case e.Privacy != nil:
		return fmt.Sprintf("privacy   %s %s: %s", e.Privacy.Mode, e.Privacy.Tool, countsText(e.Privacy.Counts))
	case e.End != nil:
		s := e.End
		return strings.TrimSpace(fmt.Sprintf("end       %s %s %d ms, fuel %s", s.Status, s.Code, s.Usage.WallMS, grouped(s.Usage.Fuel)))
	}
	return string(e.Type)
}

func (d *door) auditVerify(ctx *cli.Context) error {
	dir, err := d.auditDir(ctx)
	if err != nil {
		return err
	}
	var keys []ed25519.PublicKey
	for _, path := range ctx.StringSlice("key") {
		data, err := readBounded(d.path(path))
		if err != nil {
			return err
		}
		k, err := audit.ParsePublicKey(data)
		if err != nil {
			return err
		}
		keys = append(keys, k)
	}
	if len(keys) == 0 && !ctx.IsSet("audit") {
		if keys, err = d.configuredKey(); err != nil {
			return err
		}
	}
	rep, err := audit.Verify(dir, keys...)
	if err != nil {
		return err
	}
	if ctx.Bool("json") {
		if err := d.printJSON(rep); err != nil {
			return err
		}
	} else {
		for _, p := range rep.Problems {
			fmt.Fprintln(d.inv.Stdout, p.String())
		}
		fmt.Fprintf(d.inv.Stdout, "%s in %s, %s\n", counted(rep.Records, "record"), counted(len(rep.Segments), "segment"), counted(len(rep.Problems), "problem"))
	}
	if !rep.OK() {
		return said(fault.ClassGuest.Exit())
	}
	return nil
}

// configuredKey is the key that heads are signed with here; none where none is
// configured.
func (d *door) configuredKey() ([]ed25519.PublicKey, error) {
	s, err := config.Load(d.inv.Env, config.Flags{})
	if err != nil || s.Audit.Key == "" {
		return nil, err
	}
	data, err := readBounded(s.Audit.Key)
	if err != nil {
		return nil, err
	}
	key, err := audit.ParseKey(data)
	if err != nil {
		return nil, err
	}
	return []ed25519.PublicKey{key.Public().(ed25519.PublicKey)}, nil
}

// auditReplay runs a recorded program again and compares what comes out.
func (d *door) auditReplay(ctx *cli.Context) error {
	run := ctx.Args().First()
	if run == "" {
		return fault.New(fault.UsageAudit, "name the run to replay").WithHint("wexec audit show --type start lists runs")
	}
	dir, err := d.auditDir(ctx)
	if err != nil {
		return err
	}
	settings, err := config.Load(d.inv.Env, config.Flags{})
	if err != nil {
		return err
	}
	rec, err := audit.LoadRecording(dir, run)
	if err != nil {
		return err
	}
	eng, err := engine.New(ctx.Context, engine.Config{Cache: settings.Cache, Logger: d.logger(settings.Log)})
	if err != nil {
		return err
	}
	defer func() { _ = eng.Close() }()
	res, err := eng.Replay(ctx.Context, rec, files.New())
	if ctx.Bool("json") {
		if werr := d.printJSON(res); werr != nil {
			return werr
		}
	}
	switch fault.CodeOf(err) {
	case fault.UsageAudit, fault.Cancelled, fault.Internal:
		return err
	}
	if !ctx.Bool("json") {
		d.voice.note("the same: %s, %s, fuel %s", res.Status, counted(len(res.Calls), "call"), grouped(res.Usage.Fuel))
	}
	return nil
}
