// Package images keeps the sessions that sleep for the servers of a store. An image is
// a sealed blob. The row of its session has the wrapped key, so an image without its
// row, such as an older one, cannot be read.
//
// A session that is awake belongs to one server, which renews the row. If that server
// ends without putting it to sleep, the session is lost, and the next who asks for it
// is told.
package images

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"time"

	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/seal"
	"github.com/wexec/wexec/store"
	"github.com/wexec/wexec/store/blobs"
)

const (
	// maxImage bounds an image.
	maxImage = 600 << 20
	// renewEvery is how often a server renews its sessions. One that was not renewed for
	// lostAfter is lost.
	renewEvery = 10 * time.Second
	lostAfter  = time.Minute
	// collectAfter is how old a blob without a row is when it is deleted.
	collectAfter = 24 * time.Hour
	collectEvery = 6 * time.Hour
	dropTimeout  = 30 * time.Second
)

// Images implements [engine.Images] with a store.
type Images struct {
	store  *store.Store
	blobs  blobs.Store
	sealer seal.Sealer
	log    *slog.Logger
	owner  string // of the sessions that are awake in this process
}

// New returns the images of a store whose blobs are kept in b. Run renews what it owns.
func New(s *store.Store, b blobs.Store, sealer seal.Sealer, log *slog.Logger) *Images {
	return &Images{s, b, sealer, log, rand.Text()}
}

// purposeOf is the purpose of the seal of an image: it can be opened for this session and
// this generation only.
func purposeOf(id engine.SessionID, generation int64) string {
	return fmt.Sprintf("session %q of actor %q of tenant %q, generation %d", id.Name, id.Actor, id.Tenant, generation)
}

func keyOf(id engine.SessionID) store.SessionKey {
	return store.SessionKey{Tenant: id.Tenant, Actor: id.Actor, Name: id.Name}
}

// Get implements [engine.Images].
func (x *Images) Get(ctx context.Context, id engine.SessionID) (*engine.SessionImage, error) {
	row, found, err := x.store.Session(ctx, keyOf(id))
	switch {
	case err != nil || !found:
		return nil, err
	case row.Owner != "" && time.Since(row.Renewed) < lostAfter:
		return nil, fault.New(fault.UsageSession, "the session %q is awake on another server", id.Name).
			WithHint("send its runs to that server, or let the session sleep first")
	case row.Owner != "":
		if _, _, err := x.store.DeleteSession(ctx, row.SessionKey, row.Owner); err != nil {
			return nil, err
		}
		return nil, fault.New(fault.UsageSession, "the session %q was lost: the server in which it was awake ended without putting it to sleep", id.Name).
			WithHint("run again to start a new one, without the earlier definitions")
	}
	data, err := x.open(ctx, id, row)
	if errors.Is(err, seal.ErrDamaged) || errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.UsageSession, "wake the session %q: its image is missing, damaged, or that of another session or generation", id.Name).
			WithHint("end the session")
	}
	if err != nil {
		return nil, err
	}
	return &engine.SessionImage{Language: row.Language, Generation: row.Generation, Data: data}, nil
}

// open reads the image of a session.
func (x *Images) open(ctx context.Context, id engine.SessionID, row store.Session) ([]byte, error) {
	d, err := blobs.ParseDigest(row.Blob)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", seal.ErrDamaged, err)
	}
	blob, err := x.blobs.Open(ctx, d)
	if err != nil {
		return nil, err
	}
	defer blob.Close()
	if blob.Size() > seal.Size(maxImage) {
		return nil, seal.ErrDamaged
	}
	r, err := seal.NewReader(ctx, blob, blob.Size(), x.sealer, row.Seal, purposeOf(id, row.Generation))
	if err != nil {
		return nil, err
	}
	data := make([]byte, r.Size())
	if _, err := r.ReadAt(data, 0); err != nil && err != io.EOF {
		return nil, err
	}
	return data, nil
}

// Claim implements [engine.Images].
func (x *Images) Claim(ctx context.Context, id engine.SessionID, language string, generation int64) error {
	blob, ok, err := x.store.ClaimSession(ctx, keyOf(id), language, generation, x.owner)
	if err != nil {
		return err
	}
	if !ok && generation == 0 {
		return engine.SessionExists(id.Name)
	}
	if !ok {
		return fault.New(fault.UsageSession, "the session %q is awake on another server, or its image was used", id.Name)
	}
	x.drop(ctx, blob)
	return nil
}

// Put implements [engine.Images].
func (x *Images) Put(ctx context.Context, id engine.SessionID, image engine.SessionImage) error {
	var sealed bytes.Buffer
	w, err := seal.NewWriter(ctx, &sealed, x.sealer, purposeOf(id, image.Generation))
	if err != nil {
		return err
	}
	if _, err := w.Write(image.Data); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	size := int64(sealed.Len())
	digest, _, err := x.blobs.Put(ctx, &sealed, size)
	if err != nil {
		return err
	}
	ok, err := x.store.PutSession(ctx, store.Session{SessionKey: keyOf(id), Generation: image.Generation, Bytes: size, Blob: digest.String(), Seal: w.Key()}, x.owner)
	if err == nil && !ok {
		err = fault.New(fault.UsageSession, "the session %q ended elsewhere, or a later image of it exists", id.Name)
	}
	if err != nil {
		x.drop(ctx, digest.String())
	}
	return err
}

// Delete implements [engine.Images].
func (x *Images) Delete(ctx context.Context, id engine.SessionID) error {
	blob, _, err := x.store.DeleteSession(ctx, keyOf(id), "")
	if err == nil {
		x.drop(ctx, blob)
	}
	return err
}

// List implements [engine.Images].
func (x *Images) List(ctx context.Context, tenant, actor string) ([]engine.SessionInfo, error) {
	rows, err := x.store.Sessions(ctx, tenant, actor)
	if err != nil {
		return nil, err
	}
	var all []engine.SessionInfo
	for _, row := range rows {
		state := engine.SessionAwake
		if row.Owner == "" {
			state = engine.SessionAsleep
		}
		all = append(all, engine.SessionInfo{Name: row.Name, Actor: row.Actor, Language: row.Language, State: state, Bytes: row.Bytes, Created: row.Created, Used: row.Used})
	}
	return all, nil
}

// drop deletes a blob that no row names. If that fails, the collector deletes it.
func (x *Images) drop(ctx context.Context, blob string) {
	d, err := blobs.ParseDigest(blob)
	if err != nil {
		return // a session that was awake has no image
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropTimeout)
	defer cancel()
	if err := x.blobs.Delete(ctx, d, time.Time{}); err != nil {
		x.log.Warn("cannot delete the image of a session", "blob", blob, "error", err)
	}
}

// Run renews the sessions that are awake in this process, and deletes blobs without a
// row, until the context ends.
func (x *Images) Run(ctx context.Context) {
	ticks := time.NewTicker(renewEvery)
	defer ticks.Stop()
	collected := time.Now()
	for {
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return
		}
		err := x.store.RenewSessions(ctx, x.owner)
		if err == nil && time.Since(collected) > collectEvery {
			collected = time.Now()
			_, err = blobs.Collect(ctx, x.blobs, collected.Add(-collectAfter), func(d blobs.Digest) (bool, error) { return x.store.UsesImage(ctx, d.String()) })
		}
		if err != nil && ctx.Err() == nil {
			x.log.Warn("cannot renew the sessions of this server", "error", err)
		}
	}
}

// Close closes the blobs.
func (x *Images) Close() error { return x.blobs.Close() }
