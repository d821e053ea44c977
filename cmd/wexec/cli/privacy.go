package cli

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/privacy"
)

func (d *door) privacyCommand() *cli.Command {
	flags := func(more ...cli.Flag) []cli.Flag {
		return append(more,
			&cli.StringSliceFlag{Name: "kind", Usage: "`KIND`: look for this only; may be given several times"},
			&cli.StringFlag{Name: "level", Usage: "`LEVEL`: strict, balanced or relaxed", Value: "balanced"},
			&cli.StringSliceFlag{Name: "region", Usage: "`COUNTRY`: whose phone numbers may stand without a calling code (default US)"},
			&cli.BoolFlag{Name: "json", Usage: "print JSON"})
	}
	return &cli.Command{
		Name:  "privacy",
		Usage: "see what counts as personal data",
		Subcommands: []*cli.Command{
			{Name: "scan", Usage: "find personal data in a file", ArgsUsage: "FILE|-", Action: d.privacyScan, Flags: flags(
				&cli.StringSliceFlag{Name: "fail-on", Usage: "`KIND`: exit with 1 where it was found; any stands for all"})},
			{Name: "explain", Usage: "say of a text why something counts or does not", ArgsUsage: "TEXT", Action: d.privacyExplain, Flags: flags()},
			{Name: "kinds", Usage: "list the kinds", Action: d.privacyKinds, Flags: []cli.Flag{&cli.BoolFlag{Name: "json", Usage: "print JSON"}}},
		},
	}
}

func detector(ctx *cli.Context) (*privacy.Detector, error) {
	c := privacy.Config{Level: ctx.String("level"), Regions: ctx.StringSlice("region")}
	for _, k := range ctx.StringSlice("kind") {
		if err := knownKind(k); err != nil {
			return nil, err
		}
		c.Detect = append(c.Detect, privacy.Kind(k))
	}
	if err := oneOf("level", c.Level, "strict", "balanced", "relaxed"); err != nil {
		return nil, err
	}
	det, err := privacy.NewDetector(c)
	if err != nil { // what is left to be wrong
		return nil, fault.New(fault.UsageFlag, "--region %s: no such country has phone numbers", strings.Join(c.Regions, ", ")).WithHint("%s", fault.HintOf(err))
	}
	return det, nil
}

func knownKind(k string) error {
	if privacy.Known(privacy.Kind(k)) {
		return nil
	}
	var names []string
	for _, info := range privacy.Kinds() {
		names = append(names, string(info.Kind))
	}
	err := fault.New(fault.UsageFlag, "there is no kind %q", k)
	if near := catalogue.NearestOf(k, names); near != "" {
		return err.WithHint("did you mean %s?", near)
	}
	return err.WithHint("the kinds are %s", strings.Join(names, ", "))
}

func (d *door) privacyScan(ctx *cli.Context) error {
	name := ctx.Args().First()
	if name == "" {
		return fault.New(fault.UsageFlag, "name a file, or - for standard input").WithHint("wexec privacy scan customers.json")
	}
	for _, k := range ctx.StringSlice("fail-on") {
		if k != "any" {
			if err := knownKind(k); err != nil {
				return err
			}
		}
	}
	det, err := detector(ctx)
	if err != nil {
		return err
	}
	var text []byte
	if name == "-" {
		if text, err = io.ReadAll(io.LimitReader(d.inv.Stdin, maxProgram+1)); err == nil && len(text) > maxProgram {
			err = fault.New(fault.UsageFile, "standard input is larger than %d MiB", maxProgram>>20)
		}
	} else {
		text, err = readBounded(d.path(name))
	}
	if err != nil {
		return err
	}
	found := det.Scan(text)
	counts := map[string]int{}
	for _, f := range found {
		counts[string(f.Kind)]++
	}
	if ctx.Bool("json") {
		if found == nil {
			found = []privacy.Finding{}
		}
		if err := d.printJSON(map[string]any{"findings": found, "counts": counts}); err != nil {
			return err
		}
	} else {
		for _, f := range found {
			where := ""
			if f.Field != "" {
				where = "  in " + visibleText(f.Field)
			}
			fmt.Fprintf(d.inv.Stdout, "%s:%d:%d  %-12s %3.0f %%%s\n", name, f.Line, f.Column, f.Kind, 100*f.Confidence, where)
		}
		if len(found) == 0 {
			d.voice.note("no personal data was found")
		} else {
			d.voice.note("%s", countsText(counts))
		}
	}
	for _, k := range ctx.StringSlice("fail-on") {
		if counts[k] > 0 || (k == "any" && len(found) > 0) {
			return said(1)
		}
	}
	return nil
}

func (d *door) privacyExplain(ctx *cli.Context) error {
	text := strings.Join(ctx.Args().Slice(), " ")
	if text == "" {
		return fault.New(fault.UsageFlag, "there is no text to explain").WithHint(`wexec privacy explain "call +1 512 555 0134"`)
	}
	det, err := detector(ctx)
	if err != nil {
		return err
	}
	all := det.Explain(text)
	if ctx.Bool("json") {
		return d.printJSON(map[string]any{"explanations": all})
	}
	if len(all) == 0 {
		d.voice.note("nothing in it looks like personal data")
	}
	for _, e := range all {
		verdict := "counts"
		if !e.Kept {
			verdict = "does not count"
		}
		fmt.Fprintf(d.inv.Stdout, "%s  %s, %s: %s\n", visibleText(text[e.Start:e.End]), e.Kind, verdict, e.Why)
	}
	return nil
}

func (d *door) privacyKinds(ctx *cli.Context) error {
	kinds := privacy.Kinds()
	if ctx.Bool("json") {
		return d.printJSON(map[string]any{"kinds": kinds})
	}
	var b bytes.Buffer
	for _, k := range kinds {
		fmt.Fprintf(&b, "%-12s %s: %s\n", k.Kind, k.Words, k.Check)
	}
	_, err := d.inv.Stdout.Write(b.Bytes())
	return err
}
