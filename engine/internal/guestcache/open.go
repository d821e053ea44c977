// Package guestcache keeps what is costly to make of a guest: compiled code,
// memory image and standard library, in memory and in the cache folder. A [Set]
// loads the guests of one engine through a [Store], which several engines may
// share, as several processes may share the folder.
//
// The folder holds code that is executed and results that are believed, so it is
// used only if no user except this one and root can change it, and each file of
// it only if no such user can have written the file (see package ownfile). Files
// are replaced atomically and readable only by their owner; one that is damaged
// or refused is made again, and a folder that is full or read-only costs time and
// nothing else.
package guestcache

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/tetratelabs/wazero"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/ownfile"
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
	if err := s.open(dir); err != nil {
		wrong := fault.New(fault.UsageConfig, "open the cache folder: %w", err)
		var refused *ownfile.Error
		if errors.As(err, &refused) {
			return nil, wrong.WithHint("%s", refused.Do)
		}
		return nil, wrong
	}
	s.removeDamagedCode()
	for _, sub := range []string{"code", "images"} {
		removeUnfinished(filepath.Join(dir, sub))
	}
	return s, nil
}

// open creates and checks the folders.
func (s *Store) open(dir string) error {
	dir, err := filepath.Abs(dir)
	if err == nil {
		err = ownfile.Dir(dir)
	}
	if err != nil {
		return err
	}
	for _, name := range []string{"code", "images", "outputs", "results", "catalogue"} {
		if err := ownfile.Sub(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	if s.code, err = wazero.NewCompilationCacheWithDir(filepath.Join(dir, "code")); err != nil {
		return err
	}
	s.mappedCode = snapshot.MapCode(s.code)
	s.dir = dir
	return nil
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
