package cli

import (
	"encoding/xml"
	"fmt"
	"slices"
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
	loads  time.Time // since when a guest is compiled
	guest  time.Time // since when the program runs
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
	if t == nil || e.Type == engine.EventCalling || e.Type == engine.EventFuel {
		return // a call is drawn when its length is known
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.marked.IsZero() && e.Type != engine.EventWaiting {
		t.bars = append(t.bars, bar{"people", t.marked, e.Time, "people"})
		t.marked = time.Time{}
	}
	switch {
	case e.Type == engine.EventCompiling && t.loads.IsZero():
		t.loads = e.Time
	case e.Type == engine.EventStarted && t.guest.IsZero():
		if t.guest = e.Time; !t.loads.IsZero() {
			t.bars = append(t.bars, bar{"compiling, once on a machine", t.loads, e.Time, "load"})
		}
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

// svg draws the picture: a row for the run, one for the guest, one for each
// call and each wait, in the order of their starts, over a scale of time.
func (t *timeline) svg(res *engine.Result) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	const width, row, left, scale = 900, 26, 16, 22
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
	bars := []bar{{fmt.Sprintf("run: %d ms, %s", res.Usage.WallMS, res.Status), t.begun, end, "run"}}
	if !t.guest.IsZero() {
		bars = append(bars, bar{fmt.Sprintf("program: %d ms of its own", res.Usage.GuestMS), t.guest, end, "guest"})
	}
	slices.SortStableFunc(t.bars, func(a, b bar) int { return a.from.Compare(b.from) })
	bars = append(bars, t.bars...)
	var b strings.Builder
	height := left + row*len(bars) + scale
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" font-family="system-ui, sans-serif" font-size="12">`+"\n", width, height)
	b.WriteString(`<style>.run{fill:#4b6a9b}.guest{fill:#7d6bb0}.load{fill:#8a8f98}.call{fill:#5a9367}.failed{fill:#b5524a}.people{fill:#c9a227}text{fill:#222}.scale{fill:#888}line{stroke:#8886}@media(prefers-color-scheme:dark){text{fill:#ddd}}</style>` + "\n")
	step := niceStep(span)
	for at := time.Duration(0); at <= span; at += step {
		place := x(t.begun.Add(at))
		fmt.Fprintf(&b, `<line x1="%.1[1]f" x2="%.1[1]f" y1="%[2]d" y2="%[3]d"/><text class="scale" x="%.1[1]f" y="%[4]d" text-anchor="%[5]s">%[6]s</text>`+"\n",
			place, left, height-scale, height-8, anchorOf(place, left, width), at)
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
		_ = xml.EscapeText(&b, []byte(visibleText(one.label)))
		b.WriteString("</text>\n")
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

// niceStep is a distance of marks on the scale: 1, 2 or 5 of some unit, about
// eight of them in all.
func niceStep(span time.Duration) time.Duration {
	step := time.Millisecond
	for i := 0; span/step > 8; i++ {
		if step *= 2; i%3 == 1 { // 1, 2, 5, 10, 20, 50 …
			step = step * 5 / 4
		}
	}
	return step
}

// anchorOf keeps the words at both ends of the scale inside the picture.
func anchorOf(x, left float64, width int) string {
	switch {
	case x < left+20:
		return "start"
	case x > float64(width)-left-20:
		return "end"
	}
	return "middle"
}
