package engine

import "testing"

func TestAProgramGivesItsValue(t *testing.T) {
	e := newTiny(t, Config{})
	res, err := tiny(t, e, "o hello\nv {\"a\":1}")
	wantValue(t, res, err, `{"a":1}`)
	if res.Stdout != "hello\n" || res.Status != StatusOK || res.Usage.Fuel == 0 || res.Usage.MemoryPeak == 0 {
		t.Errorf("%+v", res)
	}
}
