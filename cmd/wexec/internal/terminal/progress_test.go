package terminal

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/wexec/wexec/engine"
)

func TestTheStatusLineShowsCallsInFlightWithTimeBytesAndFuel(t *testing.T) {
	begun := time.Now()
	s := &Progress{p: &Printer{w: &bytes.Buffer{}}, begun: begun, state: "starting"}
	at := func(ms int) time.Time { return begun.Add(time.Duration(ms) * time.Millisecond) }
	for _, step := range []struct {
		event engine.Event
		at    int
		want  string
	}{
		{engine.Event{Type: engine.EventCompiling, Text: "quickjs"}, 500, "compiling quickjs, once on this machine  0.5 s"},
		{engine.Event{Type: engine.EventStarted}, 1000, "running  1.0 s"},
		{engine.Event{Type: engine.EventFuel, Fuel: 12_345}, 1200, "running  1.2 s  fuel 12,345"},
		{engine.Event{Type: engine.EventCalling, Time: at(2000), Text: "a.x", Number: 1, Fuel: 2_500_000}, 2000, "running  2.0 s  in flight: a.x 0.0 s  fuel 2.5 M"},
		{engine.Event{Type: engine.EventCalling, Time: at(2500), Text: "a.x", Number: 2, Fuel: 2_500_000}, 3500, "running  3.5 s  in flight: a.x 1.5 s +1  fuel 2.5 M"},
		{engine.Event{Type: engine.EventProgress, Text: "half", Done: 1, Total: 2}, 3600, "50 % half  3.6 s  in flight: a.x 1.6 s +1  fuel 2.5 M"},
		{engine.Event{Type: engine.EventCall, Number: 1, Call: &engine.Call{Tool: "a.x", Bytes: 2000}}, 4000, "running  4.0 s  in flight: a.x 1.5 s  1 call, 2000 bytes  fuel 2.5 M"},
		{engine.Event{Type: engine.EventCall, Number: 2, Call: &engine.Call{Tool: "a.x", Bytes: 100}, Fuel: 3e9}, 4500, "running, last a.x  4.5 s  2 calls, 2100 bytes  fuel 3.0 G"},
	} {
		s.Event(step.event)
		if got := s.line(at(step.at)); got != step.want {
			t.Errorf("after %s: %q, want %q", step.event.Type, got, step.want)
		}
	}
}

func TestTheStatusLineNeverWrapsOrControlsTheTerminal(t *testing.T) {
	begun := time.Now()
	s := &Progress{p: &Printer{}, begun: begun, state: strings.Repeat("what ", 40), calls: 1_000_000, bytes: 1 << 50, fuel: 1 << 62}
	s.inFlight = []pendingCall{{1, "\x1b[2J" + strings.Repeat("ä", 300), begun}, {2, "a.x", begun}}
	got := s.line(begun.Add(1000 * time.Hour))
	if n := utf8.RuneCountInString(got); n > maxStatus || strings.Contains(got, "\x1b") {
		t.Errorf("%d characters: %q", n, got)
	}
	s.state = "running"
	s.calls, s.fuel = 0, 0
	if got := s.line(begun); !strings.HasPrefix(got, "running  0.0 s  in flight: ") {
		t.Errorf("%q", got)
	}
}

func TestNoStatusLineDuringAQuestionOrAfterAnOpenLine(t *testing.T) {
	var screen bytes.Buffer
	p := newPrinter(&screen, true)
	shown := func() string {
		defer screen.Reset()
		return screen.String()
	}
	p.SetStatus("line")
	p.beginQuestion()
	p.SetStatus("line")
	p.drawQuestion(nil, "approve? ")
	p.Print("a message")
	if got := shown(); got != "\r\x1b[Kline\r\x1b[K\x1b[0m\r\x1b[J▐ approve? " {
		t.Errorf("with a question: %q", got)
	}
	p.endQuestion(true)
	p.SetStatus("line")
	fmt.Fprint(p.Program(&screen, true), "half")
	p.SetStatus("line")
	fmt.Fprint(p.Program(&screen, true), " a line\n")
	p.SetStatus("line")
	p.ClearStatus()
	p.ClearStatus()
	if got := shown(); got != "a message\n\r\x1b[Kline\r\x1b[Khalf a line\n\r\x1b[Kline\r\x1b[K" {
		t.Errorf("with output: %q", got)
	}
}

func TestTheStatusLineShowsAQuestionUntilItIsAnswered(t *testing.T) {
	p := newPrinter(&bytes.Buffer{}, true)
	s := &Progress{p: p, begun: time.Now(), state: "running"}
	p.beginQuestion()
	s.Event(engine.Event{Type: engine.EventWaiting})
	if got := s.line(s.begun); !strings.Contains(got, "wexec approvals list") {
		t.Errorf("%q", got)
	}
	p.endQuestion(true)
	if got := s.line(s.begun); !strings.HasPrefix(got, "running") {
		t.Errorf("%q", got)
	}
}
