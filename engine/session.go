package engine

import (
	"slices"
	"sync"
	"time"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/guests"
	"github.com/wexec/wexec/hostfns"
)

// sessionKey is whose session it is: two tenants, or two actors of one, never
// reach the same one.
type sessionKey struct {
	table       *hostfns.Table
	actor, name string
}

// sessions holds the instances that outlive a run.
type sessions struct {
	e *Engine

	mu     sync.Mutex
	byKey  map[sessionKey]*session
	closed bool
}

// session is one of them. One run at a time is in it.
type session struct {
	key      sessionKey
	language string
	shared   *hostfns.Session

	// Below is guarded by sessions.mu; guest and instance belong to the run
	// that is in it.
	busy  bool
	used  time.Time
	runs  int
	spent time.Duration
	timer *time.Timer
	ended *fault.Error // why it is gone; told to the next run that asks for it

	guest    *guest
	instance *instance
}

func newSessions(e *Engine) *sessions {
	return &sessions{e: e, byKey: map[sessionKey]*session{}}
}

// enter gives the session of a request to its run, and makes it where there is
// none.
func (s *sessions) enter(key sessionKey, language string) (*session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.byKey[key]
	if one == nil {
		if len(s.byKey) >= s.e.config.Sessions && !s.evict() {
			return nil, fault.New(fault.LimitBusy, "%d sessions are busy already", len(s.byKey)).
				WithHint("end a session that is not needed any more")
		}
		one = &session{key: key, language: language, shared: &hostfns.Session{ID: key.name}}
		s.byKey[key] = one
	}
	switch {
	case one.ended != nil:
		delete(s.byKey, key)
		return nil, one.ended
	case one.busy:
		return nil, fault.New(fault.UsageSession, "the session %q is in the middle of a run", key.name).
			WithHint("wait for that run, or use another session")
	case !sameGuest(one.language, language):
		return nil, fault.New(fault.UsageSession, "the session %q runs %s, not %s", key.name, one.language, language).
			WithHint("use another session for another language")
	case one.runs >= s.e.config.SessionRuns:
		return nil, s.drop(one, fault.New(fault.UsageSession, "the session %q has had its %d runs", key.name, one.runs).
			WithHint("start another session"))
	case one.spent >= s.e.config.SessionTime:
		return nil, s.drop(one, fault.New(fault.UsageSession, "the session %q has run for %s in all", key.name, one.spent.Round(time.Second)).
			WithHint("start another session"))
	}
	one.busy = true
	one.runs++
	if one.timer != nil {
		one.timer.Stop()
	}
	return one, nil
}

// sameGuest reports whether two languages run in the same guest, as JavaScript
// and TypeScript do.
func sameGuest(a, b string) bool {
	g, errG := guests.Lookup(a)
	h, errH := guests.Lookup(b)
	return errG == nil && errH == nil && g.Module == h.Module
}

// leave ends a run in a session. Where why is not nil, the session ends too.
func (s *sessions) leave(one *session, took time.Duration, why *fault.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one.busy, one.used = false, time.Now()
	one.spent += took
	if s.closed && why == nil {
		why = fault.New(fault.Cancelled, "the engine is closed")
	}
	if why != nil {
		s.free(one)
		one.ended = fault.New(fault.UsageSession, "the session %q ended with its last run: %s", one.key.name, why.Message).
			WithHint("run again to start it anew; what it had defined is gone")
		return
	}
	one.timer = time.AfterFunc(s.e.config.SessionIdle, func() { s.expire(one) })
}

// expire ends a session that nobody uses.
func (s *sessions) expire(one *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one.busy || s.byKey[one.key] != one || time.Since(one.used) < s.e.config.SessionIdle {
		return
	}
	_ = s.drop(one, nil)
}

// evict ends the session that was unused for longest. The lock is held.
func (s *sessions) evict() bool {
	var oldest *session
	for _, one := range s.byKey {
		if !one.busy && (oldest == nil || one.used.Before(oldest.used)) {
			oldest = one
		}
	}
	if oldest == nil {
		return false
	}
	_ = s.drop(oldest, nil)
	return true
}

// relieve ends idle sessions, those unused for longest first, while the
// memories of all instances are over their bound: nobody may wait for memory
// that only lies there.
func (s *sessions) relieve() {
	if s.e.ledger.bytes.Load() < s.e.config.Memory {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.e.ledger.bytes.Load() >= s.e.config.Memory && s.evict() {
	}
}

// drop forgets a session. The lock is held.
func (s *sessions) drop(one *session, why error) error {
	if s.byKey[one.key] == one {
		delete(s.byKey, one.key)
	}
	s.free(one)
	return why
}

// free gives its instance back. The lock is held, and no run is in it.
func (s *sessions) free(one *session) {
	if one.timer != nil {
		one.timer.Stop()
	}
	if one.instance != nil {
		one.guest.discard(one.instance)
		one.instance = nil
	}
}

func (s *sessions) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, one := range s.byKey {
		_ = s.drop(one, nil)
	}
}

// Sessions names the sessions of an actor of a table, sorted. A nil table is
// the engine's own.
func (e *Engine) Sessions(table *hostfns.Table, actor string) []string {
	if table == nil {
		table = e.table
	}
	e.sessions.mu.Lock()
	defer e.sessions.mu.Unlock()
	var names []string
	for key, one := range e.sessions.byKey {
		if key.table == table && key.actor == actor && one.ended == nil {
			names = append(names, key.name)
		}
	}
	slices.Sort(names)
	return names
}

// EndSession ends a session of an actor of a table. A nil table is the
// engine's own. A session that is not there, or has a run in it, is
// usage.session.
func (e *Engine) EndSession(table *hostfns.Table, actor, name string) error {
	if table == nil {
		table = e.table
	}
	s := e.sessions
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.byKey[sessionKey{table, actor, name}]
	switch {
	case one == nil:
		return fault.New(fault.UsageSession, "there is no session %q", name)
	case one.busy:
		return fault.New(fault.UsageSession, "the session %q is in the middle of a run", name).
			WithHint("cancel that run first")
	}
	_ = s.drop(one, nil)
	return nil
}

// runInSession runs the request's code in the instance of its session.
func (j *job) runInSession(r *run) {
	s := j.session
	if err := j.prepare(r); err != nil {
		j.failIn(r.ctx, err)
		return
	}
	if s.instance == nil {
		g, err := j.e.guests.get(r.ctx, j.req.Language, j.compiling)
		if err != nil {
			j.failIn(r.ctx, err)
			return
		}
		i, err := g.take(r.ctx, j.limits.Memory)
		if err != nil {
			j.failIn(r.ctx, err)
			return
		}
		s.guest, s.instance = g, i
	}
	if have := s.instance.mems.guest.size; have > j.limits.Memory {
		j.fail(fault.New(fault.LimitMemory, "the session holds %s already, more than the %s this run may have", size(have), size(j.limits.Memory)).
			WithHint("allow more with --memory %s, or start another session", size(roundUp(have))))
		return
	}
	if j.drive(r, s.guest, s.instance) {
		s.guest.discard(s.instance)
		s.guest, s.instance = nil, nil
		j.runInSession(r)
	}
}

// leaveSession ends the run's part in its session.
func (j *job) leaveSession() {
	if j.session == nil {
		return
	}
	var why *fault.Error
	switch i := j.session.instance; {
	case i == nil:
	case i.broken:
		if why = j.fault; why == nil {
			why = fault.New(fault.Internal, "the interpreter is in no state to go on")
		}
	case j.fault != nil && j.fault.Code.Class() == fault.ClassInternal:
		why = j.fault
	}
	took := time.Duration(j.res.Usage.GuestMS) * time.Millisecond
	j.e.sessions.leave(j.session, took, why)
}
