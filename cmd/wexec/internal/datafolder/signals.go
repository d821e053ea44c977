package datafolder

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/internal/filelock"
)

// signalsName is the file of the signals that were sent to a run.
const signalsName = "signals"

// Bounds of the signals of a run.
const (
	maxSignals     = 256
	maxSignal      = 64 << 10 // bytes of a payload
	maxSignalName  = 100
	maxSignalsFile = 64 << 20
)

// signalPoll is how often a run that waits for a signal looks whether it is there.
const signalPoll = 250 * time.Millisecond

// signal is one that was sent.
type signal struct {
	Name    string          `json:"name"`
	Payload json.RawMessage `json:"payload"`
}

// Signal keeps a signal for a run of the folder, which another process may execute. The
// payload is JSON. It returns how many signals with the name came before.
func (r Runs) Signal(ctx context.Context, id, name string, payload json.RawMessage) (number int, err error) {
	switch {
	case name == "" || len(name) > maxSignalName:
		return 0, fault.New(fault.UsageFlag, "the name of a signal has 1 to %d bytes", maxSignalName)
	case len(payload) > maxSignal:
		return 0, fault.New(fault.UsageFlag, "the payload of the signal has %d bytes, more than %d", len(payload), maxSignal).WithHint("send the name of a file, and read the file with a tool")
	case !json.Valid(payload):
		return 0, fault.New(fault.UsageFlag, "the payload of the signal is not JSON").WithHint(`quote a text twice: '"text"'`)
	}
	dir, err := r.runDir(id, false)
	if err != nil {
		return 0, err
	}
	if _, err := os.Stat(filepath.Join(dir, requestName)); err != nil {
		return 0, unknownRun(id)
	}
	lock, err := os.OpenFile(filepath.Join(dir, signalsName+".lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return 0, refused(err)
	}
	defer func() { _ = lock.Close() }()
	if _, err := filelock.Lock(lock, true); err != nil {
		return 0, refused(err)
	}
	run := &Run{ID: id, folder: r.folder, dir: dir}
	all, err := run.signals(ctx)
	if err != nil {
		return 0, err
	}
	if len(all) >= maxSignals {
		return 0, fault.New(fault.LimitQuota, "the run %s has %d signals, which is the most that a run keeps", id, len(all)).WithHint("start another run for what follows")
	}
	for _, s := range all {
		if s.Name == name {
			number++
		}
	}
	return number, run.write(ctx, signalsName, append(all, signal{name, payload}))
}

// signals returns the signals that were sent to the run.
func (r *Run) signals(ctx context.Context) (all []signal, err error) {
	if err = r.read(ctx, signalsName, maxSignalsFile, &all); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return all, err
}

// Await implements [hostfns.Signals].
func (r *Run) Await(ctx context.Context, _, name string, n int) (json.RawMessage, error) {
	ticks := time.NewTicker(signalPoll)
	defer ticks.Stop()
	for {
		all, err := r.signals(ctx)
		if err != nil {
			return nil, err
		}
		all = slices.DeleteFunc(all, func(s signal) bool { return s.Name != name })
		if n < len(all) {
			return all[n].Payload, nil
		}
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

var _ hostfns.Signals = (*Run)(nil)
