package pages

import (
	"encoding/json"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/wexec/wexec/engine"
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
	Out       []output
	Timeline  *timeline
	Approvals []service.Approval
}

// codeLine is a line of a program.
type codeLine struct {
	Number int
	Text   string
	Failed bool
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
	failed := 0
	if run.Error != nil {
		failed = run.Error.Line
	}
	data.Lines, data.Cut = codeLines(run.Code, failed)
	if len(run.Value) > 0 && string(run.Value) != "null" {
		data.Value = tree(run.Value)
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
		if text := streams[name]; text != "" {
			o := output{Stream: name, Text: text}
			if len(text) > maxText {
				o.Text, o.Cut = strings.ToValidUTF8(text[len(text)-maxText:], ""), true
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
	data.Timeline = timelineOf(run, events, data.Approvals)
	pg := page{Title: "Run " + id, At: "/runs", Data: data}
	if !data.Done {
		pg.Live = "/live/" + id
	}
	return p.show(v, "run", pg)
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

// codeLines returns the lines of a program around the one that failed.
func codeLines(code string, failed int) (lines []codeLine, cut string) {
	if code == "" {
		return nil, ""
	}
	total := strings.Count(strings.TrimSuffix(code, "\n"), "\n") + 1
	first := 1
	if total > maxLines && failed > maxLines/2 {
		first = min(failed-maxLines/2, total-maxLines+1)
	}
	n := 0
	for text := range strings.Lines(code) {
		n++
		if n < first {
			continue
		}
		if len(lines) == maxLines {
			break
		}
		lines = append(lines, codeLine{n, codeText(text), n == failed})
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
	return redirect(v, "/runs/"+run.RunID)
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
