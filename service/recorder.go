package service

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"sync"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/store"
)

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

// pseudonym is what the chain has of an actor.
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
