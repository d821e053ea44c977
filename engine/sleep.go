package engine

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/wexec/wexec/engine/internal/sandbox"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/internal/snapshot"
	"github.com/wexec/wexec/privacy"
)

// sessionKey identifies a session. Two tenants, or two actors of one, never
// share one. The table tells tenants without a name apart.
type sessionKey struct {
	table *hostfns.Table // nil if the tenant has a name
	SessionID
}

// sessions holds the sessions of an engine that are awake.
type sessions struct {
	e      *Engine
	config Config
	ledger *sandbox.Ledger

	mu     sync.Mutex
	byKey  map[sessionKey]*session
	closed bool
	work   sync.WaitGroup // sessions that fall asleep because they are idle
}

// session is an instance that outlives a run. It serves one run at a time.
type session struct {
	key      sessionKey
	language string

	// The fields below are guarded by sessions.mu, except for the last ones, which
	// belong to who made the session busy.
	busy  bool
	moved chan struct{} // closed when the session is no longer woken, put to sleep or forked; nil: it is not
	used  time.Time
	runs  []string // ids
	spent time.Duration
	timer *time.Timer
	gone  bool           // it ends when it is no longer busy
	ended *fault.Error   // why it ended; returned to the next run that asks for it
	table *hostfns.Table // of its last run; nil: it had no run yet

	guest      *sandbox.Guest
	instance   *sandbox.Instance
	frozen     *sandbox.Frozen // what forks go on from; nil: not made since its last run
	shared     *hostfns.Session
	policy     string // digest of the policy of its last run
	created    time.Time
	uptime     time.Duration // monotonic time at the end of its last run
	generation int64         // of the image that it woke from
}

func newSessions(e *Engine) *sessions {
	return &sessions{e: e, config: e.config, ledger: &e.ledger, byKey: map[sessionKey]*session{}}
}

func newSession(key sessionKey, language string) *session {
	now := time.Now()
	return &session{key: key, language: language, shared: &hostfns.Session{ID: key.Name}, created: now, used: now}
}

// occupy makes a session busy. The lock is held.
func (s *sessions) occupy(sess *session) {
	sess.busy = true
	if sess.timer != nil {
		sess.timer.Stop()
	}
}

// settle tells those who wait that a session is no longer moved. The lock is held.
func (s *sessions) settle(sess *session) {
	if sess.moved != nil {
		close(sess.moved)
		sess.moved = nil
	}
}

// release makes a session idle, or ends one that is gone. The lock is held.
func (s *sessions) release(sess *session) {
	s.settle(sess)
	if sess.gone {
		sess.moved = make(chan struct{}) // a run that asks for the session waits until its image is deleted
		s.work.Go(func() {
			s.forget(sess.key)
			s.mu.Lock()
			defer s.mu.Unlock()
			s.drop(sess)
		})
		return
	}
	sess.busy, sess.used = false, time.Now()
	sess.timer = time.AfterFunc(s.config.SessionIdle, func() { s.expire(sess) })
}

// expire ends a session that was not used for long, or puts it to sleep.
func (s *sessions) expire(sess *session) {
	s.mu.Lock()
	if s.closed || sess.busy || s.byKey[sess.key] != sess || time.Since(sess.used) < s.config.SessionIdle {
		s.mu.Unlock()
		return
	}
	if !s.sleeps(sess.key) {
		s.drop(sess)
		s.mu.Unlock()
		return
	}
	s.work.Add(1)
	defer s.work.Done()
	rest := s.rest(sess)
	s.mu.Unlock()
	_ = rest(context.WithoutCancel(s.e.ctx))
}

// evict ends the session that was unused for longest, or returns a function that puts
// it to sleep. It returns false if all are busy. The lock is held.
func (s *sessions) evict() (wait func(context.Context) error, ok bool) {
	var oldest *session
	for _, sess := range s.byKey {
		if !sess.busy && (oldest == nil || sess.used.Before(oldest.used)) {
			oldest = sess
		}
	}
	switch {
	case oldest == nil:
		return nil, false
	case s.sleeps(oldest.key) && oldest.ended == nil:
		return s.rest(oldest), true
	}
	s.drop(oldest)
	return nil, true
}

// relieve ends idle sessions or puts them to sleep, those unused for longest first,
// while the memory of all instances is at its bound: no run waits for memory that is
// idle.
func (s *sessions) relieve() {
	for s.ledger.Full() {
		s.mu.Lock()
		wait, ok := s.evict()
		s.mu.Unlock()
		if !ok || wait != nil && wait(context.WithoutCancel(s.e.ctx)) != nil {
			return
		}
	}
}

// drop removes a session. The lock is held.
func (s *sessions) drop(sess *session) {
	delete(s.byKey, sess.key)
	s.settle(sess)
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
	sess.thaw()
	if sess.instance != nil {
		sess.guest.Discard(sess.instance)
		sess.guest, sess.instance = nil, nil
	}
}

// close puts the sessions to sleep that can, and ends all. No run is in one.
func (s *sessions) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.work.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		var next *session
		for _, sess := range s.byKey {
			next = sess
			break
		}
		if next == nil {
			return
		}
		if next.ended == nil && s.sleeps(next.key) {
			rest := s.rest(next)
			s.mu.Unlock()
			err := rest(context.WithoutCancel(s.e.ctx))
			s.mu.Lock()
			if err == nil {
				continue
			}
		}
		s.drop(next)
	}
}

// sleeps reports whether sessions with a key can sleep.
func (s *sessions) sleeps(key sessionKey) bool { return key.Tenant != "" && s.config.Images != nil }

// forget deletes what is kept of a session that ended.
func (s *sessions) forget(key sessionKey) {
	if !s.sleeps(key) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.e.ctx), imageTimeout)
	defer cancel()
	if err := s.config.Images.Delete(ctx, key.SessionID); err != nil {
		s.e.log.Error("cannot delete a session that ended", "session", key.Name, "error", err)
	}
}

// imageTimeout bounds how long an image is written.
const imageTimeout = 20 * time.Second

// rest makes an idle session busy and returns a function that puts it to sleep. The
// lock is held; it must not be held when the function is called.
func (s *sessions) rest(sess *session) func(context.Context) error {
	s.occupy(sess)
	sess.moved = make(chan struct{})
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, imageTimeout)
		defer cancel()
		err := s.save(ctx, sess)
		s.mu.Lock()
		defer s.mu.Unlock()
		if err != nil {
			s.e.log.Error("cannot put a session to sleep", "session", sess.key.Name, "error", err)
			s.release(sess)
			return err
		}
		s.drop(sess)
		return nil
	}
}

// save keeps the image of a session that the caller has made busy.
func (s *sessions) save(ctx context.Context, sess *session) error {
	data, err := sess.image(sess.generation + 1)
	if err != nil {
		return err
	}
	return s.config.Images.Put(ctx, sess.key.SessionID, SessionImage{Language: sess.language, Generation: sess.generation + 1, Data: data})
}

// head returns what the image of the session has apart from its memory.
func (sess *session) head(generation int64) imageHead {
	return imageHead{SessionID: sess.key.SessionID, Language: sess.language, Generation: generation, Policy: sess.policy,
		Runs: sess.runs, Spent: sess.spent, Uptime: sess.uptime, Created: sess.created, Shared: sess.shared.State()}
}

// memory returns what the memory of the session's instance has, and notes in the head
// how it is read.
func (sess *session) memory(head *imageHead) ([]byte, error) {
	if sess.instance == nil {
		return nil, nil
	}
	var b bytes.Buffer
	stale, err := sess.instance.Save(&b)
	if err != nil {
		return nil, err
	}
	head.Guest, head.Memory, head.Stale = sess.guest.Digest, sess.instance.MemorySize(), stale
	return b.Bytes(), nil
}

// freeze returns what forks of a session go on from, nil if it has no memory yet. It is
// made in another instance, once: the memory of the session stays as it is.
func (s *sessions) freeze(ctx context.Context, sess *session) (*sandbox.Frozen, error) {
	if sess.frozen != nil || sess.instance == nil {
		return sess.frozen, nil
	}
	head := sess.head(0)
	memory, err := sess.memory(&head)
	if err != nil {
		return nil, err
	}
	twin := newSession(sess.key, sess.language)
	defer twin.discard()
	fill := func(i *sandbox.Instance) error { return i.Load(bytes.NewReader(memory), head.Memory, head.Stale) }
	if err := s.load(ctx, twin, head, fill); err != nil {
		return nil, err
	}
	sess.frozen, err = twin.instance.Freeze(ctx)
	return sess.frozen, err
}

// thaw drops what forks go on from.
func (sess *session) thaw() {
	if sess.frozen != nil {
		sess.frozen.Close()
		sess.frozen = nil
	}
}

// image returns the data of the session's image of a generation.
func (sess *session) image(generation int64) ([]byte, error) {
	head := sess.head(generation)
	memory, err := sess.memory(&head)
	if err != nil {
		return nil, err
	}
	encoded, err := json.Marshal(head)
	if err != nil {
		return nil, fault.New(fault.Internal, "encode the state of the session: %w", err)
	}
	out := bytes.NewBufferString(imageMagic)
	z, err := zstd.NewWriter(out, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, fault.New(fault.Internal, "compress the session: %w", err)
	}
	for _, part := range [][]byte{binary.AppendUvarint(nil, uint64(len(encoded))), encoded, memory} {
		if _, err := z.Write(part); err != nil {
			return nil, fault.New(fault.Internal, "compress the session: %w", err)
		}
	}
	if err := z.Close(); err != nil {
		return nil, fault.New(fault.Internal, "compress the session: %w", err)
	}
	if out.Len() > maxImage {
		return nil, fault.New(fault.UsageSession, "the session %q has %d bytes, more than %d", sess.key.Name, out.Len(), maxImage)
	}
	return out.Bytes(), nil
}

// begin wakes a session that is new here, or creates it in a language.
func (s *sessions) begin(ctx context.Context, sess *session, language string) error {
	id := sess.key.SessionID
	image, err := s.config.Images.Get(ctx, id)
	switch {
	case err != nil:
		return err
	case image == nil && language == "":
		return UnknownSession(id.Name)
	case image == nil:
		return s.config.Images.Claim(ctx, id, language, 0)
	}
	leave, err := s.e.cores.Borrow(ctx) // a run that enters has no core yet
	if err != nil {
		return err
	}
	defer leave()
	if err := s.wake(ctx, sess, image); err != nil {
		return err
	}
	return s.config.Images.Claim(ctx, id, sess.language, image.Generation)
}

// wake makes a session what its image has.
func (s *sessions) wake(ctx context.Context, sess *session, image *SessionImage) error {
	head, memory, err := readImage(sess.key.SessionID, image)
	if err != nil {
		return err
	}
	defer memory.Close()
	return s.load(ctx, sess, head, func(i *sandbox.Instance) error { return i.Load(memory, head.Memory, head.Stale) })
}

// load makes a session what a head has, in an instance that fill gives its memory.
func (s *sessions) load(ctx context.Context, sess *session, head imageHead, fill func(*sandbox.Instance) error) error {
	name := sess.key.Name
	sess.language, sess.generation, sess.policy = head.Language, head.Generation, head.Policy
	sess.runs, sess.spent, sess.uptime, sess.created = head.Runs, head.Spent, head.Uptime, head.Created
	sess.shared = hostfns.RestoreSession(name, head.Shared, true)
	if head.Memory == 0 {
		return nil
	}
	g, err := s.e.guests.Get(ctx, head.Language, nil)
	if err != nil {
		return err
	}
	if g.Digest != head.Guest {
		return refused(name, "it ran in another build of the interpreter").
			WithHint("use the version of wexec that put it to sleep, or end the session")
	}
	if more := head.Memory - g.Minimum; more > 0 && !s.ledger.Fits(more) {
		if s.relieve(); !s.ledger.Fits(more) {
			return fault.New(fault.LimitBusy, "wake the session %q: there is no memory left for it", name).WithHint("try again when other runs have ended")
		}
	}
	i, err := g.Take(ctx, head.Memory)
	if err != nil {
		return err
	}
	if err := fill(i); err != nil {
		g.Discard(i)
		if errors.Is(err, snapshot.ErrDelta) || errors.Is(err, zstd.ErrMagicMismatch) {
			return refused(name, "%w", err)
		}
		return err
	}
	sess.guest, sess.instance = g, i
	return nil
}

// until returns a function that waits until a channel is closed.
func until(done <-chan struct{}) func(context.Context) error {
	return func(ctx context.Context) error {
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// LiveSession is a session that is awake, see [Engine.EndSessions]. Its tenant is the
// owner of its table, unless its runs named one.
type LiveSession struct {
	SessionID
	Runs   []string // ids of the runs that were in it
	shared *hostfns.Session
}

// Issued returns the tokens of the session with their values.
func (l LiveSession) Issued() []privacy.Issued { return l.shared.Issued() }

// EndSessions ends the sessions that are awake and that match selects, with their
// images. A run in one of them goes on, and the session ends with it.
func (e *Engine) EndSessions(ctx context.Context, match func(LiveSession) bool) error {
	if err := e.enter(); err != nil {
		return err
	}
	defer e.live.Done()
	s := e.sessions
	s.mu.Lock()
	all := slices.Collect(maps.Values(s.byKey))
	s.mu.Unlock()
	for _, sess := range all {
		if err := s.endIf(ctx, sess, match); err != nil {
			return err
		}
	}
	return nil
}

// endIf ends a session if match selects it.
func (s *sessions) endIf(ctx context.Context, sess *session, match func(LiveSession) bool) error {
	for {
		s.mu.Lock()
		if s.byKey[sess.key] != sess {
			s.mu.Unlock()
			return nil // it has ended, or sleeps
		}
		moved := sess.moved
		live := LiveSession{sess.key.SessionID, slices.Clone(sess.runs), sess.shared}
		if live.Tenant == "" && sess.table != nil {
			live.Tenant = sess.table.Owner()
		}
		s.mu.Unlock()
		if moved != nil {
			if err := until(moved)(ctx); err != nil {
				return err
			}
			continue
		}
		if !match(live) {
			return nil
		}
		s.mu.Lock()
		if s.byKey[sess.key] == sess && sess.moved != nil {
			s.mu.Unlock()
			continue
		}
		if s.byKey[sess.key] == sess && !sess.gone {
			sess.gone = true
			if !sess.busy {
				s.occupy(sess)
				s.release(sess)
			}
		}
		s.mu.Unlock()
		return nil
	}
}
