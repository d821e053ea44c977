package datafolder

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/internal/atomicfile"
	"github.com/wexec/wexec/internal/ownfile"
	"github.com/wexec/wexec/internal/seal"
)

// Runs keeps the runs of a data folder that can go on in another process. Each has a
// folder with what was asked for, its journal, and what it waits for, all sealed.
type Runs struct{ folder *Folder }

// Runs returns the runs of the folder.
func (f *Folder) Runs() Runs { return Runs{f} }

// Bounds of what is kept of a run.
const (
	maxRequest = 256 << 20
	maxJournal = 1 << 30
	maxParked  = 64 << 20
)

// The files of a run.
const (
	requestName = "request"
	journalName = "journal"
	parkedName  = "parked"
	answersName = "answers"
)

// ParkedRun is a run that left memory, and what it waits for.
type ParkedRun struct {
	ID        string             `json:"id"`
	Language  string             `json:"language"`
	Started   time.Time          `json:"started"`
	Records   int                `json:"records"` // of the journal
	Until     time.Time          `json:"until,omitzero"`
	Signals   []string           `json:"signals,omitempty"`
	Waiting   []engine.Waiting   `json:"waiting,omitempty"` // the questions with tokens
	Questions []hostfns.Question `json:"questions,omitempty"`
}

// Run is a run of the folder that this process executes. It is the [engine.Journal] of
// the run. Close it when the run has ended or is parked.
type Run struct {
	ID string

	folder  *Folder
	dir     string
	lock    *os.File
	journal *os.File

	mu      sync.Mutex
	records int
	broken  error // of an append: the journal has a record that is cut
}

// unknownRun is the error of a run that is not in the folder.
func unknownRun(id string) error {
	return fault.New(fault.UsageRun, "there is no parked run %q", id).WithHint("list the runs with wexec runs list")
}

// damagedRun is the error of a run that cannot go on.
func damagedRun(id, what string) error {
	return fault.New(fault.UsageRun, "resume run %s: %s is missing, damaged, or that of another run", id, what).
		WithHint("drop the run with wexec runs drop %s", id)
}

// runDir returns the folder of a run.
func (r Runs) runDir(id string, create bool) (string, error) {
	if id == "" || strings.ContainsFunc(id, func(c rune) bool { return (c < '0' || c > '9') && (c < 'A' || c > 'Z') }) {
		return "", unknownRun(id)
	}
	dir, exists, err := r.folder.sub(filepath.Join(runsName, id), create)
	if err == nil && !exists {
		err = unknownRun(id)
	}
	return dir, err
}

// open locks the folder of a run.
func (r Runs) open(id string, create bool) (*Run, error) {
	dir, err := r.runDir(id, create)
	if err != nil {
		return nil, err
	}
	lock, free, err := tryLock(filepath.Join(dir, "lock"))
	if err == nil && !free {
		err = fault.New(fault.UsageRun, "run %s is executed by another command", id).WithHint("wait until it has ended, or is parked again")
	}
	if err != nil {
		return nil, err
	}
	return &Run{ID: id, folder: r.folder, dir: dir, lock: lock}, nil
}

// Create keeps what is asked for by a new run, as JSON, and returns the run.
func (r Runs) Create(ctx context.Context, id string, request any) (*Run, error) {
	if _, err := r.folder.sealer(); err != nil { // before there is a run
		return nil, err
	}
	run, err := r.open(id, true)
	if err != nil {
		return nil, err
	}
	err = run.write(ctx, requestName, request)
	if err == nil {
		err = run.openJournal()
	}
	if err != nil {
		return nil, errors.Join(err, run.Close())
	}
	return run, nil
}

// Resume opens a run to go on with it. It decodes what was asked for, and returns the
// records of its journal.
func (r Runs) Resume(ctx context.Context, id string, request any) (_ *Run, records [][]byte, err error) {
	run, err := r.open(id, false)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, run.Close())
		}
	}()
	if err := run.read(ctx, requestName, maxRequest, request); err != nil {
		return nil, nil, err
	}
	if records, err = run.readJournal(ctx); err != nil {
		return nil, nil, err
	}
	return run, records, run.openJournal()
}

// purpose is that of the seal of a file of the run.
func (r *Run) purpose(name string) string { return fmt.Sprintf("%s of run %s", name, r.ID) }

// frame is sealed content after its wrapped key, each after its length.
func (r *Run) frame(ctx context.Context, content []byte, purpose string) ([]byte, error) {
	data, key, err := r.folder.sealed(ctx, content, purpose)
	if err != nil {
		return nil, refused(err)
	}
	out := binary.BigEndian.AppendUint32(make([]byte, 0, 8+len(key)+len(data)), uint32(len(key)))
	out = append(out, key...)
	out = binary.BigEndian.AppendUint32(out, uint32(len(data)))
	return append(out, data...), nil
}

// errCut is the error of a frame that is cut.
var errCut = errors.New("the frame is cut")

// nextFrame returns the content of a frame and what follows it.
func (r *Run) nextFrame(ctx context.Context, from []byte, purpose string) (content, rest []byte, err error) {
	var parts [2][]byte
	for i := range parts {
		if len(from) < 4 || uint64(len(from)-4) < uint64(binary.BigEndian.Uint32(from)) {
			return nil, nil, errCut
		}
		n := binary.BigEndian.Uint32(from)
		parts[i], from = from[4:4+n], from[4+n:]
	}
	content, err = r.folder.opened(ctx, parts[1], parts[0], purpose)
	return content, from, err
}

// write keeps a document of the run.
func (r *Run) write(ctx context.Context, name string, doc any) error {
	text, err := json.Marshal(doc)
	if err != nil {
		return fault.New(fault.Internal, "encode the %s of a run: %w", name, err)
	}
	data, err := r.frame(ctx, text, r.purpose(name))
	if err != nil {
		return err
	}
	return save(filepath.Join(r.dir, name), data)
}

// read decodes a document of the run. A missing one is [fs.ErrNotExist].
func (r *Run) read(ctx context.Context, name string, limit int64, doc any) error {
	data, err := ownfile.ReadPrivate(filepath.Join(r.dir, name), seal.Size(limit))
	if err != nil {
		return refused(err)
	}
	text, rest, err := r.nextFrame(ctx, data, r.purpose(name))
	if errors.Is(err, seal.ErrDamaged) || err == errCut || err == nil && (len(rest) > 0 || json.Unmarshal(text, doc) != nil) {
		return damagedRun(r.ID, "its "+name)
	}
	return err
}

// recordPurpose is the purpose of the seal of a record.
func (r *Run) recordPurpose(number int) string {
	return fmt.Sprintf("record %d of run %s", number, r.ID)
}

// readJournal returns the records. The last one may be cut, if the process ended while
// it was written: then nobody has relied on it, and it is removed.
func (r *Run) readJournal(ctx context.Context) (records [][]byte, err error) {
	path := filepath.Join(r.dir, journalName)
	data, err := ownfile.ReadPrivate(path, maxJournal)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, refused(err)
	}
	whole := len(data)
	for rest := data; len(rest) > 0; {
		record, next, err := r.nextFrame(ctx, rest, r.recordPurpose(len(records)))
		switch {
		case err == errCut:
			whole, next = len(data)-len(rest), nil
		case errors.Is(err, seal.ErrDamaged):
			return nil, damagedRun(r.ID, fmt.Sprintf("record %d of its journal", len(records)))
		case err != nil:
			return nil, err
		default:
			records = append(records, record)
		}
		rest = next
	}
	var p ParkedRun
	if err := r.read(ctx, parkedName, maxParked, &p); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if len(records) < p.Records {
		return nil, damagedRun(r.ID, fmt.Sprintf("record %d of its journal", len(records)))
	}
	if whole < len(data) {
		if err := os.Truncate(path, int64(whole)); err != nil {
			return nil, refused(err)
		}
	}
	r.records = len(records)
	return records, nil
}

// openJournal opens the journal for the records to come.
func (r *Run) openJournal() (err error) {
	if r.journal, err = os.OpenFile(filepath.Join(r.dir, journalName), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600); err != nil {
		return refused(err)
	}
	if err := atomicfile.SyncDir(r.dir); err != nil {
		return refused(err)
	}
	return nil
}

// Append implements [engine.Journal].
func (r *Run) Append(ctx context.Context, record []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken != nil {
		return r.broken
	}
	data, err := r.frame(ctx, record, r.recordPurpose(r.records))
	if err != nil {
		return err
	}
	if _, err = r.journal.Write(data); err == nil {
		err = r.journal.Sync()
	}
	if err != nil {
		r.broken = refused(err)
		return r.broken
	}
	r.records++
	return nil
}

// Park keeps what the run waits for.
func (r *Run) Park(ctx context.Context, p ParkedRun) error {
	r.mu.Lock()
	p.ID, p.Records = r.ID, r.records
	r.mu.Unlock()
	return r.write(ctx, parkedName, p)
}

// Close lets other processes go on with the run.
func (r *Run) Close() error {
	var err error
	if r.journal != nil {
		err = r.journal.Close()
	}
	return errors.Join(err, r.lock.Close())
}

// Remove deletes what is kept of the run, and closes it.
func (r *Run) Remove() error {
	// The request first: without it there is no run, whatever is left.
	err := os.Remove(filepath.Join(r.dir, requestName))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err = errors.Join(err, r.Close()); err == nil {
		err = os.RemoveAll(r.dir)
	}
	if err != nil {
		return refused(err)
	}
	return nil
}

// Drop deletes a run that no process executes.
func (r Runs) Drop(id string) error {
	run, err := r.open(id, false)
	if err != nil {
		return err
	}
	return run.Remove()
}

// parked returns what a run waits for. It reports whether the run is parked.
func (r Runs) parked(ctx context.Context, id string) (p ParkedRun, ok bool, err error) {
	dir, err := r.runDir(id, false)
	if err != nil {
		return p, false, err
	}
	run := &Run{ID: id, folder: r.folder, dir: dir}
	err = run.read(ctx, parkedName, maxParked, &p)
	if errors.Is(err, fs.ErrNotExist) {
		return p, false, nil
	}
	return p, err == nil, err
}

// List returns the runs that are parked, the newest first.
func (r Runs) List(ctx context.Context) ([]ParkedRun, error) {
	dir, exists, err := r.folder.sub(runsName, false)
	if err != nil || !exists {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, refused(err)
	}
	var all []ParkedRun
	for _, e := range slices.Backward(entries) { // ids are in the order of time
		p, ok, err := r.parked(ctx, e.Name())
		if err != nil && !errors.Is(err, fault.UsageRun) {
			return nil, err
		}
		if ok {
			all = append(all, p)
		}
	}
	return all, nil
}

// Questions returns the questions of the runs that are parked.
func (r Runs) Questions(ctx context.Context) ([]hostfns.Question, error) {
	runs, err := r.List(ctx)
	var all []hostfns.Question
	for _, p := range runs {
		answers, err := r.answers(ctx, p.ID)
		if err != nil {
			return nil, err
		}
		for _, q := range p.Questions {
			if _, done := answers[q.ID]; !done && time.Now().Before(q.Expires) {
				all = append(all, q)
			}
		}
	}
	return all, err
}

// answers returns the answers that wait for a run, by the ids of questions.
func (r Runs) answers(ctx context.Context, id string) (map[string]hostfns.Reply, error) {
	dir, err := r.runDir(id, false)
	if err != nil {
		return nil, err
	}
	all := map[string]hostfns.Reply{}
	err = (&Run{ID: id, folder: r.folder, dir: dir}).read(ctx, answersName, maxParked, &all)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return all, nil
}

// Answer keeps the answer to a question of a run that is parked. The first one counts.
func (r Runs) Answer(ctx context.Context, q hostfns.Question, reply hostfns.Reply) error {
	run, err := r.open(q.Run, false)
	if err != nil {
		return err
	}
	defer func() { _ = run.Close() }()
	all, err := r.answers(ctx, q.Run)
	if err != nil {
		return err
	}
	if _, done := all[q.ID]; done {
		return fault.New(fault.UsageFlag, "question %s is already answered", q.ID)
	}
	all[q.ID] = reply
	return run.write(ctx, answersName, all)
}

// Asker returns an asker that has the answers that were given while the run was parked,
// and asks for others.
func (r Runs) Asker(ctx context.Context, id string, others hostfns.Asker) (hostfns.Asker, error) {
	given, err := r.answers(ctx, id)
	return asker{given, others}, err
}

type asker struct {
	given  map[string]hostfns.Reply
	others hostfns.Asker
}

// Ask implements hostfns.Asker.
func (a asker) Ask(ctx context.Context, q hostfns.Question) (hostfns.Reply, error) {
	if reply, ok := a.given[q.ID]; ok {
		return reply, nil
	}
	return a.others.Ask(ctx, q)
}

var _ engine.Journal = (*Run)(nil)
