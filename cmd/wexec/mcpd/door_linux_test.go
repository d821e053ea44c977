package mcpd

import (
	"fmt"
	"net"
	"testing"
	"time"
)

// TestAFloodFromManyAddressesClosesItsOwn has more strangers than there are
// places, one from each address, and some from one address, which go first.
func TestAFloodFromManyAddressesClosesItsOwn(t *testing.T) {
	s := newServer(t, openPolicy, nil, (&shop{}).providers()...)
	address := serve(t, s, HTTPOptions{})
	first := stranger(t, address, "127.1.0.1", "")
	var crowd, others []net.Conn
	for range 3 {
		crowd = append(crowd, stranger(t, address, "127.1.0.2", ""))
	}
	for i := range maxPending - 2 {
		others = append(others, stranger(t, address, fmt.Sprintf("127.2.0.%d", i+1), ""))
	}
	for _, c := range crowd[:2] {
		if isOpen(t, c, 10*time.Second) {
			t.Error("an address with several connections keeps them all")
		}
	}
	for _, c := range []net.Conn{first, crowd[2], others[0]} {
		if !isOpen(t, c, 20*time.Millisecond) {
			t.Errorf("%s has lost its only connection", c.LocalAddr())
		}
	}
	wantQuickAnswer(t, address)
	for i := range 300 {
		stranger(t, address, fmt.Sprintf("127.3.%d.%d", i/200, i%200+1), "")
	}
	if isOpen(t, first, 10*time.Second) {
		t.Error("the oldest connection is still open")
	}
	wantQuickAnswer(t, address)
}
