package store

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/wexec/wexec/fault"
)

// Open opens the store at an address, sqlite:FILE or postgres://…, and migrates it
// unless the options say otherwise. A store that a newer wexec wrote is refused.
func Open(ctx context.Context, address string, o Options) (*Store, error) {
	s, err := connect(ctx, address, o)
	if err != nil {
		return nil, err
	}
	if err = s.prepare(ctx, o); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// prepare migrates a store that was opened, or refuses its version.
func (s *Store) prepare(ctx context.Context, o Options) error {
	refuse := o.Existing
	if o.NoUpgrade {
		if err := s.view(ctx, func(tx *Tx) error {
			version, err := tx.migrated()
			refuse = version > 0
			return err
		}); err != nil {
			return err
		}
	}
	if refuse {
		return s.current(ctx)
	}
	_, _, err := s.migrate(ctx)
	return err
}

// Migrate creates the store at an address, or brings its schema to the version of
// this binary. It returns the version before, which is 0 for a new store, and now.
func Migrate(ctx context.Context, address string, o Options) (before, now int64, err error) {
	s, err := connect(ctx, address, o)
	if err != nil {
		return 0, 0, err
	}
	before, now, err = s.migrate(ctx)
	return before, now, errors.Join(err, s.Close())
}

// connect opens a store as it is.
func connect(ctx context.Context, address string, o Options) (*Store, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Wait == 0 {
		o.Wait = 5 * time.Second
	}
	d, err := dialectOf(address)
	if err != nil {
		return nil, err
	}
	s := &Store{dialect: d, now: o.Now, wait: o.Wait, closing: make(chan struct{}), stopped: make(chan struct{})}
	if s.pools, err = d.open(ctx, o); err != nil {
		return nil, err
	}
	if d.grouped() {
		s.jobs = make(chan job)
		go s.writer()
	} else {
		close(s.stopped)
	}
	return s, nil
}

// dialectOf returns the dialect of an address.
func dialectOf(address string) (dialect, error) {
	file, isFile := strings.CutPrefix(address, "sqlite:")
	switch {
	case isFile && file != "":
		return sqlite{file}, nil
	case strings.HasPrefix(address, "postgres://"), strings.HasPrefix(address, "postgresql://"):
		if _, err := url.Parse(address); err != nil {
			return nil, fault.New(fault.UsageStore, "the address of the store is not a URL").WithHint("use postgres://USER@HOST/DATABASE")
		}
		return postgres{address}, nil
	}
	scheme, _, _ := strings.Cut(address, ":")
	return nil, fault.New(fault.UsageStore, "unknown kind of store %.20q", scheme).WithHint("use sqlite:FILE or postgres://USER@HOST/DATABASE")
}

// Redacted returns an address for messages, without its password and its settings,
// which may hold one.
func Redacted(address string) string {
	if strings.HasPrefix(address, "sqlite:") {
		return address
	}
	u, err := url.Parse(address)
	if err != nil {
		return "postgres:"
	}
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	if name := u.User.Username(); name != "" {
		shown.User = url.User(name)
	}
	return shown.String()
}

// Close waits for the writes in progress and closes the store. Later calls of other
// methods are [fault.StoreUnavailable].
func (s *Store) Close() error {
	close(s.closing)
	<-s.stopped
	return s.close()
}
