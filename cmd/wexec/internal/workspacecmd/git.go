package workspacecmd

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strings"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/workspace"
)

// git is the repository that a folder is in.
type git struct{ folder string }

// openGit finds the repository of a folder.
func openGit(ctx context.Context, folder string) (*git, error) {
	g := &git{folder}
	if out, err := g.run(ctx, nil, "rev-parse", "--is-inside-work-tree"); err != nil || strings.TrimSpace(out) != "true" {
		return nil, fault.New(fault.UsageWorkspace, "commit the changes: %s is not in a work tree of git", folder).WithHint("accept without --commit")
	}
	return g, nil
}

// run runs git in the folder.
func (g *git) run(ctx context.Context, stdin []byte, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "git", append([]string{"--literal-pathspecs", "-C", g.folder}, args...)...)
	command.Stdin = bytes.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		if text := strings.TrimSpace(stderr.String()); text != "" {
			err = errors.New(text)
		}
		return stdout.String(), fault.New(fault.UsageWorkspace, "git %s: %w", args[0], err)
	}
	return stdout.String(), nil
}

// commit commits the files that changed, and nothing else that is staged. Those that git
// ignores are left out.
func (g *git) commit(ctx context.Context, changes []workspace.Change, message string) (string, error) {
	var paths []string
	for _, c := range changes {
		if !c.Folder {
			paths = append(paths, c.Path)
		}
	}
	list := func(paths []string) []byte { return []byte(strings.Join(paths, "\x00") + "\x00") }
	out, _ := g.run(ctx, list(paths), "check-ignore", "-z", "--stdin") // it fails if no path is ignored
	ignored := map[string]bool{}
	for _, p := range strings.Split(out, "\x00") {
		ignored[p] = true
	}
	out, err := g.run(ctx, nil, "ls-files", "-z")
	if err != nil {
		return "", err
	}
	tracked := map[string]bool{}
	for _, p := range strings.Split(out, "\x00") {
		tracked[p] = true
	}
	var chosen []string
	for _, c := range changes {
		if !c.Folder && (tracked[c.Path] || c.Kind != workspace.Deleted && !ignored[c.Path]) {
			chosen = append(chosen, c.Path)
		}
	}
	if len(chosen) == 0 {
		return "", nil
	}
	if _, err := g.run(ctx, list(chosen), "update-index", "-z", "--add", "--remove", "--stdin"); err != nil {
		return "", err
	}
	args := []string{"commit", "-q", "-m", message, "--only", "--pathspec-from-file=-", "--pathspec-file-nul"}
	if _, err := g.run(ctx, list(chosen), args...); err != nil {
		return "", err
	}
	out, err = g.run(ctx, nil, "rev-parse", "HEAD")
	return strings.TrimSpace(out), err
}
