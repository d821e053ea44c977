package door

import (
	"net"
	"net/netip"
	"testing"
	"time"
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

// TestManyClientsOfOneAddressConnectAtOnce has more of them than the address may have
// silent connections. Those that sent a request stay, and of the others the newest.
func TestManyClientsOfOneAddressConnectAtOnce(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	const most, clients = 4, 40
	d := &Listener{Listener: l, PerAddress: most, Pending: clients, Admitted: clients, patience: time.Hour}
	defer d.Close()
	var all []*Conn
	for range clients {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		in, err := d.Accept()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, in.(*Conn))
	}
	if len(d.waiting) != clients || d.thinning == nil {
		t.Fatalf("%d of %d connections are open", len(d.waiting), clients)
	}
	d.thinning.Stop()
	var answered []func()
	for _, c := range all[:clients/2] {
		answered = append(answered, c.Ask())
	}
	if !all[0].Admit() {
		t.Error("a client that asks is not admitted")
	}
	d.patience = time.Nanosecond
	d.thin()
	for i, c := range all {
		if want := i < clients/2 || i >= clients-most; (c.state != closedConn) != want {
			t.Errorf("connection %d is open: %v", i, !want)
		}
	}
	for _, done := range answered { // without a place
		done()
	}
	d.thin()
	if len(d.waiting) != most || all[0].state != admittedConn {
		t.Errorf("%d connections wait after the answers", len(d.waiting))
	}
}

// TestAFullHouseClosesASilentConnectionFirst has no room for one more.
func TestAFullHouseClosesASilentConnectionFirst(t *testing.T) {
	d := &Listener{Pending: 3}
	a, b := netip.MustParsePrefix("192.0.2.1/32"), netip.MustParsePrefix("192.0.2.2/32")
	only, asking, silent := &Conn{door: d, address: a}, &Conn{door: d, address: b}, &Conn{door: d, address: b}
	d.waiting = []*Conn{only, asking, silent}
	answered := asking.Ask()
	if d.victim() != silent {
		t.Error("a connection with a request is closed before one without")
	}
	answered()
	if d.victim() != asking {
		t.Error("the oldest connection of the address with the most is not closed")
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
