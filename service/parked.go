package service

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/store"
)

// Bounds of what a run keeps to go on.
const (
	maxJournal = 64 << 20 // bytes
	// MaxSignal is the greatest size of the payload of a signal.
	MaxSignal = 64 << 10
)

// journal is the engine.Journal of a run under a lease.
type journal struct {
	store *store.Store
	keys  *Keys
	lease store.Lease
	lost  func() // called if another process has the lease

	records, bytes int64
}

// Append implements engine.Journal.
func (j *journal) Append(ctx context.Context, record []byte) error {
	if j.bytes+int64(len(record)) > maxJournal {
		return fault.New(fault.LimitMemory, "the journal of the run would have more than %d bytes", int64(maxJournal))
	}
	sealed, err := j.keys.sealBytes(ctx, recordPurpose(j.lease.Tenant, j.lease.ID, j.records), record)
	if err == nil {
		err = j.store.AppendRecord(ctx, j.lease, j.records, sealed)
	}
	switch {
	case errors.Is(err, store.ErrLost):
		j.lost()
		return fault.New(fault.StoreUnavailable, "keep a record of the run: %w", err)
	case err != nil:
		return err
	}
	j.records++
	j.bytes += int64(len(record))
	return nil
}

// read returns the records of a run that goes on.
func (j *journal) read(ctx context.Context) (records [][]byte, err error) {
	all, err := j.store.Records(ctx, j.lease.Tenant, j.lease.ID)
	if err != nil {
		return nil, err
	}
	for _, sealed := range all {
		record, err := j.keys.plain(ctx, recordPurpose(j.lease.Tenant, j.lease.ID, j.records), sealed)
		if err != nil {
			return nil, fault.New(fault.StoreUnavailable, "read the journal of the run: %w", err)
		}
		j.records++
		j.bytes += int64(len(record))
		records = append(records, record)
	}
	return records, nil
}

// maxEvents bounds the events that are read at once.
const maxEvents = 500

// told is what the events of a run have.
type told struct {
	output *engine.Delivered // nil: the policy keeps no text
	calls  map[uint64]bool
}

// records returns the records of a run that another process began, and notes what its
// events have.
func (x *execution) records() ([][]byte, error) {
	records, err := x.journal.read(x.ctx)
	if err != nil {
		return nil, err
	}
	d := &engine.Delivered{}
	x.before = told{output: d, calls: map[uint64]bool{}}
	for after, more := int64(0), true; more; {
		events, err := x.s.o.Store.Events(x.ctx, x.run.Tenant, x.run.ID, after, maxEvents)
		if err != nil {
			return nil, err
		}
		for _, e := range events {
			after = e.Number
			var out struct {
				Stream, Text, SHA256 string
				Number               uint64
			}
			if json.Unmarshal(e.Data, &out) != nil {
				continue
			}
			switch {
			case e.Type == "call":
				x.before.calls[out.Number] = true
			case e.Type != "output":
			case out.SHA256 != "":
				x.before.output = nil
			case out.Stream == "stderr":
				d.Stderr += int64(len(out.Text))
			default:
				d.Stdout += int64(len(out.Text))
			}
		}
		more = len(events) > 0
	}
	return records, nil
}

// signals is the hostfns.Signals of a run.
type signals struct {
	store       *store.Store
	keys        *Keys
	tenant, run string
	watch       func() (changed <-chan struct{}, stop func()) // of signals that this process gets

	mu      sync.Mutex
	awaited map[string]int // by name, the number of the one that the run waits for
}

// number returns which signal with a name the run waits for.
func (s *signals) number(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.awaited[name]
}

// Await implements hostfns.Signals.
func (s *signals) Await(ctx context.Context, _, name string, n int) (json.RawMessage, error) {
	s.mu.Lock()
	s.awaited[name] = n
	s.mu.Unlock()
	for {
		changed, stop := s.watch()
		sealed, ok, err := s.store.Signal(ctx, s.tenant, s.run, name, n)
		if ok || err != nil {
			stop()
			switch {
			case ctx.Err() != nil:
				return nil, context.Cause(ctx)
			case err != nil:
				return nil, err
			}
			return s.keys.plain(ctx, signalPurpose(s.tenant, s.run, name), sealed)
		}
		poll := time.NewTimer(signalPoll)
		select {
		case <-changed:
		case <-poll.C:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		poll.Stop()
		stop()
		if err != nil {
			return nil, err
		}
	}
}

// signalPoll is how often the store is asked for signals that another process got.
const signalPoll = time.Second

// roomForTask reports whether this process may begin an attempt of a task. Those have at
// most half of its places, so that requests find room.
func (s *executor) roomForTask() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, x := range s.running {
		if x.run.Task != "" {
			n++
		}
	}
	return n < max(1, s.o.Running/2)
}

// allowed returns how much fuel the run may use, or why it cannot begin. A task may run
// long after it was added, so its token must not have been revoked.
func (x *execution) allowed() (fuel int64, err error) {
	if x.run.Task != "" {
		held, err := x.s.o.Store.HoldsToken(x.ctx, x.run.Tenant, x.run.Token)
		if err == nil && !held {
			err = fault.New(fault.DeniedToken, "the token that added the task was revoked or has expired").WithHint("add the task again with another token")
		}
		if err != nil {
			return 0, err
		}
	}
	return x.s.o.Store.Within(x.ctx, x.s.tenants.accounts(x.run, x.asked.Quotas)...)
}
