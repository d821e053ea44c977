//go:build unix

package doors

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// completions are command lines, and what their last word becomes. The folder has the
// files main.js and notes.txt.
var completions = map[string]string{
	"wexec pol":              "wexec policy",
	"wexec policy ex":        "wexec policy explain",
	"wexec run --determ":     "wexec run --deterministic",
	"wexec run -l p":         "wexec run -l py",
	"wexec run --language=p": "wexec run --language=py",
	"wexec run mai":          "wexec run main.js",
	"wexec run --policy no":  "wexec run --policy notes.txt",
	"wexec run --policy=not": "wexec run --policy=notes.txt",
	"wexec completion fi":    "wexec completion fish",
}

// listed is what a shell lists for "wexec run --de".
var listed = map[string]string{
	"--deny-tool":     "tools that the program may not call",
	"--deterministic": "use a virtual clock and seeded randomness",
}

// shell is a folder with files and the completion script of a shell.
func shell(t *testing.T, name string) (path, dir string) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("needs %s", name)
	}
	dir = t.TempDir()
	script, err := exec.CommandContext(t.Context(), "wexec", "completion", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{"main.js": "", "notes.txt": "", "script": string(script)} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return path, dir
}

// TestTabCompletes presses the key in the line editors of bash and zsh.
func TestTabCompletes(t *testing.T) {
	for name, start := range map[string]struct {
		flags []string
		setup string
	}{
		"bash": {[]string{"--norc", "--noprofile", "-i"}, "source ./script"},
		"zsh":  {[]string{"-f", "-i"}, "bindkey -e; autoload -Uz compinit && compinit -u -D; source ./script"},
	} {
		t.Run(name, func(t *testing.T) {
			path, dir := shell(t, name)
			cmd := exec.CommandContext(t.Context(), path, start.flags...)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "HOME="+dir, "TERM=xterm", "HISTFILE=", "INPUTRC=/dev/null", "LC_ALL=C.UTF-8")
			x := atTerminal(t, cmd)
			x.types(start.setup + "; echo rea''dy\n")
			x.sees("ready")
			const lineStart, wholeLine = "\x01", "\x01\x0b" // the second deletes it
			for typed, want := range completions {
				x.types(typed + "\t" + lineStart + "echo 'got' \n")
				x.shows(regexp.MustCompile(`[\r\n]got ` + regexp.QuoteMeta(want) + ` ?\r`))
			}
			x.types("wexec run --de\t\t")
			for word, doc := range listed {
				x.shows(regexp.MustCompile(word + ` +-- ` + doc))
			}
			x.types(wholeLine + "exit\n")
			x.ends()
		})
	}
}

// TestFishCompletes asks fish for the completions of command lines.
func TestFishCompletes(t *testing.T) {
	path, dir := shell(t, "fish")
	home := t.TempDir()
	complete := func(line string) string {
		cmd := exec.CommandContext(t.Context(), path, "--no-config", "-c", "source ./script; complete -C $argv[1]", line)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_DATA_HOME="+home)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v\n%s", line, err, out)
		}
		return string(out)
	}
	for line, want := range completions {
		word, _, _ := strings.Cut(complete(line), "\t")
		if got := line[:strings.LastIndexByte(line, ' ')+1] + strings.TrimSpace(word); got != want {
			t.Errorf("%q becomes %q, want %q", line, got, want)
		}
	}
	got := complete("wexec run --de")
	for word, doc := range listed {
		if !strings.Contains(got, word+"\t"+doc) {
			t.Errorf("no %s with its description in\n%s", word, got)
		}
	}
	if got := complete("wexec "); !strings.Contains(got, "run\trun a program\n") || strings.Contains(got, "main.js") {
		t.Errorf("commands and no files are wanted, got\n%s", got)
	}
}
