// Package door serves HTTP with bounded connections, so that a flood of them leaves
// the process its file descriptors and other clients their places.
package door

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Listener is a listener that bounds connections. One is pending until a request on
// it was authorized. Pending connections never take the places of the others: a
// new one closes the oldest pending one of its address, or of the address that
// has the most, so that a flood of connections closes its own.
type Listener struct {
	net.Listener
	PerAddress int // pending connections of one address; negative: any number
	Pending    int // pending connections
	Admitted   int // other connections

	mu      sync.Mutex
	waiting []*Conn // the pending connections, oldest first
	inside  int     // how many are admitted
}

// Conn is a connection of a Listener.
type Conn struct {
	net.Conn
	door    *Listener
	address netip.Prefix // invalid: not an IP address
	state   connState    // guarded by door.mu
}

type connState uint8

const (
	pendingConn connState = iota
	admittedConn
	closedConn
)

// Accept implements net.Listener.
func (d *Listener) Accept() (net.Conn, error) {
	conn, err := d.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &Conn{Conn: conn, door: d, address: addressOf(conn)}
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
func (d *Listener) victim(address netip.Prefix) *Conn {
	count := map[netip.Prefix]int{}
	for _, c := range d.waiting {
		count[c.address]++
	}
	crowded, most := address, 0
	switch {
	case d.PerAddress > 0 && address.IsValid() && count[address] >= d.PerAddress:
	case len(d.waiting) >= d.Pending:
		for _, c := range d.waiting {
			if n := count[c.address]; n > most {
				crowded, most = c.address, n
			}
		}
	default:
		return nil
	}
	return d.waiting[slices.IndexFunc(d.waiting, func(c *Conn) bool { return c.address == crowded })]
}

// Close implements net.Conn.
func (c *Conn) Close() error {
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

func (d *Listener) forget(c *Conn) {
	if i := slices.Index(d.waiting, c); i >= 0 {
		d.waiting = slices.Delete(d.waiting, i, i+1)
	}
}

// Admit notes that a request on the connection was authorized. It returns false
// if there is no place for it.
func (c *Conn) Admit() bool {
	d := c.door
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case c.state == admittedConn:
	case c.state == closedConn || d.inside >= d.Admitted:
		return false
	default:
		d.forget(c)
		c.state = admittedConn
		d.inside++
	}
	return true
}

// IsAdmitted reports whether a request on the connection was authorized.
func (c *Conn) IsAdmitted() bool {
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

type connKey struct{}

// Context makes the connection of a request known to its handler.
func Context(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn)
}

// Of returns the connection of a request, or nil if it did not come through a
// Listener.
func Of(r *http.Request) *Conn {
	conn := r.Context().Value(connKey{})
	if encrypted, ok := conn.(*tls.Conn); ok {
		conn = encrypted.NetConn()
	}
	c, _ := conn.(*Conn)
	return c
}

// Serve serves at a listener until the context ends. Then stop ends the work of the
// server, and the connections are closed, all at most within grace. If serving
// fails, stop is called as well.
func Serve(ctx context.Context, srv *http.Server, l net.Listener, grace time.Duration, stop func(context.Context)) error {
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	var failed error
	select {
	case failed = <-served:
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	stop(ending)
	if failed != nil {
		return failed
	}
	if srv.Shutdown(ending) != nil { // clients keep streams open
		if err := srv.Close(); err != nil {
			return err
		}
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
