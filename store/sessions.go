package store

import (
	"context"
	"time"

	"github.com/wexec/wexec/fault"
)

// SessionKey names a session.
type SessionKey struct{ Tenant, Actor, Name string }

// Session is a session that sleeps, or that is awake in a process. The image of one
// that sleeps is a blob elsewhere.
type Session struct {
	SessionKey
	Language   string
	Generation int64  // of the image; awake: of the one that it woke from
	Owner      string // the process in which it is awake; "" if it sleeps
	Renewed    time.Time
	Created    time.Time
	Used       time.Time
	Bytes      int64
	Blob       string // digest of the sealed image
	Seal       []byte // wrapped key of the blob
}

// Bounds of the sessions of a tenant.
const (
	maxSessions     = 20_000
	maxSessionBytes = 16 << 30
)

const sessionColumns = `tenant, actor, name, language, generation, owner, renewed, created, used, bytes, blob, seal`

func scanSession(scan func(...any) error) (x Session, err error) {
	var renewed, created, used int64
	err = scan(&x.Tenant, &x.Actor, &x.Name, &x.Language, &x.Generation, &x.Owner, &renewed, &created, &used, &x.Bytes, &x.Blob, &x.Seal)
	x.Renewed, x.Created, x.Used = timeOf(renewed), timeOf(created), timeOf(used)
	return x, err
}

// sessions reads sessions by a condition.
func (tx *Tx) sessions(where string, args ...any) (all []Session, err error) {
	for scan, err := range tx.rows(`SELECT `+sessionColumns+` FROM sessions WHERE `+where, args...) {
		if err != nil {
			return nil, err
		}
		x, err := scanSession(scan)
		if err != nil {
			return nil, err
		}
		all = append(all, x)
	}
	return all, nil
}

func (tx *Tx) session(k SessionKey) (x Session, found bool, err error) {
	all, err := tx.sessions(`tenant = $1 AND actor = $2 AND name = $3`, k.Tenant, k.Actor, k.Name)
	if len(all) == 0 {
		return x, false, err
	}
	return all[0], true, nil
}

// Session returns a session, and whether it exists.
func (s *Store) Session(ctx context.Context, k SessionKey) (x Session, found bool, err error) {
	err = s.view(ctx, func(tx *Tx) error {
		x, found, err = tx.session(k)
		return err
	})
	return x, found, err
}

// Sessions returns the sessions of a tenant, and of one actor unless that is empty.
func (s *Store) Sessions(ctx context.Context, tenant, actor string) (all []Session, err error) {
	err = s.view(ctx, func(tx *Tx) error {
		all, err = tx.sessions(`tenant = $1 AND ($2 = '' OR actor = $2) ORDER BY name, actor`, tenant, actor)
		return err
	})
	return all, err
}

// ClaimSession makes a process the owner of a session. With generation 0 it creates the
// session, else the session must sleep with that generation. It reports whether it did,
// and returns the digest of the blob that is no longer used.
func (s *Store) ClaimSession(ctx context.Context, k SessionKey, language string, generation int64, owner string) (blob string, ok bool, err error) {
	err = s.update(ctx, func(tx *Tx) error {
		blob, ok = "", false
		now := s.micros()
		if generation == 0 {
			if err := tx.roomForSession(k.Tenant, 1, 0); err != nil {
				return err
			}
			n, err := tx.exec(`INSERT INTO sessions (`+sessionColumns+`) VALUES ($1, $2, $3, $4, 0, $5, $6, $6, $6, 0, '', $7) ON CONFLICT DO NOTHING`,
				k.Tenant, k.Actor, k.Name, language, owner, now, []byte{})
			ok = n == 1
			return err
		}
		if _, err := tx.row([]any{&blob}, `SELECT blob FROM sessions WHERE tenant = $1 AND actor = $2 AND name = $3 AND generation = $4 AND owner = ''`+s.lock(),
			k.Tenant, k.Actor, k.Name, generation); err != nil {
			return err
		}
		n, err := tx.exec(`UPDATE sessions SET owner = $5, renewed = $6, used = $6, bytes = 0, blob = '', seal = $7
			WHERE tenant = $1 AND actor = $2 AND name = $3 AND generation = $4 AND owner = ''`, k.Tenant, k.Actor, k.Name, generation, owner, now, []byte{})
		ok = n == 1
		return err
	})
	return blob, ok, err
}

// roomForSession refuses more sessions or bytes than a tenant may have.
func (tx *Tx) roomForSession(tenant string, more, bytes int64) error {
	var n, sum int64
	if _, err := tx.row([]any{&n, &sum}, `SELECT COUNT(*), COALESCE(SUM(bytes), 0) FROM sessions WHERE tenant = $1`, tenant); err != nil {
		return err
	}
	if n+more > maxSessions || sum+bytes > maxSessionBytes {
		return fault.New(fault.LimitQuota, "the tenant has %d sessions with %d bytes; at most %d with %d bytes are kept", n, sum, maxSessions, int64(maxSessionBytes)).
			WithHint("end sessions that are no longer needed")
	}
	return nil
}

// PutSession keeps the image of a session that an owner has awake, and that sleeps from
// then on. It reports whether the owner has it with the generation before.
func (s *Store) PutSession(ctx context.Context, x Session, owner string) (ok bool, err error) {
	err = s.update(ctx, func(tx *Tx) error {
		if err := tx.roomForSession(x.Tenant, 0, x.Bytes); err != nil {
			return err
		}
		n, err := tx.exec(`UPDATE sessions SET owner = '', generation = $4, used = $6, bytes = $7, blob = $8, seal = $9
			WHERE tenant = $1 AND actor = $2 AND name = $3 AND generation = $4 - 1 AND owner = $5`,
			x.Tenant, x.Actor, x.Name, x.Generation, owner, s.micros(), x.Bytes, x.Blob, notNil(x.Seal))
		ok = n == 1
		return err
	})
	return ok, err
}

// DeleteSession forgets a session, and returns the digest of the blob that is no longer
// used. With an owner it forgets the session only if that one has it awake.
func (s *Store) DeleteSession(ctx context.Context, k SessionKey, owner string) (blob string, ok bool, err error) {
	err = s.update(ctx, func(tx *Tx) error {
		x, found, err := tx.session(k)
		if err != nil || !found {
			return err
		}
		n, err := tx.exec(`DELETE FROM sessions WHERE tenant = $1 AND actor = $2 AND name = $3 AND ($4 = '' OR owner = $4)`, k.Tenant, k.Actor, k.Name, owner)
		blob, ok = x.Blob, n == 1
		return err
	})
	return blob, ok, err
}

// RenewSessions notes that an owner still has its sessions awake.
func (s *Store) RenewSessions(ctx context.Context, owner string) error {
	return s.update(ctx, func(tx *Tx) error {
		_, err := tx.exec(`UPDATE sessions SET renewed = $2 WHERE owner = $1`, owner, s.micros())
		return err
	})
}

// UsesImage reports whether a session has a blob.
func (s *Store) UsesImage(ctx context.Context, digest string) (used bool, err error) {
	err = s.view(ctx, func(tx *Tx) error {
		var n int64
		used, err = tx.row([]any{&n}, `SELECT 1 FROM sessions WHERE blob = $1 LIMIT 1`, digest)
		return err
	})
	return used, err
}
