package config

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
)

func loaded(t *testing.T, env *Environment, f Flags) *Settings {
	t.Helper()
	s, err := Load(env, f)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const shopServer = `{"mcpServers": {"shop": {"command": "x"}}}`

func TestPinsBelongToTheFileThatConfiguresTheServer(t *testing.T) {
	env := machine(t, map[string]string{"project/a.json": shopServer, "project/b.json": shopServer})
	a := loaded(t, env, Flags{MCP: []string{"a.json"}})
	pin := hostfns.NewPin(catalogue.Tool{Server: "shop", Name: "buy", Description: "d"})
	other := hostfns.NewPin(catalogue.Tool{Server: "shopping", Name: "buy"})
	if err := a.Pin(env, false, pin, other); err != nil {
		t.Fatal(err)
	}
	got, err := a.Pins(env)
	if err != nil || len(got) != 1 || got[0].Tool != "shop.buy" || got[0].SHA256 != pin.SHA256 {
		t.Fatalf("%+v, %v", got, err)
	}
	if got, err := loaded(t, env, Flags{MCP: []string{"b.json"}}).Pins(env); err != nil || len(got) != 0 {
		t.Errorf("another file's server of that name has the pins %+v, %v", got, err)
	}
	info, err := os.Stat(a.PinFiles(env).User)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if err := a.Unpin(env, false, "shop.buy"); err != nil {
		t.Fatal(err)
	}
	if got, err := a.Pins(env); err != nil || len(got) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAProjectsLockAppliesWithoutTrust(t *testing.T) {
	env := machine(t, map[string]string{"project/wexec.yaml": "log: warn\n", "project/x.json": shopServer,
		"project/wexec.lock": `{"tools": {"shop.buy": {"sha256": "00"}, "other.x": {"sha256": "11"}}}`})
	s := loaded(t, env, Flags{MCP: []string{"x.json"}})
	if s.Project.Trusted {
		t.Fatal("the project is trusted")
	}
	got, err := s.Pins(env)
	if err != nil || len(got) != 1 || got[0].SHA256 != "00" || filepath.Base(got[0].Origin) != "wexec.lock" {
		t.Fatalf("%+v, %v", got, err)
	}
}

func TestDamagedPinsAreAnError(t *testing.T) {
	env := machine(t, map[string]string{"project/x.json": shopServer, "state/wexec/pins.json": "{"})
	if _, err := loaded(t, env, Flags{MCP: []string{"x.json"}}).Pins(env); !errors.Is(err, fault.UsageConfig) {
		t.Errorf("%v", err)
	}
}

func TestARunningHostReadsNewPins(t *testing.T) {
	env := machine(t, map[string]string{"project/x.json": shopServer})
	s := loaded(t, env, Flags{MCP: []string{"x.json"}})
	w := &pinWatcher{files: s.PinFiles(env), servers: s.Servers}
	if err := w.read(); err != nil || len(w.current().List()) != 0 {
		t.Fatalf("%v", err)
	}
	if err := s.Pin(env, false, hostfns.NewPin(catalogue.Tool{Server: "shop", Name: "buy"})); err != nil {
		t.Fatal(err)
	}
	w.checked = time.Now().Add(-pinInterval)
	if got := w.current().List(); len(got) != 1 {
		t.Fatalf("heard %+v", got)
	}
	// What is damaged later does not let anything go.
	if err := os.WriteFile(w.files.User, []byte("{{{{{"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.checked = time.Now().Add(-pinInterval)
	if got := w.current().List(); len(got) != 1 {
		t.Errorf("damage let %+v", got)
	}
}
