package service

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"

	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/seal"
	"github.com/wexec/wexec/store"
)

// Keys are what a server seals with: the seal key, and a key for digests that the
// store has wrapped with it, so that all servers of a store have the same one.
type Keys struct {
	*seal.Keys
	digests []byte
}

// The key of digests in the store.
const (
	digestKey     = "digests"
	digestPurpose = "key of digests"
)

// OpenKeys opens the seal key of a store: the one in WEXEC_SEAL_KEY, or that of a
// file, which is seal.key in the data folder unless one is named. The file is made if
// the store has nothing sealed yet. A key that did not seal the store is refused.
func OpenKeys(ctx context.Context, s *store.Store, env *config.Environment, data, file string) (*Keys, error) {
	if file == "" {
		file = filepath.Join(data, "seal.key")
	}
	text, _ := env.Lookup(seal.Variable)
	wrapped, err := s.Key(ctx, digestKey)
	if err != nil {
		return nil, err
	}
	load := seal.Load
	if wrapped == nil {
		load = seal.LoadOrCreate
	}
	k := &Keys{}
	if k.Keys, err = load(file, text); err != nil {
		return nil, err
	}
	if wrapped == nil {
		fresh := make([]byte, sha256.Size)
		rand.Read(fresh)
		if wrapped, err = k.Wrap(ctx, fresh, digestPurpose); err != nil {
			return nil, err
		}
		if wrapped, err = s.AddKey(ctx, digestKey, wrapped); err != nil {
			return nil, err
		}
	}
	if k.digests, err = k.Unwrap(ctx, wrapped, digestPurpose); err != nil {
		return nil, fault.New(fault.UsageStore, "the seal key is not the one of this store: %w", err).
			WithHint("restore the key file of the servers, or set %s", seal.Variable)
	}
	return k, nil
}

// Digest returns the HMAC of parts, which tells nothing to those without the seal
// key. The first part says what the digest is for.
func (k *Keys) Digest(parts ...string) string {
	mac := hmac.New(sha256.New, k.digests)
	for _, p := range parts {
		sum := sha256.Sum256([]byte(p)) // of a fixed size, so that parts cannot be mistaken
		mac.Write(sum[:])
	}
	return hex.EncodeToString(mac.Sum(nil))
}

// seal encrypts a document for a purpose.
func (k *Keys) seal(ctx context.Context, purpose string, doc any) (store.Sealed, error) {
	data, err := json.Marshal(doc)
	if err != nil {
		return store.Sealed{}, fault.New(fault.Internal, "encode the %s: %w", purpose, err)
	}
	return k.sealBytes(ctx, purpose, data)
}

// sealBytes encrypts content for a purpose.
func (k *Keys) sealBytes(ctx context.Context, purpose string, data []byte) (store.Sealed, error) {
	var out bytes.Buffer
	out.Grow(int(seal.Size(int64(len(data)))))
	w, err := seal.NewWriter(ctx, &out, k, purpose)
	if err != nil {
		return store.Sealed{}, err
	}
	if _, err := w.Write(data); err != nil {
		return store.Sealed{}, err
	}
	if err := w.Close(); err != nil {
		return store.Sealed{}, err
	}
	return store.Sealed{Wrapped: w.Key(), Data: out.Bytes()}, nil
}

// open decrypts a document that was sealed for a purpose.
func (k *Keys) open(ctx context.Context, purpose string, s store.Sealed, into any) error {
	data, err := k.plain(ctx, purpose, s)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fault.New(fault.StoreUnavailable, "decode the %s: %w", purpose, err)
	}
	return nil
}

// plain decrypts what was sealed for a purpose.
func (k *Keys) plain(ctx context.Context, purpose string, s store.Sealed) ([]byte, error) {
	r, err := seal.NewReader(ctx, bytes.NewReader(s.Data), int64(len(s.Data)), k, s.Wrapped, purpose)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.NewSectionReader(r, 0, r.Size()))
}

func recordPurpose(tenant, run string, number int64) string {
	return fmt.Sprintf("record %d of the journal of run %s of tenant %s", number, run, tenant)
}

func signalPurpose(tenant, run, name string) string {
	return fmt.Sprintf("signal %q of run %s of tenant %s", name, run, tenant)
}
