package service

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/url"
	"path"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/seal"
	"github.com/wexec/wexec/store"
	"github.com/wexec/wexec/store/blobs"
)

// artifacts keeps what programs and clients put. Content is sealed with a key for
// each artifact and kept as a blob; the row in the store has the wrapped key.
type artifacts struct {
	store  *store.Store
	blobs  blobs.Store
	sealer seal.Sealer
	log    *slog.Logger
	places chan struct{} // one for each artifact that is written
}

// Bounds of artifacts.
const (
	maxPuts       = 32 // that are written at once
	maxTypeLength = 200
	// collectAfter is how old a blob without a row is when it is deleted. A row is
	// written soon after its blob.
	collectAfter = 24 * time.Hour
	expireEvery  = 10 * time.Minute
	collectEvery = 6 * time.Hour
)

// openArtifacts opens the blobs of a service.
func openArtifacts(o Options) (*artifacts, error) {
	address := o.Blobs
	if address == "" {
		address = filepath.Join(o.Data, "blobs")
	}
	env := func(name string) string { v, _ := o.Env.Lookup(name); return v }
	b, err := blobs.Open(below(address, "artifacts"), env)
	if err != nil {
		return nil, err
	}
	return &artifacts{store: o.Store, blobs: b, sealer: o.Keys, log: o.Logger, places: make(chan struct{}, maxPuts)}, nil
}

// below returns the address of a part of a blob store, so that the collector of one
// kind of blobs does not see those of another.
func below(address, name string) string {
	if u, err := url.Parse(address); err == nil && u.Scheme == "s3" {
		u.Path = path.Join("/", u.Path, name)
		return u.String()
	}
	return filepath.Join(address, name)
}

// NewArtifact describes an artifact that is put.
type NewArtifact struct {
	Name, Type string
	Keep       time.Duration // at most that of the tenant, which zero means
	Run        string        // that puts it; or ""
	Token      string        // id of the token on whose behalf it is put
}

// check completes the description and refuses what cannot be kept.
func (a *NewArtifact) check() error {
	if len(a.Name) > maxName || strings.ContainsFunc(a.Name, unicode.IsControl) {
		return fault.New(fault.UsageFlag, "the name of an artifact has at most %d bytes and no control characters", maxName)
	}
	if a.Type == "" {
		a.Type = "application/octet-stream"
	}
	media, params, err := mime.ParseMediaType(a.Type)
	if err != nil || !strings.Contains(media, "/") || len(a.Type) > maxTypeLength {
		return fault.New(fault.UsageFlag, "invalid type of an artifact %.80q", a.Type).WithHint("use a media type such as text/csv")
	}
	a.Type = mime.FormatMediaType(media, params)
	return nil
}

// put keeps content. Its memory is bounded.
func (x *artifacts) put(ctx context.Context, t *Tenant, a NewArtifact, content io.Reader) (kept store.Artifact, err error) {
	if err := a.check(); err != nil {
		return kept, err
	}
	select {
	case x.places <- struct{}{}:
		defer func() { <-x.places }()
	case <-ctx.Done():
		return kept, context.Cause(ctx)
	}
	bounds := t.settings.Artifacts
	used, err := x.store.ArtifactBytes(ctx, t.Name)
	if err != nil {
		return kept, err
	}
	in := &intake{from: content, left: bounds.Quota - used, quota: bounds.Quota}
	sum, pages := sha256.New(), &pager{declared: isTextType(a.Type)}
	sealed, to := io.Pipe()
	var key []byte
	written := make(chan struct{})
	go func() {
		defer close(written)
		w, err := seal.NewWriter(ctx, to, x.sealer, purposeOf(t.Name))
		if err == nil {
			key = w.Key()
			_, err = io.Copy(io.MultiWriter(sum, pages, w), in)
		}
		if err == nil {
			err = w.Close()
		}
		_ = to.CloseWithError(err)
	}()
	digest, _, err := x.blobs.Put(ctx, sealed, seal.Size(max(0, in.left)))
	_ = sealed.CloseWithError(errors.Join(err, io.ErrClosedPipe))
	<-written
	if err != nil {
		return kept, err
	}
	index, text := pages.close()
	keep := bounds.Keep
	if a.Keep > 0 {
		keep = min(keep, a.Keep)
	}
	kept, err = x.store.PutArtifact(ctx, store.Artifact{Tenant: t.Name, ID: hex.EncodeToString(sum.Sum(nil)), Name: a.Name, Type: a.Type, Text: text, Bytes: in.n,
		Expires: time.Now().Add(keep), Run: a.Run, Token: a.Token, Blob: digest.String(), Seal: key, Pages: index}, bounds.Quota)
	if err != nil || kept.Blob != digest.String() {
		x.drop(ctx, digest.String())
	}
	return kept, err
}

// purposeOf is the purpose of the seal of a tenant's artifacts.
func purposeOf(tenant string) string { return "artifact of tenant " + tenant }

// intake reads content up to what the quota leaves.
type intake struct {
	from           io.Reader
	n, left, quota int64
}

func (r *intake) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	r.n += int64(n)
	if r.n > r.left {
		return 0, store.NoRoom(r.quota)
	}
	return n, err
}

// drop deletes a blob that no row names. If that fails, the collector deletes it.
func (x *artifacts) drop(ctx context.Context, blob string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	d, err := blobs.ParseDigest(blob)
	if err == nil {
		err = x.blobs.Delete(ctx, d, time.Time{})
	}
	if err != nil {
		x.log.Warn("cannot delete the blob of an artifact", "blob", blob, "error", err)
	}
}

// Artifact is an open artifact. Close it.
type Artifact struct {
	store.Artifact
	*seal.Reader
	blob blobs.Blob
}

// Close implements io.Closer.
func (a *Artifact) Close() error { return a.blob.Close() }

// open opens an artifact of a tenant.
func (x *artifacts) open(ctx context.Context, tenant, id string) (*Artifact, error) {
	row, err := x.store.Artifact(ctx, tenant, id)
	if err != nil {
		return nil, err
	}
	d, err := blobs.ParseDigest(row.Blob)
	if err != nil {
		return nil, fault.New(fault.StoreUnavailable, "read the artifact %s: %w", id, err)
	}
	blob, err := x.blobs.Open(ctx, d)
	if err != nil {
		return nil, err
	}
	r, err := seal.NewReader(ctx, blob, blob.Size(), x.sealer, row.Seal, purposeOf(tenant))
	if err != nil {
		return nil, errors.Join(err, blob.Close())
	}
	return &Artifact{row, r, blob}, nil
}

// remove deletes an artifact of a tenant.
func (x *artifacts) remove(ctx context.Context, tenant, id string) error {
	row, err := x.store.DeleteArtifact(ctx, tenant, id)
	if err == nil {
		x.drop(ctx, row.Blob)
	}
	return err
}

// tend removes expired artifacts and blobs without a row, until the context ends.
// Several processes may do so.
func (x *artifacts) tend(ctx context.Context) {
	ticks := time.NewTicker(expireEvery)
	defer ticks.Stop()
	collected := time.Now()
	for {
		_, err := x.expire(ctx)
		if err == nil && time.Since(collected) > collectEvery {
			collected = time.Now()
			_, err = x.collect(ctx, collected.Add(-collectAfter))
		}
		if err != nil && ctx.Err() == nil {
			x.log.Warn("cannot remove old artifacts", "error", err)
		}
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return
		}
	}
}

// expire removes the artifacts that have expired.
func (x *artifacts) expire(ctx context.Context) (removed int, err error) {
	for {
		old, err := x.store.ExpireArtifacts(ctx)
		for _, blob := range old {
			x.drop(ctx, blob)
		}
		if removed += len(old); err != nil || len(old) == 0 {
			return removed, err
		}
	}
}

// collect deletes the blobs without a row that were stored before a time: those of
// a process that was killed between blob and row.
func (x *artifacts) collect(ctx context.Context, before time.Time) (int, error) {
	return blobs.Collect(ctx, x.blobs, before, func(d blobs.Digest) (bool, error) { return x.store.UsesBlob(ctx, d.String()) })
}

// ArtifactID returns the id of an artifact as JSON has it.
func ArtifactID(a store.Artifact) string { return "sha256:" + a.ID }

// PutArtifact keeps content for a principal's tenant.
func (s *Service) PutArtifact(ctx context.Context, who Principal, a NewArtifact, content io.Reader) (store.Artifact, error) {
	t := s.tenants.get(who.Tenant)
	if t == nil {
		return store.Artifact{}, fault.New(fault.DeniedToken, "the tenant of the token does not exist")
	}
	a.Token, a.Run = who.ID, ""
	return s.artifacts.put(ctx, t, a, content)
}

// OpenArtifact opens an artifact of a principal's tenant. The principal may read the
// content if covered is nil. Otherwise covered copies it with tokens instead of
// values.
func (s *Service) OpenArtifact(ctx context.Context, who Principal, id string) (a *Artifact, covered func(to io.Writer) error, err error) {
	table, err := s.Table(who)
	if err != nil {
		return nil, nil, err
	}
	a, err = s.artifacts.open(ctx, who.Tenant, id)
	switch {
	case err != nil:
		return nil, nil, err
	case !a.Text, a.Run == "" && a.Token == who.ID:
		return a, nil, nil // no text, or what the principal sent
	case who.Has(store.ScopeReveal):
		s.o.Logger.Info("values of an artifact are revealed", "tenant", who.Tenant, "artifact", id, "to", who.ID)
		return a, nil, nil
	}
	cover, err := table.Cover()
	if err != nil || cover == nil {
		return a, nil, err
	}
	core := s.core(who)
	return a, func(to io.Writer) error {
		return a.eachPage(ctx, 1, func(_ page, text string) (bool, error) {
			leave, err := core(ctx)
			if err != nil {
				return false, err
			}
			text, err = cover(text)
			leave()
			if err == nil {
				_, err = io.WriteString(to, text)
			}
			return err == nil, err
		})
	}, nil
}

// eachPage reads the pages of a text from the one that has a line, until yield
// returns false.
func (a *Artifact) eachPage(ctx context.Context, line int, yield func(p page, text string) (more bool, err error)) error {
	pages, err := pagesOf(a.Pages)
	if err != nil {
		return err
	}
	buf := make([]byte, pageSize)
	for _, p := range pages {
		if p.line+p.lines <= line {
			continue
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if n, err := a.ReadAt(buf[:p.size], p.at); n < p.size {
			return fault.New(fault.StoreUnavailable, "read the artifact %s: %w", a.ID, err)
		}
		if more, err := yield(p, strings.ToValidUTF8(string(buf[:p.size]), "\uFFFD")); err != nil || !more {
			return err
		}
	}
	return nil
}

// Artifacts returns the newest artifacts of a principal's tenant and the cursor of
// the next page.
func (s *Service) Artifacts(ctx context.Context, who Principal, cursor string, limit int) ([]store.Artifact, string, error) {
	return s.o.Store.Artifacts(ctx, who.Tenant, cursor, limit)
}

// DeleteArtifact deletes an artifact of a principal's tenant.
func (s *Service) DeleteArtifact(ctx context.Context, who Principal, id string) error {
	return s.artifacts.remove(ctx, who.Tenant, id)
}
