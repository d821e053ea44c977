package terminal

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/internal/text"
)

// Progress is the status line of a run: what it does, for how long, the calls in
// flight, and what it has used. A nil Progress does nothing.
type Progress struct {
	p     *Printer
	begun time.Time

	mu       sync.Mutex
	state    string
	lastTool string // answered last
	inFlight []pendingCall
	asked    int // questions closed before the run last asked a person
	calls    int
	bytes    int64
	fuel     int64
	stop     chan struct{}
	done     chan struct{}
}

type pendingCall struct {
	number uint64
	tool   string
	since  time.Time
}

const (
	// progressDelay is how long a run takes before its status line appears.
	progressDelay = 400 * time.Millisecond
	// A line that wraps could not be erased.
	maxStatus, maxToolName = 78, 28
	// waitingForPerson is the state while a person is asked elsewhere.
	waitingForPerson = "waiting for a person: wexec approvals list"
)

// StartProgress begins a status line. It returns nil if p is quiet or not a
// terminal.
func StartProgress(p *Printer) *Progress {
	if !p.Interactive || p.Quiet {
		return nil
	}
	s := &Progress{p: p, begun: time.Now(), state: "starting", stop: make(chan struct{}), done: make(chan struct{})}
	go s.draw()
	return s
}

// Event updates the status line from a step of the run.
func (s *Progress) Event(e engine.Event) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fuel = max(s.fuel, e.Fuel)
	switch e.Type {
	case engine.EventQueued:
		s.state = "queued behind " + Count(e.Count, "run")
	case engine.EventCompiling:
		s.state = "compiling " + e.Text + ", once on this machine"
	case engine.EventStarted:
		s.state = "running"
	case engine.EventCalling:
		s.inFlight = append(s.inFlight, pendingCall{e.Number, e.Text, e.Time})
	case engine.EventCall:
		s.calls++
		s.inFlight = slices.DeleteFunc(s.inFlight, func(c pendingCall) bool { return c.number == e.Number })
		s.state = "running"
		if e.Call != nil {
			s.bytes += e.Call.Bytes
			s.lastTool = e.Call.Tool
		}
	case engine.EventProgress:
		s.state = e.Text
		if e.Total > 0 {
			s.state = strings.TrimSpace(fmt.Sprintf("%.0f %% %s", 100*e.Done/e.Total, e.Text))
		}
	case engine.EventWaiting:
		s.state, s.asked = waitingForPerson, s.p.closedQuestions()
	}
}

// End erases the status line and stops drawing it.
func (s *Progress) End() {
	if s == nil {
		return
	}
	close(s.stop)
	<-s.done
	s.p.ClearStatus()
}

func (s *Progress) draw() {
	defer close(s.done)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-s.stop:
			return
		case now := <-tick.C:
			if now.Sub(s.begun) > progressDelay {
				s.p.SetStatus(s.p.Paint(Dim, s.line(now)))
			}
		}
	}
}

// line is the status line at a time.
func (s *Progress) line(now time.Time) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	state, details := s.state, "  "+seconds(now.Sub(s.begun))
	if state == waitingForPerson && s.p.closedQuestions() > s.asked {
		state = "running"
	}
	switch {
	case len(s.inFlight) > 0:
		oldest := slices.MinFunc(s.inFlight, func(a, b pendingCall) int { return a.since.Compare(b.since) })
		details += "  in flight: " + fit(Visible(oldest.tool), maxToolName) + " " + seconds(now.Sub(oldest.since))
		if others := len(s.inFlight) - 1; others > 0 {
			details += fmt.Sprintf(" +%d", others)
		}
	case state == "running" && s.lastTool != "":
		state += ", last " + s.lastTool
	}
	if s.calls > 0 {
		details += fmt.Sprintf("  %s, %s", Count(s.calls, "call"), Bytes(s.bytes))
	}
	if s.fuel > 0 {
		details += "  fuel " + roughly(s.fuel)
	}
	width := maxStatus
	if columns := s.p.width(); columns > 0 {
		width = max(min(width, columns-1), 1)
	}
	room := max(width-utf8.RuneCountInString(details), 1)
	return fit(fit(Visible(state), room)+details, width)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", max(d, 0).Seconds()) }

// roughly is an amount of fuel with two digits or so.
func roughly(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.1f G", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1f M", float64(n)/1e6)
	}
	return Thousands(n)
}

// fit shortens s to n characters, the ellipsis included.
func fit(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return text.ClipRunes(s, n-1)
}

// Bar is a progress bar, for a status line.
func Bar(done, total float64) string {
	const width = 24
	full := int(width * min(max(done/max(total, 1), 0), 1))
	return "[" + strings.Repeat("=", full) + strings.Repeat(" ", width-full) + "]"
}
