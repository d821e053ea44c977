// Package guestcache keeps what is costly to make of a guest: compiled code,
// memory image and standard library, in memory and in the cache folder. A [Set]
// loads the guests of one engine through a [Store], which several engines may
// share, as several processes may share the folder.
//
// The folder is trusted as far as its owner and permissions say. Files are
// replaced atomically and readable only by their owner; a damaged one is made
// again, and a folder that is full or read-only costs time and nothing else.
package guestcache

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/tetratelabs/wazero"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/snapshot"
)

// Open opens a store in a folder, which it creates. An empty name keeps
// everything in memory.
func Open(dir string) (*Store, error) {
	s := &Store{images: map[[32]byte]*snapshot.Image{}}
	if dir == "" {
		s.code = wazero.NewCompilationCache()
		return s, nil
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fault.New(fault.UsageConfig, "open the cache folder: %w", err)
	}
	for _, sub := range []string{"", "code", "images", "outputs", "results", "catalogue"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return nil, fault.New(fault.UsageConfig, "create the cache folder: %w", err)
		}
	}
	s.code, err = wazero.NewCompilationCacheWithDir(filepath.Join(dir, "code"))
	if err != nil {
		return nil, fault.New(fault.UsageConfig, "open the cache folder: %w", err)
	}
	s.mappedCode = snapshot.MapCode(s.code)
	s.dir = dir
	s.removeDamagedCode()
	for _, sub := range []string{"code", "images"} {
		removeUnfinished(filepath.Join(dir, sub))
	}
	return s, nil
}

// Close frees what the store holds in memory. No engine may use it.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	if s.dir != "" {
		s.recordDigests()
	}
	var errs []error
	if p := s.prefetch; p != nil {
		s.prefetch = nil
		errs = append(errs, p.drop())
	}
	for _, im := range s.images {
		errs = append(errs, im.Close())
	}
	if s.memory != nil {
		errs = append(errs, s.memory.Close(context.Background()))
	}
	return errors.Join(append(errs, s.code.Close(context.Background()))...)
}
