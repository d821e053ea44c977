//go:build unix

// Recording runs commands in a pseudo-terminal and draws the screen as an animated
// SVG: make recording writes those of the README, and arguments select files.
package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/creack/pty"
)

// Size of the terminal in characters.
const columns, rows = 106, 50

// Delays that give a person time to read.
const (
	perWord  = 140 * time.Millisecond // typing
	before   = 700 * time.Millisecond // before a command
	longest  = 900 * time.Millisecond // longest pause in the output
	lastLook = 6 * time.Second
)

// recording is a film of commands.
type recording struct {
	file, label string
	dir         string   // where the commands run; empty: an empty folder
	scenes      []string // one that ends with & goes on until the end of the film
}

var recordings = []recording{
	{"docs/recording.svg", "a terminal: wexec runs a program that calls three servers", "examples/commits", []string{
		"wexec run --mcp mcp.json --policy policy.yaml --stats commits.js",
		`wexec run --mcp mcp.json --policy policy.yaml -l js -e 'github.delete_branch({ branch: "main" })'`,
	}},
	{"docs/serve.svg", "a terminal: wexec serve starts, and curl runs a program", "", []string{
		"wexec serve &",
		`curl -sH "Authorization: Bearer $TOKEN" http://127.0.0.1:8080/v1/runs \` + "\n" +
			`  -d '{"language": "python", "code": "sum(range(10))"}' | jq '{run_id, status, value}'`,
	}},
}

func main() {
	if err := record(); err != nil {
		fmt.Fprintln(os.Stderr, "recording:", err)
		os.Exit(1)
	}
}

func record() error {
	top, err := os.Getwd()
	if err != nil {
		return err
	}
	home, err := os.MkdirTemp("", "wexec-recording-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	env := []string{"HOME=" + home, "TERM=xterm-256color", "PATH=" + filepath.Join(top, "bin") + ":" + os.Getenv("PATH"),
		"DEMO_SERVER=" + filepath.Join(top, "bin", "demo-server")}
	// Compile the guests first: only the first run on a machine does that.
	warm := exec.Command(filepath.Join(top, "bin", "wexec"), "guests", "warm", "javascript", "python")
	warm.Env = env
	if text, err := warm.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, text)
	}
	for _, r := range recordings {
		if len(os.Args) > 1 && !slices.Contains(os.Args[1:], r.file) {
			continue
		}
		dir := home
		if r.dir != "" {
			dir = filepath.Join(top, r.dir)
		}
		if err := r.record(dir, home, env); err != nil {
			return fmt.Errorf("%s: %w", r.file, err)
		}
	}
	return nil
}

// record films the commands and writes the file.
func (r recording) record(dir, home string, env []string) error {
	s := newScreen(columns, rows)
	film := &film{screen: s}
	for _, line := range r.scenes {
		film.shoot(before)
		s.write([]byte("\x1b[32m$\x1b[0m "))
		for _, word := range strings.SplitAfter(line, " ") {
			s.write([]byte(strings.ReplaceAll(word, "\n", "\r\n> ")))
			film.shoot(perWord)
		}
		s.write([]byte("\r\n"))
		end, err := play(film, line, dir, home, env)
		if err != nil {
			return err
		}
		defer end()
		// What a person would copy from the screen.
		if token := regexp.MustCompile(`wx_\S+`).FindString(s.text()); token != "" {
			env = append(env, "TOKEN="+token)
		}
	}
	film.shoot(lastLook)
	return os.WriteFile(r.file, film.svg(r.label), 0o644)
}

// settled is how long a command in the background writes nothing when it has started.
const settled = time.Second

// play runs a command and films its output, until the command ends or, in the background,
// writes nothing more. The home folder is shown as ~. The command may fail. end ends it.
func play(f *film, line, dir, home string, env []string) (end func(), err error) {
	background := strings.HasSuffix(line, " &")
	cmd := exec.Command("sh", "-c", strings.TrimSuffix(line, " &"))
	cmd.Dir, cmd.Env = dir, env
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: rows, Cols: columns})
	if err != nil {
		return nil, err
	}
	end = func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) // the session of the terminal
		_ = cmd.Wait()
		_ = tty.Close()
	}
	output := make(chan []byte)
	go func() {
		defer close(output)
		for buf := make([]byte, 1<<16); ; {
			n, err := tty.Read(buf)
			if err != nil {
				return // the process exited
			}
			output <- slices.Clone(buf[:n])
		}
	}()
	last := time.Now()
	var quiet <-chan time.Time // nil: wait for the end
	for {
		select {
		case text, more := <-output:
			if !more {
				return end, nil
			}
			f.shoot(min(time.Since(last), longest))
			last = time.Now()
			f.screen.write(bytes.ReplaceAll(text, []byte(home), []byte("~")))
			if background {
				quiet = time.After(settled)
			}
		case <-quiet:
			return end, nil
		}
	}
}
