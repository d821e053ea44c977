package mcpd

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Access tokens are JWTs that are signed with RS256 or ES256 by a published key
// of the issuer. Shared secrets, "none" and keys in a token are not accepted.

// Bounds of what an unauthenticated client can make this server read and fetch.
const (
	maxToken       = 16 << 10
	maxKeys        = 64
	maxKeyDocument = 1 << 20
	keysValid      = 10 * time.Minute
	keysMinRefresh = 30 * time.Second // for a key that is not known
)

// claims are the claims of an access token.
type claims struct {
	Issuer    string     `json:"iss"`
	Subject   string     `json:"sub"`
	Audience  stringList `json:"aud"`
	Expires   float64    `json:"exp"`
	NotBefore float64    `json:"nbf"`
	Scope     string     `json:"scope"`
	Scp       stringList `json:"scp"` // as some issuers name it
}

func (c claims) scopes() []string { return append(strings.Fields(c.Scope), c.Scp...) }

// stringList is a list of strings, or one string with spaces.
type stringList []string

// UnmarshalJSON implements json.Unmarshaler.
func (l *stringList) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*l = strings.Fields(one)
		return nil
	}
	return json.Unmarshal(data, (*[]string)(l))
}

// issuer is an authorization server with its keys.
type issuer struct {
	name   string
	client *http.Client

	mu      sync.Mutex
	keys    map[string]crypto.PublicKey // by kid
	fetched time.Time
	failed  error // of the last fetch
}

var errNoJWT = errors.New("not a JWT")

// verify checks the signature of a token and returns its claims.
func (i *issuer) verify(ctx context.Context, token string) (claims, error) {
	var c claims
	parts := strings.Split(token, ".")
	if len(token) > maxToken || len(parts) != 3 {
		return c, errNoJWT
	}
	var header struct {
		Algorithm string   `json:"alg"`
		Key       string   `json:"kid"`
		Type      string   `json:"typ"`
		Critical  []string `json:"crit"`
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || decodePart(parts[0], &header) != nil {
		return c, errNoJWT
	}
	if header.Critical != nil || header.Algorithm != "RS256" && header.Algorithm != "ES256" {
		return c, errors.New("unsupported signature")
	}
	switch strings.ToLower(header.Type) {
	case "", "jwt", "at+jwt", "application/at+jwt":
	default:
		return c, errors.New("not an access token")
	}
	key, err := i.key(ctx, header.Key)
	if err != nil {
		return c, err
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if !validSignature(key, header.Algorithm, sum[:], signature) {
		return c, errors.New("wrong signature")
	}
	if decodePart(parts[1], &c) != nil {
		return c, errNoJWT
	}
	return c, nil
}

func decodePart(part string, to any) error {
	data, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, to)
}

// validSignature checks a signature. The kind of the key must be that of the
// algorithm.
func validSignature(key crypto.PublicKey, algorithm string, sum, signature []byte) bool {
	switch key := key.(type) {
	case *rsa.PublicKey:
		return algorithm == "RS256" && rsa.VerifyPKCS1v15(key, crypto.SHA256, sum, signature) == nil
	case *ecdsa.PublicKey:
		return algorithm == "ES256" && len(signature) == 64 &&
			ecdsa.Verify(key, sum, new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:]))
	}
	return false
}

// key returns a key by its id. Keys are fetched again when they are old or when
// the id is unknown, but not often, since any client can send any id.
func (i *issuer) key(ctx context.Context, id string) (crypto.PublicKey, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	age := time.Since(i.fetched)
	if _, ok := i.keys[id]; age > keysValid || !ok && age > keysMinRefresh {
		i.fetched = time.Now()
		keys, err := i.fetchKeys(context.WithoutCancel(ctx))
		if i.failed = err; err == nil {
			i.keys = keys
		}
	}
	key, ok := i.keys[id]
	switch {
	case ok:
		return key, nil
	case i.failed != nil:
		return nil, i.failed
	}
	return nil, errors.New("unknown key")
}

// fetchKeys fetches the issuer's metadata and its keys.
func (i *issuer) fetchKeys(ctx context.Context) (map[string]crypto.PublicKey, error) {
	var metadata struct {
		Issuer string `json:"issuer"`
		Keys   string `json:"jwks_uri"`
	}
	base, err := url.Parse(i.name)
	if err != nil {
		return nil, err
	}
	path := strings.TrimSuffix(base.Path, "/")
	for _, place := range []string{"/.well-known/oauth-authorization-server" + path, path + "/.well-known/openid-configuration"} {
		at := *base
		at.Path = place
		if err = i.get(ctx, at.String(), &metadata); err == nil && metadata.Issuer == i.name {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	at, err := url.Parse(metadata.Keys)
	if metadata.Issuer != i.name || err != nil || at.Scheme != base.Scheme || at.Host == "" {
		return nil, &url.Error{Op: "read", URL: i.name, Err: errors.New("the issuer's metadata have no valid jwks_uri")}
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := i.get(ctx, metadata.Keys, &set); err != nil {
		return nil, err
	}
	keys := map[string]crypto.PublicKey{}
	for _, raw := range set.Keys[:min(len(set.Keys), maxKeys)] {
		if id, key, err := parseKey(raw); err == nil {
			keys[id] = key
		}
	}
	return keys, nil
}

// get fetches a JSON document. Its errors are of type *url.Error.
func (i *issuer) get(ctx context.Context, at string, to any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return err
	}
	res, err := i.client.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d", res.StatusCode)
	} else {
		err = json.NewDecoder(io.LimitReader(res.Body, maxKeyDocument)).Decode(to)
	}
	if err != nil {
		return &url.Error{Op: "Get", URL: at, Err: err}
	}
	return nil
}

// parseKey parses a signature key of a JWK set: RSA with 2048 to 8192 bits, or
// P-256.
func parseKey(raw json.RawMessage) (id string, key crypto.PublicKey, err error) {
	var k struct{ Kty, Kid, Use, Crv, N, E, X, Y string }
	if err := json.Unmarshal(raw, &k); err != nil {
		return "", nil, err
	}
	decode := func(s string) []byte {
		data, err := base64.RawURLEncoding.DecodeString(s)
		if err != nil {
			return nil
		}
		return data
	}
	switch {
	case k.Use != "" && k.Use != "sig":
	case k.Kty == "RSA":
		n, e := new(big.Int).SetBytes(decode(k.N)), new(big.Int).SetBytes(decode(k.E))
		if n.BitLen() >= 2048 && n.BitLen() <= 8192 && e.IsInt64() && e.Int64() >= 3 && e.Int64() < 1<<31 {
			return k.Kid, &rsa.PublicKey{N: n, E: int(e.Int64())}, nil
		}
	case k.Kty == "EC" && k.Crv == "P-256":
		if x, y := decode(k.X), decode(k.Y); len(x) == 32 && len(y) == 32 {
			key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), append(append([]byte{4}, x...), y...))
			return k.Kid, key, err
		}
	}
	return "", nil, errors.New("unsupported key")
}
