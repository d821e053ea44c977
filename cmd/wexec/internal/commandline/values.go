package commandline

import (
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/units"
)

// Suggest adds the name that is nearest to an unknown one, or all names.
func Suggest(err *fault.Error, name string, names []string) error {
	if near := catalogue.NearestOf(name, names); near != "" {
		return err.WithHint("did you mean %s?", near)
	}
	return err.WithHint("use one of %s", strings.Join(names, ", "))
}

// OneOf checks that a flag is empty or has one of some values.
func OneOf(flag, value string, values ...string) error {
	if value == "" || slices.Contains(values, value) {
		return nil
	}
	return Suggest(fault.New(fault.UsageFlag, "--%s: unknown value %q", flag, value), value, values)
}

// Past reads a flag that is a time, or a duration before now. It is the zero time if
// the flag is not set.
func Past(ctx *cli.Context, flag string) (time.Time, error) { return moment(ctx, flag, false) }

// Future reads a flag that is a time, or a duration after now. It is the zero time if
// the flag is not set.
func Future(ctx *cli.Context, flag string) (time.Time, error) { return moment(ctx, flag, true) }

func moment(ctx *cli.Context, flag string, after bool) (time.Time, error) {
	text := ctx.String(flag)
	if text == "" {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	d, err := units.ParseDuration(text)
	if err != nil {
		return time.Time{}, fault.New(fault.UsageFlag, "--%s: %q is neither a time nor a duration", flag, text).WithHint("use 2h, or 2026-01-31T08:00:00Z")
	}
	if !after {
		d = -d
	}
	return time.Now().Add(d), nil
}

// Arguments checks that a command has as many arguments as it names, and returns
// them. What names them for the error, such as "the file".
func Arguments(ctx *cli.Context, what ...string) ([]string, error) {
	args := ctx.Args().Slice()
	switch {
	case len(args) < len(what):
		return nil, fault.New(fault.UsageFlag, "name %s", what[len(args)]).WithHint("see %s --help", fullName(ctx))
	case len(args) > len(what):
		return nil, fault.New(fault.UsageFlag, "unexpected argument %q", args[len(what)]).WithHint("see %s --help", fullName(ctx))
	}
	return args, nil
}
