package service

import (
	"bytes"
	"context"
	"io"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	artifact "github.com/wexec/wexec/hostfns/artifacts"
	"github.com/wexec/wexec/privacy"
	"github.com/wexec/wexec/store"
)

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
