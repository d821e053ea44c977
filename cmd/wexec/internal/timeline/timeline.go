// Package timeline draws a run as an SVG picture: the run, the program, each
// call, and the time spent on waiting for people, over a scale of time.
package timeline

import (
	"encoding/xml"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wexec/wexec/cmd/wexec/internal/terminal"
	"github.com/wexec/wexec/engine"
)

// Recorder collects the steps of a run. A nil Recorder does nothing.
type Recorder struct {
	mu        sync.Mutex
	begun     time.Time
	compiling time.Time
	running   time.Time
	waiting   time.Time // for a person
	bars      []bar
}

type bar struct {
	label    string
	from, to time.Time
	class    string
}

// Start begins to record.
func Start() *Recorder { return &Recorder{begun: time.Now()} }

// Event adds a step of the run.
func (r *Recorder) Event(e engine.Event) {
	if r == nil || e.Type == engine.EventCalling || e.Type == engine.EventFuel {
		return // a call is drawn when it has ended
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.waiting.IsZero() && e.Type != engine.EventWaiting {
		r.bars = append(r.bars, bar{"people", r.waiting, e.Time, "people"})
		r.waiting = time.Time{}
	}
	switch {
	case e.Type == engine.EventCompiling && r.compiling.IsZero():
		r.compiling = e.Time
	case e.Type == engine.EventStarted && r.running.IsZero():
		if r.running = e.Time; !r.compiling.IsZero() {
			r.bars = append(r.bars, bar{"compiling, once on this machine", r.compiling, e.Time, "load"})
		}
	case e.Type == engine.EventWaiting && r.waiting.IsZero():
		r.waiting = e.Time
	case e.Type == engine.EventCall && e.Call != nil:
		class := "call"
		if !e.Call.OK {
			class = "failed"
		}
		r.bars = append(r.bars, bar{fmt.Sprintf("%s  %d ms, %s", e.Call.Tool, e.Call.MS, terminal.Bytes(e.Call.Bytes)),
			e.Time.Add(-time.Duration(e.Call.MS) * time.Millisecond), e.Time, class})
	}
}

const style = `.run{fill:#4b6a9b}.guest{fill:#7d6bb0}.load{fill:#8a8f98}.call{fill:#5a9367}.failed{fill:#b5524a}.people{fill:#c9a227}text{fill:#222}.scale{fill:#888}line{stroke:#8886}@media(prefers-color-scheme:dark){text{fill:#ddd}}`

// SVG draws the run with one row for each bar, in the order in which they start.
func (r *Recorder) SVG(res *engine.Result) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	const width, row, left, scale = 900, 26, 16, 22
	end := r.begun.Add(time.Duration(max(res.Usage.WallMS, 1)) * time.Millisecond)
	for _, b := range r.bars {
		if b.to.After(end) {
			end = b.to
		}
	}
	span := max(end.Sub(r.begun), time.Millisecond)
	x := func(at time.Time) float64 {
		return left + float64(max(at.Sub(r.begun), 0))/float64(span)*(width-2*left)
	}
	bars := []bar{{fmt.Sprintf("run: %d ms, %s", res.Usage.WallMS, res.Status), r.begun, end, "run"}}
	if !r.running.IsZero() {
		bars = append(bars, bar{fmt.Sprintf("program: %d ms in the guest", res.Usage.GuestMS), r.running, end, "guest"})
	}
	slices.SortStableFunc(r.bars, func(a, b bar) int { return a.from.Compare(b.from) })
	bars = append(bars, r.bars...)
	var b strings.Builder
	height := left + row*len(bars) + scale
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" font-family="system-ui, sans-serif" font-size="12">`+"\n", width, height)
	b.WriteString("<style>" + style + "</style>\n")
	step := tickStep(span)
	for at := time.Duration(0); at <= span; at += step {
		place, anchor := x(r.begun.Add(at)), "middle"
		switch { // labels stay inside the picture
		case place < left+20:
			anchor = "start"
		case place > width-left-20:
			anchor = "end"
		}
		fmt.Fprintf(&b, `<line x1="%.1[1]f" x2="%.1[1]f" y1="%[2]d" y2="%[3]d"/><text class="scale" x="%.1[1]f" y="%[4]d" text-anchor="%[5]s">%[6]s</text>`+"\n",
			place, left, height-scale, height-8, anchor, at)
	}
	for i, one := range bars {
		y := left + i*row
		from, to := x(one.from), x(one.to)
		fmt.Fprintf(&b, `<rect class="%s" x="%.1f" y="%d" width="%.1f" height="8" rx="2"/>`, one.class, from, y+12, max(to-from, 1.5))
		anchor, at := "start", from
		if from > width*2/3 {
			anchor, at = "end", to
		}
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="%s">`, at, y+9, anchor)
		_ = xml.EscapeText(&b, []byte(terminal.Visible(one.label)))
		b.WriteString("</text>\n")
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

// tickStep is the distance between ticks: 1, 2 or 5 times a power of ten, for at
// most eight ticks.
func tickStep(span time.Duration) time.Duration {
	step := time.Millisecond
	for i := 0; span/step > 8; i++ {
		if step *= 2; i%3 == 1 { // 1, 2, 5, 10, 20, 50 …
			step = step * 5 / 4
		}
	}
	return step
}
