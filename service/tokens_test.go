package service

import (
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"github.com/wexec/wexec/store"
)

func TestATokenIsKeptForAShortTime(t *testing.T) {
	var c tokenCache
	now := time.Now()
	a, b := sha256.Sum256([]byte("a")), sha256.Sum256([]byte("b"))
	found := func(key [sha256.Size]byte, at time.Time) bool {
		_, ok, _ := c.find(key, at)
		return ok
	}
	c.keep(a, store.Token{ID: "a"}, now, 0)
	c.keep(b, store.Token{ID: "b", Expires: now.Add(time.Second)}, now, 0)
	for at, want := range map[time.Duration][2]bool{0: {true, true}, time.Second: {true, false}, tokenFresh: {false, false}} {
		if got := [2]bool{found(a, now.Add(at)), found(b, now.Add(at))}; got != want {
			t.Errorf("after %v: %v, want %v", at, got, want)
		}
	}
	// What was read before a token was revoked is not kept after it.
	_, _, round := c.find(a, now)
	c.forget()
	if c.keep(a, store.Token{ID: "a"}, now, round); found(a, now) {
		t.Error("a token is kept that may be revoked")
	}
	for i := range 3 * maxTokens {
		_, _, round = c.find(a, now)
		c.keep(sha256.Sum256(fmt.Append(nil, i)), store.Token{}, now, round)
	}
	if len(c.known) > maxTokens {
		t.Errorf("%d tokens are kept", len(c.known))
	}
}
