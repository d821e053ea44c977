package cli

import (
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/cmd/wexec/internal/commandline"
	"github.com/wexec/wexec/cmd/wexec/internal/terminal"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/privacy"
)

func (a *app) privacyCommand() *cli.Command {
	flags := func(own ...cli.Flag) []cli.Flag {
		return append(own,
			&cli.StringSliceFlag{Name: "kind", Usage: "`KIND`: detect only this kind; repeatable"},
			&cli.StringFlag{Name: "level", Usage: "`LEVEL`: strict, balanced or relaxed", Value: "balanced"},
			&cli.StringSliceFlag{Name: "region", Usage: "`COUNTRY`: the country of phone numbers without a calling code (default US)"},
			jsonFlag())
	}
	return &cli.Command{
		Name:  "privacy",
		Usage: "detect personal data",
		Subcommands: []*cli.Command{
			{Name: "scan", Usage: "find personal data in a file", ArgsUsage: "FILE|-", Action: a.privacyScan, Flags: flags(
				&cli.StringSliceFlag{Name: "fail-on", Usage: "`KIND`: exit with status 1 if this kind is found; any means all kinds"})},
			{Name: "explain", Usage: "explain why parts of a text are personal data or not", ArgsUsage: "TEXT", Action: a.privacyExplain, Flags: flags()},
			{Name: "kinds", Usage: "list the kinds of personal data", Action: a.privacyKinds, Flags: []cli.Flag{jsonFlag()}},
		},
	}
}

func kindNames() []string {
	var out []string
	for _, k := range privacy.Kinds() {
		out = append(out, string(k.Kind))
	}
	return out
}

func checkKind(k string) error {
	if privacy.Known(privacy.Kind(k)) {
		return nil
	}
	return commandline.Suggest(fault.New(fault.UsageFlag, "unknown kind %q", k), k, kindNames())
}

func detector(ctx *cli.Context) (*privacy.Detector, error) {
	c := privacy.Config{Level: ctx.String("level"), Regions: ctx.StringSlice("region")}
	for _, k := range ctx.StringSlice("kind") {
		if err := checkKind(k); err != nil {
			return nil, err
		}
		c.Detect = append(c.Detect, privacy.Kind(k))
	}
	if err := commandline.OneOf("level", c.Level, "strict", "balanced", "relaxed"); err != nil {
		return nil, err
	}
	det, err := privacy.NewDetector(c)
	if err != nil { // only a region can still be wrong
		return nil, fault.New(fault.UsageFlag, "--region %s: unknown country", strings.Join(c.Regions, ", ")).WithHint("%s", fault.HintOf(err))
	}
	return det, nil
}

func (a *app) privacyScan(ctx *cli.Context) error {
	name := ctx.Args().First()
	if name == "" {
		return fault.New(fault.UsageFlag, "name a file, or - for standard input").WithHint("wexec privacy scan customers.json")
	}
	for _, k := range ctx.StringSlice("fail-on") {
		if k != "any" {
			if err := checkKind(k); err != nil {
				return err
			}
		}
	}
	det, err := detector(ctx)
	if err != nil {
		return err
	}
	var data []byte
	if name == "-" {
		data, err = a.readStdin("the text")
	} else {
		data, err = readFile(a.path(name))
	}
	if err != nil {
		return err
	}
	found := append([]privacy.Finding{}, det.Scan(data)...)
	counts := map[string]int{}
	for _, f := range found {
		counts[string(f.Kind)]++
	}
	if ctx.Bool("json") {
		if err := a.printJSON(map[string]any{"findings": found, "counts": counts}); err != nil {
			return err
		}
	} else {
		for _, f := range found {
			field := ""
			if f.Field != "" {
				field = "  in " + terminal.Visible(f.Field)
			}
			a.printf("%s:%d:%d  %-12s %3.0f %%%s\n", name, f.Line, f.Column, f.Kind, 100*f.Confidence, field)
		}
		if len(found) == 0 {
			a.term.Note("no personal data found")
		} else {
			a.term.Note("%s", terminal.Kinds(counts))
		}
	}
	for _, k := range ctx.StringSlice("fail-on") {
		if counts[k] > 0 || (k == "any" && len(found) > 0) {
			return exitStatus(1)
		}
	}
	return nil
}

func (a *app) privacyExplain(ctx *cli.Context) error {
	text := strings.Join(ctx.Args().Slice(), " ")
	if text == "" {
		return fault.New(fault.UsageFlag, "no text to explain").WithHint(`wexec privacy explain "call +1 512 555 0134"`)
	}
	det, err := detector(ctx)
	if err != nil {
		return err
	}
	all := det.Explain(text)
	if ctx.Bool("json") {
		return a.printJSON(map[string]any{"explanations": all})
	}
	if len(all) == 0 {
		a.term.Note("nothing in the text resembles personal data")
	}
	for _, e := range all {
		verdict := "personal data"
		if !e.Kept {
			verdict = "not personal data"
		}
		a.printf("%s  %s, %s: %s\n", terminal.Visible(text[e.Start:e.End]), e.Kind, verdict, e.Why)
	}
	return nil
}

func (a *app) privacyKinds(ctx *cli.Context) error {
	kinds := privacy.Kinds()
	if ctx.Bool("json") {
		return a.printJSON(map[string]any{"kinds": kinds})
	}
	for _, k := range kinds {
		a.printf("%-12s %s: %s\n", k.Kind, k.Description, k.Check)
	}
	return nil
}
