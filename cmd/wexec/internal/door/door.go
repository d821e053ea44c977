// Package door serves HTTP with bounded connections, so that a flood of them leaves
// the process its file descriptors and other clients their places.
package door

import (
	"cmp"
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
// it was authorized. Pending connections never take the places of the others: if
// there are too many, a new one closes the oldest one of the address that has the
// most, so that a flood of connections closes its own.
//
// Many clients can have one address and connect at the same moment. So the bound of an
// address counts only connections that have sent no request for the time of patience.
type Listener struct {
	net.Listener
	PerAddress int // pending connections of one address without a request; negative: any number
	Pending    int // pending connections
	Admitted   int // other connections

	patience time.Duration // zero: defaultPatience
	mu       sync.Mutex
	waiting  []*Conn     // the pending connections, oldest first
	inside   int         // how many are admitted
	thinning *time.Timer // closes what an address has too many of; nil if no address has
}

// defaultPatience is longer than a busy process takes to read a request that has
// arrived, and shorter than a client has time to send one.
const defaultPatience = 2 * time.Second

// Conn is a connection of a Listener.
type Conn struct {
	net.Conn
	door    *Listener
	address netip.Prefix // invalid: not an IP address
	since   time.Time
	state   connState // guarded by door.mu
}

type connState uint8

const (
	silentConn connState = iota // pending, without a request
	askingConn                  // pending, with a request that is not answered
	admittedConn
	closedConn
)

// Accept implements net.Listener.
func (d *Listener) Accept() (net.Conn, error) {
	conn, err := d.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &Conn{Conn: conn, door: d, address: addressOf(conn), since: time.Now()}
	d.mu.Lock()
	victim := d.victim()
	d.waiting = append(d.waiting, c)
	if d.thinning == nil && d.PerAddress > 0 && len(d.waiting) > d.PerAddress {
		d.thinning = time.AfterFunc(cmp.Or(d.patience, defaultPatience), d.thin)
	}
	d.mu.Unlock()
	if victim != nil {
		_ = victim.Close()
	}
	return c, nil
}

// victim returns the connection that has to make room for a new one, or nil. It is of
// the address that has the most; one without a request goes first.
func (d *Listener) victim() *Conn {
	if len(d.waiting) < d.Pending {
		return nil
	}
	count, most := map[netip.Prefix]int{}, 0
	for _, c := range d.waiting {
		count[c.address]++
		most = max(most, count[c.address])
	}
	var oldest *Conn
	for _, c := range d.waiting {
		if count[c.address] == most && (oldest == nil || c.address == oldest.address && c.state < oldest.state) {
			oldest = c
		}
	}
	return oldest
}

// thin closes the oldest connections without a request of each address that has more
// than PerAddress of them, if they had time to send one.
func (d *Listener) thin() {
	patience := cmp.Or(d.patience, defaultPatience)
	d.mu.Lock()
	count := map[netip.Prefix]int{}
	for _, c := range d.waiting {
		if c.state == silentConn {
			count[c.address]++
		}
	}
	var victims []*Conn
	d.thinning = nil
	for _, c := range d.waiting {
		if c.state != silentConn || !c.address.IsValid() || count[c.address] <= d.PerAddress {
			continue
		}
		if left := patience - time.Since(c.since); left > 0 {
			d.thinning = time.AfterFunc(left, d.thin)
			break // the others are younger
		}
		count[c.address]--
		victims = append(victims, c)
	}
	d.mu.Unlock()
	for _, c := range victims {
		_ = c.Close()
	}
}

// Close implements net.Conn.
func (c *Conn) Close() error {
	c.door.mu.Lock()
	switch c.state {
	case silentConn, askingConn:
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

// Ask notes that a request on the connection has arrived, until answered is called.
func (c *Conn) Ask() (answered func()) {
	turn := func(from, to connState) {
		c.door.mu.Lock()
		defer c.door.mu.Unlock()
		if c.state == from {
			c.state = to
		}
	}
	turn(silentConn, askingConn)
	return func() { turn(askingConn, silentConn) }
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
