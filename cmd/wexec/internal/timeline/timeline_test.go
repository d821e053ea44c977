package timeline

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/wexec/wexec/engine"
)

func TestTheScaleHasAFewMarks(t *testing.T) {
	for _, c := range []struct{ span, want time.Duration }{
		{time.Millisecond, time.Millisecond}, {20 * time.Millisecond, 5 * time.Millisecond}, {266 * time.Millisecond, 50 * time.Millisecond},
		{1400 * time.Millisecond, 200 * time.Millisecond}, {30 * time.Second, 5 * time.Second}, {2 * time.Minute, 20 * time.Second}} {
		if got := tickStep(c.span); got != c.want {
			t.Errorf("%v: a mark every %v, want %v", c.span, got, c.want)
		}
	}
}

func TestTheTimelineShowsGuestCallsAndWaits(t *testing.T) {
	line := Start()
	at := func(ms int) time.Time { return line.begun.Add(time.Duration(ms) * time.Millisecond) }
	for _, e := range []engine.Event{
		{Type: engine.EventCompiling, Time: at(1), Text: "quickjs"}, {Type: engine.EventStarted, Time: at(50)},
		{Type: engine.EventCall, Time: at(90), Call: &engine.Call{Tool: "a.<b>", MS: 30, OK: true}},
		{Type: engine.EventWaiting, Time: at(100)}, {Type: engine.EventCall, Time: at(200), Call: &engine.Call{Tool: "a.c", MS: 100}},
	} {
		line.Event(e)
	}
	res := &engine.Result{Status: engine.StatusOK}
	res.Usage.WallMS, res.Usage.GuestMS = 250, 20
	svg := string(line.SVG(res))
	for _, part := range []string{"run: 250 ms, ok", "program: 20 ms in the guest", "compiling, once on this machine", "a.&lt;b&gt;", `class="people"`, `class="failed"`, "200ms"} {
		if !strings.Contains(svg, part) {
			t.Errorf("the picture has no %q", part)
		}
	}
	if strings.Index(svg, "a.&lt;b&gt;") > strings.Index(svg, "a.c") {
		t.Error("calls are not in the order of their starts")
	}
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
