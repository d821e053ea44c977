package engine

import (
	"testing"

	"go.uber.org/goleak"
)

// No test leaves a goroutine behind, whatever became of its runs.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
