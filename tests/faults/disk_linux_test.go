package faults

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/internal/tools/testenv"
)

// TestAFullDiskStopsCallsAndLosesNoRecord records to a small disk until it is full.
func TestAFullDiskStopsCallsAndLosesNoRecord(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root to mount a small disk")
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("needs a mount of a small disk: %v", err)
	}
	defer func() { _ = syscall.Unmount(dir, 0) }()
	log, err := audit.Open(dir, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	called := 0
	table := allow(t, log, hostfns.Func("x.one", func(context.Context, struct{}) (int, error) { called++; return 1, nil }))
	e := newEngine(t, testenv.Cache())
	ended, answered := 0, 0
	for ; ended < 5000; ended++ {
		res, err := e.Run(t.Context(), engine.Request{Language: "javascript", Table: table, Code: "return await tools.x.one({});"})
		if err != nil {
			if !errors.Is(err, fault.AuditUnavailable) || res.Value != nil {
				t.Fatalf("%s: %v", res.Value, err)
			}
			break
		}
		answered++
	}
	if ended == 5000 {
		t.Fatal("the disk was never full")
	}
	before := called
	for range 3 {
		res, err := e.Run(t.Context(), engine.Request{Language: "javascript", Table: table, Code: "return await tools.x.one({}); //" + strings.Repeat("x", 100)})
		if !errors.Is(err, fault.AuditUnavailable) || res.Value != nil {
			t.Errorf("on a full disk, a run returns %s: %v", res.Value, err)
		}
	}
	if called > before {
		t.Errorf("%d calls were made without a record", called-before)
	}
	_ = log.Close() // the disk is full
	ends := 0
	for e, err := range audit.Read(t.Context(), dir, audit.Filter{}) {
		if err == nil && e.End != nil {
			ends++
		}
	}
	if ends < answered {
		t.Errorf("%d of %d runs have an end in the record", ends, answered)
	}
}
