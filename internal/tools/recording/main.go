//go:build unix

// Recording runs commands in a pseudo-terminal and draws the screen as an animated
// SVG: make recording writes docs/recording.svg.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
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

// scenes are the commands, run in the folder of the commits example.
var scenes = []string{
	"wexec run --mcp mcp.json --policy policy.yaml --stats commits.js",
	`wexec run --mcp mcp.json --policy policy.yaml -l js -e 'github.delete_branch({ branch: "main" })'`,
}

func main() {
	out := flag.String("out", "docs/recording.svg", "the file to write")
	flag.Parse()
	if err := record(*out); err != nil {
		fmt.Fprintln(os.Stderr, "recording:", err)
		os.Exit(1)
	}
}

func record(out string) error {
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
	// Compile the guest first: only the first run on a machine does that.
	warm := exec.Command(filepath.Join(top, "bin", "wexec"), "guests", "warm", "javascript")
	warm.Env = env
	if text, err := warm.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, text)
	}
	s := newScreen(columns, rows)
	film := &film{screen: s}
	for _, line := range scenes {
		film.shoot(before)
		s.write([]byte("\x1b[32m$\x1b[0m "))
		for _, word := range strings.SplitAfter(line, " ") {
			s.write([]byte(word))
			film.shoot(perWord)
		}
		s.write([]byte("\r\n"))
		if err := play(film, line, filepath.Join(top, "examples", "commits"), env); err != nil {
			return err
		}
	}
	film.shoot(lastLook)
	return os.WriteFile(out, film.svg(), 0o644)
}

// play runs a command and films its output. The command may fail.
func play(f *film, line, dir string, env []string) error {
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir, cmd.Env = dir, env
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: rows, Cols: columns})
	if err != nil {
		return err
	}
	defer tty.Close()
	buf := make([]byte, 1<<16)
	last := time.Now()
	for {
		n, err := tty.Read(buf)
		if n > 0 {
			f.shoot(min(time.Since(last), longest))
			last = time.Now()
			f.screen.write(buf[:n])
		}
		if errors.Is(err, io.EOF) || errors.Is(err, syscall.EIO) { // the process exited
			break
		}
		if err != nil {
			return err
		}
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		return err
	}
	return nil
}
