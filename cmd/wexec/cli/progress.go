package cli

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/wexec/wexec/engine"
)

// progress is one line on the terminal that says what is going on, and
// disappears. Runs shorter than a moment never show it.
type progress struct {
	v     *voice
	begun time.Time

	mu    sync.Mutex
	what  string
	calls int
	bytes int64
	shown bool
	stop  chan struct{}
	done  chan struct{}
}

// moment is how long a run takes before its line appears.
const moment = 400 * time.Millisecond

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
	switch e.Type {
	case engine.EventQueued:
		p.what = "waiting behind " + counted(e.Count, "run")
	case engine.EventCompiling:
		p.what = "preparing " + e.Text + " for the first time on this machine"
	case engine.EventStarted:
		p.what = "running"
	case engine.EventCall:
		p.calls++
		if e.Call != nil {
			p.bytes += e.Call.Bytes
			p.what = "running, last " + e.Call.Tool
		}
	case engine.EventProgress:
		p.what = e.Text
		if e.Total > 0 {
			p.what = strings.TrimSpace(fmt.Sprintf("%.0f %% %s", 100*e.Done/e.Total, e.Text))
		}
	case engine.EventWaiting:
		p.what = "waiting for a person"
		p.clear()
	case engine.EventOutput:
		p.clear()
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
			if time.Since(p.begun) > moment && p.what != "waiting for a person" {
				line := fmt.Sprintf("%s  %.1f s", visibleText(p.what), time.Since(p.begun).Seconds())
				if p.calls > 0 {
					line += fmt.Sprintf("  %s, %s", counted(p.calls, "call"), bytesText(p.bytes))
				}
				fmt.Fprintf(p.v.w, "\r\x1b[K%s", p.v.paint("2", cut(line, 78)))
				p.shown = true
			}
			p.mu.Unlock()
		}
	}
}

// clear takes the line away until the next tick. The caller holds the lock.
func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.v.w, "\r\x1b[K")
		p.shown = false
	}
}

// end takes the line away for good.
func (p *progress) end() {
	if p == nil {
		return
	}
	close(p.stop)
	<-p.done
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
}
