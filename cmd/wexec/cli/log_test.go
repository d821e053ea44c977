package cli

import (
	"bytes"
	"errors"
	"testing"
)

func TestTheLogSpeaksAsTheCommandDoes(t *testing.T) {
	var out bytes.Buffer
	d := &door{voice: &voice{w: &out}}
	log := d.logger("info")
	log.Warn("the code was lost and is made again", "guest", "cpython")
	log.With("run", "01M").WithGroup("disk").Error("a record is lost", "error", errors.New("no space"), "free", 3)
	log.Info("ready\x1b[2J")
	log.Debug("never")
	d.logger("loud").Info("never: the level is warn where its name is none")
	want := "warning: the code was lost and is made again (guest cpython)\n" +
		"error: a record is lost (run 01M, disk.error no space, disk.free 3)\n" +
		"note: ready\\u{1b}[2J\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}
