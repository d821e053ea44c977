package engine

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/wexec/wexec/fault"
)

// wasmModule puts sections together, each an id and its content.
func wasmModule(sections ...[]byte) []byte {
	out := []byte("\x00asm\x01\x00\x00\x00")
	for _, s := range sections {
		out = append(out, s[0])
		out = append(binary.AppendUvarint(out, uint64(len(s)-1)), s[1:]...)
	}
	return out
}

// section is a section with its content in parts.
func section(id byte, parts ...[]byte) []byte { return append([]byte{id}, bytes.Join(parts, nil)...) }

// functions is a module of n functions with so many locals each.
func functions(n, locals uint64) []byte {
	body := binary.AppendUvarint([]byte{1}, locals)
	body = append(body, 0x7f, 0x0b)
	body = append(binary.AppendUvarint(nil, uint64(len(body))), body...)
	count := binary.AppendUvarint(nil, n)
	return wasmModule(section(1, []byte{1, 0x60, 0, 0}), section(3, count, make([]byte, n)),
		section(7, []byte{1, 1, 'f', 0, 0}), section(10, count, bytes.Repeat(body, int(n))))
}

// TestAPluginsClaimsTakeNoMemory has modules of a few bytes that say they hold
// hundreds of millions of things.
func TestAPluginsClaimsTakeNoMemory(t *testing.T) {
	e := newTiny(t, Config{})
	many := binary.AppendUvarint(nil, 200_000_000)
	typ, fn := section(1, []byte{1, 0x60, 0, 0}), section(3, []byte{1, 0})
	exp, empty := section(7, []byte{1, 1, 'f', 0, 0}), section(10, []byte{1, 2, 0, 0x0b})
	for name, module := range map[string][]byte{
		"types":          wasmModule(section(1, many)),
		"parameters":     wasmModule(section(1, []byte{1, 0x60}, many)),
		"imports":        wasmModule(typ, section(2, many)),
		"functions":      wasmModule(typ, section(3, many)),
		"tables":         wasmModule(typ, section(4, many)),
		"a large table":  wasmModule(typ, fn, section(4, []byte{1, 0x70, 0}, many), exp, empty),
		"globals":        wasmModule(typ, section(6, many)),
		"exports":        wasmModule(typ, fn, section(7, many)),
		"segments":       wasmModule(typ, section(9, many)),
		"elements":       wasmModule(typ, fn, section(4, []byte{1, 0x70, 0, 1}), section(9, []byte{1, 0, 0x41, 0, 0x0b}, many)),
		"bodies":         wasmModule(typ, fn, section(10, many)),
		"data":           wasmModule(typ, section(11, many)),
		"names":          wasmModule(typ, fn, exp, empty, section(0, []byte("\x04name\x01"), binary.AppendUvarint(nil, uint64(len(many))), many)),
		"locals":         functions(1, 1<<31),
		"locals of many": functions(20_000, 50_000),
	} {
		file := filepath.Join(t.TempDir(), "plugin.wasm")
		if err := os.WriteFile(file, module, 0o600); err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := plugin(t, e, "f", "", func(r *Request) { r.Plugin = file })
		runtime.ReadMemStats(&after)
		if fault.CodeOf(err) != fault.UsageFile {
			t.Errorf("%s: %v", name, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 200<<20 {
			t.Errorf("%s: %d bytes of a module take %d MiB", name, len(module), took>>20)
		}
	}
}

// body is a function's code without locals.
func body(code ...byte) []byte {
	b := append(append([]byte{0}, code...), 0x0b)
	return append(binary.AppendUvarint(nil, uint64(len(b))), b...)
}

// pluginFile lays a module where it can be called.
func pluginFile(t *testing.T, module []byte) func(*Request) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "plugin.wasm")
	if err := os.WriteFile(file, module, 0o600); err != nil {
		t.Fatal(err)
	}
	return func(r *Request) { r.Plugin = file }
}

// names of the exports of a module's first functions.
func exports(names ...string) []byte {
	out := []byte{byte(len(names))}
	for i, n := range names {
		out = append(append(append(out, byte(len(n))), n...), 0, byte(i))
	}
	return section(7, out)
}

// What a plugin does before it is called, in its start function or in what
// initialises it, is part of the run: it is paid for, and ended as the rest is.
func TestWhatAPluginDoesBeforeItIsCalledIsPartOfTheRun(t *testing.T) {
	e := newTiny(t, Config{})
	typ, two := section(1, []byte{2, 0x60, 0, 0, 0x60, 0, 1, 0x7f}), section(3, []byte{2, 1, 0})
	memory := section(5, []byte{1, 0, 1})
	global := section(6, []byte{1, 0x7f, 1, 0x41, 7, 0x0b})
	give := body(0x23, 0)                                            // the status is the global
	loop := body(0x03, 0x40, 0x0c, 0, 0x0b)                          // for ever
	trap := body(0x00)                                               //
	set := body(0x41, 0, 0x24, 0)                                    // the global is 0
	grow := body(0x03, 0x40, 0x41, 16, 0x40, 0, 0x1a, 0x0c, 0, 0x0b) // all the memory there is
	for name, c := range map[string]struct {
		before []byte
		want   fault.Code
	}{
		"loops": {loop, fault.LimitFuel}, "traps": {trap, fault.GuestException}, "grows": {grow, fault.LimitMemory}, "sets": {set, ""},
	} {
		for how, module := range map[string][]byte{
			"start":       wasmModule(typ, two, memory, global, exports("f"), section(8, []byte{1}), section(10, []byte{2}, give, c.before)),
			"_initialize": wasmModule(typ, two, memory, global, exports("f", "_initialize"), section(10, []byte{2}, give, c.before)),
		} {
			res, err := plugin(t, e, "f", "", pluginFile(t, module), limited(Limits{Fuel: 20_000_000, Memory: 8 << 20}))
			if code := fault.CodeOf(err); err != nil && code != c.want || err == nil && c.want != "" || res.Usage.Fuel == 0 {
				t.Errorf("%s %s: %v (%s), %+v", how, name, err, code, res.Usage)
			}
		}
	}
	// A start function may call Extism's kernel.
	alloc := section(2, []byte{1}, []byte("\x0fextism:host/env\x05alloc"), []byte{0, 2})
	typ3 := section(1, []byte{3, 0x60, 0, 0, 0x60, 0, 1, 0x7f, 0x60, 1, 0x7e, 1, 0x7e})
	one := append([]byte{0x42, 1}, 0x10, 0, 0x1a) // alloc(1)
	module := wasmModule(typ3, alloc, section(3, []byte{2, 1, 0}), section(7, []byte{1, 1, 'f', 0, 1}), section(8, []byte{2}),
		section(10, []byte{2}, body(0x41, 0), body(one...)))
	if _, err := plugin(t, e, "f", "", pluginFile(t, module)); err != nil {
		t.Errorf("a start function that calls alloc: %v", err)
	}
	// Without a start function, the status is the initial value of the global.
	_, err := plugin(t, e, "f", "", pluginFile(t, wasmModule(typ, two, memory, global, exports("f"), section(10, []byte{2}, give, set))))
	wantCode(t, err, fault.GuestException)
	wantLedger(t, e, 0)
}

// A plugin that cannot be loaded is refused with an error that names the cause, and
// takes nothing of the machine with it.
func TestAPluginThatIsRefusedSaysWhy(t *testing.T) {
	e := newTiny(t, Config{})
	typ, fn, code := section(1, []byte{1, 0x60, 0, 0}), section(3, []byte{1, 0}), section(10, []byte{1}, body())
	imports := func(module, name string) []byte {
		one := append(append([]byte{1, byte(len(module))}, module...), byte(len(name)))
		return section(2, append(append(one, name...), 0, 0))
	}
	whole, err := os.ReadFile(filepath.Join("testdata", "plugin", "plugin.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	many := []byte{0xc0, 0x84, 0x3d} // a million
	for name, c := range map[string]struct {
		module []byte
		want   fault.Code
		says   string
	}{
		"nothing":               {nil, fault.UsageFile, "load the plugin"},
		"text":                  {[]byte("(module)"), fault.UsageFile, "load the plugin"},
		"half of it":            {whole[:len(whole)/2], fault.UsageFile, "load the plugin"},
		"all but its end":       {whole[:len(whole)-1], fault.UsageFile, "load the plugin"},
		"an exception's tag":    {wasmModule(typ, fn, section(13, []byte{1, 0, 0}), exports("f"), code), fault.UsageFile, "exception handling"},
		"a throw":               {wasmModule(typ, fn, exports("f"), section(10, []byte{1}, body(0x08, 0))), fault.UsageFile, "exception handling"},
		"a way to the host":     {wasmModule(typ, imports("env", "system"), fn, code), fault.UsageFile, "env.system"},
		"a way to our host":     {wasmModule(typ, imports("wexec", "call_start"), fn, code), fault.UsageFile, "wexec.call_start"},
		"a way to our network":  {wasmModule(typ, imports("wexec:web", "http_request"), fn, code), fault.UsageFile, "wexec:web.http_request"},
		"Extism's, of no type":  {wasmModule(typ, imports("extism:host/env", "http_request"), fn, exports("f"), code), fault.UsageFile, "http_request"},
		"a name with an escape": {wasmModule(typ, imports("env", "\x1b[2Jsystem"), fn, code), fault.UsageFile, `\x1b[2Jsystem`},
		"a memory of 4 GiB":     {wasmModule(typ, fn, section(5, []byte{1, 0, 0x80, 0x80, 4}), exports("f"), code), fault.LimitMemory, "32MiB"},
		"two memories":          {wasmModule(typ, fn, section(5, []byte{2, 0, 1, 0, 1}), exports("f"), code), fault.UsageFile, "memor"},
		"a million entries":     {wasmModule(typ, fn, section(4, []byte{1, 0x70, 0, 0xc1, 0x84, 0xbd, 1}), exports("f"), code), fault.UsageFile, "table"},
		"many tables":           {wasmModule(typ, fn, section(4, many, bytes.Repeat([]byte{0x70, 0, 1}, 1_000_000)), exports("f"), code), fault.UsageFile, "table"},
		"our own names":         {wasmModule(typ, fn, exports("wexec_start"), section(8, []byte{0}), code), fault.UsageFile, "wexec_start"},
		"the meter's name":      {wasmModule(typ, fn, exports("wexec_fuel"), code), fault.UsageFile, "wexec_fuel"},
	} {
		_, err := plugin(t, e, "f", "", pluginFile(t, c.module), limited(Limits{Memory: 32 << 20}))
		if fault.CodeOf(err) != c.want || !strings.Contains(fmt.Sprint(err), c.says) || strings.ContainsRune(fmt.Sprint(err), 0x1b) {
			t.Errorf("%s: %v (%s)", name, err, fault.CodeOf(err))
		}
	}
	wantLedger(t, e, 0)
	for function, hint := range map[string]string{
		"uper": "did you mean upper?", "Upper": "did you mean upper?", "nothing of the kind": "it exports fail, ", "two": "it exports fail, ", "upper\x1b": "did you mean upper?",
	} {
		res, err := plugin(t, e, function, "")
		wantCode(t, err, fault.UsageFlag)
		if !strings.Contains(res.Error.Hint, hint) || strings.ContainsRune(err.Error()+res.Error.Hint, 0x1b) {
			t.Errorf("%s: %q, hint %q", function, err, res.Error.Hint)
		}
	}
	res, err := plugin(t, e, "g", "", pluginFile(t, wasmModule(typ, fn, exports("\x1b[2J"), code)))
	wantCode(t, err, fault.UsageFlag)
	if strings.ContainsRune(res.Error.Hint, 0x1b) {
		t.Errorf("the hint has an escape of the module: %q", res.Error.Hint)
	}
	res, err = plugin(t, e, "upper", "some text") // and the next one works
	wantValue(t, res, err, `"SOME TEXT"`)
}

// All of a plugin's memory counts, that which it begins with too: it waits for
// it, and its caller may have too little of it in all.
func TestTheMemoryAPluginBeginsWithCounts(t *testing.T) {
	e := newTiny(t, Config{Running: 2, Memory: 64 << 20, Ready: -1})
	typ, fn := section(1, []byte{1, 0x60, 0, 0}), section(3, []byte{1, 0})
	large := pluginFile(t, wasmModule(typ, fn, section(5, []byte{1, 0, 0xbc, 5}), exports("f"), section(10, []byte{1}, body()))) // 700 pages
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first, firstDone := growing(t, e, ctx, 700, "l 0") // 44 MiB, and works on without an end
	<-first
	second := make(chan error, 1)
	go func() {
		_, err := plugin(t, e, "f", "", large)
		second <- err
	}()
	select {
	case err := <-second:
		t.Errorf("it did not wait for memory: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	cancel()
	<-firstDone
	if err := <-second; err != nil {
		t.Error(err)
	}
	wantLedger(t, e, 0)
	held := int64(0)
	if _, err := plugin(t, e, "f", "", large, func(r *Request) {
		r.Progress = func(ev Event) {
			if ev.Type == EventStarted {
				held = e.ledger.Bytes()
			}
		}
	}); err != nil || held < 700<<16 {
		t.Errorf("%d bytes are in flight while it runs: %v", held, err)
	}
	for input, want := range map[int]fault.Code{1 << 20: fault.GuestException, 40 << 20: fault.LimitMemory} { // its input is in its memory
		_, err := plugin(t, e, "fail", strings.Repeat("x", input), limited(Limits{Memory: 16 << 20}))
		if fault.CodeOf(err) != want {
			t.Errorf("%d bytes of input: %v", input, err)
		}
	}
	wantLedger(t, e, 0)
}
