package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// build builds the command as the Makefile does, unless -wexec names one.
func (b *bench) build() error {
	if b.wexec != "" {
		return nil
	}
	path := filepath.Join(b.work, "wexec")
	out, err := exec.CommandContext(b.ctx, "go", "build", "-trimpath", "-tags", "urfave_cli_no_docs", "-ldflags", "-s -w", "-o", path, "github.com/wexec/wexec/cmd/wexec").CombinedOutput()
	if err != nil {
		return fmt.Errorf("build the command: %w\n%s", err, out)
	}
	b.wexec = path
	return nil
}

// environment is the one of the command, with separate folders.
func (b *bench) environment() []string {
	home := filepath.Join(b.work, "home")
	return append(os.Environ(), "HOME="+home, "XDG_CACHE_HOME="+home+"/cache", "XDG_STATE_HOME="+home+"/state",
		"XDG_CONFIG_HOME="+home+"/config")
}

// start runs the command.
func (b *bench) start(env []string, args ...string) (stdout, stderr string, err error) {
	cmd := exec.CommandContext(b.ctx, b.wexec, args...)
	cmd.Env = append(b.environment(), env...)
	cmd.Dir = b.work
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	err = cmd.Run()
	return o.String(), e.String(), err
}

// commands measures processes with a warm cache.
func commands(b *bench) ([]figure, error) {
	if err := b.build(); err != nil {
		return nil, err
	}
	floor, err := b.processFloor()
	if err != nil {
		return nil, err
	}
	var all []figure
	for _, c := range []struct {
		language, name string
	}{{"js", "wexec run, javascript"}, {"py", "wexec run, python"}, {"ts", "wexec run, typescript, output cached"}} {
		once := func() error {
			out, errs, err := b.start(nil, "run", "-l", c.language, "-e", "1+1")
			if err == nil && strings.TrimSpace(out) != "2" {
				err = fmt.Errorf("it printed %q", out)
			}
			if err != nil {
				return fmt.Errorf("%w: %s", err, errs)
			}
			return nil
		}
		if err := once(); err != nil {
			return all, err
		}
		d, err := median(21, once)
		if err != nil {
			return all, err
		}
		all = append(all, d.of(c.name, "ms", time.Millisecond, 1).above(floor, time.Millisecond))
	}
	n := 0
	d, err := median(11, func() error {
		n++
		_, errs, err := b.start(nil, "run", "-l", "ts", "-e", fmt.Sprintf("const n: number = %d; n", n))
		if err != nil {
			return fmt.Errorf("%w: %s", err, errs)
		}
		return nil
	})
	if err != nil {
		return all, err
	}
	return append(all, d.of("wexec run, typescript", "ms", time.Millisecond, 1).above(floor, time.Millisecond)), nil
}

var initClock = regexp.MustCompile(`(?m)^init .*, ([0-9.]+) ms clock`)

// initialization adds up the initialization times of all packages of the command.
func initialization(b *bench) ([]figure, error) {
	if err := b.build(); err != nil {
		return nil, err
	}
	sums := []float64{}
	for range 11 {
		_, errs, err := b.start([]string{"GODEBUG=inittrace=1"}, "version")
		if err != nil {
			return nil, fmt.Errorf("%w: %.300s", err, errs)
		}
		sum := 0.0
		for _, m := range initClock.FindAllStringSubmatch(errs, -1) {
			ms, err := strconv.ParseFloat(m[1], 64)
			if err != nil {
				return nil, err
			}
			sum += ms
		}
		sums = append(sums, sum)
	}
	least := sums[0]
	for _, s := range sums {
		least = min(least, s)
	}
	return []figure{{Name: "package initialization of the binary", Unit: "ms", Measured: least}}, nil
}
