// Package drive is the driver of a peer in Go. It reads a specification as JSON from
// standard input and writes one line of JSON per step. node/driver.mjs does the same
// in JavaScript.
package drive

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Spec is the input of a driver.
type Spec struct {
	Peer    string            `json:"peer"`
	Answers map[string]string `json:"answers"` // files with the answers of the tools
	Port    int               `json:"port,omitempty"`
	Steps   []Step            `json:"steps"`
}

// Step is one measurement.
type Step struct {
	Name string `json:"name"`
	// Kind is whole (create a sandbox, run, close it), inside (only the run), rate
	// (runs per second), memory (of a live sandbox) or probe (the last of several
	// programs in separate sandboxes).
	Kind     string   `json:"kind"`
	Programs []string `json:"programs"`
	N        int      `json:"n,omitempty"`
	Warm     int      `json:"warm,omitempty"`
	Seconds  float64  `json:"seconds,omitempty"`
	Threads  int      `json:"threads,omitempty"`
}

// Taken is the result of a step in milliseconds, runs per second or KiB.
type Taken struct {
	Name   string    `json:"name"`
	Values []float64 `json:"values"`
	Out    string    `json:"out,omitempty"`
	Error  string    `json:"error,omitempty"`
}

// A Peer creates sandboxes. A kept sandbox stays alive after its run, to measure its
// memory.
type Peer interface {
	Fresh(kept bool) (Sandbox, error)
}

// A Sandbox runs one program. It returns the time that the program took, or zero if
// it does not know.
type Sandbox interface {
	Run(program string) (out string, inside time.Duration, err error)
	Close() error
}

// A Weighed sandbox is a separate process.
type Weighed interface{ PID() int }

// Main runs the steps of the specification that it reads from in.
func Main(in io.Reader, out io.Writer, open func(Spec) (Peer, error)) error {
	var spec Spec
	if err := json.NewDecoder(in).Decode(&spec); err != nil {
		return fmt.Errorf("read the specification: %w", err)
	}
	peer, failed := open(spec)
	if c, ok := peer.(io.Closer); ok && failed == nil {
		defer c.Close()
	}
	enc := json.NewEncoder(out)
	for _, s := range spec.Steps {
		taken := Taken{Name: s.Name}
		err := failed
		if err == nil {
			err = s.take(peer, &taken)
		}
		if err != nil {
			first, _, _ := strings.Cut(err.Error(), "\n")
			taken = Taken{Name: s.Name, Error: first}
		}
		if err := enc.Encode(taken); err != nil {
			return err
		}
	}
	return nil
}

// ran runs a program in a new sandbox.
func ran(p Peer, program string, whole bool) (string, time.Duration, error) {
	begun := time.Now()
	box, err := p.Fresh(false)
	if err != nil {
		return "", 0, err
	}
	made := time.Now()
	out, inside, err := box.Run(program)
	done := time.Now()
	err = errors.Join(err, box.Close())
	switch {
	case whole:
		return out, time.Since(begun), err
	case inside > 0:
		return out, inside, err
	}
	return out, done.Sub(made), err
}

func (s Step) take(p Peer, taken *Taken) error {
	switch s.Kind {
	case "whole", "inside":
		for range s.Warm {
			if _, _, err := ran(p, s.Programs[0], true); err != nil {
				return err
			}
		}
		for range s.N {
			out, took, err := ran(p, s.Programs[0], s.Kind == "whole")
			if err != nil {
				return err
			}
			taken.Out = out
			taken.Values = append(taken.Values, float64(took)/float64(time.Millisecond))
		}
	case "rate":
		n, err := s.rate(p)
		if err != nil {
			return err
		}
		taken.Values = []float64{n}
	case "memory":
		kib, out, err := s.weigh(p)
		if err != nil {
			return err
		}
		taken.Values, taken.Out = []float64{kib}, out
	case "probe":
		for _, program := range s.Programs {
			out, _, err := ran(p, program, true)
			if err != nil {
				return err
			}
			taken.Out = out
		}
	default:
		return fmt.Errorf("unknown kind of step %q", s.Kind)
	}
	return nil
}

func (s Step) rate(p Peer) (float64, error) {
	var (
		all  sync.WaitGroup
		mu   sync.Mutex
		runs int
		errs error
	)
	if _, _, err := ran(p, s.Programs[0], true); err != nil {
		return 0, err
	}
	begun := time.Now()
	for range s.Threads {
		all.Go(func() {
			n := 0
			var err error
			for err == nil && time.Since(begun).Seconds() < s.Seconds {
				_, _, err = ran(p, s.Programs[0], true)
				n++
			}
			mu.Lock()
			defer mu.Unlock()
			runs += n
			errs = errors.Join(errs, err)
		})
	}
	all.Wait()
	return float64(runs) / time.Since(begun).Seconds(), errs
}

// weigh returns the private memory of a live sandbox in KiB: that of its process, or
// the growth of this process.
func (s Step) weigh(p Peer) (kib float64, out string, err error) {
	if _, _, err := ran(p, s.Programs[0], true); err != nil {
		return 0, "", err
	}
	before, err := private("self")
	if err != nil {
		return 0, "", err
	}
	var kept []Sandbox
	defer func() {
		for _, box := range kept {
			err = errors.Join(err, box.Close())
		}
	}()
	own := 0.0
	for range s.N {
		box, err := p.Fresh(true)
		if err != nil {
			return 0, "", err
		}
		kept = append(kept, box)
		if out, _, err = box.Run(s.Programs[0]); err != nil {
			return 0, "", err
		}
		if w, ok := box.(Weighed); ok {
			n, err := private(strconv.Itoa(w.PID()))
			if err != nil {
				return 0, "", err
			}
			own += n
		}
	}
	if own > 0 {
		return own / float64(s.N), out, nil
	}
	after, err := private("self")
	return (after - before) / float64(s.N), out, err
}

func private(pid string) (float64, error) {
	if pid == "self" {
		runtime.GC()
		debug.FreeOSMemory()
	}
	data, err := os.ReadFile("/proc/" + pid + "/smaps_rollup")
	if err != nil {
		return 0, errors.New("cannot read private memory of a process on this system")
	}
	total := 0.0
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) > 1 && strings.HasPrefix(f[0], "Private_") {
			n, err := strconv.ParseFloat(f[1], 64)
			if err != nil {
				return 0, err
			}
			total += n
		}
	}
	return total, nil
}
