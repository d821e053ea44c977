package engine

import (
	"sync"
	"time"

	"github.com/wexec/wexec/engine/internal/sandbox"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/guests"
	"github.com/wexec/wexec/hostfns"
)

// sessionKey identifies a session. Two tenants, or two actors of one, never
// share one.
type sessionKey struct {
	table       *hostfns.Table
	actor, name string
}

// sessions holds the sessions of an engine.
type sessions struct {
	config Config
	ledger *sandbox.Ledger

	mu     sync.Mutex
	byKey  map[sessionKey]*session
	closed bool
}

// session is an instance that outlives a run. It serves one run at a time.
type session struct {
	key      sessionKey
	language string
	shared   *hostfns.Session

	// The fields below are guarded by sessions.mu, except guest and instance,
	// which belong to the run in it.
	busy  bool
	used  time.Time
	runs  int
	spent time.Duration
	timer *time.Timer
	ended *fault.Error // why it ended; returned to the next run that asks for it

	guest    *sandbox.Guest
	instance *sandbox.Instance
}

func newSessions(c Config, l *sandbox.Ledger) *sessions {
	return &sessions{config: c, ledger: l, byKey: map[sessionKey]*session{}}
}

// enter returns the session of a request to its run, and creates it if
// necessary.
func (s *sessions) enter(key sessionKey, language string) (*session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sess := s.byKey[key]
	if sess == nil {
		if len(s.byKey) >= s.config.Sessions && !s.evict() {
			return nil, fault.New(fault.LimitBusy, "all %d sessions are busy", len(s.byKey)).
				WithHint("end a session that is no longer needed")
		}
		sess = &session{key: key, language: language, shared: &hostfns.Session{ID: key.name}}
		s.byKey[key] = sess
	}
	switch {
	case sess.ended != nil:
		delete(s.byKey, key)
		return nil, sess.ended
	case sess.busy:
		return nil, fault.New(fault.UsageSession, "the session %q is busy with another run", key.name).
			WithHint("wait for that run, or use another session")
	case !sameGuest(sess.language, language):
		return nil, fault.New(fault.UsageSession, "the session %q runs %s, not %s", key.name, sess.language, language).
			WithHint("use another session for another language")
	case sess.runs >= s.config.SessionRuns:
		s.drop(sess)
		return nil, fault.New(fault.UsageSession, "the session %q reached its limit of %d runs", key.name, sess.runs).
			WithHint("start another session")
	case sess.spent >= s.config.SessionTime:
		s.drop(sess)
		return nil, fault.New(fault.UsageSession, "the session %q reached its limit of time: it ran for %s", key.name, sess.spent.Round(time.Millisecond)).
			WithHint("start another session")
	}
	sess.busy = true
	sess.runs++
	if sess.timer != nil {
		sess.timer.Stop()
	}
	return sess, nil
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
	s.mu.Lock()
	defer s.mu.Unlock()
	sess.busy, sess.used = false, time.Now()
	sess.spent += took
	if s.closed && why == nil {
		why = fault.New(fault.Cancelled, "the engine is closed")
	}
	if why != nil {
		s.free(sess)
		sess.ended = fault.New(fault.UsageSession, "the session %q ended with its last run: %s", sess.key.name, why.Message).
			WithHint("run again to start a new one, without the earlier definitions")
		return
	}
	sess.timer = time.AfterFunc(s.config.SessionIdle, func() { s.expire(sess) })
}

// expire ends a session that was not used for long.
func (s *sessions) expire(sess *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sess.busy || s.byKey[sess.key] != sess || time.Since(sess.used) < s.config.SessionIdle {
		return
	}
	s.drop(sess)
}

// evict ends the session that was unused for longest. The lock is held.
func (s *sessions) evict() bool {
	var oldest *session
	for _, sess := range s.byKey {
		if !sess.busy && (oldest == nil || sess.used.Before(oldest.used)) {
			oldest = sess
		}
	}
	if oldest == nil {
		return false
	}
	s.drop(oldest)
	return true
}

// relieve ends idle sessions, those unused for longest first, while the memory
// of all instances is at its bound: no run waits for memory that is idle.
func (s *sessions) relieve() {
	if !s.ledger.Full() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.ledger.Full() && s.evict() {
	}
}

// drop removes a session. The lock is held.
func (s *sessions) drop(sess *session) {
	delete(s.byKey, sess.key)
	s.free(sess)
}

// free discards the session's instance. The lock is held, and no run is in it.
func (s *sessions) free(sess *session) {
	if sess.timer != nil {
		sess.timer.Stop()
	}
	sess.discard()
}

func (sess *session) discard() {
	if sess.instance != nil {
		sess.guest.Discard(sess.instance)
		sess.guest, sess.instance = nil, nil
	}
}

func (s *sessions) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, sess := range s.byKey {
		s.drop(sess)
	}
}
