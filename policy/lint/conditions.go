package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/internal/text"
	"github.com/wexec/wexec/policy"
	"github.com/wexec/wexec/policy/internal/expr"
)

// maxTyped bounds the tools whose schemas one expression is checked against.
const maxTyped = 100

// checkTypes checks an expression, and the variables that it uses, against the
// schemas of the tools that its rule matches. decides is true for a condition.
func (c *checker) checkTypes(r *rule, x *expr.Expr, matches []catalogue.Tool, decides bool) {
	exprs := []*expr.Expr{x}
	for i := 0; i < len(exprs); i++ {
		for _, v := range exprs[i].Vars() {
			if !slices.Contains(exprs, v) {
				exprs = append(exprs, v)
			}
		}
	}
	for _, x := range exprs {
		tools := map[expr.Mismatch][]string{} // for which it is a mismatch
		var order []expr.Mismatch
		typed := 0
		for _, t := range matches {
			args := c.argTypes(t)
			if args == nil || typed == maxTyped {
				continue
			}
			typed++
			for _, m := range args.Check(x) {
				if tools[m] == nil {
					order = append(order, m)
				}
				tools[m] = append(tools[m], t.ID())
			}
		}
		for _, m := range order {
			topic := TopicWrongType
			if m.Kind == expr.UnknownArgument {
				topic = TopicUnknownArg
			}
			switch in := tools[m]; {
			case len(in) == typed:
				c.add(SeverityError, topic, m.Pos, m.Hint, "%s in %s", m.Message, listTools(in))
			case decides && r.effect != policy.Deny:
				c.add(SeverityNote, topic, m.Pos, "the condition fails there: use args.?name, has(args.name), or one rule for each tool",
					"%s in %s", m.Message, listTools(in))
			}
		}
	}
}

// argTypes returns the types of a tool's arguments, or nil if they are not known.
func (c *checker) argTypes(t catalogue.Tool) *expr.ArgTypes {
	if c.types == nil {
		return nil
	}
	return c.types.Tool(t)
}

func listTools(tools []string) string {
	if len(tools) > 3 {
		return fmt.Sprintf("%s and %d more", strings.Join(tools[:2], ", "), len(tools)-2)
	}
	return strings.Join(tools, ", ")
}

// checkTruth finds conditions that cannot be true, or are always true.
func (c *checker) checkTruth(r *rule, matches []catalogue.Tool) {
	switch {
	case r.never:
		c.add(SeverityError, TopicNeverTrue, r.when.Pos(), "", "the condition is never true")
		return
	case r.always:
		c.add(SeverityNote, TopicNeverTrue, r.when.Pos(), "remove it", "the condition is always true")
		return
	}
	possible := map[string][]any{} // values by path
	for _, d := range r.when.Demands() {
		values := d.Values
		if before, again := possible[d.Path]; again {
			values = slices.DeleteFunc(slices.Clone(before), func(v any) bool { return !slices.Contains(d.Values, v) })
		}
		possible[d.Path] = values
		if len(values) == 0 {
			c.add(SeverityError, TopicNeverTrue, r.when.Pos(), "", "the condition is never true: it requires different values of %s", d.Path)
			return
		}
	}
	for _, path := range slices.Sorted(maps.Keys(possible)) {
		if message, hint := c.impossible(r, path, possible[path], matches); message != "" {
			c.add(SeverityError, TopicNeverTrue, r.when.Pos(), hint, "the condition is never true: %s", message)
		}
	}
}

// impossible returns a message if no tool that a rule matches can have one of
// the values that its condition requires.
func (c *checker) impossible(r *rule, path string, values []any, matches []catalogue.Tool) (message, hint string) {
	if len(matches) == 0 {
		return "", ""
	}
	var allowed []string
	for _, t := range matches {
		names, ok := c.namesAt(path, t)
		if !ok || slices.ContainsFunc(names, func(name string) bool { return slices.Contains(values, any(name)) }) {
			return "", ""
		}
		allowed = append(allowed, names...)
	}
	slices.Sort(allowed)
	allowed = slices.Compact(allowed)
	var required []string
	for _, v := range values {
		name := fmt.Sprint(v)
		required = append(required, fmt.Sprintf("%q", text.Clip(name, 60)))
		if near := catalogue.NearestOf(name, allowed); near != "" {
			hint = "did you mean " + near + "?"
		}
	}
	if hint == "" && len(allowed) <= 24 {
		hint = "use one of " + strings.Join(allowed, ", ")
	}
	return fmt.Sprintf("%s is never %s in %s", path, strings.Join(required, " or "), r.glob), hint
}

// namesAt returns the only values that a path of a condition can have for a
// tool. ok is false if they are not known or not all strings.
func (c *checker) namesAt(path string, t catalogue.Tool) (names []string, ok bool) {
	switch path {
	case "tool.server":
		return []string{t.Server}, true
	case "tool.name":
		return []string{t.Name}, true
	case "run.risk":
		return []string{"low", "medium", "high", "critical"}, true
	}
	field, isArg := strings.CutPrefix(path, "args.")
	args := c.argTypes(t)
	if !isArg || strings.Contains(field, ".") || args == nil {
		return nil, false
	}
	values, ok := args.Values(field)
	for _, v := range values {
		name, isString := v.(string)
		ok = ok && isString
		names = append(names, name)
	}
	return names, ok
}
