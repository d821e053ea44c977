package main

import (
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// A floor is the time of the operating system or the Go runtime that a measure
// cannot avoid, measured in the same run. It shows which part of a figure is
// overhead of wexec; budgets do not depend on it.

// memoryFloor measures a private mapping of pages: create it, write each page
// once, and remove it. A sandbox with reused memory can be faster.
func (b *bench) memoryFloor(pages int) (time.Duration, error) {
	page := os.Getpagesize()
	file := filepath.Join(b.work, "floor")
	if err := os.WriteFile(file, make([]byte, pages*page), 0o600); err != nil {
		return 0, err
	}
	f, err := os.Open(file)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	d, err := median(b.runs, func() error { return touch(f, pages, page) })
	return d.wall, err
}

// turnFloor measures a switch to a coroutine and back.
func (b *bench) turnFloor() (time.Duration, error) {
	next, stop := iter.Pull(func(yield func(struct{}) bool) {
		for yield(struct{}{}) {
		}
	})
	defer stop()
	const n = 200
	d, err := median(21, func() error {
		for range n {
			next()
		}
		return nil
	})
	return d.wall / n, err
}

// processFloor measures an empty Go program from start to exit.
func (b *bench) processFloor() (time.Duration, error) {
	dir := filepath.Join(b.work, "empty")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return 0, err
	}
	for name, text := range map[string]string{"main.go": "package main\n\nfunc main() {}\n", "go.mod": "module empty\n\ngo 1.26\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return 0, err
		}
	}
	build := exec.CommandContext(b.ctx, "go", "build", "-o", "empty", ".")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("build an empty program: %w\n%s", err, out)
	}
	d, err := median(21, func() error { return exec.CommandContext(b.ctx, filepath.Join(dir, "empty")).Run() })
	return d.wall, err
}

// above adds a floor to a figure.
func (f figure) above(floor, per time.Duration) figure {
	f.Floor = float64(floor) / float64(per)
	return f
}
