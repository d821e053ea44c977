package pages

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/internal/text"
	"github.com/wexec/wexec/policy"
	"github.com/wexec/wexec/service"
)

// explain adds to the calls of a picture what the audit keeps of them, and who was
// asked.
func (t *timeline) explain(kept map[uint64]service.CallTexts) {
	left := maxNodes // of all calls together
	for i := range t.Calls {
		c := &t.Calls[i]
		texts := kept[uint64(c.Number)] //nolint:gosec // numbers of calls are positive
		args := []byte(texts.Args)
		if c.Asked != nil && len(args) == 0 {
			args = c.Asked.Args
		}
		c.Message = texts.Message
		if len(args) > 0 && left > 0 {
			c.Args = treeOf(args, &left)
		}
		if len(texts.Answer) > 0 {
			c.Shape = shapeOf(texts.Answer)
		}
	}
}

// Bounds of shapes.
const (
	shapeNested  = 4
	shapeMembers = 12
	shapeTokens  = 5000 // that are read
)

// shapeOf describes the structure of an answer, such as {id: number, tags: [string]}.
func shapeOf(answer []byte) string {
	d := json.NewDecoder(bytes.NewReader(answer))
	left := shapeTokens
	s, err := shapeIn(d, 0, &left)
	if err != nil {
		return "text"
	}
	return s
}

// shapeIn describes the next value. It reads at most a number of tokens.
func shapeIn(d *json.Decoder, depth int, left *int) (string, error) {
	*left--
	t, err := d.Token()
	if err != nil {
		return "", err
	}
	switch t := t.(type) {
	case json.Delim:
		var members []string
		seen := map[string]bool{}
		for *left > 0 && d.More() {
			name := ""
			if t == '{' {
				key, err := d.Token()
				if err != nil {
					return "", err
				}
				name = line(fmt.Sprint(key)) + ": "
			}
			s, err := shapeIn(d, depth+1, left)
			if err != nil {
				return "", err
			}
			if s = name + s; !seen[s] && len(members) <= shapeMembers && depth < shapeNested {
				seen[s] = true
				members = append(members, s)
			}
		}
		if *left > 0 {
			_, err = d.Token() // the end
		} else {
			members = append(members, "…")
		}
		if len(members) > shapeMembers {
			members = append(members[:shapeMembers], "…")
		}
		if t == '{' {
			return "{" + strings.Join(members, ", ") + "}", err
		}
		return "[" + strings.Join(members, " | ") + "]", err
	case string:
		return "string", nil
	case float64:
		return "number", nil
	case bool:
		return "boolean", nil
	}
	return "null", nil
}

// meter is what a run used of a limit.
type meter struct {
	Name, Used, Allowed string
	Share               float64 // of 100
}

// meters compares what a run used with what it may use.
func meters(u engine.Usage, l policy.Limits) (all []meter) {
	add := func(name string, used, allowed int64, show func(int64) string) {
		m := meter{Name: name, Used: show(used), Allowed: "no limit"}
		if allowed > 0 {
			m.Allowed, m.Share = show(allowed), min(float64(used)/float64(allowed)*100, 100)
		}
		all = append(all, m)
	}
	count := func(n int64) string { return number(n) }
	add("Fuel", u.Fuel, l.Fuel, count)
	add("Memory", u.MemoryPeak, l.Memory, size)
	add("Time", u.WallMS, l.Time.Milliseconds(), func(ms int64) string { return span(time.Duration(ms) * time.Millisecond) })
	add("Output", u.ResultSize, l.Output, size)
	add("Calls", int64(u.ToolCalls), int64(l.ToolCalls), count)
	return all
}

// record is an entry of the audit log about a run.
type record struct {
	At         time.Time
	Type, Text string
	Hash       string
}

// maxRecords bounds the records of a page.
const maxRecords = 200

// recordData is what the page of a run shows of the audit.
type recordData struct {
	auditData
	Run   string
	All   []record
	Rest  bool // there are more
	Error string
}

// records reads the records of a run, and verifies the log.
func (p *Pages) records(v *view, run *service.Run) (*recordData, error) {
	data := &recordData{Run: run.RunID}
	filter := service.AuditFilter{Run: run.RunID}
	for r, err := range p.Service.Audit(v.r.Context(), v.who, filter) {
		if err != nil {
			data.Error = err.Error()
			break
		}
		if data.Rest = len(data.All) == maxRecords; data.Rest {
			break
		}
		data.All = append(data.All, recordOf(r))
	}
	var err error
	data.auditData, err = p.verify(v)
	return data, err
}

// recordOf is a record in words.
func recordOf(r service.AuditRecord) record {
	out := record{At: r.Time, Type: string(r.Type), Hash: text.ClipRunes(r.Hash, 16)}
	var words []string
	add := func(all ...string) {
		for _, w := range all {
			if w != "" {
				words = append(words, w)
			}
		}
	}
	switch {
	case r.Start != nil:
		add(r.Start.Language, "by", r.Start.Actor.ID, "through", r.Start.Trigger)
	case r.Decision != nil:
		add(r.Decision.Effect, r.Decision.Kind, r.Decision.Tool, r.Decision.Target, r.Decision.Rule, r.Decision.Code)
		if a := r.Decision.Approval; a != nil {
			add("answer:", a.Answer, a.Via, a.By)
		}
	case r.Call != nil:
		add(r.Call.Tool, r.Call.Code, fmt.Sprintf("%d ms, %s", r.Call.MS, size(r.Call.Bytes)))
	case r.Privacy != nil:
		add(r.Privacy.Tool, r.Privacy.Where, counts(r.Privacy.Counts))
	case r.End != nil:
		add(r.End.Status, r.End.Code)
	}
	out.Text = strings.Join(words, " ")
	return out
}

// counts is a list of kinds with their numbers.
func counts(n map[string]int) string {
	all := make([]string, 0, len(n))
	for kind, count := range n {
		all = append(all, fmt.Sprintf("%s %d", kind, count))
	}
	sort.Strings(all)
	return strings.Join(all, ", ")
}

// difference compares a property of two runs.
type difference struct {
	Name, Before, Now string
	Same              bool
}

// comparison compares a run with an earlier one.
type comparison struct {
	With string // the id of the other run
	Rows []difference
}

// compare compares the results of two runs.
func compare(before, now engine.Result) *comparison {
	c := &comparison{}
	add := func(name, a, b string) {
		c.Rows = append(c.Rows, difference{name, a, b, a == b})
	}
	add("Status", string(before.Status), string(now.Status))
	add("Error", errorText(before.Error), errorText(now.Error))
	add("Value", clipped(before.Value), clipped(now.Value))
	add("stdout", clipped([]byte(before.Stdout)), clipped([]byte(now.Stdout)))
	add("stderr", clipped([]byte(before.Stderr)), clipped([]byte(now.Stderr)))
	add("Calls", callText(before.Calls), callText(now.Calls))
	add("Fuel", number(before.Usage.Fuel), number(now.Usage.Fuel))
	add("Policy", text.ClipRunes(before.Provenance.Policy, 16), text.ClipRunes(now.Provenance.Policy, 16))
	return c
}

func errorText(e *engine.Error) string {
	if e == nil {
		return ""
	}
	return string(e.Code) + ": " + e.Error()
}

// clipped is the beginning of a text, and its digest if that is not all.
func clipped(data []byte) string {
	if len(data) <= maxLine {
		return string(data)
	}
	return text.Clip(string(data), 120) + fmt.Sprintf(" (%s, SHA-256 %.16s)", size(int64(len(data))), digestOf(data))
}

// callText names the calls of a run with how often each follows itself.
func callText(calls []engine.Call) string {
	var b strings.Builder
	for i := 0; i < len(calls) && b.Len() < maxLine; {
		n := 1
		for i+n < len(calls) && calls[i+n].Tool == calls[i].Tool && calls[i+n].OK == calls[i].OK {
			n++
		}
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		b.WriteString(calls[i].Tool)
		if n > 1 {
			fmt.Fprintf(&b, " × %d", n)
		}
		if !calls[i].OK {
			b.WriteString(" failed")
		}
		i += n
	}
	return b.String()
}
