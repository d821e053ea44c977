package expr

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // a policy decides the same on machines without a time zone database

	"cel.dev/cel-go/cel"
	celast "cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/wexec/wexec/internal/yamldoc"
)

// zones are the time zones that the expressions of a file name. They are loaded
// at compile time, so that a decision opens no file.
type zones map[string]*time.Location

var clockFunctions = map[string]struct {
	overload string
	of       func(time.Time) int
}{
	overloads.TimeGetFullYear:     {overloads.TimestampToYearWithTz, time.Time.Year},
	overloads.TimeGetMonth:        {overloads.TimestampToMonthWithTz, func(t time.Time) int { return int(t.Month()) - 1 }},
	overloads.TimeGetDayOfYear:    {overloads.TimestampToDayOfYearWithTz, func(t time.Time) int { return t.YearDay() - 1 }},
	overloads.TimeGetDayOfMonth:   {overloads.TimestampToDayOfMonthZeroBasedWithTz, func(t time.Time) int { return t.Day() - 1 }},
	overloads.TimeGetDate:         {overloads.TimestampToDayOfMonthOneBasedWithTz, time.Time.Day},
	overloads.TimeGetDayOfWeek:    {overloads.TimestampToDayOfWeekWithTz, func(t time.Time) int { return int(t.Weekday()) }},
	overloads.TimeGetHours:        {overloads.TimestampToHoursWithTz, time.Time.Hour},
	overloads.TimeGetMinutes:      {overloads.TimestampToMinutesWithTz, time.Time.Minute},
	overloads.TimeGetSeconds:      {overloads.TimestampToSecondsWithTz, time.Time.Second},
	overloads.TimeGetMilliseconds: {overloads.TimestampToMillisecondsWithTz, func(t time.Time) int { return t.Nanosecond() / 1e6 }},
}

// functions returns CEL's clock functions for these zones.
func (z zones) functions() []cel.EnvOption {
	var out []cel.EnvOption
	for name, c := range clockFunctions {
		out = append(out, cel.Function(name, cel.MemberOverload(c.overload,
			[]*cel.Type{cel.TimestampType, cel.StringType}, cel.IntType,
			cel.BinaryBinding(func(at, zone ref.Val) ref.Val {
				t, ok := at.(types.Timestamp)
				name, named := zone.(types.String)
				if !ok || !named {
					return types.MaybeNoSuchOverloadErr(zone)
				}
				loc := z[string(name)]
				if loc == nil {
					return types.NewErr("unknown time zone %s", clip(string(name)))
				}
				return types.Int(c.of(t.In(loc)))
			}))))
	}
	return out
}

// load loads the zones that an expression names. It reports those that do not
// exist and returns false if there are any.
func (z zones) load(r *yamldoc.Reporter, code yamldoc.Code, tree *cel.Ast) bool {
	ok := true
	info := tree.NativeRep().SourceInfo()
	visit(tree, func(e celast.Expr) {
		if e.Kind() != celast.CallKind {
			return
		}
		call := e.AsCall()
		if _, clock := clockFunctions[call.FunctionName()]; !clock || !call.IsMemberFunction() || len(call.Args()) != 1 {
			return
		}
		arg := call.Args()[0]
		at := info.GetStartLocation(arg.ID())
		pos := code.Place(at.Line(), at.Column())
		name, literal := types.String(""), false
		if arg.Kind() == celast.LiteralKind {
			name, literal = arg.AsLiteral().(types.String)
		}
		if !literal {
			r.Add(pos, `write it out, such as "Europe/Berlin"`, "a time zone must be a string literal")
			ok = false
		} else if err := z.loadOne(string(name)); err != nil {
			r.Add(pos, `write "Europe/Berlin", "UTC" or "+02:00"`, "%s", err)
			ok = false
		}
	})
	return ok
}

func (z zones) loadOne(name string) error {
	if z[name] != nil {
		return nil
	}
	if len(name) == 6 && (name[0] == '+' || name[0] == '-') && name[3] == ':' {
		t, err := time.Parse("-07:00", name)
		if err != nil {
			return fmt.Errorf("invalid time zone offset %q", name)
		}
		_, offset := t.Zone()
		z[name] = time.FixedZone(name, offset)
		return nil
	}
	if name == "Local" || name == "" || strings.HasPrefix(name, "/") {
		return fmt.Errorf("invalid time zone %q", clip(name))
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return fmt.Errorf("unknown time zone %q", clip(name))
	}
	z[name] = loc
	return nil
}
