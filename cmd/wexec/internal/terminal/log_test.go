package terminal

import (
	"bytes"
	"errors"
	"testing"
)

func TestLogRecordsArePrintedAsMessages(t *testing.T) {
	var out bytes.Buffer
	p := newPrinter(&out, false)
	log := Logger(p, "info")
	log.Warn("the code was lost and is compiled again", "guest", "cpython")
	log.With("run", "01M").WithGroup("disk").Error("a record is lost", "error", errors.New("no space"), "free", 3)
	log.Info("ready\x1b[2J")
	log.Debug("never")
	Logger(p, "loud").Info("never: an unknown level is warn")
	want := "warning: the code was lost and is compiled again (guest cpython)\n" +
		"error: a record is lost (run 01M, disk.error no space, disk.free 3)\n" +
		"note: ready\\u{1b}[2J\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}
