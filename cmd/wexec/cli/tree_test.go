package cli

import (
	"io"
	"slices"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/config"
)

func doorFor(args ...string) *door {
	d := &door{inv: &Invocation{Args: append([]string{"wexec"}, args...), Stdout: io.Discard, Stderr: io.Discard, Env: &config.Environment{}}}
	d.voice = newVoice(d.inv)
	return d
}

func namesOf(flags []cli.Flag) []string {
	var out []string
	for _, f := range flags {
		out = append(out, f.Names()...)
	}
	return out
}

// A run is given nothing but its own command, which is the one that help and
// the documents show.
func TestARunHasTheFlagsThatAreShown(t *testing.T) {
	lean, whole := doorFor("run", "x.js").commands(), doorFor("run", "--help").commands()
	if len(lean) != 1 || len(whole) < 10 || lean[0].Name != "run" {
		t.Fatalf("%d and %d commands", len(lean), len(whole))
	}
	if got, want := namesOf(lean[0].Flags), namesOf(whole[0].Flags); !slices.Equal(got, want) {
		t.Errorf("flags %q, shown %q", got, want)
	}
}
