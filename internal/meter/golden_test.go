package meter_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wexec/wexec/internal/meter"
)

var update = flag.Bool("update", false, "update the golden file")

const golden = "testdata/fuel.golden"

// What programs cost is pinned: a change of the scheme is a decision, since it
// changes what every program and every policy's limit means.
func TestFuelIsPinned(t *testing.T) {
	var got strings.Builder
	for _, p := range programs() {
		b := setUp(t, engines[1].config, metered(t, p))
		for _, arg := range p.args {
			o := b.run(arg, &meter.Tank{Budget: 1e12})
			if o.err != "" {
				o.err = " " + o.err
			}
			fmt.Fprintf(&got, "%s(%d) = %d, %d fuel%s\n", p.name, arg, o.value, o.fuel, o.err)
		}
	}
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("run with -update if this was meant (-want +got):\n%s", diff)
	}
}
