package engine

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/tools/tinyguest"
)

func plugin(t *testing.T, e *Engine, function, input string, change ...func(*Request)) (*Result, error) {
	t.Helper()
	r := Request{Plugin: filepath.Join("testdata", "plugin", "plugin.wasm"), Function: function, Input: []byte(input)}
	for _, f := range change {
		f(&r)
	}
	return e.Run(context.Background(), r)
}

func TestAForeignPluginIsCalledAndMetered(t *testing.T) {
	e := newTiny(t, Config{})
	res, err := plugin(t, e, "upper", "some text")
	wantValue(t, res, err, `"SOME TEXT"`)
	if string(res.Output()) != "SOME TEXT" || res.Usage.Fuel == 0 || res.Usage.MemoryPeak == 0 || res.Provenance.Guest == "" {
		t.Errorf("%q %+v", res.Output(), res.Usage)
	}
	n := res.Usage.Fuel
	res, err = plugin(t, e, "upper", "some text", limited(Limits{Fuel: n}))
	wantValue(t, res, err, `"SOME TEXT"`)
	_, err = plugin(t, e, "upper", "some text", limited(Limits{Fuel: n - 1}))
	wantCode(t, err, fault.LimitFuel)
	res, err = plugin(t, e, "upper", `{"a":1}`)
	wantValue(t, res, err, `{"A":1}`)
}

func TestAForeignPluginIsCapped(t *testing.T) {
	e := newTiny(t, Config{})
	for function, want := range map[string]fault.Code{
		"loop": fault.LimitTime, "grow": fault.LimitMemory, "hoard": fault.LimitMemory,
		"trap": fault.GuestException, "fail": fault.GuestException,
	} {
		res, err := plugin(t, e, function, "", limited(Limits{Time: 300 * time.Millisecond, Memory: 32 << 20}))
		if fault.CodeOf(err) != want || res.Value != nil {
			t.Errorf("%s: %v (%s)", function, err, fault.CodeOf(err))
		}
		if function == "fail" && !strings.Contains(err.Error(), "says no") {
			t.Errorf("the plugin's own words are missing: %v", err)
		}
	}
	_, err := plugin(t, e, "upper", strings.Repeat("x", 101), limited(Limits{Output: 100}))
	wantCode(t, err, fault.LimitOutput)
	wantLedger(t, e, 0)
}

func TestAForeignPluginIsCheckedBeforeItRuns(t *testing.T) {
	e := newTiny(t, Config{})
	_, err := plugin(t, e, "unknown", "")
	wantCode(t, err, fault.UsageFlag)
	_, err = plugin(t, e, "two", "")
	wantCode(t, err, fault.UsageFlag)
	_, err = plugin(t, e, "upper", "", func(r *Request) { r.PluginDigest = strings.Repeat("0", 64) })
	wantCode(t, err, fault.UsageFile)
	_, err = plugin(t, e, "upper", "", func(r *Request) { r.Plugin = "testdata/none.wasm" })
	wantCode(t, err, fault.UsageFile)
	_, err = plugin(t, e, "start", "", func(r *Request) { r.Plugin = "testdata/plugin/greedy.wasm" })
	wantCode(t, err, fault.UsageFile)
	if !strings.Contains(err.Error(), "process_start") {
		t.Errorf("the import is not named: %v", err)
	}
	_, err = plugin(t, e, "guest_run", "", func(r *Request) { r.Plugin = "../internal/tools/tinyguest/guest/guest.wasm" })
	wantCode(t, err, fault.UsageFile) // what guests may import is not for plugins
	broken := filepath.Join(t.TempDir(), "broken.wasm")
	if err := os.WriteFile(broken, tinyguest.Wasm[:len(tinyguest.Wasm)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = plugin(t, e, "upper", "", func(r *Request) { r.Plugin = broken })
	wantCode(t, err, fault.UsageFile)
}
