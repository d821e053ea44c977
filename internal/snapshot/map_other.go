//go:build !(linux && (amd64 || arm64))

package snapshot

import (
	"errors"
	"os"
)

// canMap is whether this platform has copy-on-write mappings here.
const canMap = false

var errNoMapping = errors.New("no mappings on this platform")

func anonymousFile([]byte) (source, error) { return nil, errNoMapping }

func mapFile(f *os.File) (source, error) { f.Close(); return nil, errNoMapping }

func (m *memory) reserve(uint64) error { return errNoMapping }

func (m *memory) grown(uint64) {}

func unmap([]byte) {}

// hotPages learns nothing where memories are copies.
type hotPages struct{}

func (*hotPages) learn([]byte) {}

func (*hotPages) spans() []span { return nil }

// spares keeps nothing where memories are copies.
type spares struct{}

func (*spares) trim() {}

func (*spares) close() {}

func (*Image) keep(*memory) bool { return false }

func (*Image) original() []byte { return nil }

// claim does nothing where no file is mapped.
func claim(*os.File, int64) error { return nil }
