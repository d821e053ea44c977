// Peers compares wexec with other sandboxes and writes docs/understand/peers.md and
// docs/understand/peers.svg. Each round measures every peer in a separate process;
// the table has medians over all rounds. Usage:
//
//	go run ./internal/tools/peers [-rounds N] [-only WORD] [-keep FILE] [-note TEXT] [-report]
//
// Measurements are stored in work/peers/measured.jsonl, so a comparison can run in
// parts. With -report it measures nothing and writes the documents from stored
// measurements. internal/tools/peers/install.sh installs the peers; those that are
// not installed are listed as failures.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/wexec/wexec/internal/tools/machine"
	"github.com/wexec/wexec/internal/tools/peers/drive"
)

func main() {
	var err error
	if len(os.Args) == 2 && os.Args[1] == "drive" {
		err = drive.Main(os.Stdin, os.Stdout, openDirect)
	} else {
		err = command()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func command() error {
	rounds := flag.Int("rounds", 3, "number of measurements of each peer")
	from := flag.Int("from", 0, "the number of the first round")
	only := flag.String("only", "", "only peers with this word in name/language")
	keep := flag.String("keep", filepath.Join("work", "peers", "measured.jsonl"), "the file for measurements")
	note := flag.String("note", "", "a sentence to add to the introduction")
	report := flag.Bool("report", false, "measure nothing, write the documents")
	flag.Parse()
	if !*report {
		if err := measure(*rounds, *from, *only, *keep); err != nil {
			return err
		}
	}
	all, err := kept(*keep)
	if err != nil {
		return err
	}
	return write(all, *note)
}

// measure runs the rounds and appends the measurements to the file keep.
func measure(rounds, from int, only, keep string) error {
	work, err := filepath.Abs(filepath.Join("work", "peers"))
	if err != nil {
		return err
	}
	files, err := prepare(work)
	if err != nil {
		return err
	}
	out, err := os.OpenFile(keep, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer out.Close()
	enc := json.NewEncoder(out)
	for round := range rounds {
		for i, p := range peers {
			if !strings.Contains(p.key(), only) {
				continue
			}
			begun := time.Now()
			steps, err := p.steps(from+round, runtime.NumCPU())
			if err != nil {
				return err
			}
			spec := drive.Spec{Peer: p.spoken(), Answers: files, Port: 18700 + i, Steps: steps}
			r := record{Peer: p.key(), Round: from + round, When: begun.UTC(), Spin: spin(), Machine: machine.Describe(), Versions: p.version(work)}
			taken, err := p.drive(work, spec)
			if err != nil {
				taken = append(taken, drive.Taken{Name: "driver", Error: err.Error()})
			}
			faults := ""
			for _, r.Taken = range taken {
				if r.Error != "" {
					faults += fmt.Sprintf("; %s: %s", r.Name, r.Error)
				}
				if err := enc.Encode(r); err != nil {
					return err
				}
			}
			fmt.Fprintf(os.Stderr, "round %d: %s, %.1fs%s\n", from+round, p.key(), time.Since(begun).Seconds(), faults)
		}
	}
	return out.Close()
}

// prepare writes the drivers and the answers of the tools to the work folder.
func prepare(work string) (map[string]string, error) {
	if err := os.MkdirAll(work, 0o755); err != nil {
		return nil, err
	}
	sources, err := filepath.Glob(filepath.Join("internal", "tools", "peers", "node", "*"))
	if err != nil {
		return nil, err
	}
	if len(sources) == 0 {
		return nil, errors.New("no drivers found; run this at the top of the repository")
	}
	for _, s := range sources {
		data, err := os.ReadFile(s)
		if err == nil {
			err = os.WriteFile(filepath.Join(work, filepath.Base(s)), data, 0o644)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := build(".", filepath.Join(work, "wexec"), "./cmd/wexec"); err != nil {
		return nil, err
	}
	if err := build(filepath.Join("internal", "tools", "peers", "go"), filepath.Join(work, "gopeers"), "."); err != nil {
		fmt.Fprintln(os.Stderr, "the peers in Go are left out:", err)
	}
	return answers(filepath.Join(work, "data"))
}

func build(dir, to, pkg string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-o", to, pkg)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w: %.500s", pkg, err, out)
	}
	return nil
}

// drive runs the driver of a peer and reads its measurements. If the driver dies,
// the measurements until then are returned.
func (p peer) drive(work string, spec drive.Spec) ([]drive.Taken, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := map[string][]string{
		"direct": {self, "drive"},
		"go":     {filepath.Join(work, "gopeers")},
		"node":   {"node", "--no-node-snapshot", "--expose-gc", "driver.mjs"},
	}[p.driver]
	in, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Stdin = work, bytes.NewReader(in)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	var all []drive.Taken
	lines := bufio.NewScanner(out)
	for len(all) < len(spec.Steps) && lines.Scan() {
		var t drive.Taken
		if err := json.Unmarshal(lines.Bytes(), &t); err != nil {
			_ = cmd.Process.Kill()
			return all, errors.Join(fmt.Errorf("unexpected output of the driver %.100q: %w", lines.Text(), err), cmd.Wait())
		}
		all = append(all, t)
	}
	if len(all) == len(spec.Steps) {
		// The driver is done. Some peers do not exit by themselves.
		time.AfterFunc(2*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		return all, nil
	}
	return all, fmt.Errorf("the driver ended after %d of %d steps: %w: %.300s", len(all), len(spec.Steps), cmd.Wait(), errs.String())
}

// spin measures a fixed loop.
func spin() float64 {
	least := time.Hour
	for range 5 {
		begun := time.Now()
		x := uint64(1)
		for range 2_000_000 {
			x = x*6364136223846793005 + 1442695040888963407
		}
		if took := time.Since(begun); x != 0 {
			least = min(least, took)
		}
	}
	return float64(least) / float64(time.Millisecond)
}

func kept(file string) ([]record, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []record
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r record
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, r)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no measurements in %s", file)
	}
	return all, lines.Err()
}
