package pages

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/internal/text"
	"github.com/wexec/wexec/review"
	"github.com/wexec/wexec/service"
	"github.com/wexec/wexec/store"
)

// runData is what the page of a run shows.
type runData struct {
	*service.Run
	Done      bool
	Lines     []codeLine
	Cut       string // says which lines are shown, if not all
	Value     *node
	ValueSize int64
	Find      string // words that are searched in the value
	Found     []match
	Out       []output
	Timeline  *timeline
	Approvals []service.Approval
	Given     service.Given
	Args      *node
	Meters    []meter
	Records   *recordData
	Compared  *comparison
}

// codeLine is a line of a program.
type codeLine struct {
	Number int
	Text   string
	Failed string // why the run failed here
	Notes  []review.Finding
}

// output is the end of what a program wrote.
type output struct {
	Stream, Text string
	Cut          bool
}

// run shows a run.
func (p *Pages) run(v *view) error {
	ctx, id := v.r.Context(), v.r.PathValue("id")
	run, err := p.Service.Get(ctx, v.who, id)
	if err != nil {
		return err
	}
	p.About(v.r, id)
	data := runData{Run: run, Done: run.State == store.StateDone, ValueSize: int64(len(run.Value))}
	if run.Review == nil && !data.Done {
		if run.Review, err = p.Service.ReviewOf(ctx, v.who, id); err != nil {
			return err
		}
	}
	data.Lines, data.Cut = codeLines(run)
	if len(run.Value) > 0 && string(run.Value) != "null" {
		data.Value = tree(run.Value)
		if data.Find = text.Clip(v.r.URL.Query().Get("find"), maxLine); data.Find != "" {
			data.Found = find(ctx, run.Value, data.Find)
		}
	}
	if data.Given, err = p.Service.Given(ctx, v.who, id); err != nil {
		return err
	}
	if len(data.Given.Args) > 0 {
		data.Args = tree(data.Given.Args)
	}
	if data.Done {
		data.Meters = meters(run.Usage, data.Given.Limits)
	}
	events, err := p.kept(v, id)
	if err != nil {
		return err
	}
	streams := map[string]string{"stdout": run.Stdout, "stderr": run.Stderr}
	if !data.Done {
		streams = outputOf(events)
	}
	for _, name := range []string{"stdout", "stderr"} {
		if written := streams[name]; written != "" {
			o := output{Stream: name, Text: written}
			if len(written) > maxText {
				o.Text, o.Cut = strings.ToValidUTF8(written[len(written)-maxText:], ""), true
			}
			data.Out = append(data.Out, o)
		}
	}
	for _, state := range []store.Answer{store.AnswerWaiting, store.AnswerApproved, store.AnswerDenied, store.AnswerExpired} {
		asked, _, err := p.Service.Approvals(ctx, v.who, store.ApprovalFilter{Run: id, State: state, Limit: longList})
		if err != nil {
			return err
		}
		data.Approvals = append(data.Approvals, asked...)
	}
	if data.Timeline = timelineOf(run, events, data.Approvals); data.Timeline != nil {
		var kept map[uint64]service.CallTexts
		if data.Done && v.who.Has(store.ScopeAdmin) {
			if kept, err = p.Service.CallTexts(ctx, v.who, id); err != nil {
				return err
			}
		}
		data.Timeline.explain(kept)
	}
	if err := p.more(v, &data); err != nil {
		return err
	}
	pg := page{Title: "Run " + id, At: "/runs", Data: data}
	if !data.Done {
		pg.Live = "/live/" + id
	}
	return p.show(v, "run", pg)
}

// more adds what a person asked for: the records of the audit, and a run to compare
// with.
func (p *Pages) more(v *view, data *runData) (err error) {
	q := v.r.URL.Query()
	if data.Done && q.Get("records") != "" && v.who.Has(store.ScopeAdmin) {
		if data.Records, err = p.records(v, data.Run); err != nil {
			return err
		}
	}
	if with := q.Get("with"); with != "" && data.Done {
		other, err := p.Service.Get(v.r.Context(), v.who, with)
		if err != nil {
			return err
		}
		if other.State == store.StateDone {
			data.Compared = compare(other.Result, data.Result)
			data.Compared.With = with
		}
	}
	return nil
}

// maxPages bounds how many times events are read for one page.
const maxPages = 4

// kept returns the first events of a run.
func (p *Pages) kept(v *view, id string) (all []store.Event, err error) {
	var after int64
	for range maxPages {
		events, end, err := service.KeptEvents(v.r.Context(), p.Service.Store(), v.who.Tenant, id, after)
		if err != nil {
			return nil, err
		}
		all = append(all, events...)
		if end || len(events) == 0 {
			break
		}
		after = events[len(events)-1].Number
	}
	return all, nil
}

// outputOf joins the output of a run that goes on.
func outputOf(events []store.Event) map[string]string {
	streams := map[string]*strings.Builder{"stdout": {}, "stderr": {}}
	for _, e := range events {
		var o struct{ Stream, Text string }
		if e.Type == "output" && json.Unmarshal(e.Data, &o) == nil && streams[o.Stream] != nil {
			streams[o.Stream].WriteString(o.Text)
		}
	}
	return map[string]string{"stdout": streams["stdout"].String(), "stderr": streams["stderr"].String()}
}

// maxLines bounds the lines of a program that a page shows.
const maxLines = 400

// codeLines returns the lines of a program around the one that failed, with what the
// review found in them.
func codeLines(run *service.Run) (lines []codeLine, cut string) {
	code, failed := run.Code, 0
	if code == "" {
		return nil, ""
	}
	if run.Error != nil {
		failed = run.Error.Line
	}
	notes := map[int][]review.Finding{}
	if run.Review != nil {
		for _, f := range run.Review.Findings {
			notes[f.Line] = append(notes[f.Line], f)
		}
	}
	total := strings.Count(strings.TrimSuffix(code, "\n"), "\n") + 1
	first := 1
	if total > maxLines && failed > maxLines/2 {
		first = min(failed-maxLines/2, total-maxLines+1)
	}
	n := 0
	for one := range strings.Lines(code) {
		n++
		if n < first {
			continue
		}
		if len(lines) == maxLines {
			break
		}
		l := codeLine{Number: n, Text: codeText(one), Notes: notes[n]}
		if n == failed {
			l.Failed = run.Error.Error()
		}
		lines = append(lines, l)
	}
	if total > maxLines {
		cut = fmt.Sprintf("lines %d to %d of %d", first, first+len(lines)-1, total)
	}
	return lines, cut
}

// codeText is a line of a program, with its tabs as spaces.
func codeText(text string) string {
	return line(strings.ReplaceAll(strings.TrimRight(text, "\r\n"), "\t", "    "))
}

// download sends the value, the output or the program of a run as a file.
func (p *Pages) download(v *view) error {
	id := v.r.PathValue("id")
	run, err := p.Service.Get(v.r.Context(), v.who, id)
	if err != nil {
		return err
	}
	p.About(v.r, id)
	kind := "text/plain; charset=utf-8"
	var name, text string
	switch what := path.Base(v.r.URL.Path); what {
	case "value":
		kind, name, text = "application/json", id+".json", string(run.Value)
	case "output":
		name, text = id+".txt", run.Stdout+run.Stderr
	default:
		name, text = id+map[string]string{"python": ".py", "typescript": ".ts"}[run.Language], run.Code
		if run.Language == "javascript" {
			name += ".js"
		}
	}
	v.w.Header().Set("Content-Type", kind)
	v.w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	_, _ = io.WriteString(v.w, text)
	return nil
}

// cancel stops a run.
func (p *Pages) cancel(v *view) error {
	id := v.r.PathValue("id")
	if _, err := p.Service.Cancel(v.r.Context(), v.who, id); err != nil {
		return err
	}
	p.About(v.r, id)
	return redirect(v, "/runs/"+id)
}

// again runs the program of a run again, as the person who is signed in.
func (p *Pages) again(v *view) error {
	program, err := p.Service.ProgramOf(v.r.Context(), v.who, v.r.PathValue("id"))
	if err != nil {
		return err
	}
	run, err := p.Service.Submit(v.r.Context(), v.who, service.Submission{Program: program, Trigger: "api"}, 0)
	if err != nil {
		return err
	}
	p.About(v.r, run.RunID)
	return redirect(v, "/runs/"+run.RunID+"?with="+url.QueryEscape(v.r.PathValue("id")))
}

// Took is how long a run took, or has taken until now.
func (d runData) Took() string {
	if d.Done {
		return span(time.Duration(d.Usage.WallMS) * time.Millisecond)
	}
	return span(time.Since(d.Started))
}

// Failure returns the error of a run, or nil.
func (d runData) Failure() *engine.Error { return d.Run.Error }
