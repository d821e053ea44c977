package service

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/atomicfile"
	"github.com/wexec/wexec/privacy"
	"github.com/wexec/wexec/store"
)

// Deleted is what a deletion removed.
type Deleted struct {
	ID        string `json:"id" jsonschema:"of the record of the deletion"`
	Runs      int64  `json:"runs"`
	Events    int64  `json:"events"`
	Approvals int64  `json:"approvals" jsonschema:"questions and answers"`
	Requests  int64  `json:"requests" jsonschema:"idempotency keys"`
	Vaults    int64  `json:"vaults" jsonschema:"of the values of tokens"`
	Details   int64  `json:"details" jsonschema:"parts that the audit kept in full"`
	Artifacts int64  `json:"artifacts" jsonschema:"that the runs put"`
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

// subjectDigest is by what runs are found whose vaults have a value.
func (k *Keys) subjectDigest(tenant, canonical string) string {
	return k.digest("subject", tenant, strings.ToLower(strings.TrimSpace(canonical)))
}

func (k *Keys) actorDigest(tenant, actor string) string { return k.digest("actor", tenant, actor) }

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

	mu     sync.Mutex
	passed map[string]bool // deletions that were applied to all runs but those in flight
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

// catchUp applies the deletions that were not applied to all runs yet.
func (x *deletions) catchUp(ctx context.Context) (applied int, err error) {
	all, err := x.store.Deletions(ctx)
	if err != nil {
		return 0, err
	}
	for _, d := range all {
		if d.Applied {
			continue
		}
		var since time.Time
		x.mu.Lock()
		if x.passed[d.ID] {
			since = d.At // only runs that have ended after it are left
		}
		x.mu.Unlock()
		if _, err := x.apply(ctx, d, since, nil); err != nil {
			return applied, err
		}
		applied++
	}
	return applied, nil
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
	if err := x.store.Scrub(ctx); err != nil {
		return out, err
	}
	if out.Running, err = x.store.Active(ctx, d.Tenant, d.At); err != nil {
		return out, err
	}
	x.mu.Lock()
	x.passed[d.ID] = true
	x.mu.Unlock()
	if out.Running > 0 {
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
				if text, failed = x.keys.plain(ctx, detailPurpose(d.Tenant, p.Run), *p.Sealed); failed != nil {
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

// A mark is how a value is found in texts by those who do not have it: its length, a
// rolling hash that is cheap to compute at every place of a text, and the HMAC that
// makes certain. Marks are kept sealed.
type mark struct {
	Size    int    `json:"size"`
	Sum     uint64 `json:"sum"`
	Digest  string `json:"digest"`
	Letters bool   `json:"letters,omitempty"` // only letters and digits count
}

// leastLetters is how many digits a value has that is also searched without the signs
// between them, such as the number of a card or a telephone.
const leastLetters = 7

// marksOf returns the marks of spellings of a value.
func (k *Keys) marksOf(spellings ...string) (all []mark) {
	add := func(text []byte, letters bool) {
		if len(text) == 0 {
			return
		}
		m := mark{Size: len(text), Sum: sum(text), Digest: k.digest("mark", string(text)), Letters: letters}
		if !slices.Contains(all, m) {
			all = append(all, m)
		}
	}
	for _, s := range spellings {
		text := folded([]byte(s))
		add(text, false)
		if bare := lettersOf(text); strings.Count(strings.Map(digitOnly, s), "0") >= leastLetters {
			add(bare, true)
		}
	}
	return all
}

func digitOnly(r rune) rune {
	if r >= '0' && r <= '9' {
		return '0'
	}
	return -1
}

// base is that of the rolling hash, an odd number with bits all over.
const base = 0x9E3779B97F4A7C15

// sum is the rolling hash of a text.
func sum(text []byte) (h uint64) {
	for _, c := range text {
		h = h*base + uint64(c) + 1
	}
	return h
}

// found reports whether a text has one of the marks, as it is or in an encoding.
func (k *Keys) found(text []byte, marks []mark) bool {
	found := false
	readings(text, 0, func(reading []byte) bool {
		plain := folded(reading)
		var bare []byte
		for _, m := range marks {
			in := plain
			if m.Letters {
				if bare == nil {
					bare = lettersOf(plain)
				}
				in = bare
			}
			if found = k.has(in, m); found {
				return false
			}
		}
		return true
	})
	return found
}

// has reports whether a folded text has a mark, not in the middle of a word.
func (k *Keys) has(text []byte, m mark) bool {
	if len(text) < m.Size {
		return false
	}
	power := uint64(1) // of what leaves the window
	for range m.Size - 1 {
		power *= base
	}
	h := sum(text[:m.Size])
	for end := m.Size; ; end++ {
		start := end - m.Size
		if h == m.Sum && (m.Letters || isWhole(text, start, end)) && k.digest("mark", string(text[start:end])) == m.Digest {
			return true
		}
		if end == len(text) {
			return false
		}
		h = (h-(uint64(text[start])+1)*power)*base + uint64(text[end]) + 1
	}
}

// isWhole reports whether a part of a text begins and ends where words do.
func isWhole(text []byte, start, end int) bool {
	return (start == 0 || !isLetter(text[start-1]) || !isLetter(text[start])) && (end == len(text) || !isLetter(text[end]) || !isLetter(text[end-1]))
}

// isLetter reports letters, digits, and the bytes of all characters beyond ASCII.
func isLetter(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf
}

// folded is a text in lower case and without NUL bytes, which UTF-16 has.
func folded(text []byte) []byte {
	if bytes.IndexByte(text, 0) >= 0 {
		text = bytes.ReplaceAll(text, []byte{0}, nil)
	}
	return bytes.ToLower(text)
}

// lettersOf is a text without all but letters and digits.
func lettersOf(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for _, c := range text {
		if isLetter(c) {
			out = append(out, c)
		}
	}
	return out
}

// Bounds of readings.
const (
	maxReading   = 3  // encodings in each other
	leastEncoded = 12 // bytes of base64 or hexadecimal digits
)

// readings visits what a text says: as it is, as a JSON document, without the
// encodings of URLs and pages, and what is in it as base64 or hexadecimal digits. It
// ends when visit returns false.
func readings(text []byte, depth int, visit func([]byte) bool) bool {
	if !visit(text) {
		return false
	}
	if depth == maxReading {
		return true
	}
	if !eachString(text, func(s []byte) bool { return readings(s, depth+1, visit) }) {
		return false
	}
	if plain := privacy.Plain(text); plain != nil && !visit(plain) {
		return false
	}
	within := func(decoded []byte) bool { return readings(decoded, depth+1, visit) }
	return eachEncoded(text, isBase64, 4, decodeBase64, within) && eachEncoded(text, isHex, 2, decodeHex, within)
}

// eachEncoded visits what the digits of an encoding in a text stand for. Digits in
// front may belong to something else, so they are read from each place of a group.
func eachEncoded(text []byte, isDigit func(byte) bool, group int, decode func([]byte) []byte, visit func([]byte) bool) bool {
	for i := 0; i < len(text); {
		end := i
		for end < len(text) && isDigit(text[end]) {
			end++
		}
		for from := i; end-from >= leastEncoded && from < i+group; from++ {
			if decoded := decode(text[from:end]); len(decoded) > 0 && !visit(decoded) {
				return false
			}
		}
		i = end + 1
	}
	return true
}

// eachString visits the strings of a JSON document, unless it is only one.
func eachString(text []byte, visit func([]byte) bool) bool {
	if begin := bytes.TrimLeft(text, " \t\r\n"); len(begin) == 0 || bytes.IndexByte([]byte(`{["`), begin[0]) < 0 {
		return true
	}
	d := json.NewDecoder(bytes.NewReader(text))
	for {
		token, err := d.Token()
		if err != nil {
			return true // the end, or not JSON
		}
		if s, ok := token.(string); ok && s != "" && !visit([]byte(s)) {
			return false
		}
	}
}

// isBase64 reports the digits of both alphabets of base64.
func isBase64(c byte) bool {
	return isLetter(c) && c < utf8.RuneSelf || c == '+' || c == '/' || c == '-' || c == '_'
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func decodeBase64(digits []byte) []byte {
	digits = bytes.Map(func(r rune) rune {
		switch r {
		case '-':
			return '+'
		case '_':
			return '/'
		}
		return r
	}, digits)
	data := make([]byte, base64.RawStdEncoding.DecodedLen(len(digits)))
	n, _ := base64.RawStdEncoding.Decode(data, digits) // a digit too many ends it
	return data[:n]
}

func decodeHex(digits []byte) []byte {
	data := make([]byte, len(digits)/2)
	n, _ := hex.Decode(data, digits[:len(digits)&^1])
	return data[:n]
}

// recorder is the audit log of a tenant. The chain cannot be changed afterwards, so
// nothing goes into it that may have to be deleted: actors have pseudonyms, and texts
// are sealed rows of the store, of which the chain has the digest.
type recorder struct {
	chain  audit.Sink
	tenant string
	store  *store.Store
	keys   *Keys

	mu   sync.Mutex
	open map[string]*unsaved // by run
}

// unsaved are the details of a run that are not in the store yet.
type unsaved struct {
	details []json.RawMessage
	size    int
}

// detail is what the chain does not have of an event. The salt keeps anybody from
// guessing the text by its digest.
type detail struct {
	Salt  string          `json:"salt"`
	Whole json.RawMessage `json:"whole"` // the part of the event that its type names
}

// detailBytes is how much of a run waits for its end, and saveTimeout how long the
// store may take.
const (
	detailBytes = 1 << 20
	saveTimeout = 30 * time.Second
)

func newRecorder(chain audit.Sink, tenant string, s *store.Store, k *Keys) *recorder {
	return &recorder{chain: chain, tenant: tenant, store: s, keys: k, open: map[string]*unsaved{}}
}

// Record implements audit.Sink.
func (r *recorder) Record(ctx context.Context, e audit.Event) (string, error) {
	whole, more := r.split(&e)
	save := e.End != nil || e.Decision != nil && e.Decision.Writes && e.Decision.Effect == "allow"
	if more {
		part, err := json.Marshal(whole)
		var text []byte
		if err == nil {
			text, err = json.Marshal(detail{rand.Text(), part})
		}
		if err != nil {
			return "", fault.New(fault.AuditUnavailable, "encode the details of a record: %w", err)
		}
		e.Detail = audit.Digest(text)
		save = r.add(e.Run, text) || save
	}
	if save {
		if err := r.save(ctx, e.Run); err != nil {
			return "", fault.New(fault.AuditUnavailable, "keep the details of a record: %w", err)
		}
	}
	return r.chain.Record(ctx, e)
}

// split removes from an event what the chain does not have, and returns its part as it
// was but for the names of actors. More reports whether it has texts that the store
// does not have with the run.
func (r *recorder) split(e *audit.Event) (whole any, more bool) {
	switch {
	case e.Start != nil:
		s := *e.Start
		s.Actor.ID = r.pseudonym(s.Actor.ID)
		full := s
		whole, e.Start = &full, &s
		more = len(s.Code)+len(s.Args)+len(s.Argv)+len(s.Input)+len(s.Env) > 0
		s.Code, s.Args, s.Argv, s.Input, s.Env, s.Intent, s.Session, s.File = nil, nil, nil, nil, nil, "", "", ""
	case e.Decision != nil:
		d := *e.Decision
		if d.Approval != nil {
			a := *d.Approval
			a.By = r.pseudonym(a.By)
			d.Approval = &a
		}
		full := d
		whole, e.Decision = &full, &d
		if d.Kind == "file" {
			d.Target = ""
		}
		d.Args, d.Message, d.Warnings = nil, "", nil
		more = len(full.Args)+len(full.Message)+len(full.Warnings) > 0 || full.Target != d.Target
	case e.Call != nil:
		c := *e.Call
		whole, e.Call = e.Call, &c
		more = len(c.Args)+len(c.Answer)+len(c.Message) > 0
		c.Args, c.Answer, c.Message = nil, nil, ""
	case e.Privacy != nil:
		p := *e.Privacy
		whole, e.Privacy = e.Privacy, &p
		more = len(p.Fields) > 0
		p.Fields = nil
	case e.End != nil:
		end := *e.End
		whole, e.End = e.End, &end
		more = len(end.Value)+len(end.Stdout)+len(end.Stderr) > 0 || end.World != nil
		end.Value, end.Stdout, end.Stderr, end.Message, end.World = nil, nil, nil, "", nil
	}
	return whole, more
}

// pseudonym stands for an actor in the chain.
func (r *recorder) pseudonym(actor string) string {
	if actor == "" {
		return ""
	}
	return "actor_" + r.keys.actorDigest(r.tenant, actor)[:20]
}

// add keeps a detail in memory, and reports whether it is time to save.
func (r *recorder) add(run string, text []byte) (full bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	u := r.open[run]
	if u == nil {
		u = &unsaved{}
		r.open[run] = u
	}
	u.details = append(u.details, text)
	u.size += len(text)
	return u.size >= detailBytes
}

// save writes the details of a run to the store.
func (r *recorder) save(ctx context.Context, run string) error {
	r.mu.Lock()
	u := r.open[run]
	delete(r.open, run)
	r.mu.Unlock()
	if u == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTimeout)
	defer cancel()
	sealed, err := r.keys.seal(ctx, detailPurpose(r.tenant, run), u.details)
	if err != nil {
		return err
	}
	return r.store.AddDetail(ctx, r.tenant, run, sealed)
}
