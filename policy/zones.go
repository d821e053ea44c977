package policy

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // a policy means the same on machines without a time zone database

	"cel.dev/cel-go/cel"
	celast "cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// zones are the time zones that the expressions of a file name. They are read
// when the file is, so that a decision opens nothing.
type zones map[string]*time.Location

var clockFunctions = []struct {
	name, overload string
	of             func(time.Time) int
}{
	{overloads.TimeGetFullYear, overloads.TimestampToYearWithTz, time.Time.Year},
	{overloads.TimeGetMonth, overloads.TimestampToMonthWithTz, func(t time.Time) int { return int(t.Month()) - 1 }},
	{overloads.TimeGetDayOfYear, overloads.TimestampToDayOfYearWithTz, func(t time.Time) int { return t.YearDay() - 1 }},
	{overloads.TimeGetDayOfMonth, overloads.TimestampToDayOfMonthZeroBasedWithTz, func(t time.Time) int { return t.Day() - 1 }},
	{overloads.TimeGetDate, overloads.TimestampToDayOfMonthOneBasedWithTz, time.Time.Day},
	{overloads.TimeGetDayOfWeek, overloads.TimestampToDayOfWeekWithTz, func(t time.Time) int { return int(t.Weekday()) }},
	{overloads.TimeGetHours, overloads.TimestampToHoursWithTz, time.Time.Hour},
	{overloads.TimeGetMinutes, overloads.TimestampToMinutesWithTz, time.Time.Minute},
	{overloads.TimeGetSeconds, overloads.TimestampToSecondsWithTz, time.Time.Second},
	{overloads.TimeGetMilliseconds, overloads.TimestampToMillisecondsWithTz, func(t time.Time) int { return t.Nanosecond() / 1e6 }},
}

// functions binds CEL's clock functions to these zones.
func (z zones) functions() []cel.EnvOption {
	var out []cel.EnvOption
	for _, c := range clockFunctions {
		out = append(out, cel.Function(c.name, cel.MemberOverload(c.overload,
			[]*cel.Type{cel.TimestampType, cel.StringType}, cel.IntType,
			cel.BinaryBinding(func(at, zone ref.Val) ref.Val {
				t, ok := at.(types.Timestamp)
				name, named := zone.(types.String)
				if !ok || !named {
					return types.MaybeNoSuchOverloadErr(zone)
				}
				loc := z[string(name)]
				if loc == nil {
					return types.NewErr("there is no time zone %s", clip(string(name)))
				}
				return types.Int(c.of(t.In(loc)))
			}))))
	}
	return out
}

// check reads the zones that an expression names and reports those that are
// none.
func (z zones) check(r *reporter, e expr, tree *cel.Ast) bool {
	ok := true
	info := tree.NativeRep().SourceInfo()
	celast.PreOrderVisit(tree.NativeRep().Expr(), celast.NewExprVisitor(func(n celast.Expr) {
		if n.Kind() != celast.CallKind {
			return
		}
		call := n.AsCall()
		if !isClock(call.FunctionName()) || !call.IsMemberFunction() || len(call.Args()) != 1 {
			return
		}
		at := info.GetStartLocation(call.Args()[0].ID())
		pos := e.place(at.Line(), at.Column())
		lit := call.Args()[0]
		name, isText := types.String(""), false
		if lit.Kind() == celast.LiteralKind {
			name, isText = lit.AsLiteral().(types.String)
		}
		if !isText {
			r.add(pos, `write it out, such as "Europe/Berlin"`, "a time zone has to be a text")
			ok = false
			return
		}
		if err := z.load(string(name)); err != nil {
			r.add(pos, `write "Europe/Berlin", "UTC" or "+02:00"`, "%s", err)
			ok = false
		}
	}))
	return ok
}

func isClock(function string) bool {
	for _, c := range clockFunctions {
		if c.name == function {
			return true
		}
	}
	return false
}

func (z zones) load(name string) error {
	if z[name] != nil {
		return nil
	}
	if len(name) == 6 && (name[0] == '+' || name[0] == '-') && name[3] == ':' {
		t, err := time.Parse("-07:00", name)
		if err != nil {
			return fmt.Errorf("%q is not an offset", name)
		}
		_, offset := t.Zone()
		z[name] = time.FixedZone(name, offset)
		return nil
	}
	if name == "Local" || name == "" || strings.HasPrefix(name, "/") {
		return fmt.Errorf("%q is not a time zone", clip(name))
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return fmt.Errorf("there is no time zone %q", clip(name))
	}
	z[name] = loc
	return nil
}
