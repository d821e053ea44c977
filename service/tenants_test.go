package service

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/tools/testenv"
	"github.com/wexec/wexec/internal/tools/testpg"
	"github.com/wexec/wexec/store"
)

// newService opens a service on an empty data folder.
func newService(t *testing.T) (s *Service, data string) {
	t.Helper()
	data = t.TempDir()
	kept, err := store.Open(t.Context(), testpg.Store(t), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = kept.Close() })
	write(t, data, "tenants/default/wexec.yaml", "cache: "+testenv.Cache()+"\n")
	s, err = Open(t.Context(), Options{Store: kept, Data: data, Env: testenv.Isolated(data), Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, data
}

func write(t *testing.T, data, name, text string) {
	t.Helper()
	path := filepath.Join(data, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAReloadTakesNewTenantsAndLeavesOutThoseThatAreGone(t *testing.T) {
	s, data := newService(t)
	write(t, data, "tenants/acme/policy.yaml", "version: 1\n")
	if err := s.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	token, _, err := s.CreateToken(t.Context(), store.Token{Tenant: "acme", Name: "bot", Type: store.TypeAgent, Scopes: []store.Scope{store.ScopeRun}})
	if err != nil {
		t.Fatal(err)
	}
	who, err := s.Authenticate(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Submit(t.Context(), who, Submission{Program: Program{Language: "js", Code: "1"}}, 0); err != nil {
		t.Errorf("a run of a new tenant: %v", err)
	}
	write(t, data, "tenants/acme/policy.yaml", "version: 1\nallow: 3\n")
	write(t, data, "tenants/beta/policy.yaml", "version: 1\n")
	if err := s.Reload(t.Context()); fault.CodeOf(err).Class() != fault.ClassUsage || s.Tenant("acme") == nil || s.Tenant("beta") == nil {
		t.Errorf("a reload of a policy with a fault: %v", err)
	}
	if err := os.RemoveAll(filepath.Join(data, "tenants/acme")); err != nil {
		t.Fatal(err)
	}
	if err := s.Reload(t.Context()); err != nil || s.Tenant("acme") != nil {
		t.Errorf("a tenant whose folder is gone: %v, %v", s.Tenant("acme"), err)
	}
	if _, err := s.Authenticate(t.Context(), token); fault.CodeOf(err) != fault.DeniedToken {
		t.Errorf("a token of a tenant that is gone: %v", err)
	}
}
