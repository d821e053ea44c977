package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// compare builds this command from the tree as it is and from another commit,
// lets them take turns, and fails where a median is above the other's. The
// measures are this tree's on both sides.
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
	theirs := filepath.Join(tree, "tests", "budgets")
	if err := os.RemoveAll(theirs); err != nil {
		return err
	}
	if err := os.CopyFS(theirs, os.DirFS(filepath.Join("tests", "budgets"))); err != nil {
		return err
	}
	before, now := filepath.Join(work, "before"), filepath.Join(work, "now")
	for dir, to := range map[string]string{tree: before, ".": now} {
		cmd := exec.Command("go", "build", "-trimpath", "-o", to, "./tests/budgets")
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("the measures do not build in %s: %w\n%s", filepath.Base(to), err, out)
		}
	}
	sides := map[string]map[string][]float64{before: {}, now: {}}
	for range rounds + 1 { // the first warms the cache folders of both
		for bin, all := range sides {
			got, err := round(bin)
			if err != nil {
				return err
			}
			for what, v := range got {
				all[what] = append(all[what], v)
			}
		}
	}
	for _, all := range sides {
		for what := range all {
			all[what] = all[what][1:]
		}
	}
	if slower := show(medians(sides[before]), medians(sides[now]), tolerance, name); len(slower) > 0 {
		return fmt.Errorf("slower than %s by more than %.2fx: %q", name, tolerance, slower)
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
