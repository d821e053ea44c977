package workspaces

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/internal/tools/testenv"
)

// client returns the workspaces of a tenant with the folder site, and where they are.
func client(t *testing.T) (c *Client, kept, base string) {
	t.Helper()
	data := t.TempDir()
	base, kept = filepath.Join(data, "site"), filepath.Join(data, "workspaces")
	tenant := filepath.Join(data, "tenant")
	if err := errors.Join(os.Mkdir(base, 0o700), os.Mkdir(tenant, 0o700),
		os.WriteFile(filepath.Join(tenant, "wexec.yaml"), []byte("workspaces: {site: '"+base+"'}\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	env := testenv.Isolated(data)
	settings, err := config.LoadTenant(env, tenant, filepath.Join(data, "server"))
	if err != nil {
		t.Fatal(err)
	}
	table, err := hostfns.NewTable(nil, &audit.Memory{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = table.Close() })
	core := hostfns.Core(func(context.Context) (func(), error) { return func() {}, nil })
	return &Client{Settings: settings, Kept: settings.WorkspacesIn(kept, env), Actor: "ada", Reading: NewReading(), Core: core,
		Cover: func() (*hostfns.Cover, error) { return table.Cover(nil, true, core) }, Logger: slog.New(slog.DiscardHandler)}, kept, base
}

func TestATenantHasABoundedNumberOfWorkspaces(t *testing.T) {
	c, kept, _ := client(t)
	for i := range maxWorkspaces {
		if err := os.MkdirAll(filepath.Join(kept, fmt.Sprintf("damaged%03d", i)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Create(t.Context(), "site", ""); fault.CodeOf(err) != fault.LimitQuota {
		t.Errorf("one more: %v", err)
	}
	all, next, err := c.List(t.Context(), "", 10)
	if err != nil || len(all) != 10 || next == "" {
		t.Errorf("%d are listed, %v", len(all), err)
	}
}

func TestManyReadersOfChangesAreRefused(t *testing.T) {
	c, _, _ := client(t)
	w, err := c.Create(t.Context(), "site", "")
	if err != nil {
		t.Fatal(err)
	}
	for range maxReading {
		c.Reading <- struct{}{}
	}
	if err := c.Diff(t.Context(), w.ID, io.Discard); fault.CodeOf(err) != fault.LimitBusy {
		t.Errorf("one more: %v", err)
	}
	<-c.Reading
	if err := c.Export(t.Context(), w.ID, io.Discard); err != nil {
		t.Error(err)
	}
}

// TestAClientThatGoesAwayEndsTheWork writes to a connection that is closed, and cancels a
// request, while changes are read.
func TestAClientThatGoesAwayEndsTheWork(t *testing.T) {
	c, _, _ := client(t)
	made, err := c.Create(t.Context(), "site", "")
	if err != nil {
		t.Fatal(err)
	}
	w, err := c.Lend(made.ID)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		f, err := w.Open(fmt.Sprint("f", i), os.O_WRONLY|os.O_CREATE, 0o600)
		if err == nil {
			_, err = io.Copy(f, strings.NewReader(lines(300)))
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for name, do := range map[string]func(context.Context, string, io.Writer) error{"diff": c.Diff, "export": c.Export} {
		gone := &closing{after: 3}
		if err := do(t.Context(), made.ID, gone); !errors.Is(err, io.ErrClosedPipe) || gone.writes != 4 {
			t.Errorf("%s: %v after %d writes", name, err, gone.writes)
		}
		ctx, cancel := context.WithCancel(t.Context())
		if err := do(ctx, made.ID, &closing{after: 2, then: cancel}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
	}
	if len(c.Reading) > 0 {
		t.Errorf("%d places are taken", len(c.Reading))
	}
	if err := c.Delete(made.ID); err != nil { // it is not in use
		t.Error(err)
	}
}

// lines returns lines that cannot be compressed well.
func lines(n int) string {
	var b strings.Builder
	for range n {
		b.WriteString(rand.Text() + "\n")
	}
	return b.String()
}

// closing is a connection that fails, or calls then, after some writes.
type closing struct {
	writes, after int
	then          func()
}

func (c *closing) Write(b []byte) (int, error) {
	c.writes++
	switch {
	case c.writes <= c.after:
	case c.then != nil:
		c.then()
	default:
		return 0, io.ErrClosedPipe
	}
	return len(b), nil
}
