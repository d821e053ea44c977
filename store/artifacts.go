package store

import (
	"context"
	"io/fs"
	"strings"
	"time"

	"github.com/wexec/wexec/fault"
)

// Artifact is content that a program or a client keeps. The content is a blob
// elsewhere.
type Artifact struct {
	Tenant, ID string
	Name, Type string
	Text       bool // readers get tokens instead of values
	Bytes      int64
	Created    time.Time
	Expires    time.Time
	Run        string // that put it; may be empty
	Token      string // id of the token that put it
	Blob       string // digest of the sealed content
	Seal       []byte // wrapped key of the blob
	Pages      []byte // where lines are in a text
}

// artifactColumns are all but pages, which may be large.
const artifactColumns = `tenant, id, name, type, text, bytes, created, expires, run, token, blob, seal`

func scanArtifact(scan func(...any) error, more ...any) (a Artifact, err error) {
	var text, created, expires int64
	err = scan(append([]any{&a.Tenant, &a.ID, &a.Name, &a.Type, &text, &a.Bytes, &created, &expires, &a.Run, &a.Token, &a.Blob, &a.Seal}, more...)...)
	a.Text, a.Created, a.Expires = text == 1, timeOf(created), timeOf(expires)
	return a, err
}

// PutArtifact keeps an artifact whose blob is stored. If the tenant has one with
// the same id, that one stays with the later expiry, and kept is that one: the
// caller deletes its own blob. More than quota bytes of a tenant fail with
// [fault.LimitArtifact].
func (s *Store) PutArtifact(ctx context.Context, a Artifact, quota int64) (kept Artifact, err error) {
	a.Created = s.now()
	err = s.update(ctx, func(tx *Tx) error {
		// The row of the tenant comes first: it orders those who put at the same time.
		if _, err := tx.exec(`INSERT INTO artifact_totals (tenant, bytes) VALUES ($1, 0) ON CONFLICT (tenant) DO UPDATE SET bytes = artifact_totals.bytes`, a.Tenant); err != nil {
			return err
		}
		n, err := tx.exec(`UPDATE artifacts SET expires = CASE WHEN expires < $3 THEN $3 ELSE expires END WHERE tenant = $1 AND id = $2`, a.Tenant, a.ID, microsOf(a.Expires))
		if err != nil {
			return err
		}
		if n > 0 {
			kept, _, err = tx.artifact(a.Tenant, a.ID)
			return err
		}
		n, err = tx.exec(`UPDATE artifact_totals SET bytes = bytes + $2 WHERE tenant = $1 AND bytes + $2 <= $3`, a.Tenant, a.Bytes, quota)
		if err != nil {
			return err
		}
		if n == 0 {
			return NoRoom(quota)
		}
		text := 0
		if a.Text {
			text = 1
		}
		_, err = tx.exec(`INSERT INTO artifacts (`+artifactColumns+`, pages) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
			a.Tenant, a.ID, a.Name, a.Type, text, a.Bytes, microsOf(a.Created), microsOf(a.Expires), a.Run, a.Token, a.Blob, notNil(a.Seal), notNil(a.Pages))
		kept = a
		kept.Name, kept.Type = clean(a.Name), clean(a.Type)
		kept.Created, kept.Expires = timeOf(microsOf(a.Created)), timeOf(microsOf(a.Expires))
		return err
	})
	return kept, err
}

// NoRoom is the error of an artifact for which the tenant has no room.
func NoRoom(quota int64) error {
	return fault.New(fault.LimitArtifact, "the artifacts of the tenant would take more than %d bytes", quota).
		WithHint("delete artifacts, or raise quotas.artifacts in the tenant's wexec.yaml")
}

// ArtifactBytes returns how many bytes the artifacts of a tenant take.
func (s *Store) ArtifactBytes(ctx context.Context, tenant string) (n int64, err error) {
	err = s.view(ctx, func(tx *Tx) error {
		n = 0
		_, err := tx.row([]any{&n}, `SELECT bytes FROM artifact_totals WHERE tenant = $1`, tenant)
		return err
	})
	return n, err
}

// artifact reads an artifact, which may have expired.
func (tx *Tx) artifact(tenant, id string) (a Artifact, found bool, err error) {
	for scan, err := range tx.rows(`SELECT `+artifactColumns+`, pages FROM artifacts WHERE tenant = $1 AND id = $2`, tenant, id) {
		if err != nil {
			return a, false, err
		}
		var pages []byte
		a, err = scanArtifact(scan, &pages)
		a.Pages = pages
		return a, err == nil, err
	}
	return a, false, nil
}

// Artifact returns an artifact of a tenant that has not expired. A missing one is
// an error that is [fs.ErrNotExist].
func (s *Store) Artifact(ctx context.Context, tenant, id string) (a Artifact, err error) {
	err = s.view(ctx, func(tx *Tx) error {
		var found bool
		if a, found, err = tx.artifact(tenant, id); err == nil && (!found || !a.Expires.After(s.now())) {
			return unknownArtifact(id)
		}
		return err
	})
	return a, err
}

func unknownArtifact(id string) error {
	return fault.New(fault.UsageFile, "there is no artifact %.80q, or it has expired: %w", id, fs.ErrNotExist)
}

// Artifacts returns artifacts of a tenant that have not expired, the newest first,
// without their Pages, and the cursor of the next page.
func (s *Store) Artifacts(ctx context.Context, tenant, cursor string, limit int) (all []Artifact, next string, err error) {
	created, id := int64(1)<<62, ""
	if cursor != "" {
		at, last, ok := strings.Cut(cursor, "-")
		t, timeErr := time.Parse(cursorTime, at)
		if !ok || timeErr != nil {
			return nil, "", fault.New(fault.UsageFlag, "invalid cursor %.80q", cursor).WithHint("use next of the page before")
		}
		created, id = t.UnixMicro(), last
	}
	err = s.view(ctx, func(tx *Tx) error {
		all = nil
		for scan, err := range tx.rows(`SELECT `+artifactColumns+` FROM artifacts WHERE tenant = $1 AND expires > $2 AND (created < $3 OR created = $3 AND id > $4) ORDER BY created DESC, id LIMIT $5`,
			tenant, s.micros(), created, id, limit+1) {
			if err != nil {
				return err
			}
			a, err := scanArtifact(scan)
			if err != nil {
				return err
			}
			all = append(all, a)
		}
		return nil
	})
	if len(all) > limit {
		all = all[:limit]
		last := all[limit-1]
		next = last.Created.Format(cursorTime) + "-" + last.ID
	}
	return all, next, err
}

// cursorTime is how a cursor has a time.
const cursorTime = "20060102T150405.000000"

// DeleteArtifact removes an artifact of a tenant and returns it, so that the caller
// deletes its blob.
func (s *Store) DeleteArtifact(ctx context.Context, tenant, id string) (a Artifact, err error) {
	err = s.update(ctx, func(tx *Tx) error {
		var found bool
		if a, found, err = tx.artifact(tenant, id); err != nil {
			return err
		}
		if !found {
			return unknownArtifact(id)
		}
		return tx.deleteArtifacts([]Artifact{a})
	})
	return a, err
}

// ExpireArtifacts removes artifacts that have expired, at most removeStep, and
// returns the digests of their blobs. Several processes may call it at once.
func (s *Store) ExpireArtifacts(ctx context.Context) (blobs []string, err error) {
	err = s.update(ctx, func(tx *Tx) error {
		blobs = nil
		var old []Artifact
		for scan, err := range tx.rows(`SELECT `+artifactColumns+` FROM artifacts WHERE expires <= $1 ORDER BY expires, tenant, id LIMIT $2`+s.skipLocked(), s.micros(), removeStep) {
			if err != nil {
				return err
			}
			a, err := scanArtifact(scan)
			if err != nil {
				return err
			}
			old, blobs = append(old, a), append(blobs, a.Blob)
		}
		return tx.deleteArtifacts(old)
	})
	return blobs, err
}

// Which artifacts are removed: those that a run put, or those that the tokens of an
// actor put until a time.
const (
	ofRun   = `run = $2`
	ofActor = `run = '' AND token IN (SELECT id FROM tokens WHERE tenant = $1 AND name = $2) AND created <= $3`
)

// removeArtifacts removes artifacts of a tenant. Their blobs cannot be read without the
// rows.
func (tx *Tx) removeArtifacts(which, tenant string, args ...any) (int64, error) {
	var all []Artifact
	for scan, err := range tx.rows(`SELECT `+artifactColumns+` FROM artifacts WHERE tenant = $1 AND `+which, append([]any{tenant}, args...)...) {
		if err != nil {
			return 0, err
		}
		a, err := scanArtifact(scan)
		if err != nil {
			return 0, err
		}
		all = append(all, a)
	}
	return int64(len(all)), tx.deleteArtifacts(all)
}

// deleteArtifacts removes rows that the transaction has read. One that another
// process removed meanwhile is not counted again.
func (tx *Tx) deleteArtifacts(all []Artifact) error {
	for _, a := range all {
		n, err := tx.exec(`DELETE FROM artifacts WHERE tenant = $1 AND id = $2 AND blob = $3`, a.Tenant, a.ID, a.Blob)
		if err != nil {
			return err
		}
		if n == 0 {
			continue
		}
		if _, err := tx.exec(`UPDATE artifact_totals SET bytes = bytes - $2 WHERE tenant = $1`, a.Tenant, a.Bytes); err != nil {
			return err
		}
	}
	return nil
}

// UsesBlob reports whether an artifact has a blob.
func (s *Store) UsesBlob(ctx context.Context, digest string) (used bool, err error) {
	err = s.view(ctx, func(tx *Tx) error {
		var n int64
		used, err = tx.row([]any{&n}, `SELECT 1 FROM artifacts WHERE blob = $1 LIMIT 1`, digest)
		return err
	})
	return used, err
}
