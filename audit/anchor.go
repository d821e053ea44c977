package audit

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
)

// Anchor keeps heads of a log outside its directory. The directory cannot prove
// that it is not an older copy of itself; [VerifyAnchored] compares it with the
// heads. A head is a JSON object of one line with the segment, the number and hash
// of its last record, the time and, if the log has a key, a signature.
type Anchor interface {
	// Keep stores a head. It may get a head again.
	Keep(ctx context.Context, head []byte) error
	// Heads returns every head that was stored, as JSON values one after another.
	Heads(ctx context.Context) ([]byte, error)
}

// Anchoring says when heads go to an anchor. Calls of [Log.Record] do not wait
// for it.
type Anchoring struct {
	// Anchor gets the head at once, when the log is closed, and in between.
	Anchor Anchor
	// Every is how long new records may wait. Zero is 10 s.
	Every time.Duration
	// Records is how many new records may wait. Zero is 1000.
	Records int
	// Timeout bounds each call of the anchor. Zero is 5 s.
	Timeout time.Duration
	// Required makes the log fail, with audit.unavailable, while the anchor does.
	Required bool
	// Failed is called with the first of several errors. Nil ignores them. The log
	// records them in either case.
	Failed func(error)
}

// maxHeads bounds what is read of an anchor.
const maxHeads = 256 << 20

// FileAnchor appends heads to a file, one a line. The file belongs on another disk
// or machine, or needs to be append-only.
type FileAnchor string

// Keep implements [Anchor].
func (path FileAnchor) Keep(_ context.Context, head []byte) error {
	f, err := os.OpenFile(string(path), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(bytes.Clone(head), '\n')) // one write, so that several processes can share the file
	return errors.Join(err, f.Sync(), f.Close())
}

// Heads implements [Anchor]. There are none before the first head is kept.
func (path FileAnchor) Heads(context.Context) ([]byte, error) {
	f, err := os.Open(string(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readHeads(f)
}

func readHeads(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxHeads+1))
	if err == nil && len(data) > maxHeads {
		err = fmt.Errorf("the anchor has more than %d MiB of heads", maxHeads>>20)
	}
	return data, err
}

// CommandAnchor runs a command, which gets a head on standard input. With the
// further argument "get", it prints the heads that it got.
type CommandAnchor []string

// Keep implements [Anchor].
func (c CommandAnchor) Keep(ctx context.Context, head []byte) error {
	cmd := c.command(ctx)
	cmd.Stdin = bytes.NewReader(append(bytes.Clone(head), '\n'))
	return runCommand(cmd)
}

// Heads implements [Anchor].
func (c CommandAnchor) Heads(ctx context.Context) ([]byte, error) {
	cmd := c.command(ctx, "get")
	out := &limitedBuffer{max: maxHeads}
	cmd.Stdout = out
	if err := runCommand(cmd); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func (c CommandAnchor) command(ctx context.Context, more ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c[0], append(slices.Clone(c[1:]), more...)...)
	cmd.WaitDelay = time.Second
	return cmd
}

// runCommand runs a command. Its error has what the command printed.
func runCommand(cmd *exec.Cmd) error {
	wrong := &limitedBuffer{max: 1000, drop: true}
	cmd.Stderr = wrong
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", cmd.Path, err, strings.TrimSpace(wrong.String()))
	}
	return nil
}

// limitedBuffer fails a write that exceeds a size, or drops the excess.
type limitedBuffer struct {
	bytes.Buffer
	max  int
	drop bool
}

// Write implements io.Writer.
func (b *limitedBuffer) Write(p []byte) (int, error) {
	room := b.max - b.Len()
	if len(p) > room && !b.drop {
		return 0, errors.New("too much output")
	}
	b.Buffer.Write(p[:min(len(p), room)])
	return len(p), nil
}

// keeper gives the heads of a log to its anchor, in a goroutine.
type keeper struct {
	Anchoring
	newest func() (head, mark) // of the log
	sync   func(mark) error    // forces records to disk; nil: that is not wanted
	record func(Event)
	key    ed25519.PrivateKey

	wake chan struct{}
	end  chan struct{}
	gone chan struct{}

	mu      sync.Mutex
	waiting int    // records since the anchor was woken
	closed  []head // of full segments, which it does not have yet
	failing error  // why it does not have the newest head

	keeping sync.Mutex
	kept    mark // the newest head that the anchor has; guarded by keeping
	any     bool // it has one
}

func newKeeper(o Anchoring) *keeper {
	if o.Every <= 0 {
		o.Every = 10 * time.Second
	}
	if o.Records <= 0 {
		o.Records = 1000
	}
	if o.Timeout <= 0 {
		o.Timeout = 5 * time.Second
	}
	return &keeper{Anchoring: o, wake: make(chan struct{}, 1), end: make(chan struct{}), gone: make(chan struct{})}
}

// start starts the goroutine. If the anchor is required, it has got a head.
func (k *keeper) start() (err error) {
	if k.Required {
		err = k.keep()
		k.report(err)
	} else {
		k.wake <- struct{}{}
	}
	go k.run()
	return err
}

func (k *keeper) run() {
	defer close(k.gone)
	tick := time.NewTicker(k.Every)
	defer tick.Stop()
	for {
		select {
		case <-k.end:
			return
		default:
		}
		select {
		case <-k.end:
			return
		case <-k.wake:
		case <-tick.C:
		}
		k.report(k.keep())
	}
}

// added counts a record, and refuses it while a required anchor fails.
func (k *keeper) added() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.Required && k.failing != nil {
		return unavailable("the anchor does not keep the head: %w", k.failing)
	}
	if k.waiting++; k.waiting >= k.Records {
		k.waiting = 0
		select {
		case k.wake <- struct{}{}:
		default:
		}
	}
	return nil
}

// segmentClosed notes the last head of a segment.
func (k *keeper) segmentClosed(h head) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = append(k.closed, h)
}

// keep gives the anchor the heads that it does not have. What it gets is on disk
// first, so that a power failure does not look like a rollback.
func (k *keeper) keep() error {
	k.keeping.Lock()
	defer k.keeping.Unlock()
	newest, at := k.newest()
	k.mu.Lock()
	closed := slices.Clone(k.closed)
	k.mu.Unlock()
	if k.any && k.kept == at && len(closed) == 0 {
		return nil
	}
	if k.sync != nil {
		if err := k.sync(at); err != nil {
			return err
		}
	}
	for _, h := range closed {
		if err := k.give(h); err != nil {
			return err
		}
		k.mu.Lock()
		k.closed = k.closed[1:]
		k.mu.Unlock()
	}
	if err := k.give(newest); err != nil {
		return err
	}
	k.kept, k.any = at, true
	return nil
}

func (k *keeper) give(h head) error {
	ctx, cancel := context.WithTimeout(context.Background(), k.Timeout)
	defer cancel()
	return k.Anchor.Keep(ctx, bytes.TrimSpace(encodeHead(h, k.key)))
}

// report records that the anchor began to fail, or works again.
func (k *keeper) report(err error) {
	k.mu.Lock()
	before := k.failing
	k.failing = err
	k.mu.Unlock()
	if (before == nil) == (err == nil) {
		return
	}
	e := Event{Anchor: &AnchorState{OK: err == nil}}
	if err != nil {
		e.Anchor.Error = err.Error()
		if k.Failed != nil {
			k.Failed(err)
		}
	}
	k.record(e)
}

// stop ends the goroutine and gives the anchor the last head, after the log has
// been closed.
func (k *keeper) stop() error {
	close(k.end)
	<-k.gone
	err := k.keep()
	if err != nil && k.Required {
		return fmt.Errorf("the anchor does not keep the head: %w", err)
	}
	k.report(err)
	return nil
}
