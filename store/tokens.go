package store

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/wexec/wexec/fault"
)

// Scope is what a token allows.
type Scope string

// The scopes. ScopeAdmin includes all others but ScopeReveal.
const (
	ScopeRun     Scope = "run"
	ScopeRead    Scope = "read"
	ScopeApprove Scope = "approve"
	ScopeReveal  Scope = "reveal"
	ScopeSkills  Scope = "skills"
	ScopeAdmin   Scope = "admin"
)

// Scopes returns every scope.
func Scopes() []Scope {
	return []Scope{ScopeRun, ScopeRead, ScopeApprove, ScopeReveal, ScopeSkills, ScopeAdmin}
}

// The types of a token's holder.
const (
	TypeAgent  = "agent"
	TypePerson = "person"
)

// Token is what is known of a token. The token itself is not kept.
type Token struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Tenant  string    `json:"tenant"`
	Type    string    `json:"type"` // TypeAgent, TypePerson
	Scopes  []Scope   `json:"scopes"`
	Tools   []string  `json:"tools,omitempty"` // globs of the tools it may use; nil means all
	Quotas  Quotas    `json:"quotas,omitzero"`
	Model   string    `json:"model,omitempty"` // of its holder; the cost of runs uses its price; may be empty
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires,omitzero"` // zero: never
	Used    time.Time `json:"used,omitzero"`    // zero: never; kept to the minute
}

// Has reports whether the token has a scope.
func (t Token) Has(scope Scope) bool {
	return slices.Contains(t.Scopes, scope) || scope != ScopeReveal && slices.Contains(t.Scopes, ScopeAdmin)
}

// tokenPrefix begins each token, so that people and scanners recognize one.
const tokenPrefix = "wx_"

// hashOf returns what is kept of a token.
func hashOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// NewTokenID returns an id for a token.
func NewTokenID() string { return "tok_" + strings.ToLower(rand.Text()[:12]) }

// Valid returns an error if there cannot be such a token.
func (t Token) Valid() error {
	if t.Tenant == "" || t.Name == "" || t.ID == "" {
		return fault.New(fault.UsageToken, "a token needs a tenant, an id and a name")
	}
	if t.Type != TypeAgent && t.Type != TypePerson {
		return fault.New(fault.UsageToken, "unknown type of token %.20q", t.Type).WithHint("use agent or person")
	}
	for _, scope := range t.Scopes {
		if !slices.Contains(Scopes(), scope) {
			return fault.New(fault.UsageToken, "unknown scope %.20q", scope).WithHint("scopes are run, read, approve, reveal, skills and admin")
		}
	}
	if len(t.Scopes) == 0 {
		return fault.New(fault.UsageToken, "a token needs a scope").WithHint("scopes are run, read, approve, reveal, skills and admin")
	}
	for _, glob := range t.Tools {
		if glob == "" || strings.Contains(glob, ",") {
			return fault.New(fault.UsageToken, "invalid pattern for tools %.40q", glob).WithHint("name one pattern each time, such as github.*")
		}
	}
	return t.Quotas.Check()
}

// CreateToken makes a token and returns it. It cannot be shown again.
func (s *Store) CreateToken(ctx context.Context, t Token) (string, error) {
	if err := t.Valid(); err != nil {
		return "", err
	}
	scopes := make([]string, len(t.Scopes))
	for i, scope := range t.Scopes {
		scopes[i] = string(scope)
	}
	quotas, err := json.Marshal(t.Quotas)
	if err != nil {
		return "", fault.New(fault.UsageToken, "encode the quotas: %w", err)
	}
	var random [32]byte
	_, _ = rand.Read(random[:]) // it never fails
	token := tokenPrefix + base64.RawURLEncoding.EncodeToString(random[:])
	return token, s.update(ctx, func(tx *Tx) error {
		_, err := tx.exec(`INSERT INTO tokens (hash, tenant, id, name, type, scopes, tools, created, expires, used, quotas, model) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0, $10, $11)`,
			hashOf(token), t.Tenant, t.ID, t.Name, t.Type, strings.Join(scopes, ","), strings.Join(t.Tools, ","), tx.s.micros(), microsOf(t.Expires), string(quotas), t.Model)
		return err
	})
}

const tokenColumns = `tenant, id, name, type, scopes, tools, created, expires, used, quotas, model`

func scanToken(scan func(...any) error) (t Token, err error) {
	var scopes, tools, quotas string
	var created, expires, used int64
	err = scan(&t.Tenant, &t.ID, &t.Name, &t.Type, &scopes, &tools, &created, &expires, &used, &quotas, &t.Model)
	if err == nil && quotas != "" {
		err = json.Unmarshal([]byte(quotas), &t.Quotas)
	}
	for scope := range strings.SplitSeq(scopes, ",") {
		t.Scopes = append(t.Scopes, Scope(scope))
	}
	if tools != "" {
		t.Tools = strings.Split(tools, ",")
	}
	t.Created, t.Expires, t.Used = timeOf(created), timeOf(expires), timeOf(used)
	return t, err
}

// Token returns what a token is good for. An unknown, expired or revoked token is
// [fault.DeniedToken].
func (s *Store) Token(ctx context.Context, token string) (t Token, err error) {
	found := false
	hash := hashOf(token)
	err = s.look(ctx, func(tx *Tx) error {
		for scan, err := range tx.rows(`SELECT `+tokenColumns+` FROM tokens WHERE hash = $1 AND (expires = 0 OR expires > $2)`, hash, tx.s.micros()) {
			if err != nil {
				return err
			}
			found = true
			if t, err = scanToken(scan); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return t, err
	}
	if !found {
		return t, fault.New(fault.DeniedToken, "the token is unknown, expired or revoked")
	}
	if now := s.now(); now.Sub(t.Used) >= time.Minute {
		_ = s.update(ctx, func(tx *Tx) error { // a store that cannot be written lets people in to read
			_, err := tx.exec(`UPDATE tokens SET used = $2 WHERE hash = $1`, hash, now.UnixMicro())
			return err
		})
	}
	return t, nil
}

// Tokens returns the tokens of a tenant; "" means all tenants.
func (s *Store) Tokens(ctx context.Context, tenant string) (all []Token, err error) {
	err = s.look(ctx, func(tx *Tx) error {
		all = []Token{}
		for scan, err := range tx.rows(`SELECT `+tokenColumns+` FROM tokens WHERE $1 = '' OR tenant = $1 ORDER BY tenant, id`, tenant) {
			if err != nil {
				return err
			}
			t, err := scanToken(scan)
			if err != nil {
				return err
			}
			all = append(all, t)
		}
		return nil
	})
	return all, err
}

// HoldsToken reports whether a tenant has a token with an id that has not expired.
func (s *Store) HoldsToken(ctx context.Context, tenant, id string) (held bool, err error) {
	err = s.look(ctx, func(tx *Tx) error {
		held, err = tx.row([]any{new(string)}, `SELECT id FROM tokens WHERE tenant = $1 AND id = $2 AND (expires = 0 OR expires > $3)`, tenant, id, tx.s.micros())
		return err
	})
	return held, err
}

// Revoke removes a token.
func (s *Store) Revoke(ctx context.Context, tenant, id string) error {
	return s.update(ctx, func(tx *Tx) error {
		n, err := tx.exec(`DELETE FROM tokens WHERE tenant = $1 AND id = $2`, tenant, id)
		if err == nil && n == 0 {
			return fault.New(fault.UsageToken, "there is no token %.40q", id).WithHint("list them with wexec token list")
		}
		return err
	})
}
