package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// compare builds this command from the working tree and from another commit, runs
// both in turns, and fails if a median of the working tree is higher. Both use the
// measures of the working tree.
func compare(base string, rounds int, tolerance float64) (err error) {
	name, err := git("rev-parse", "--short", "--verify", base+"^{commit}")
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "wexec-budgets-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	tree := filepath.Join(work, "tree")
	if _, err := git("worktree", "add", "--detach", "--force", tree, name); err != nil {
		return err
	}
	defer func() {
		_, gone := git("worktree", "remove", "--force", tree)
		err = errors.Join(err, gone)
	}()
	theirs := filepath.Join(tree, "internal", "tools", "budgets")
	if err := os.RemoveAll(theirs); err != nil {
		return err
	}
	if err := os.CopyFS(theirs, os.DirFS(filepath.Join("internal", "tools", "budgets"))); err != nil {
		return err
	}
	before, now := filepath.Join(work, "before"), filepath.Join(work, "now")
	for dir, to := range map[string]string{tree: before, ".": now} {
		cmd := exec.Command("go", "build", "-trimpath", "-o", to, "./internal/tools/budgets")
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build the measures in %s: %w\n%s", filepath.Base(to), err, out)
		}
	}
	for _, bin := range []string{before, now} { // warm both caches
		if _, err := round(bin, nil, 1); err != nil {
			return err
		}
	}
	was, is := map[string][]float64{}, map[string][]float64{}
	for _, n := range []int{rounds, 2 * rounds} {
		for range n {
			for _, side := range []struct {
				bin string
				all map[string][]float64
			}{{before, was}, {now, is}} {
				got, err := round(side.bin, nil, 1)
				if err != nil {
					return err
				}
				for what, v := range got {
					side.all[what] = append(side.all[what], v.typical())
				}
			}
		}
		slower := show(medians(was), medians(is), tolerance, name)
		switch {
		case len(slower) == 0:
			return nil
		case n > rounds:
			return fmt.Errorf("slower than %s by more than %.2fx: %q", name, tolerance, slower)
		}
		fmt.Println("measuring again, to exclude noise:")
	}
	return nil
}

func git(args ...string) (string, error) {
	out, err := exec.Command("git", args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, out)
	}
	return strings.TrimSpace(string(out)), nil
}

func medians(all map[string][]float64) map[string]float64 {
	out := map[string]float64{}
	for name, v := range all {
		out[name] = median(v)
	}
	return out
}
