package store

import (
	"context"

	"github.com/wexec/wexec/fault"
)

// Sealed is content that is encrypted with its own key, which the seal key has
// wrapped. Without either of the two it cannot be read.
type Sealed struct{ Wrapped, Data []byte }

// Key returns a wrapped key by its name, or nil if there is none.
func (s *Store) Key(ctx context.Context, name string) (wrapped []byte, err error) {
	err = s.view(ctx, func(tx *Tx) error {
		wrapped, err = tx.key(name)
		return err
	})
	return wrapped, err
}

func (tx *Tx) key(name string) (wrapped []byte, err error) {
	_, err = tx.row([]any{&wrapped}, `SELECT wrapped FROM keys WHERE name = $1`, name)
	return wrapped, err
}

// AddKey keeps a wrapped key unless there is one with the name, and returns the one
// that is kept.
func (s *Store) AddKey(ctx context.Context, name string, wrapped []byte) (kept []byte, err error) {
	if len(wrapped) == 0 {
		return nil, fault.New(fault.Internal, "keep the key %s: it is empty", name)
	}
	err = s.update(ctx, func(tx *Tx) error {
		if _, err := tx.exec(`INSERT INTO keys (name, wrapped) VALUES ($1, $2) ON CONFLICT DO NOTHING`, name, wrapped); err != nil {
			return err
		}
		kept, err = tx.key(name)
		return err
	})
	return kept, err
}
