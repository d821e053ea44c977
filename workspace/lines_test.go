package workspace

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// randomText has lines of few words, so that texts have lines in common.
func randomText(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(12) {
		b.WriteString([]string{"a", "b", "c", "d", ""}[r.IntN(5)] + "\n")
	}
	if r.IntN(4) == 0 {
		b.WriteString("end")
	}
	return b.String()
}

// changed changes some lines of a text.
func changed(r *rand.Rand, text string) string {
	lines := linesOf([]byte(text))
	var b strings.Builder
	for _, line := range lines {
		switch r.IntN(6) {
		case 0:
		case 1:
			b.WriteString("new " + line)
		case 2:
			b.WriteString("x\n" + line)
		default:
			b.WriteString(line)
		}
	}
	return b.String()
}

// variants returns a text and two changes of it. No two lines of them are equal unless
// they are the same line, so that there is one way to compare them.
func variants(r *rand.Rand) (base, ours, theirs string) {
	var texts [3]strings.Builder
	for i := range r.IntN(20) {
		lines := [3]string{fmt.Sprintln("line", i), fmt.Sprintln("line", i), fmt.Sprintln("line", i)}
		both := r.IntN(8) == 0
		for side := 1; side <= 2; side++ {
			if both && side == 2 {
				lines[2] = lines[1]
				break
			}
			switch r.IntN(8) {
			case 0:
				lines[side] = ""
			case 1:
				lines[side] = fmt.Sprintln("changed", i, side)
			case 2:
				lines[side] = fmt.Sprintln("added", i, side) + lines[side]
			}
		}
		for at := range texts {
			texts[at].WriteString(lines[at])
		}
	}
	return texts[0].String(), texts[1].String(), texts[2].String()
}

func TestAMergeIsThatOfGit(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("needs git")
	}
	rounds := 60
	if !testing.Short() {
		rounds = 1000
	}
	dir := t.TempDir()
	conflicts := 0
	for seed := range rounds {
		base, ours, theirs := variants(rand.New(rand.NewPCG(uint64(seed), 2)))
		for name, text := range map[string]string{"ours": ours, "base": base, "theirs": theirs} {
			must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
		command := exec.Command(git, "merge-file", "-p", "-q", "--no-diff3", "-L", "workspace", "-L", "", "-L", "folder", "ours", "base", "theirs")
		command.Dir = dir
		want, err := command.Output()
		got, conflict := merge([]byte(base), []byte(ours), []byte(theirs))
		if conflict {
			conflicts++
		}
		if conflict != (err != nil) || !conflict && !bytes.Equal(got, want) {
			t.Errorf("seed %d:\nbase %q\nours %q\ntheirs %q\n got %q, conflict %t\nwant %q, %v", seed, base, ours, theirs, got, conflict, want, err)
		}
	}
	if conflicts == 0 || conflicts == rounds {
		t.Errorf("%d conflicts in %d merges", conflicts, rounds)
	}
}

func TestEditsMakeOneTextFromTheOther(t *testing.T) {
	for seed := range 500 {
		r := rand.New(rand.NewPCG(uint64(seed), 4))
		a, b := linesOf([]byte(randomText(r))), linesOf([]byte(randomText(r)))
		if seed%100 == 0 { // longer than one search gets
			for range 2000 {
				a, b = append(a, fmt.Sprint(r.IntN(4000))), append(b, fmt.Sprint(r.IntN(4000)))
			}
		}
		edits := editsOf(a, b)
		if made := side(a, b, edits, 0, len(a)); !slices.Equal(made, b) {
			t.Errorf("seed %d: %q and %v make %q, not %q", seed, a, edits, made, b)
		}
	}
}

func TestGitAppliesADiff(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("needs git")
	}
	for seed := range 20 {
		r := rand.New(rand.NewPCG(uint64(seed), 3))
		files := map[string]string{}
		for i := range 8 {
			files[fmt.Sprintf("d%d/f%d", i%3, i)] = randomText(r) + "x"
		}
		w, base := layered(t, files)
		for name, text := range files {
			switch r.IntN(4) {
			case 0:
				must(t, w.Remove(name))
			case 1:
				w.put(t, name, changed(r, text)+"y\n")
			case 2:
				must(t, w.Chmod(name, 0o755))
			}
		}
		w.put(t, "new file", "1\n2\n3")
		var diff bytes.Buffer
		must(t, w.Diff(&diff))
		command := exec.Command(git, "apply", "-")
		command.Dir, command.Stdin = base, bytes.NewReader(diff.Bytes())
		command.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(base))
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("seed %d: %v: %s\n%s", seed, err, out, diff.String())
		}
		for name := range files {
			want, wantErr := w.text(name)
			got, gotErr := os.ReadFile(filepath.Join(base, name))
			if want != string(got) || (wantErr == nil) != (gotErr == nil) {
				t.Errorf("seed %d: %s is %q after git apply, %q in the workspace", seed, name, got, want)
			}
		}
	}
}
