package hostfns

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns/schema"
)

// arguments are the arguments of one call on their way to the tool.
type arguments struct {
	raw    []byte         // the JSON object as it may be passed on
	values map[string]any // what raw says
	room   int64          // about what values takes beside its texts
}

// readArguments reads what the program wrote: an object by keyword, or an
// array by position. Defaults of the schema are filled in.
func readArguments(e *entry, data []byte) (arguments, *Failure) {
	if len(data) == 0 {
		data = []byte("{}")
	}
	doc, err := decode(data)
	if err != nil {
		return arguments{}, e.invalid("the arguments are no JSON that can be passed on: "+err.Error(), "")
	}
	s := e.schema()
	a := arguments{raw: data, room: doc.room}
	exact := doc.exact
	switch v := doc.value.(type) {
	case map[string]any:
		a.values = v
	case []any:
		var f *Failure
		if a.values, f = e.byPosition(s, v); f != nil {
			return arguments{}, f
		}
		exact = false
	case nil:
		a.values = map[string]any{}
		exact = false
	default:
		return arguments{}, e.invalid("the arguments are an object by keyword or a list by position", e.signature(s))
	}
	if f := e.misnamed(s, a.values); f != nil {
		return arguments{}, f
	}
	extra := s.Defaults(a.values)
	if !exact && len(extra) == 0 {
		return a, a.rewrite(e)
	}
	if len(extra) == 0 {
		return a, nil
	}
	maps.Copy(a.values, extra)
	if !exact {
		return a, a.rewrite(e)
	}
	return a, a.splice(e, extra)
}

// rewrite writes the values anew.
func (a *arguments) rewrite(e *entry) *Failure {
	raw, err := json.Marshal(a.values)
	if err != nil {
		return e.invalid("the arguments have no JSON form", "")
	}
	a.raw = raw
	return nil
}

// splice adds members to the object as it was written, so that its numbers
// keep every digit.
func (a *arguments) splice(e *entry, extra map[string]any) *Failure {
	end := strings.LastIndexByte(string(a.raw), '}')
	if end < 0 {
		return a.rewrite(e)
	}
	add, err := json.Marshal(extra)
	if err != nil {
		return e.invalid("the arguments have no JSON form", "")
	}
	body := strings.TrimSpace(string(a.raw[:end]))
	out := make([]byte, 0, len(body)+len(add)+1)
	out = append(out, body...)
	if body != "{" {
		out = append(out, ',')
	}
	a.raw = append(out, add[1:]...)
	return nil
}

// byPosition gives the arguments of a list their names.
func (e *entry) byPosition(s *schema.Schema, list []any) (map[string]any, *Failure) {
	names := s.Positions()
	if len(list) > len(names) {
		if len(names) == 0 && len(list) == 1 {
			if m, ok := list[0].(map[string]any); ok {
				return m, nil
			}
		}
		return nil, e.invalid(fmt.Sprintf("%d arguments by position, but the tool has %d", len(list), len(names)), e.signature(s))
	}
	out := make(map[string]any, len(list))
	for i, v := range list {
		out[names[i]] = v
	}
	return out, nil
}

// misnamed finds an argument whose name is a slip: unknown, and close to one
// that the tool has and that is not given. A tool that takes other names too
// would drop or ignore it, and nobody would know why.
func (e *entry) misnamed(s *schema.Schema, values map[string]any) *Failure {
	names := s.Properties()
	if len(names) == 0 || s.Open() || allIn(values, names) {
		return nil
	}
	for _, got := range slices.Sorted(maps.Keys(values)) {
		if slices.Contains(names, got) {
			continue
		}
		var free []string
		for _, n := range names {
			if _, given := values[n]; !given {
				free = append(free, n)
			}
		}
		if near := catalogue.NearestOf(got, free); near != "" {
			return e.invalid(fmt.Sprintf("args.%s: there is no argument of that name", clean(got, 80)), "did you mean "+clean(near, 80)+"?")
		}
		if s.Closed() {
			return e.invalid(fmt.Sprintf("args.%s: there is no argument of that name", clean(got, 80)), e.signature(s))
		}
	}
	return nil
}

// allIn reports whether all arguments have names that the tool knows.
func allIn(values map[string]any, names []string) bool {
	for got := range values {
		if !slices.Contains(names, got) {
			return false
		}
	}
	return true
}

// fits checks revealed arguments against the schema. Arguments that a secret
// fills may be missing.
func (e *entry) fits(run *Run, values map[string]any, secret []string) *Failure {
	f, complete := e.schema().Check("args", values, secret...)
	if !complete {
		run.warn("the arguments of " + e.id + " were not checked: its schema takes too long")
		return nil
	}
	if f == nil {
		return nil
	}
	return e.invalid(f.Error(), e.signature(e.schema()))
}

// signature says what the tool takes, in one line, in the order of positions.
func (e *entry) signature(s *schema.Schema) string {
	names := s.Positions()
	if len(names) == 0 {
		return ""
	}
	required := s.Required()
	parts := make([]string, 0, len(names))
	for _, n := range firstOf(names, 30) {
		n = clean(n, 80)
		if !slices.Contains(required, n) && n != "…" {
			n += "?"
		}
		parts = append(parts, n)
	}
	return e.id + " takes " + strings.Join(parts, ", ")
}

func (e *entry) invalid(message, hint string) *Failure {
	return &Failure{Code: fault.ToolInvalidArgs, Tool: e.id, Message: clean(message, maxMessage), Hint: clean(hint, maxMessage)}
}
