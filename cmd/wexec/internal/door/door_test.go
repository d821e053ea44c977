package door

import (
	"net"
	"testing"
)

// TestAClosedConnectionGivesItsPlaceBackOnce counts the places of a listener.
func TestAClosedConnectionGivesItsPlaceBackOnce(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &Listener{Listener: l, Pending: 2, Admitted: 1}
	defer d.Close()
	accept := func() *Conn {
		t.Helper()
		if c, err := net.Dial("tcp", l.Addr().String()); err == nil {
			t.Cleanup(func() { _ = c.Close() })
		} else {
			t.Fatal(err)
		}
		c, err := d.Accept()
		if err != nil {
			t.Fatal(err)
		}
		return c.(*Conn)
	}
	first, second := accept(), accept()
	for range 2 {
		if !first.Admit() {
			t.Error("a connection is not admitted")
		}
	}
	if second.Admit() {
		t.Error("a second connection is admitted")
	}
	for range 2 {
		_ = first.Close()
	}
	if first.Admit() {
		t.Error("a closed connection is admitted")
	}
	if !second.Admit() || len(d.waiting) != 0 || d.inside != 1 {
		t.Errorf("%d pending, %d admitted", len(d.waiting), d.inside)
	}
	a, b, c := accept(), accept(), accept()
	if a.state != closedConn || len(d.waiting) != 2 || d.waiting[0] != b || d.waiting[1] != c {
		t.Error("the oldest pending connection is not the one that was closed")
	}
}

func TestAddressesOfOneNetworkCountTogether(t *testing.T) {
	for text, want := range map[string]string{
		"192.0.2.7:1":              "192.0.2.7/32",
		"[::ffff:192.0.2.7]:1":     "192.0.2.7/32",
		"[2001:db8:1:2:3::4]:1":    "2001:db8:1:2::/64",
		"[2001:db8:1:2:ffff::1]:2": "2001:db8:1:2::/64",
		"[fe80::1%eth0]:1":         "fe80::/64",
		"@":                        "invalid Prefix",
	} {
		if got := addressOf(from(text)).String(); got != want {
			t.Errorf("%s counts as %s, want %s", text, got, want)
		}
	}
}

// from is a connection from an address.
func from(address string) net.Conn { return remote{address: address} }

type remote struct {
	net.Conn
	address string
}

func (r remote) RemoteAddr() net.Addr { return r }
func (r remote) Network() string      { return "tcp" }
func (r remote) String() string       { return r.address }
