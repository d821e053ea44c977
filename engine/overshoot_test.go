package engine

import (
	"context"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/wexec/wexec/fault"
)

// A program is stopped at most 15 ms after its deadline, while eight others
// compute without a pause, whatever it does.
func TestADeadlineIsKeptBesideEightBusyGuests(t *testing.T) {
	if testing.Short() || onInterpreter() {
		t.Skip("short: takes tens of seconds; the interpreter is too slow for deadlines")
	}
	const bound, often = 15 * time.Millisecond, 60
	e := newReal(t, Config{Running: 16, Ready: -1})
	if err := e.Warm(t.Context(), nil, JavaScript, Python); err != nil {
		t.Fatal(err)
	}
	busy, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	var begun sync.WaitGroup
	for i := range 8 {
		req := Request{Language: JavaScript, Code: "for (;;) {}", Limits: Limits{Time: time.Hour, Fuel: math.MaxInt64}}
		if i%2 == 1 {
			req.Language, req.Code = Python, "while True: pass"
		}
		var once sync.Once
		begun.Add(1)
		req.Progress = func(ev Event) {
			if ev.Type == EventStarted || ev.Type == EventDone {
				once.Do(begun.Done)
			}
		}
		all.Go(func() {
			if _, err := e.Run(busy, req); fault.CodeOf(err) != fault.Cancelled {
				t.Errorf("a busy guest ended with %v", err)
			}
		})
	}
	defer all.Wait()
	defer stop()
	begun.Wait()
	tinyAllocs := wasmModule(section(1, []byte{2, 0x60, 0, 1, 0x7f, 0x60, 1, 0x7e, 1, 0x7e}), section(2, []byte{1}, []byte("\x0fextism:host/env\x05alloc"), []byte{0, 1}),
		section(3, []byte{1, 0}), section(7, []byte{1, 1, 'f', 0, 1}), section(10, []byte{1}, body(0x03, 0x40, 0x42, 1, 0x10, 0, 0x1a, 0x0c, 0, 0x0b, 0x41, 0)))
	var foreign Request
	pluginFile(t, tinyAllocs)(&foreign)
	foreign.Function = "f"
	for name, req := range map[string]Request{
		"a loop":                         {Language: JavaScript, Code: "for (;;) {}"},
		"a loop in Python":               {Language: Python, Code: "while True: pass"},
		"a regular expression":           {Language: JavaScript, Code: `/^(a+)+$/.test("a".repeat(40) + "b")`},
		"a huge power":                   {Language: Python, Code: "9**9**8"},
		"sorting":                        {Language: JavaScript, Code: "const a = Array.from({length: 1e5}, (_, i) => -i); for (;;) a.sort(() => Math.random() - 0.5)"},
		"strings":                        {Language: Python, Code: "while True: ('x' * 10_000_000).upper()"},
		"a plugin that asks for memory":  foreign,
		"a program that only looks away": {Language: JavaScript, Code: "for (;;) { try { throw 1 } catch {} }"},
	} {
		req.Limits = Limits{Time: 100 * time.Millisecond, Fuel: math.MaxInt64}
		best := time.Duration(math.MaxInt64)
		tries := 0
		for ; tries < often && best > bound; tries++ {
			var started time.Time
			req.Progress = func(ev Event) {
				if ev.Type == EventStarted {
					started = time.Now()
				}
			}
			_, err := e.Run(t.Context(), req)
			best = min(best, time.Since(started)-req.Limits.Time)
			wantCode(t, err, fault.LimitTime)
		}
		t.Logf("%s: %s after its deadline, at the best of %d", name, best.Round(10*time.Microsecond), tries)
		if best > bound {
			t.Errorf("%s: stopped %s after its deadline, at the best of %d tries", name, best, tries)
		}
	}
}
