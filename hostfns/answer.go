package hostfns

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/jsonscan"
)

// admit lets an answer in: checked, bounded, counted, covered.
func (q *request) admit(ctx context.Context, a Answer) (Answer, error) {
	r := q.run
	if f := q.sound(&a); f != nil {
		closeBody(a)
		return Answer{}, f
	}
	size := int64(len(a.Data))
	if limit := q.decision.Limits.Result(); limit > 0 && size > limit {
		closeBody(a)
		return Answer{}, &Failure{Code: fault.ToolTooLarge, Tool: q.name, Rule: q.decision.Rule,
			Message: fmt.Sprintf("%s answered %d bytes, more than the %d its rule allows", q.name, size, limit),
			Hint:    q.entry.paging()}
	}
	if err := r.spend(size); err != nil {
		closeBody(a)
		return Answer{}, err
	}
	q.checkOutput(a)
	if err := q.strip(&a); err != nil {
		return Answer{}, err
	}
	counts, mode, err := r.veil.cover(&a, q.name)
	if len(counts.Kinds) > 0 {
		if recorded := r.recordPrivacy(q.number, q.name, "answer", mode, counts); recorded != nil {
			return Answer{}, recorded
		}
	}
	if err != nil {
		return Answer{}, &Failure{Code: fault.ToolFailed, Tool: q.name, Hint: "the policy blocks personal data from this tool",
			Message: q.name + " answered with personal data, which the policy blocks"}
	}
	streamed := a.Body != nil
	if streamed {
		if a.Data, err = r.keepStream(a); err != nil {
			return Answer{}, failureOf(err, q.name)
		}
		a.Body = nil
	}
	r.cacheable(q.decision.Cache)
	if !streamed {
		r.table.options.Learned.Observe(q.entry.tool, a)
	}
	return a, nil
}

func closeBody(a Answer) {
	if a.Body != nil {
		_ = a.Body.Close()
	}
}

// sound refuses an answer that is not what it says.
func (q *request) sound(a *Answer) *Failure {
	bad := func(what string) *Failure {
		return &Failure{Code: fault.ToolFailed, Tool: q.name, Message: q.name + " answered with " + what}
	}
	switch a.Kind {
	case JSON, Content:
		if len(a.Data) == 0 {
			a.Data = []byte("null")
		}
		if !a.Checked && !jsonscan.Valid(a.Data) {
			return bad("something that is no JSON")
		}
	case Text:
		if !a.Checked && !utf8.Valid(a.Data) {
			a.Data = []byte(strings.ToValidUTF8(string(a.Data), "�"))
		}
	case Bytes:
	default:
		return bad("a kind of answer that does not exist")
	}
	return nil
}

// maxOutputCheck bounds the answers that are held against the output schema.
const maxOutputCheck = 64 << 10

// checkOutput warns of an answer that does not fit what the tool declares.
func (q *request) checkOutput(a Answer) {
	if a.Kind != JSON || len(q.entry.tool.OutputSchema) == 0 || len(a.Data) > maxOutputCheck {
		return
	}
	q.entry.compile()
	var v any
	if json.Unmarshal(a.Data, &v) != nil {
		return
	}
	if f, _ := q.entry.output.Check("answer", v); f != nil {
		q.run.warn(q.name + " does not keep to its output schema: " + clean(f.Error(), 500))
	}
}

// paging says how to ask a tool for less, by what its arguments are called.
func (e *entry) paging() string {
	var found []string
	for _, name := range e.schema().Properties() {
		switch strings.ToLower(strings.ReplaceAll(name, "_", "")) {
		case "limit", "perpage", "pagesize", "maxresults", "first", "count", "top", "page", "cursor", "offset",
			"after", "pagetoken", "nextcursor", "fields", "select", "since", "query", "head", "maxlength", "startindex":
			found = append(found, clean(name, 80))
		}
	}
	if len(found) == 0 {
		return "ask for less; " + e.signature(e.schema())
	}
	return "ask for less at once with " + strings.Join(found, ", ")
}
