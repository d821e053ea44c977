package service

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"mime"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	artifact "github.com/wexec/wexec/hostfns/artifacts"
	"github.com/wexec/wexec/internal/seal"
	"github.com/wexec/wexec/privacy"
	"github.com/wexec/wexec/store"
	"github.com/wexec/wexec/store/blobs"
)

// artifacts keeps what programs and clients put. Content is sealed with a key for
// each artifact and kept as a blob; the row in the store has the wrapped key. What a
// run puts has tokens, and their values follow the content in the blob.
type artifacts struct {
	store  *store.Store
	blobs  blobs.Store
	keys   *Keys
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

// openArtifacts opens the artifacts of a service.
func openArtifacts(o Options) (*artifacts, error) {
	b, err := openBlobs(o, "artifacts")
	if err != nil {
		return nil, err
	}
	return &artifacts{store: o.Store, blobs: b, keys: o.Keys, log: o.Logger, places: make(chan struct{}, maxPuts)}, nil
}

// openBlobs opens the blobs of one kind.
func openBlobs(o Options, kind string) (blobs.Store, error) {
	address := o.Blobs
	if address == "" {
		address = filepath.Join(o.Data, "blobs")
	}
	env := func(name string) string { v, _ := o.Env.Lookup(name); return v }
	return blobs.Open(below(address, kind), env)
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
	Keep       time.Duration    // at most the tenant's; zero is the tenant's
	Run        string           // that puts it; or ""
	Token      string           // id of the token on whose behalf it is put
	Values     []privacy.Issued // of the tokens in a text that a run puts
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
	var values []byte
	if len(a.Values) > 0 {
		if values, err = json.Marshal(a.Values); err != nil {
			return kept, fault.New(fault.Internal, "encode the values of an artifact: %w", err)
		}
	}
	in := &intake{from: content, left: bounds.Quota - used - int64(len(values)), quota: bounds.Quota}
	sum, pages := sha256.New(), &artifact.Pager{Declared: artifact.IsText(a.Type)}
	sealed, to := io.Pipe()
	var key []byte
	written := make(chan struct{})
	go func() {
		defer close(written)
		w, err := seal.NewWriter(ctx, to, x.keys, purposeOf(t.Name))
		if err == nil {
			key = w.Key()
			_, err = io.Copy(io.MultiWriter(sum, pages, w), in)
		}
		if err == nil {
			_, err = w.Write(values)
		}
		if err == nil {
			err = w.Close()
		}
		_ = to.CloseWithError(err)
	}()
	digest, _, err := x.blobs.Put(ctx, sealed, seal.Size(max(0, in.left)+int64(len(values))))
	_ = sealed.CloseWithError(errors.Join(err, io.ErrClosedPipe))
	<-written
	if err != nil {
		return kept, err
	}
	index, text := pages.Close()
	id := hex.EncodeToString(sum.Sum(nil))
	if len(values) > 0 { // others could test guesses of the values by the digest
		id = x.keys.Digest("artifact", t.Name, id, string(values))
	}
	keep := bounds.Keep
	if a.Keep > 0 {
		keep = min(keep, a.Keep)
	}
	kept, err = x.store.PutArtifact(ctx, store.Artifact{Tenant: t.Name, ID: id, Name: a.Name, Type: a.Type, Text: text, Bytes: in.n,
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
	artifact.Content
}

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
	r, err := seal.NewReader(ctx, blob, blob.Size(), x.keys, row.Seal, purposeOf(tenant))
	if err != nil {
		return nil, errors.Join(err, blob.Close())
	}
	a := &Artifact{Artifact: row, Content: artifact.Content{
		Artifact: artifact.Artifact{ID: ArtifactID(row), Name: row.Name, Type: row.Type, Bytes: row.Bytes},
		ReaderAt: r, Closer: blob, Text: row.Text, Pages: row.Pages, Kept: row.Run != "", ValueBytes: r.Size() - row.Bytes,
	}}
	a.Values = func() (all []privacy.Issued, err error) {
		if a.ValueBytes <= 0 {
			return nil, nil
		}
		if err := json.NewDecoder(io.NewSectionReader(r, row.Bytes, a.ValueBytes)).Decode(&all); err != nil {
			return nil, fault.New(fault.StoreUnavailable, "read the values of the artifact %s: %w", id, err)
		}
		return all, nil
	}
	return a, nil
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

// Content is searched in parts that overlap, so that a value in an encoding is in one.
const (
	searchPart    = 8 << 20
	searchOverlap = 64 << 10
)

// forget removes the artifacts of a tenant that were put until then and have a value
// in their name, their content or the values of their tokens.
func (x *artifacts) forget(ctx context.Context, tenant string, until time.Time, find wanted) (removed int64, err error) {
	if _, err := x.expire(ctx); err != nil {
		return 0, err
	}
	for cursor := ""; ; {
		all, next, err := x.store.Artifacts(ctx, tenant, cursor, searchSlice)
		if err != nil {
			return removed, err
		}
		for _, row := range all {
			if row.Created.After(until) {
				continue
			}
			found, err := x.has(ctx, row, find)
			if err == nil && found {
				err = x.remove(ctx, tenant, row.ID)
				removed++
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) { // it may be deleted meanwhile
				return removed, err
			}
		}
		if cursor = next; next == "" {
			return removed, nil
		}
	}
}

// has reports whether an artifact has a value.
func (x *artifacts) has(ctx context.Context, row store.Artifact, find wanted) (bool, error) {
	if x.keys.found([]byte(row.Name), find.Marks) {
		return true, nil
	}
	a, err := x.open(ctx, row.Tenant, row.ID)
	if err != nil {
		return false, err
	}
	defer a.Close()
	values, err := a.Values()
	if err != nil {
		return false, err
	}
	for _, v := range values {
		if slices.Contains(find.Digests, x.keys.subjectDigest(row.Tenant, v.Canonical)) || x.keys.found([]byte(v.Value), find.Marks) {
			return true, nil
		}
	}
	part := make([]byte, min(searchPart, row.Bytes))
	for at := int64(0); at < row.Bytes; at += searchPart - searchOverlap {
		if err := context.Cause(ctx); err != nil {
			return false, err
		}
		n := min(searchPart, row.Bytes-at)
		if _, err := io.ReadFull(io.NewSectionReader(a, at, n), part[:n]); err != nil {
			return false, fault.New(fault.StoreUnavailable, "read the artifact %s: %w", row.ID, err)
		}
		if x.keys.found(part[:n], find.Marks) {
			return true, nil
		}
	}
	return false, nil
}

// tenantArtifacts are the artifacts of a tenant as its programs have them.
type tenantArtifacts struct {
	s    *Service
	name string
}

// artifactTools returns the tools of a tenant's programs.
func (s *Service) artifactTools(tenant string) hostfns.Provider {
	return artifact.NewProvider(tenantArtifacts{s, tenant})
}

// Put implements the store of programs.
func (x tenantArtifacts) Put(ctx context.Context, a artifact.New) (artifact.Artifact, error) {
	t := x.s.tenants.get(x.name)
	if t == nil {
		return artifact.Artifact{}, fault.New(fault.DeniedToken, "the tenant of the run does not exist")
	}
	kept, err := x.s.artifacts.put(ctx, t, NewArtifact{Name: a.Name, Type: a.Type, Run: a.Run, Values: a.Values}, bytes.NewReader(a.Content))
	return artifact.Artifact{ID: ArtifactID(kept), Name: kept.Name, Type: kept.Type, Bytes: kept.Bytes}, err
}

// Open implements the store of programs.
func (x tenantArtifacts) Open(ctx context.Context, id string) (*artifact.Content, error) {
	a, err := x.s.artifacts.open(ctx, x.name, id)
	if err != nil {
		return nil, err
	}
	return &a.Content, nil
}

// OpenArtifact opens an artifact of a principal's tenant. The principal may read the
// content if covered is nil. Otherwise covered copies it with tokens instead of
// values, or with values in the places of tokens.
func (s *Service) OpenArtifact(ctx context.Context, who Principal, id string) (a *Artifact, covered func(to io.Writer) error, err error) {
	a, cover, err := s.coveredArtifact(ctx, who, id)
	if err != nil || cover == nil || cover.Idle() {
		return a, nil, err
	}
	return a, func(to io.Writer) error {
		return a.Each(ctx, 1, func(_, _ int, text string) (bool, error) {
			leave, err := cover.Enter(ctx)
			if err != nil {
				return false, err
			}
			text, err = cover.Text(ctx, text)
			leave()
			if err == nil {
				_, err = io.WriteString(to, text)
			}
			return err == nil, err
		})
	}, nil
}

// coveredArtifact opens an artifact for a principal, and returns what its texts are read
// through; nil for binary content.
func (s *Service) coveredArtifact(ctx context.Context, who Principal, id string) (a *Artifact, cover *hostfns.Cover, err error) {
	table, err := s.Table(who)
	if err != nil {
		return nil, nil, err
	}
	if a, err = s.artifacts.open(ctx, who.Tenant, id); err != nil || !a.Content.Text {
		return a, nil, err
	}
	cover, err = artifact.CoverOf(&a.Content, func(values []privacy.Issued, kept bool) (*hostfns.Cover, error) {
		return table.Cover(values, kept, s.core(who))
	})
	if err != nil {
		_ = a.Close()
		return nil, nil, err
	}
	switch {
	case a.Run == "" && a.Token == who.ID: // what the principal sent
		cover.Plain()
	case who.Has(store.ScopeReveal):
		s.o.Logger.Info("values of an artifact are revealed", "tenant", who.Tenant, "artifact", id, "to", who.ID)
		cover.Plain()
	}
	return a, cover, nil
}

// ReadArtifact returns lines of an artifact of a principal's tenant. The principal sees
// tokens unless it may see values.
func (s *Service) ReadArtifact(ctx context.Context, who Principal, id string, q artifact.Query) (artifact.Page, error) {
	a, cover, err := s.coveredArtifact(ctx, who, id)
	if err != nil {
		return artifact.Page{}, err
	}
	defer a.Close()
	if cover == nil {
		return artifact.Page{}, fault.New(fault.UsageFlag, "the artifact is binary").WithHint("download it")
	}
	return a.Read(ctx, q, cover, func(int64) error { return context.Cause(ctx) })
}

// PutArtifact keeps content for a principal's tenant.
func (s *Service) PutArtifact(ctx context.Context, who Principal, a NewArtifact, content io.Reader) (store.Artifact, error) {
	t := s.tenants.get(who.Tenant)
	if t == nil {
		return store.Artifact{}, fault.New(fault.DeniedToken, "the tenant of the token does not exist")
	}
	a.Token, a.Run = who.ID, ""
	return s.artifacts.put(ctx, t, a, content)
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
