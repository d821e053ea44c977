package service

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/atomicfile"
	"github.com/wexec/wexec/privacy"
	"github.com/wexec/wexec/store"
)

// Deleted is what a deletion removed.
type Deleted struct {
	ID        string `json:"id" jsonschema:"the id of the record of the deletion"`
	Runs      int64  `json:"runs"`
	Events    int64  `json:"events"`
	Approvals int64  `json:"approvals" jsonschema:"questions and answers"`
	Requests  int64  `json:"requests" jsonschema:"idempotency keys"`
	Vaults    int64  `json:"vaults" jsonschema:"sealed values of tokens"`
	Details   int64  `json:"details" jsonschema:"parts that the audit kept in full"`
	Artifacts int64  `json:"artifacts" jsonschema:"artifacts that the runs or the actor put, or that have the value"`
	Tokens    int64  `json:"tokens" jsonschema:"tokens of the actor"`
	Running   int    `json:"running" jsonschema:"runs that had not ended; they are searched again after their end"`
}

// counts are what an audit record has of it.
func (d Deleted) counts() map[string]int64 {
	all := map[string]int64{"runs": d.Runs, "events": d.Events, "approvals": d.Approvals, "requests": d.Requests, "vaults": d.Vaults, "details": d.Details, "artifacts": d.Artifacts, "tokens": d.Tokens}
	for name, n := range all {
		if n == 0 {
			delete(all, name)
		}
	}
	return all
}

// wanted is how a deletion finds what it is about. It has digests and no
// values, and is kept sealed.
type wanted struct {
	Digests []string `json:"digests,omitempty"` // of values in vaults
	Marks   []mark   `json:"marks,omitempty"`   // of values in texts
	Actor   string   `json:"actor,omitempty"`   // digest
}

// subjectDigest finds the runs whose vaults have a value.
func (k *Keys) subjectDigest(tenant, canonical string) string {
	return k.Digest("subject", tenant, strings.ToLower(strings.TrimSpace(canonical)))
}

func (k *Keys) actorDigest(tenant, actor string) string { return k.Digest("actor", tenant, actor) }

func vaultPurpose(tenant, run string) string { return "vault of run " + run + " of tenant " + tenant }

func deletionPurpose(tenant, id string) string { return "deletion " + id + " of tenant " + tenant }

// vaultOf is what the store keeps of the values of a run's tokens.
func (k *Keys) vaultOf(ctx context.Context, tenant, run string, issued []privacy.Issued) (v store.Sealed, digests []string, err error) {
	if len(issued) == 0 {
		return v, nil, nil
	}
	for _, i := range issued {
		digests = append(digests, k.subjectDigest(tenant, i.Canonical), k.subjectDigest(tenant, i.Value))
	}
	slices.Sort(digests)
	v, err = k.seal(ctx, vaultPurpose(tenant, run), issued)
	return v, slices.Compact(digests), err
}

// deletions applies deletions to a store, and keeps their records in a file as well,
// so that they apply to a backup that is restored.
type deletions struct {
	store  *store.Store
	keys   *Keys
	file   string
	unused bool // no server uses the store

	engine *engine.Engine // of this process; nil before the engine is open

	// content searches the artifacts of a tenant and removes those that were put until
	// then. Nil: a later pass does so.
	content func(ctx context.Context, tenant string, until time.Time, find wanted) (removed int64, err error)

	mu     sync.Mutex
	passed map[string]bool // deletions that were applied to all runs but those in flight, and to this process
}

// deletionsFile is the name of the file in the data folder.
const deletionsFile = "deletions.jsonl"

func newDeletions(s *store.Store, k *Keys, data string) *deletions {
	return &deletions{store: s, keys: k, file: filepath.Join(data, deletionsFile), passed: map[string]bool{}}
}

// kept is a line of the file.
type kept struct {
	ID      string `json:"id"`
	Tenant  string `json:"tenant"`
	At      int64  `json:"at"` // microseconds
	Wrapped []byte `json:"wrapped"`
	Sealed  []byte `json:"sealed"`
}

// sync makes the store and the file have the same deletions. One that only the file
// has was made after the backup from which the store was restored.
func (x *deletions) sync(ctx context.Context) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	inFile, err := readDeletions(x.file)
	if err != nil {
		return err
	}
	inStore, err := x.store.Deletions(ctx)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, d := range inStore {
		known[d.ID] = true
	}
	for _, d := range inFile {
		if !known[d.ID] {
			if err := x.store.AddDeletion(ctx, store.Deletion{ID: d.ID, Tenant: d.Tenant, At: time.UnixMicro(d.At), Sealed: store.Sealed{Wrapped: d.Wrapped, Data: d.Sealed}}); err != nil {
				return err
			}
		}
	}
	all := inFile
	for _, d := range inStore {
		if !slices.ContainsFunc(inFile, func(k kept) bool { return k.ID == d.ID }) {
			all = append(all, kept{d.ID, d.Tenant, d.At.UnixMicro(), d.Sealed.Wrapped, d.Sealed.Data})
		}
	}
	if len(all) == len(inFile) {
		return nil
	}
	var text strings.Builder
	lines := json.NewEncoder(&text)
	for _, d := range all {
		if err := lines.Encode(d); err != nil {
			return fault.New(fault.Internal, "encode a deletion: %w", err)
		}
	}
	if err := atomicfile.Write(x.file, []byte(text.String()), 0o600); err != nil {
		return fault.New(fault.StoreUnavailable, "keep the record of a deletion: %w", err)
	}
	return nil
}

// readDeletions reads the file; there may be none.
func readDeletions(file string) (all []kept, err error) {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.New(fault.StoreUnavailable, "read the records of deletions: %w", err)
	}
	defer f.Close()
	lines := json.NewDecoder(bufio.NewReader(f))
	for lines.More() {
		var d kept
		if err := lines.Decode(&d); err != nil {
			return nil, fault.New(fault.StoreUnavailable, "%s is damaged: %w", file, err).WithHint("restore it from a copy: it has the deletions that a restored backup needs")
		}
		all = append(all, d)
	}
	return all, nil
}

// catchUp applies the deletions that were not applied to all runs yet, or not to this
// process, since another one made them.
func (x *deletions) catchUp(ctx context.Context) (applied int, err error) {
	all, err := x.store.Deletions(ctx)
	if err != nil {
		return 0, err
	}
	for _, d := range all {
		x.mu.Lock()
		passed := x.passed[d.ID]
		x.mu.Unlock()
		if d.Applied {
			if !passed {
				if err := x.forgetOne(ctx, d); err != nil {
					return applied, err
				}
			}
			continue
		}
		var since time.Time
		if passed {
			since = d.At // only runs that have ended after it are left
		}
		if _, err := x.apply(ctx, d, since, nil); err != nil {
			return applied, err
		}
		applied++
	}
	return applied, nil
}

// forgetOne removes from this process what a deletion that was applied is about.
func (x *deletions) forgetOne(ctx context.Context, d store.Deletion) error {
	if x.engine != nil {
		var find wanted
		if err := x.keys.open(ctx, deletionPurpose(d.Tenant, d.ID), d.Sealed, &find); err != nil {
			return err
		}
		if err := x.forget(ctx, d.Tenant, find); err != nil {
			return err
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.passed[d.ID] = true
	return nil
}

// forget removes what this process has in memory of the subject of a deletion: texts in
// the caches of the engine, and live sessions. A session keeps the values of its tokens
// and what its programs defined, so it ends if it is the actor's, has the value or had
// a run that was removed.
func (x *deletions) forget(ctx context.Context, tenant string, find wanted) error {
	if x.engine == nil {
		return nil
	}
	var failed error
	err := x.engine.EndSessions(ctx, func(live engine.LiveSession) bool {
		if live.Tenant != tenant {
			return false
		}
		if find.Actor != "" && x.keys.actorDigest(tenant, live.Actor) == find.Actor || x.keys.found([]byte(live.Name), find.Marks) {
			return true
		}
		for _, i := range live.Issued() {
			if slices.Contains(find.Digests, x.keys.subjectDigest(tenant, i.Canonical)) || slices.Contains(find.Digests, x.keys.subjectDigest(tenant, i.Value)) {
				return true
			}
		}
		whole, err := x.store.HasRuns(ctx, tenant, live.Runs)
		failed = errors.Join(failed, err)
		return !whole
	})
	return errors.Join(err, failed, x.engine.Forget(func(text []byte) bool { return len(find.Marks) > 0 && x.keys.found(text, find.Marks) }))
}

// Bounds of a pass.
const (
	searchSlice = 100 // runs in one read of the store
	cancelWait  = 30 * time.Second
	activePause = 100 * time.Millisecond
)

// apply removes the runs that a deletion is about and that ended after a time, and
// what is left of them in the database. With cancel it ends those that run.
func (x *deletions) apply(ctx context.Context, d store.Deletion, since time.Time, cancel func(ctx context.Context, run string) error) (out Deleted, err error) {
	out.ID = d.ID
	var find wanted
	if err := x.keys.open(ctx, deletionPurpose(d.Tenant, d.ID), d.Sealed, &find); err != nil {
		return out, err
	}
	actors, err := x.actors(ctx, d.Tenant, find)
	if err != nil {
		return out, err
	}
	runs, err := x.runs(ctx, d, find, actors, since)
	if err != nil {
		return out, err
	}
	removed, active, err := x.store.Remove(ctx, d.Tenant, runs, x.unused)
	out.add(removed)
	for end := time.Now().Add(cancelWait); err == nil && cancel != nil && len(active) > 0 && time.Now().Before(end); {
		for _, run := range active {
			if err := cancel(ctx, run); err != nil && !errors.Is(err, fault.UsageRun) {
				return out, err
			}
		}
		select {
		case <-time.After(activePause):
		case <-ctx.Done():
			return out, context.Cause(ctx)
		}
		removed, active, err = x.store.Remove(ctx, d.Tenant, active, x.unused)
		out.add(removed)
	}
	if err != nil {
		return out, err
	}
	for _, actor := range actors {
		removed, err := x.store.RemoveActor(ctx, d.Tenant, actor, d.At)
		if err != nil {
			return out, err
		}
		out.add(removed)
	}
	if err := x.forget(ctx, d.Tenant, find); err != nil {
		return out, err
	}
	unsearched := x.content == nil && len(find.Marks) > 0
	if len(find.Marks) > 0 && !unsearched && since.IsZero() {
		n, err := x.content(ctx, d.Tenant, d.At, find)
		if out.Artifacts += n; err != nil {
			return out, err
		}
	}
	if err := x.store.Scrub(ctx); err != nil {
		return out, err
	}
	if out.Running, err = x.store.Active(ctx, d.Tenant, d.At); err != nil {
		return out, err
	}
	x.mu.Lock()
	x.passed[d.ID] = true
	x.mu.Unlock()
	if out.Running > 0 || unsearched {
		return out, nil
	}
	return out, x.store.SetApplied(ctx, d.ID)
}

func (d *Deleted) add(r store.Removed) {
	d.Runs += r.Runs
	d.Events += r.Events
	d.Approvals += r.Approvals
	d.Requests += r.Requests
	d.Vaults += r.Vaults
	d.Details += r.Details
	d.Artifacts += r.Artifacts
	d.Tokens += r.Tokens
}

// actors returns the actors of a tenant that a deletion is about.
func (x *deletions) actors(ctx context.Context, tenant string, find wanted) (actors []string, err error) {
	if find.Actor == "" {
		return nil, nil
	}
	all, err := x.store.Actors(ctx, tenant)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(actor string) bool { return x.keys.actorDigest(tenant, actor) != find.Actor }), nil
}

// runs returns the runs that a deletion is about: those whose vaults have the value,
// those whose texts have it, or those of the actors.
func (x *deletions) runs(ctx context.Context, d store.Deletion, find wanted, actors []string, since time.Time) ([]string, error) {
	runs, err := x.store.RunsOf(ctx, d.Tenant, d.At, find.Digests, actors)
	if err != nil || len(find.Marks) == 0 {
		return runs, err
	}
	known := map[string]bool{}
	for _, run := range runs {
		known[run] = true
	}
	for in := (store.Slice{Until: d.At, Since: since, Limit: searchSlice}); ; {
		var failed error
		last, err := x.store.Search(ctx, d.Tenant, in, func(p store.Part) bool {
			text := p.Text
			if p.Sealed != nil {
				if text, failed = x.keys.plain(ctx, partPurpose(d.Tenant, p), *p.Sealed); failed != nil {
					return false
				}
			}
			if !known[p.Run] && x.keys.found(text, find.Marks) {
				known[p.Run] = true
				runs = append(runs, p.Run)
			}
			return !known[p.Run] && ctx.Err() == nil
		})
		if err := errors.Join(failed, err, context.Cause(ctx)); err != nil {
			return nil, err
		}
		if last == "" {
			return runs, nil
		}
		in.After = last
	}
}

// partPurpose is what a part of a run is sealed for.
func partPurpose(tenant string, p store.Part) string {
	switch p.Kind {
	case store.PartRecord:
		return recordPurpose(tenant, p.Run, p.Number)
	case store.PartSignal:
		return signalPurpose(tenant, p.Run, p.Name)
	default:
		return detailPurpose(tenant, p.Run)
	}
}

// detailPurpose is what the details of the audit are sealed for.
func detailPurpose(tenant, run string) string { return "audit of run " + run + " of tenant " + tenant }

// ApplyDeletions applies to a restored store the deletions that the data folder has a
// record of, and returns how many. Their records are in the store, even if it fails.
func ApplyDeletions(ctx context.Context, s *store.Store, data string, keys func() (*Keys, error)) (applied int, err error) {
	x := newDeletions(s, nil, data)
	x.unused = true
	if err := x.sync(ctx); err != nil {
		return 0, err
	}
	all, err := s.Deletions(ctx)
	if err != nil || !slices.ContainsFunc(all, func(d store.Deletion) bool { return !d.Applied }) {
		return 0, err
	}
	if x.keys, err = keys(); err != nil {
		return 0, err
	}
	return x.catchUp(ctx)
}
