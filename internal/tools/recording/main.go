//go:build unix

// Recording runs commands at a real pseudo-terminal and draws what was seen as
// a moving picture: make recording writes docs/recording.svg.
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

// Of the terminal, in characters.
const columns, rows = 106, 50

// The recording goes at the pace of a person who reads.
const (
	perWord  = 140 * time.Millisecond // of what is typed
	before   = 700 * time.Millisecond // a command
	longest  = 900 * time.Millisecond // wait for output that is shown
	lastLook = 6 * time.Second
)

// scenes are what is typed, in the folder of the commits example.
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
	// Languages are compiled before, as they are on any machine after the first day.
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

// play runs one command and films what it prints as it prints it. A command
// that ends with an error is part of the story.
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
		if errors.Is(err, io.EOF) || errors.Is(err, syscall.EIO) { // the process has ended
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
