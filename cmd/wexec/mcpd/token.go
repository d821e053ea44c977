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

// Access tokens are JWTs signed with RS256 or ES256, by a key that the issuer
// publishes. Nothing else is taken: no shared secrets, no "none", no keys that
// a token brings along.

// Bounds of what a stranger may make this server read and fetch.
const (
	maxToken    = 16 << 10
	maxKeys     = 64
	keysHold    = 10 * time.Minute
	keysAgain   = 30 * time.Second // the soonest that an unknown key is asked for
	maxDocument = 1 << 20
)

// claims are what a token says.
type claims struct {
	Issuer    string   `json:"iss"`
	Subject   string   `json:"sub"`
	Audience  audience `json:"aud"`
	Expires   float64  `json:"exp"`
	NotBefore float64  `json:"nbf"`
	Scope     string   `json:"scope"`
	Scp       audience `json:"scp"`
}

// scopes are given as one text, or as a list where issuers do so.
func (c claims) scopes() []string { return append(strings.Fields(c.Scope), c.Scp...) }

// audience is a text or a list of texts.
type audience []string

// UnmarshalJSON implements json.Unmarshaler.
func (a *audience) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*a = strings.Fields(one)
		return nil
	}
	return json.Unmarshal(data, (*[]string)(a))
}

// issuer knows the keys of an authorization server.
type issuer struct {
	name   string
	client *http.Client

	mu     sync.Mutex
	keys   map[string]crypto.PublicKey // by kid
	asked  time.Time
	failed error
}

// verify checks the signature of a token and gives what it says.
func (i *issuer) verify(ctx context.Context, token string) (claims, error) {
	var c claims
	parts := strings.Split(token, ".")
	if len(token) > maxToken || len(parts) != 3 {
		return c, errors.New("it is no JWT")
	}
	var header struct {
		Algorithm string   `json:"alg"`
		Key       string   `json:"kid"`
		Type      string   `json:"typ"`
		Critical  []string `json:"crit"`
	}
	if err := decodePart(parts[0], &header); err != nil {
		return c, errors.New("it is no JWT")
	}
	if header.Critical != nil || header.Algorithm != "RS256" && header.Algorithm != "ES256" {
		return c, errors.New("it is signed in a way that is not taken")
	}
	switch strings.ToLower(header.Type) {
	case "", "jwt", "at+jwt", "application/at+jwt":
	default:
		return c, errors.New("it is no access token")
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil {
		return c, errors.New("it is no JWT")
	}
	key, err := i.key(ctx, header.Key)
	if err != nil {
		return c, err
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if !signed(key, header.Algorithm, sum[:], signature) {
		return c, errors.New("its signature is wrong")
	}
	if err := decodePart(parts[1], &c); err != nil {
		return c, errors.New("it is no JWT")
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

// signed reports whether a key made a signature. The kind of the key decides,
// and what the token says has to agree.
func signed(key crypto.PublicKey, algorithm string, sum, signature []byte) bool {
	switch key := key.(type) {
	case *rsa.PublicKey:
		return algorithm == "RS256" && rsa.VerifyPKCS1v15(key, crypto.SHA256, sum, signature) == nil
	case *ecdsa.PublicKey:
		if algorithm != "ES256" || len(signature) != 64 {
			return false
		}
		return ecdsa.Verify(key, sum, new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:]))
	}
	return false
}

// key finds a key by its name. Keys are fetched when they are old, and when one
// is not known, though not often: a stranger's token can ask for any name.
func (i *issuer) key(ctx context.Context, name string) (crypto.PublicKey, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	age := time.Since(i.asked)
	key, ok := i.keys[name]
	if age > keysHold || !ok && age > keysAgain {
		i.asked = time.Now()
		keys, err := i.fetch(context.WithoutCancel(ctx))
		if i.failed = err; err == nil {
			i.keys = keys
			key, ok = keys[name]
		}
	}
	switch {
	case ok:
		return key, nil
	case i.failed != nil:
		return nil, i.failed
	}
	return nil, errors.New("its key is not one of the issuer's")
}

// fetch asks the issuer where its keys are, and takes them.
func (i *issuer) fetch(ctx context.Context) (map[string]crypto.PublicKey, error) {
	var about struct {
		Issuer string `json:"issuer"`
		Keys   string `json:"jwks_uri"`
	}
	base, err := url.Parse(i.name)
	if err != nil {
		return nil, err
	}
	path := strings.TrimSuffix(base.Path, "/")
	failed := error(nil)
	for _, place := range []string{"/.well-known/oauth-authorization-server" + path, path + "/.well-known/openid-configuration"} {
		at := *base
		at.Path = place
		if failed = i.get(ctx, at.String(), &about); failed == nil && about.Issuer == i.name {
			break
		}
	}
	if failed != nil {
		return nil, failed
	}
	at, err := url.Parse(about.Keys)
	if about.Issuer != i.name || err != nil || at.Scheme != base.Scheme || at.Host == "" {
		return nil, &url.Error{Op: "read", URL: i.name, Err: errors.New("the issuer's metadata do not say where its keys are")}
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := i.get(ctx, about.Keys, &set); err != nil {
		return nil, err
	}
	keys := map[string]crypto.PublicKey{}
	for _, raw := range set.Keys[:min(len(set.Keys), maxKeys)] {
		if name, key, err := readKey(raw); err == nil {
			keys[name] = key
		}
	}
	return keys, nil
}

// get reads a JSON document. What fails is always a *url.Error.
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
		return &url.Error{Op: "Get", URL: at, Err: fmt.Errorf("status %d", res.StatusCode)}
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, maxDocument)).Decode(to); err != nil {
		return &url.Error{Op: "read", URL: at, Err: err}
	}
	return nil
}

// readKey reads one key of a set: RSA of 2048 to 8192 bits, or P-256. Keys that
// are for encryption are none.
func readKey(raw json.RawMessage) (string, crypto.PublicKey, error) {
	var k struct{ Kty, Kid, Use, Crv, N, E, X, Y string }
	if err := json.Unmarshal(raw, &k); err != nil {
		return "", nil, err
	}
	number := func(s string) []byte {
		data, err := base64.RawURLEncoding.DecodeString(s)
		if err != nil {
			return nil
		}
		return data
	}
	switch {
	case k.Use != "" && k.Use != "sig":
	case k.Kty == "RSA":
		n, e := new(big.Int).SetBytes(number(k.N)), new(big.Int).SetBytes(number(k.E))
		if n.BitLen() >= 2048 && n.BitLen() <= 8192 && e.IsInt64() && e.Int64() >= 3 && e.Int64() < 1<<31 {
			return k.Kid, &rsa.PublicKey{N: n, E: int(e.Int64())}, nil
		}
	case k.Kty == "EC" && k.Crv == "P-256":
		x, y := number(k.X), number(k.Y)
		if len(x) == 32 && len(y) == 32 {
			key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), append(append([]byte{4}, x...), y...))
			return k.Kid, key, err
		}
	}
	return "", nil, errors.New("the key is of a kind that is not taken")
}
