package cli

import (
	"encoding/xml"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/wexec/wexec/engine"
)

// timeline collects the steps of a run and draws them: the run itself, each
// call, and what was waited for.
type timeline struct {
	mu     sync.Mutex
	begun  time.Time
	bars   []bar
	marked time.Time // since when people are waited for
}

type bar struct {
	label    string
	from, to time.Time
	class    string
}

func newTimeline() *timeline { return &timeline{begun: time.Now()} }

func (t *timeline) event(e engine.Event) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.marked.IsZero() && e.Type != engine.EventWaiting {
		t.bars = append(t.bars, bar{"people", t.marked, e.Time, "people"})
		t.marked = time.Time{}
	}
	switch {
	case e.Type == engine.EventWaiting && t.marked.IsZero():
		t.marked = e.Time
	case e.Type == engine.EventCall && e.Call != nil:
		class := "call"
		if !e.Call.OK {
			class = "failed"
		}
		t.bars = append(t.bars, bar{fmt.Sprintf("%s  %d ms, %s", e.Call.Tool, e.Call.MS, bytesText(e.Call.Bytes)),
			e.Time.Add(-time.Duration(e.Call.MS) * time.Millisecond), e.Time, class})
	}
}

// svg draws the picture.
func (t *timeline) svg(res *engine.Result) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	const width, row, left = 900, 26, 16
	end := t.begun.Add(time.Duration(max(res.Usage.WallMS, 1)) * time.Millisecond)
	for _, b := range t.bars {
		if b.to.After(end) {
			end = b.to
		}
	}
	span := max(end.Sub(t.begun), time.Millisecond)
	x := func(at time.Time) float64 {
		return left + float64(max(at.Sub(t.begun), 0))/float64(span)*(width-2*left)
	}
	bars := append([]bar{{fmt.Sprintf("run  %d ms, %d in the guest, %s", res.Usage.WallMS, res.Usage.GuestMS, res.Status), t.begun, end, "run"}}, t.bars...)
	var b strings.Builder
	height := row*(len(bars)+1) + left
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="system-ui, sans-serif" font-size="12">`+"\n", width, height, width, height)
	b.WriteString(`<style>.run{fill:#4b6a9b}.call{fill:#5a9367}.failed{fill:#b5524a}.people{fill:#c9a227}text{fill:#222}@media(prefers-color-scheme:dark){text{fill:#ddd}}</style>` + "\n")
	for i, one := range bars {
		y := left + i*row
		from, to := x(one.from), x(one.to)
		fmt.Fprintf(&b, `<rect class="%s" x="%.1f" y="%d" width="%.1f" height="8" rx="2"/>`, one.class, from, y+12, max(to-from, 1.5))
		anchor, at := "start", from
		if from > width*2/3 {
			anchor, at = "end", to
		}
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="%s">`, at, y+9, anchor)
		_ = xml.EscapeText(&b, []byte(visibleText(one.label)))
		b.WriteString("</text>\n")
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}
