package fault

import (
	"errors"
	"fmt"
	"io"
	"testing"
)

func TestCodeIsFoundThroughWrapping(t *testing.T) {
	err := fmt.Errorf("outer: %w", New(UsageFile, "read: %w", io.EOF))
	if !errors.Is(err, UsageFile) || !errors.Is(err, io.EOF) {
		t.Fatalf("code or cause lost in %v", err)
	}
	if got := CodeOf(err); got != UsageFile {
		t.Fatalf("CodeOf = %q", got)
	}
	if got := CodeOf(io.EOF); got != Internal {
		t.Fatalf("an error without a code reads as %q", got)
	}
	if got := CodeOf(nil); got != "" {
		t.Fatalf("nil has the code %q", got)
	}
}

func TestHintOfFindsTheOutermostHint(t *testing.T) {
	inner := New(UsageFile, "inner").WithHint("do this")
	if got := HintOf(fmt.Errorf("x: %w", New(UsageConfig, "outer: %w", inner))); got != "do this" {
		t.Fatalf("hint = %q", got)
	}
}

func TestEveryCodeHasAClassAndIsListedOnce(t *testing.T) {
	seen := map[Code]bool{}
	for _, c := range Codes() {
		if seen[c] {
			t.Errorf("%s is listed twice", c)
		}
		seen[c] = true
		if c.Class() == ClassInternal && c != Internal && c != AuditUnavailable && c != StoreUnavailable {
			t.Errorf("%s has no class", c)
		}
	}
	if Code("never.heard").Class() != ClassInternal || Code("").Class() != ClassOK {
		t.Error("unknown and empty codes")
	}
}

func TestExitStatusesAreTheDocumentedOnes(t *testing.T) {
	want := map[Code]int{"": 0, GuestSyntax: 1, ToolFailed: 1, UsageFlag: 2, DeniedTool: 3, LimitFuel: 4,
		ToolTimeout: 5, UpstreamUnavailable: 5, Cancelled: 130, Internal: 70, AuditUnavailable: 70}
	for c, exit := range want {
		if got := c.Class().Exit(); got != exit {
			t.Errorf("%q exits with %d, want %d", c, got, exit)
		}
	}
}

func TestZeroErrorIsInternal(t *testing.T) {
	var e Error
	if !errors.Is(&e, Internal) || e.Error() == "" {
		t.Fatalf("zero error: %q", e.Error())
	}
}
