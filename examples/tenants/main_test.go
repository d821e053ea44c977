package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/hostfns"
)

func TestEachTenantSeesItsOwnTools(t *testing.T) {
	eng, err := engine.New(context.Background(), engine.Config{Cache: cache(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	tables := map[string]*hostfns.Table{}
	for _, tenant := range []string{"acme", "globex"} {
		if tables[tenant], err = tenantTable(tenant); err != nil {
			t.Fatal(err)
		}
		defer tables[tenant].Close()
	}
	server := httptest.NewServer(handler(eng, tables))
	defer server.Close()
	for _, c := range []struct {
		tenant, code string
		status       int
		value        string
	}{
		{"acme", "return (await tools.orders.find({ id: 7 })).owner", 200, `"acme"`},
		{"globex", "return (await tools.orders.find({ id: 7 })).owner", 200, `"globex"`},
		{"acme", "return await tools.orders.find({ id: 5000 })", 422, `null`},
		{"nobody", "return 1", 403, ""},
	} {
		req, err := http.NewRequest("POST", server.URL+"/run", strings.NewReader(c.code))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Tenant", c.tenant)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var got struct{ Value json.RawMessage }
		if c.value != "" {
			if err := json.NewDecoder(resp.Body).Decode(&got); err != nil {
				t.Fatal(err)
			}
		}
		resp.Body.Close()
		if resp.StatusCode != c.status || string(got.Value) != c.value {
			t.Errorf("%s: %d %s, want %d %s", c.tenant, resp.StatusCode, got.Value, c.status, c.value)
		}
	}
}

// cache returns the cache folder that tests share, to compile each guest once.
func cache(t *testing.T) string {
	base, err := os.UserCacheDir()
	if err != nil {
		return t.TempDir()
	}
	return filepath.Join(base, "wexec-tests")
}
