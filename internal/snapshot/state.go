package snapshot

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero/api"
)

// State is what an instance at rest had: its memory and its mutable globals. Any
// number of instances can go on from it. If memories are mappings, they share its
// pages until they write to them. It is safe for concurrent use.
type State struct {
	image   *Image // the whole memory
	globals []uint64
}

// Freeze returns the state of an instance at rest, whose memory this allocator made.
func (a *Allocator) Freeze(instance api.Module) (*State, error) {
	m := a.guest
	if m == nil || m.deferred || m.freed {
		return nil, errors.New("freeze an instance: it has no memory")
	}
	globals, ok := mutableGlobals(instance)
	if !ok {
		return nil, errors.New("freeze an instance: its globals are not where wazero 1.12 has them")
	}
	s := &State{}
	for _, g := range globals {
		value, _ := g.Value()
		s.globals = append(s.globals, value)
	}
	mode := Copy
	if a.image.mapped {
		mode = Auto
	}
	var err error
	if s.image, err = New(m.base[:m.size], mode); err != nil {
		return nil, fmt.Errorf("freeze an instance: %w", err)
	}
	if !s.image.mapped {
		s.image.source = heapSource(bytes.Clone(m.base[:m.size]))
	}
	return s, nil
}

// Size is the size of the memory in bytes.
func (s *State) Size() uint64 { return s.image.size }

// Close releases the state. Instances that went on from it keep what they have.
func (s *State) Close() error { return s.image.Close() }

// GoOn gives a fresh instance a state. Its memory is not reused when it ends. After an
// error the instance is in an unknown state and must not run.
func (a *Allocator) GoOn(s *State, instance api.Module) error {
	m := a.guest
	if m == nil || m.deferred || m.freed || m.size > s.image.size {
		return errors.New("go on from a state: the instance has no fitting memory")
	}
	globals, ok := mutableGlobals(instance)
	if !ok || len(globals) != len(s.globals) {
		return errors.New("go on from a state: its globals are not those of the instance")
	}
	if _, ok := instance.Memory().Grow(uint32((s.image.size - m.size) / pageSize)); !ok {
		return fmt.Errorf("go on from a state: the memory cannot grow to %d bytes", s.image.size)
	}
	a.DoNotReuse() // the pages of the state would be taken for those of the image
	s.image.mu.RLock()
	defer s.image.mu.RUnlock()
	var err error
	switch m.overlaid = true; {
	case s.image.mapped && !m.heap && !s.image.closed:
		err = m.overlay(s.image)
	default:
		err = s.image.fill(m.base)
	}
	if err != nil {
		return fmt.Errorf("go on from a state: %w", err)
	}
	for i, g := range globals {
		g.SetValue(s.globals[i], 0)
	}
	return nil
}
