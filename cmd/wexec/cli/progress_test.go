package cli

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/wexec/wexec/engine"
)

func TestTheLineShowsCallsInFlightWithTimeBytesAndFuel(t *testing.T) {
	begun := time.Now()
	p := &progress{v: &voice{w: &bytes.Buffer{}}, begun: begun, what: "starting"}
	at := func(ms int) time.Time { return begun.Add(time.Duration(ms) * time.Millisecond) }
	for _, step := range []struct {
		event engine.Event
		at    int
		want  string
	}{
		{engine.Event{Type: engine.EventCompiling, Text: "quickjs"}, 500, "preparing quickjs for the first time on this machine  0.5 s"},
		{engine.Event{Type: engine.EventStarted}, 1000, "running  1.0 s"},
		{engine.Event{Type: engine.EventFuel, Fuel: 12_345}, 1200, "running  1.2 s  fuel 12,345"},
		{engine.Event{Type: engine.EventCalling, Time: at(2000), Text: "a.x", Number: 1, Fuel: 2_500_000}, 2000, "running  2.0 s  in flight: a.x 0.0 s  fuel 2.5 M"},
		{engine.Event{Type: engine.EventCalling, Time: at(2500), Text: "a.x", Number: 2, Fuel: 2_500_000}, 3500, "running  3.5 s  in flight: a.x 1.5 s +1  fuel 2.5 M"},
		{engine.Event{Type: engine.EventProgress, Text: "half", Done: 1, Total: 2}, 3600, "50 % half  3.6 s  in flight: a.x 1.6 s +1  fuel 2.5 M"},
		{engine.Event{Type: engine.EventCall, Number: 1, Call: &engine.Call{Tool: "a.x", Bytes: 2000}}, 4000, "running  4.0 s  in flight: a.x 1.5 s  1 call, 2000 bytes  fuel 2.5 M"},
		{engine.Event{Type: engine.EventCall, Number: 2, Call: &engine.Call{Tool: "a.x", Bytes: 100}, Fuel: 3e9}, 4500, "running, last a.x  4.5 s  2 calls, 2100 bytes  fuel 3.0 G"},
	} {
		p.event(step.event)
		if got := p.line(at(step.at)); got != step.want {
			t.Errorf("after %s: %q, want %q", step.event.Type, got, step.want)
		}
	}
}

func TestTheLineNeverWrapsOrDraws(t *testing.T) {
	begun := time.Now()
	p := &progress{v: &voice{}, begun: begun, what: strings.Repeat("what ", 40), calls: 1_000_000, bytes: 1 << 50, fuel: 1 << 62}
	p.flying = []flying{{1, "\x1b[2J" + strings.Repeat("ä", 300), begun}, {2, "a.x", begun}}
	got := p.line(begun.Add(1000 * time.Hour))
	if n := utf8.RuneCountInString(got); n > lineWidth || strings.Contains(got, "\x1b") {
		t.Errorf("%d characters: %q", n, got)
	}
	p.what = "running"
	p.calls, p.fuel = 0, 0
	if got := p.line(begun); !strings.HasPrefix(got, "running  0.0 s  in flight: ") {
		t.Errorf("%q", got)
	}
}

func TestNoLineStandsBesideAQuestionOrBehindHalfALine(t *testing.T) {
	var screen bytes.Buffer
	v := &voice{w: &screen, terminal: true}
	shown := func() string {
		defer screen.Reset()
		return screen.String()
	}
	v.show("line")
	answered := v.question()
	v.show("line")
	v.say("approve?")
	if got := shown(); got != "\r\x1b[Kline\r\x1b[Kapprove?\n" {
		t.Errorf("with a question: %q", got)
	}
	answered()
	v.show("line")
	fmt.Fprint(v.beside(&screen), "half")
	v.show("line")
	fmt.Fprint(v.beside(&screen), " a line\n")
	v.show("line")
	v.wipe()
	v.wipe()
	if got := shown(); got != "\r\x1b[Kline\r\x1b[Khalf a line\n\r\x1b[Kline\r\x1b[K" {
		t.Errorf("with output: %q", got)
	}
}

func TestTheLineSaysThatAPersonIsAskedUntilTheAnswer(t *testing.T) {
	v := &voice{w: &bytes.Buffer{}, terminal: true}
	p := &progress{v: v, begun: time.Now(), what: "running"}
	answered := v.question()
	p.event(engine.Event{Type: engine.EventWaiting})
	if got := p.line(p.begun); !strings.Contains(got, "wexec approvals list") {
		t.Errorf("%q", got)
	}
	answered()
	if got := p.line(p.begun); !strings.HasPrefix(got, "running") {
		t.Errorf("%q", got)
	}
}
