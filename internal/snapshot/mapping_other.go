//go:build !(linux && (amd64 || arm64))

package snapshot

import (
	"errors"
	"math"
	"os"
)

// canMap reports whether copy-on-write mappings are implemented for the platform.
const canMap = false

var errNoMapping = errors.New("mappings are not supported on this platform")

func anonymousFile([]byte) (source, error) { return nil, errNoMapping }

func mapFile(*os.File) (source, error) { return nil, errNoMapping }

func (m *memory) reserve(uint64) error { return errNoMapping }

func (m *memory) overlay(*Image) error { return errNoMapping }

func (m *memory) grown(uint64) {}

func unmap([]byte) {}

// hotPages learns nothing: memories are copies.
type hotPages struct{}

func (*hotPages) learn([]byte) {}

func (*hotPages) spans() []span { return nil }

// spares keeps nothing: memories are copies.
type spares struct{}

func (*spares) trim() {}

func (*spares) close() {}

func (*Image) recycle(*memory) bool { return false }

func (*Image) pristine() []byte { return nil }

// changed returns all of a memory.
func (*Image) changed(m *memory) []span { return []span{{0, m.size}} }

// preallocate does nothing: files are not mapped.
func preallocate(*os.File, int64) error { return nil }

func mapOver([]byte, *os.File, int64) bool { return false }

// MaxInstances returns how many more instances, each with limit bytes of address
// space, the machine allows this process, and a description of what bounds
// them. Memories are copies on Go's heap here: there is no bound.
func MaxInstances(uint64) (instances int, bound string) { return math.MaxInt32, "" }

// AddressSpaceLeft returns how many more bytes of address space this process may
// map, and whether anything but the processor limits them.
func AddressSpaceLeft() (bytes uint64, limited bool) { return math.MaxUint64, false }
