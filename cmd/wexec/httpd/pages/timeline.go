package pages

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/service"
	"github.com/wexec/wexec/store"
)

// timeline is a picture of the calls of a run: a row for each, from its start to its
// end.
type timeline struct {
	Width, Height int
	Calls         []timedCall
	Waits         []wait
	Ticks         []tick
	More          int // calls that are not in the picture
}

// timedCall is a call with its place in the picture.
type timedCall struct {
	engine.Call
	Number  int
	Start   int64 // milliseconds after the start of the run
	Timed   bool
	X, Y, W float64
	Asked   *service.Approval
	Args    *node  // with tokens
	Shape   string // of the answer
	Message string // of a failure
}

// wait is the time for which people were asked.
type wait struct {
	Tool       string
	Answered   bool
	X, Y, W, H float64
}

// tick is a time on the axis.
type tick struct {
	X    float64
	Text string
}

// Sizes of the picture.
const (
	maxCalls  = 500
	width     = 640
	labels    = 190 // where the bars begin
	rowHeight = 18
	axis      = 24
)

// timelineOf draws the calls of a run, whose events have the times of their ends.
func timelineOf(run *service.Run, events []store.Event, asked []service.Approval) *timeline {
	var calls []timedCall
	for _, e := range events {
		var c struct {
			Number int
			engine.Call
		}
		if e.Type != "call" || json.Unmarshal(e.Data, &c) != nil || c.Tool == "" {
			continue
		}
		start := max(e.At.Sub(run.Started).Milliseconds()-c.MS, 0)
		calls = append(calls, timedCall{Call: c.Call, Number: c.Number, Start: start, Timed: true})
	}
	if len(calls) < len(run.Calls) { // the store keeps no events of them
		calls = nil
		for i, c := range run.Calls {
			calls = append(calls, timedCall{Call: c, Number: i + 1})
		}
	}
	if len(calls) == 0 {
		return nil
	}
	slices.SortFunc(calls, func(a, b timedCall) int { return a.Number - b.Number }) // the order in which they began
	t := &timeline{Width: width, More: max(len(calls)-maxCalls, 0)}
	calls = calls[:min(len(calls), maxCalls)]
	total := max(run.Usage.WallMS, 1)
	for i := range calls {
		total = max(total, calls[i].Start+calls[i].MS)
	}
	place := func(ms int64) float64 { return labels + float64(ms)/float64(total)*(width-labels-30) }
	for i := range calls {
		c := &calls[i]
		c.Y = float64(axis + i*rowHeight)
		c.X = place(c.Start)
		c.W = max(place(c.Start+c.MS)-c.X, 2)
	}
	t.Calls = calls
	t.Height = axis + len(calls)*rowHeight + 6
	if calls[0].Timed {
		t.addWaits(run, asked, place)
	}
	for i := range 5 {
		ms := total * int64(i) / 4
		t.Ticks = append(t.Ticks, tick{place(ms), span(time.Duration(ms) * time.Millisecond)})
	}
	return t
}

// addWaits draws where the run waited for people, behind the bar of the call.
func (t *timeline) addWaits(run *service.Run, asked []service.Approval, place func(int64) float64) {
	for i, a := range asked {
		end := time.Now()
		if a.Answered != nil {
			end = *a.Answered
		}
		from := max(a.Since.Sub(run.Started).Milliseconds(), 0)
		to := max(end.Sub(run.Started).Milliseconds(), from)
		for n := range t.Calls {
			c := &t.Calls[n]
			if c.Asked == nil && c.Tool == a.Tool && c.Start <= to && c.Start+c.MS >= from {
				c.Asked = &asked[i]
				x := max(place(from), c.X)
				t.Waits = append(t.Waits, wait{Tool: a.Tool, Answered: a.Answered != nil, X: x, Y: c.Y, W: min(max(place(to)-x, 2), width-x), H: rowHeight - 6})
				break
			}
		}
	}
}
