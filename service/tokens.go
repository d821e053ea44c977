package service

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/store"
)

// tokenCache keeps tokens that clients showed. A token that this process revokes is
// refused at once, one that another process revokes after tokenFresh.
type tokenCache struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte]knownToken
	round int // rises when tokens are forgotten
}

type knownToken struct {
	store.Token
	read time.Time
}

// Bounds of the tokens that are kept.
const (
	tokenFresh = 2 * time.Second
	maxTokens  = 1024
)

// find returns a token that was read a short time ago, or else the round for keep.
func (c *tokenCache) find(key [sha256.Size]byte, now time.Time) (t store.Token, ok bool, round int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok := c.known[key]
	ok = ok && now.Sub(k.read) < tokenFresh && (k.Expires.IsZero() || now.Before(k.Expires))
	return k.Token, ok, c.round
}

// keep keeps a token that was read at a time, unless tokens were forgotten since.
func (c *tokenCache) keep(key [sha256.Size]byte, t store.Token, read time.Time, round int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.round != round {
		return
	}
	if c.known == nil || len(c.known) >= maxTokens {
		c.known = map[[sha256.Size]byte]knownToken{}
	}
	c.known[key] = knownToken{t, read}
}

// forget forgets all tokens.
func (c *tokenCache) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known = nil
	c.round++
}

// Authenticate returns who has a token. An unknown, expired or revoked one is
// [fault.DeniedToken].
func (s *Service) Authenticate(ctx context.Context, token string) (Principal, error) {
	key, now := sha256.Sum256([]byte(token)), time.Now()
	t, ok, round := s.tokens.find(key, now)
	if !ok {
		var err error
		if t, err = s.o.Store.Token(ctx, token); err != nil {
			return Principal{}, err
		}
		s.tokens.keep(key, t, now, round)
	}
	if s.tenants.get(t.Tenant) == nil {
		return Principal{}, fault.New(fault.DeniedToken, "the tenant of the token does not exist")
	}
	return Principal{Token: t}, nil
}

// RevokeToken removes a token of the principal's tenant.
func (s *Service) RevokeToken(ctx context.Context, who Principal, id string) error {
	defer s.tokens.forget()
	return s.o.Store.Revoke(ctx, who.Tenant, id)
}
