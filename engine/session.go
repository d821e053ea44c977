package engine

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/wexec/wexec/engine/internal/sandbox"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/guests"
	"github.com/wexec/wexec/hostfns"
)

// sessionKeyOf returns the key of the session of a request.
func sessionKeyOf(r *Request, table *hostfns.Table) sessionKey {
	key := sessionKey{SessionID: SessionID{r.Tenant, r.Actor.ID, r.Session}}
	if r.Tenant == "" {
		key.table = table
	}
	return key
}

// enter returns the session of a request to the run with an id. It wakes it, or creates
// it if necessary.
func (s *sessions) enter(ctx context.Context, key sessionKey, language, id string, table *hostfns.Table) (*session, error) {
	sess, err := s.hold(ctx, key, language)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var why *fault.Error
	switch {
	case !sameGuest(sess.language, language):
		s.release(sess)
		return nil, fault.New(fault.UsageSession, "the session %q runs %s, not %s", key.Name, sess.language, language).
			WithHint("use another session for another language")
	case len(sess.runs) >= s.config.SessionRuns:
		why = fault.New(fault.UsageSession, "the session %q reached its limit of %d runs", key.Name, len(sess.runs))
	case sess.spent >= s.config.SessionTime:
		why = fault.New(fault.UsageSession, "the session %q reached its limit of time: it ran for %s", key.Name, sess.spent.Round(time.Millisecond))
	}
	if why != nil {
		s.drop(sess)
		s.mu.Unlock()
		s.forget(key)
		s.mu.Lock()
		return nil, why.WithHint("start another session")
	}
	sess.thaw()
	sess.runs = append(sess.runs, id)
	sess.follow(table)
	return sess, nil
}

// follow makes the session one of a table. Approvals that a person gave under another
// policy are not remembered, and another table finds personal data in its own way.
func (sess *session) follow(table *hostfns.Table) {
	digest := table.Policy().Digest()
	changed := sess.policy != "" && sess.policy != digest
	if changed || sess.table != nil && sess.table != table {
		sess.shared = hostfns.RestoreSession(sess.key.Name, sess.shared.State(), !changed)
	}
	sess.table, sess.policy = table, digest
}

// hold makes a session busy for the caller. It is woken, or created in a language if
// that is not empty.
func (s *sessions) hold(ctx context.Context, key sessionKey, language string) (*session, error) {
	for {
		sess, wait, err := s.take(key, language)
		switch {
		case err != nil:
			return nil, err
		case wait != nil: // another goroutine wakes it, or puts this or another one to sleep
			if err := wait(ctx); err != nil {
				return nil, err
			}
		case sess.moved == nil:
			return sess, nil
		default:
			err := s.begin(ctx, sess, language)
			s.mu.Lock()
			defer s.mu.Unlock()
			s.settle(sess)
			if err != nil {
				s.drop(sess)
				return nil, err
			}
			return sess, nil
		}
	}
}

// take is a step of hold: it returns a session that is busy for the caller, or what to
// do before the next attempt. A session that has moved set is new here.
func (s *sessions) take(key sessionKey, language string) (sess *session, wait func(context.Context) error, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.takeNow(key, language)
}

// takeNow is take. The lock is held.
func (s *sessions) takeNow(key sessionKey, language string) (sess *session, wait func(context.Context) error, err error) {
	if s.closed {
		return nil, nil, fault.New(fault.Cancelled, "the engine is closed")
	}
	sess = s.byKey[key]
	switch {
	case sess == nil:
	case sess.ended != nil:
		delete(s.byKey, key)
		return nil, nil, sess.ended
	case sess.moved != nil:
		return nil, until(sess.moved), nil
	case sess.busy:
		return nil, nil, inTheWay("the session %q is busy with another run", key.Name).
			WithHint("wait for that run, or use another session")
	default:
		s.occupy(sess)
		return sess, nil, nil
	}
	if language == "" && !s.sleeps(key) {
		return nil, nil, UnknownSession(key.Name)
	}
	if len(s.byKey) >= s.config.Sessions {
		wait, ok := s.evict()
		if !ok {
			return nil, nil, fault.New(fault.LimitBusy, "all %d sessions are busy", len(s.byKey)).
				WithHint("end a session that is no longer needed")
		}
		if wait != nil {
			return nil, wait, nil
		}
	}
	sess = newSession(key, language)
	s.byKey[key] = sess
	s.occupy(sess)
	if s.sleeps(key) {
		sess.moved = make(chan struct{})
	}
	return sess, nil, nil
}

// sameGuest reports whether two languages run in the same guest, as JavaScript
// and TypeScript do.
func sameGuest(a, b string) bool {
	g, errG := guests.Lookup(a)
	h, errH := guests.Lookup(b)
	return errG == nil && errH == nil && g.Module == h.Module
}

// leave ends a run in a session. If why is not nil, the session ends too.
func (s *sessions) leave(sess *session, took time.Duration, why *fault.Error) {
	if why != nil {
		s.forget(sess.key)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sess.spent += took
	if s.closed && why == nil {
		why = fault.New(fault.Cancelled, "the engine is closed")
	}
	if why != nil {
		sess.busy, sess.used = false, time.Now()
		if sess.gone {
			s.drop(sess)
			return
		}
		s.free(sess)
		sess.ended = fault.New(fault.UsageSession, "the session %q ended with its last run: %s", sess.key.Name, why.Message).
			WithHint("run again to start a new one, without the earlier definitions")
		return
	}
	s.release(sess)
}

// clock returns the monotonic time that has passed in the session before a run. The
// virtual clock does not advance between runs.
func (sess *session) clock(virtual bool) time.Duration {
	if virtual {
		return sess.uptime
	}
	return max(sess.uptime, time.Since(sess.created))
}

// find returns the session that a table's actor has under a name, or nil. The lock is
// held.
func (s *sessions) find(table *hostfns.Table, actor, name string) *session {
	for key, sess := range s.byKey {
		if cmp.Or(key.table, sess.table) == table && key.Actor == actor && key.Name == name {
			return sess
		}
	}
	return nil
}

// idOf completes the id of a session in a call of a host.
func (e *Engine) idOf(id SessionID) (sessionKey, error) {
	if id.Tenant == "" || id.Name == "" {
		return sessionKey{}, fault.New(fault.UsageSession, "a session needs the names of a tenant and of itself")
	}
	return sessionKey{SessionID: id}, nil
}

// hold makes a session busy for a call of a host, which ends with done.
func (e *Engine) hold(ctx context.Context, id SessionID, language string) (sess *session, done func(), err error) {
	key, err := e.idOf(id)
	if err != nil {
		return nil, nil, err
	}
	if err := e.enter(); err != nil {
		return nil, nil, err
	}
	if sess, err = e.sessions.hold(ctx, key, language); err != nil {
		e.live.Done()
		return nil, nil, err
	}
	return sess, func() {
		e.sessions.mu.Lock()
		defer e.sessions.mu.Unlock()
		if e.sessions.byKey[key] == sess {
			e.sessions.release(sess)
		}
		e.live.Done()
	}, nil
}

// CreateSession creates a session, which the first run with its name would do too. It
// is usage.session if there is one.
func (e *Engine) CreateSession(ctx context.Context, id SessionID, language string) error {
	language, err := Language(language)
	if err != nil {
		return err
	}
	all, err := e.ListSessions(ctx, id.Tenant, id.Actor)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(i SessionInfo) bool { return i.Name == id.Name }) {
		return SessionExists(id.Name)
	}
	_, done, err := e.hold(ctx, id, language)
	if err == nil {
		done()
	}
	return err
}

// withCore puts a session to sleep for a caller, when there is a core for it.
func (s *sessions) withCore(ctx context.Context, sess *session, rest func(context.Context) error) error {
	leave, err := s.e.cores.Borrow(ctx)
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.release(sess)
		return err
	}
	defer leave()
	return rest(context.WithoutCancel(ctx))
}

// Wake wakes a session that sleeps, so that its next run finds it awake. One that is
// awake stays so.
func (e *Engine) Wake(ctx context.Context, id SessionID) error {
	_, done, err := e.hold(ctx, id, "")
	if err == nil {
		done()
	}
	return err
}

// Sleep puts a session to sleep. One that sleeps stays so. Without [Config].Images it
// is usage.session.
func (e *Engine) Sleep(ctx context.Context, id SessionID) error {
	key, err := e.idOf(id)
	if err != nil {
		return err
	}
	if err := e.enter(); err != nil {
		return err
	}
	defer e.live.Done()
	s := e.sessions
	if !s.sleeps(key) {
		return fault.New(fault.UsageSession, "the session %q cannot sleep: this engine keeps no images", id.Name)
	}
	for {
		s.mu.Lock()
		sess := s.byKey[key]
		switch {
		case sess == nil:
			s.mu.Unlock()
			image, err := s.config.Images.Get(ctx, id)
			if err == nil && image == nil {
				err = UnknownSession(id.Name)
			}
			return err
		case sess.ended != nil:
			delete(s.byKey, key)
			s.mu.Unlock()
			return sess.ended
		case sess.moved != nil:
			wait := until(sess.moved)
			s.mu.Unlock()
			if err := wait(ctx); err != nil {
				return err
			}
		case sess.busy:
			s.mu.Unlock()
			return inTheWay("the session %q is busy with a run", id.Name).WithHint("cancel that run first")
		default:
			rest := s.rest(sess)
			s.mu.Unlock()
			return s.withCore(ctx, sess, rest)
		}
	}
}

// Fork makes a new session of a session: it goes on with what that one has now, and
// neither sees what happens in the other one from then on. The first one is awake
// afterwards. Objects that give random numbers give the same ones in both.
func (e *Engine) Fork(ctx context.Context, id SessionID, name string) error {
	sess, done, err := e.hold(ctx, id, "")
	if err != nil {
		return err
	}
	defer done()
	leave, err := e.cores.Borrow(ctx)
	if err != nil {
		return err
	}
	defer leave()
	s := e.sessions
	frozen, err := s.freeze(ctx, sess)
	if err != nil {
		return err
	}
	head := sess.head(0)
	if frozen != nil {
		head.Guest, head.Memory = sess.guest.Digest, frozen.Size()
	}
	to := sessionKey{SessionID: SessionID{id.Tenant, id.Actor, name}}
	child, err := s.child(ctx, to, sess.language)
	if err != nil {
		return err
	}
	if err = s.load(ctx, child, head, func(i *sandbox.Instance) error { return i.GoOn(frozen) }); err != nil {
		s.forget(to)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.drop(child)
		return err
	}
	child.table = sess.table
	s.release(child)
	return nil
}

// child creates a session that does not exist yet, and makes it busy.
func (s *sessions) child(ctx context.Context, key sessionKey, language string) (*session, error) {
	if _, err := s.e.idOf(key.SessionID); err != nil {
		return nil, err
	}
	for {
		var child *session
		var wait func(context.Context) error
		var err error
		s.mu.Lock()
		if s.byKey[key] != nil {
			err = SessionExists(key.Name)
		} else {
			child, wait, err = s.takeNow(key, language)
		}
		s.mu.Unlock()
		if wait != nil {
			err = wait(ctx)
		}
		if err != nil {
			return nil, err
		}
		if child == nil {
			continue
		}
		if s.sleeps(key) {
			if err := s.config.Images.Claim(ctx, key.SessionID, language, 0); err != nil {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.drop(child)
				return nil, err
			}
		}
		return child, nil
	}
}

// End ends a session, awake or asleep. It is usage.session if it does not exist or is
// busy.
func (e *Engine) End(ctx context.Context, id SessionID) error {
	key, err := e.idOf(id)
	if err != nil {
		return err
	}
	if err := e.enter(); err != nil {
		return err
	}
	defer e.live.Done()
	s := e.sessions
	for {
		s.mu.Lock()
		sess := s.byKey[key]
		var moved <-chan struct{}
		if sess != nil {
			moved = sess.moved
		}
		if moved == nil {
			break
		}
		s.mu.Unlock()
		if err := until(moved)(ctx); err != nil {
			return err
		}
	}
	sess := s.byKey[key]
	if sess != nil && sess.busy {
		s.mu.Unlock()
		return inTheWay("end the session %q: it is busy with a run", id.Name).WithHint("cancel that run first")
	}
	if sess != nil {
		s.drop(sess)
	}
	s.mu.Unlock()
	if s.config.Images == nil {
		if sess == nil {
			return UnknownSession(id.Name)
		}
		return nil
	}
	if sess == nil {
		all, err := s.config.Images.List(ctx, id.Tenant, id.Actor)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(all, func(i SessionInfo) bool { return i.Name == id.Name }) {
			return UnknownSession(id.Name)
		}
	}
	return s.config.Images.Delete(ctx, id)
}

// ListSessions returns the sessions of a tenant, awake and asleep, by name, and of one
// actor unless that is empty.
func (e *Engine) ListSessions(ctx context.Context, tenant, actor string) ([]SessionInfo, error) {
	var all []SessionInfo
	s := e.sessions
	if s.config.Images != nil {
		var err error
		if all, err = s.config.Images.List(ctx, tenant, actor); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, sess := range s.byKey {
		if tenant == "" || key.Tenant != tenant || actor != "" && key.Actor != actor || sess.ended != nil {
			continue
		}
		info := SessionInfo{Name: key.Name, Actor: key.Actor, Language: sess.language, State: SessionAwake, Created: sess.created, Used: sess.used}
		if sess.busy {
			info.State = SessionBusy
		} else if sess.instance != nil {
			info.Bytes = sess.instance.MemorySize()
		}
		i := slices.IndexFunc(all, func(i SessionInfo) bool { return i.Name == key.Name && i.Actor == key.Actor })
		if i < 0 {
			all = append(all, info)
		} else {
			all[i] = info
		}
	}
	slices.SortFunc(all, func(a, b SessionInfo) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Actor, b.Actor))
	})
	return all, nil
}

// Sessions returns the names of an actor's sessions in a table, sorted. A nil
// table is the engine's own.
func (e *Engine) Sessions(table *hostfns.Table, actor string) []string {
	e.sessions.mu.Lock()
	defer e.sessions.mu.Unlock()
	var names []string
	for key, sess := range e.sessions.byKey {
		if cmp.Or(key.table, sess.table) == cmp.Or(table, e.table) && key.Actor == actor && sess.ended == nil {
			names = append(names, key.Name)
		}
	}
	slices.Sort(names)
	return names
}

// EndSession ends a session of an actor in a table that is awake. A nil table is the
// engine's own. It is usage.session if the session does not exist or is busy.
func (e *Engine) EndSession(table *hostfns.Table, actor, name string) error {
	s := e.sessions
	s.mu.Lock()
	sess := s.find(cmp.Or(table, e.table), actor, name)
	switch {
	case sess == nil:
		s.mu.Unlock()
		return fault.New(fault.UsageSession, "end the session %q: it does not exist", name)
	case sess.busy:
		s.mu.Unlock()
		return fault.New(fault.UsageSession, "end the session %q: it is busy with a run", name).
			WithHint("cancel that run first")
	}
	s.drop(sess)
	s.mu.Unlock()
	s.forget(sess.key)
	return nil
}
