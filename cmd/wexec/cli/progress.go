package cli

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/wexec/wexec/engine"
)

// progress is one line on the terminal that says what is going on, and
// disappears. Runs shorter than a moment never show it.
type progress struct {
	v     *voice
	begun time.Time

	mu     sync.Mutex
	what   string
	last   string // the tool that answered last
	flying []flying
	asked  int // answers given when people were asked last
	calls  int
	bytes  int64
	fuel   int64
	stop   chan struct{}
	done   chan struct{}
}

// flying is a call that has begun and not ended.
type flying struct {
	number uint64
	tool   string
	since  time.Time
}

const (
	// moment is how long a run takes before its line appears.
	moment = 400 * time.Millisecond
	// lineWidth and nameWidth bound the line and a tool's name in it: a line
	// that wraps could not be taken away.
	lineWidth, nameWidth = 78, 28
	// askedElsewhere is shown until an answer comes. Beside a question at this
	// terminal no line stands.
	askedElsewhere = "a person is asked: wexec approvals list"
)

// newProgress starts a line; nil where there is no terminal.
func newProgress(v *voice) *progress {
	if !v.terminal {
		return nil
	}
	p := &progress{v: v, begun: time.Now(), what: "starting", stop: make(chan struct{}), done: make(chan struct{})}
	go p.draw()
	return p
}

// event takes note of a step.
func (p *progress) event(e engine.Event) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fuel = max(p.fuel, e.Fuel)
	switch e.Type {
	case engine.EventQueued:
		p.what = "waiting behind " + counted(e.Count, "run")
	case engine.EventCompiling:
		p.what = "preparing " + e.Text + " for the first time on this machine"
	case engine.EventStarted:
		p.what = "running"
	case engine.EventCalling:
		p.flying = append(p.flying, flying{e.Number, e.Text, e.Time})
	case engine.EventCall:
		p.calls++
		p.flying = slices.DeleteFunc(p.flying, func(f flying) bool { return f.number == e.Number })
		p.what = "running"
		if e.Call != nil {
			p.bytes += e.Call.Bytes
			p.last = e.Call.Tool
		}
	case engine.EventProgress:
		p.what = e.Text
		if e.Total > 0 {
			p.what = strings.TrimSpace(fmt.Sprintf("%.0f %% %s", 100*e.Done/e.Total, e.Text))
		}
	case engine.EventWaiting:
		p.what, p.asked = askedElsewhere, p.v.answers()
	}
}

func (p *progress) draw() {
	defer close(p.done)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-tick.C:
			p.mu.Lock()
			line := p.line(time.Now())
			p.mu.Unlock()
			if time.Since(p.begun) > moment {
				p.v.show(p.v.paint("2", line))
			}
		}
	}
}

// line is what is going on: what the run does, for how long, the call that has
// been in flight longest and how many others are, what came of those that have
// ended, and the fuel. The caller holds the lock.
func (p *progress) line(now time.Time) string {
	what, tail := p.what, "  "+seconds(now.Sub(p.begun))
	if what == askedElsewhere && p.v.answers() > p.asked {
		what = "running"
	}
	switch {
	case len(p.flying) > 0:
		oldest := p.flying[0]
		for _, f := range p.flying {
			if f.since.Before(oldest.since) {
				oldest = f
			}
		}
		tail += "  in flight: " + shortened(visibleText(oldest.tool), nameWidth) + " " + seconds(now.Sub(oldest.since))
		if others := len(p.flying) - 1; others > 0 {
			tail += fmt.Sprintf(" +%d", others)
		}
	case what == "running" && p.last != "":
		what += ", last " + p.last
	}
	if p.calls > 0 {
		tail += fmt.Sprintf("  %s, %s", counted(p.calls, "call"), bytesText(p.bytes))
	}
	if p.fuel > 0 {
		tail += "  fuel " + fuelText(p.fuel)
	}
	width := lineWidth
	if p.v.width > 0 {
		width = min(width, p.v.width-1)
	}
	room := max(width-utf8.RuneCountInString(tail), 1)
	return shortened(shortened(visibleText(what), room)+tail, max(width, 1))
}

// seconds is a time as people count it while they wait.
func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", max(d, 0).Seconds()) }

// fuelText is an amount of fuel, roughly.
func fuelText(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.1f G", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1f M", float64(n)/1e6)
	}
	return grouped(n)
}

// shortened is a text in at most n characters.
func shortened(s string, n int) string {
	if rs := []rune(s); len(rs) > n {
		return string(rs[:n-1]) + "…"
	}
	return s
}

// end takes the line away for good.
func (p *progress) end() {
	if p == nil {
		return
	}
	close(p.stop)
	<-p.done
	p.v.wipe()
}
