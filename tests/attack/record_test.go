package attack

import (
	"context"
	"errors"
	"testing"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/internal/tools/testenv"
	"github.com/wexec/wexec/policy"
)

// fullDisk is a sink with room for some events.
type fullDisk struct {
	audit.Memory
	room int
}

func (s *fullDisk) Record(ctx context.Context, e audit.Event) (string, error) {
	if len(s.Events()) >= s.room {
		return "", fault.New(fault.AuditUnavailable, "write a record: no space left")
	}
	return s.Memory.Record(ctx, e)
}

// TestNothingIsDoneWithoutARecord fills the disk before each event of a run.
func TestNothingIsDoneWithoutARecord(t *testing.T) {
	eng, err := engine.New(t.Context(), engine.Config{Cache: testenv.Cache()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = eng.Close() }()
	p, err := policy.Parse("policy.yaml", []byte(usual))
	if err != nil {
		t.Fatal(err)
	}
	for room, want := range []int{0, 0, 1, 1} { // start, decision, call, end
		v := &victim{}
		table, err := hostfns.NewTable(p, &fullDisk{room: room}, v)
		if err != nil {
			t.Fatal(err)
		}
		res, err := eng.Run(t.Context(), engine.Request{Language: "javascript", Table: table,
			Code: "for (let i = 0; i < 3; i++) { try { await tools.shop.echo({}); } catch {} }\nreturn 1;"})
		if !errors.Is(err, fault.AuditUnavailable) || res.Value != nil {
			t.Errorf("with room for %d events: %v, value %s", room, err, res.Value)
		}
		if len(v.touched) != want {
			t.Errorf("with room for %d events %d calls were made, want %d", room, len(v.touched), want)
		}
	}
}
