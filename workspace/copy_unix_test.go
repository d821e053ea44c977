//go:build unix

package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestTheLayerBehavesAsACopy makes random changes to a workspace and to a copy of its
// base, and accepts them.
func TestTheLayerBehavesAsACopy(t *testing.T) {
	rounds, steps := 8, 250
	if !testing.Short() {
		rounds, steps = 40, 250 // 10,000 operations
	}
	for round := range rounds {
		seed := uint64(round)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			files := map[string]string{"a/f": "1", "a/b/f": "2", "a/b/c/g": "3", "d/f": "4", "e": "5", "l": "->e", "a/up": "->../d"}
			w, base := layered(t, files)
			plain := tree(t, t.TempDir(), files)
			r := rand.New(rand.NewPCG(seed, 1))
			for i := range steps {
				one, two := randomPath(r), randomPath(r)
				at, to := filepath.Join(plain, one), filepath.Join(plain, two)
				var what string
				var got, want error
				switch r.IntN(6) {
				case 0, 1:
					what = "write " + one
					want = os.WriteFile(at, []byte(fmt.Sprint(i)), 0o644)
					f, err := w.Open(one, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
					if got = err; err == nil {
						_, err = f.Write([]byte(fmt.Sprint(i)))
						got = errors.Join(err, f.Close())
					}
				case 2:
					what = "mkdir " + one
					want, got = os.Mkdir(at, 0o755), w.Mkdir(one, 0o755)
				case 3:
					what = "remove " + one
					want, got = os.Remove(at), w.Remove(one)
				case 4:
					what = "rename " + one + " " + two
					if info, err := os.Lstat(at); err == nil && info.Mode()&fs.ModeSymlink != 0 && r.IntN(2) == 0 {
						continue
					}
					want, got = syscall.Rename(at, to), w.Rename(one, two, nil)
				case 5:
					what = "chmod " + one
					if info, err := os.Stat(at); err != nil || info.IsDir() {
						continue
					}
					want, got = os.Chmod(at, 0o600), w.Chmod(one, 0o600)
				}
				if (want == nil) != (got == nil) {
					t.Fatalf("step %d, %s: the copy says %v, the workspace %v", i, what, want, got)
				}
				if i%25 == 24 {
					if shown, now := w.shown(t), onDisk(t, plain); !slices.Equal(shown, now) {
						t.Fatalf("after step %d, %s\n%s\nthe copy has\n%s", i, what, strings.Join(shown, "\n"), strings.Join(now, "\n"))
					}
				}
			}
			if _, err := w.Accept(t.Context()); err != nil {
				t.Fatal(err)
			}
			if now, want := onDisk(t, base), onDisk(t, plain); !slices.Equal(now, want) {
				t.Errorf("after the accept\n%s\nthe copy has\n%s", strings.Join(now, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

func randomPath(r *rand.Rand) string {
	parts := make([]string, 1+r.IntN(3))
	for i := range parts {
		parts[i] = []string{"a", "b", "c", "d", "e", "f", "l", "up"}[r.IntN(8)]
	}
	return strings.Join(parts, "/")
}
