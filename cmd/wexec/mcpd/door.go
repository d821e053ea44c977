package mcpd

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
)

// door is a listener that bounds connections. One is pending until a request on
// it was authorized. Pending connections never take the places of the others: a
// new one closes the oldest pending one of its address, or of the address that
// has the most, so that a flood of connections closes its own.
type door struct {
	net.Listener
	perAddress int // pending connections of one address; negative: any number
	pending    int // pending connections
	admitted   int // other connections

	mu      sync.Mutex
	waiting []*doorConn // the pending connections, oldest first
	inside  int         // how many are admitted
}

// doorConn is a connection of a door.
type doorConn struct {
	net.Conn
	door    *door
	address netip.Prefix // invalid: not an IP address
	state   doorState    // guarded by door.mu
}

type doorState uint8

const (
	pendingConn doorState = iota
	admittedConn
	closedConn
)

// Accept implements net.Listener.
func (d *door) Accept() (net.Conn, error) {
	conn, err := d.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &doorConn{Conn: conn, door: d, address: addressOf(conn)}
	d.mu.Lock()
	victim := d.victim(c.address)
	d.waiting = append(d.waiting, c)
	d.mu.Unlock()
	if victim != nil {
		_ = victim.Close()
	}
	return c, nil
}

// victim returns the connection that has to make room for a new one, or nil.
func (d *door) victim(address netip.Prefix) *doorConn {
	count := map[netip.Prefix]int{}
	for _, c := range d.waiting {
		count[c.address]++
	}
	crowded, most := address, 0
	switch {
	case d.perAddress > 0 && address.IsValid() && count[address] >= d.perAddress:
	case len(d.waiting) >= d.pending:
		for _, c := range d.waiting {
			if n := count[c.address]; n > most {
				crowded, most = c.address, n
			}
		}
	default:
		return nil
	}
	return d.waiting[slices.IndexFunc(d.waiting, func(c *doorConn) bool { return c.address == crowded })]
}

// Close implements net.Conn.
func (c *doorConn) Close() error {
	c.door.mu.Lock()
	switch c.state {
	case pendingConn:
		c.door.forget(c)
	case admittedConn:
		c.door.inside--
	}
	c.state = closedConn
	c.door.mu.Unlock()
	return c.Conn.Close()
}

func (d *door) forget(c *doorConn) {
	if i := slices.Index(d.waiting, c); i >= 0 {
		d.waiting = slices.Delete(d.waiting, i, i+1)
	}
}

// admit notes that a request on the connection was authorized. It returns false
// if there is no place for it.
func (c *doorConn) admit() bool {
	d := c.door
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case c.state == admittedConn:
	case c.state == closedConn || d.inside >= d.admitted:
		return false
	default:
		d.forget(c)
		c.state = admittedConn
		d.inside++
	}
	return true
}

func (c *doorConn) isAdmitted() bool {
	c.door.mu.Lock()
	defer c.door.mu.Unlock()
	return c.state == admittedConn
}

// addressOf returns the address that a connection is counted for: one of IPv4, or
// the 64 bits of an IPv6 network, since a host can have every address in it.
func addressOf(conn net.Conn) netip.Prefix {
	at, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	if err != nil {
		return netip.Prefix{}
	}
	ip, bits := at.Addr().Unmap(), 32
	if ip.Is6() {
		bits = 64
	}
	p, err := ip.WithZone("").Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return p
}

type doorKey struct{}

// doorContext makes the connection of a request known to its handler.
func doorContext(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, doorKey{}, conn)
}

// doorOf returns the connection of a request, or nil if it did not come through a
// door.
func doorOf(r *http.Request) *doorConn {
	c, _ := r.Context().Value(doorKey{}).(*doorConn)
	return c
}
