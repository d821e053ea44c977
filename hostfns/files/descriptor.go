package files

import "github.com/tetratelabs/wazero/experimental/sys"

// Bounds of open files. The host allocates memory for each descriptor
// and for the names of each open folder.
const (
	maxDescriptors = 1024
	descriptorCost = 512 // bytes of the bound of /tmp
	entryCost      = 64  // for each name of an open folder, in addition to the name
)

// descriptor is an open file or folder. It counts against the bound of /tmp
// until it is closed.
type descriptor struct {
	sys.File
	tree *tree
	cost int64 // 0 after Close
}

// descriptor counts f as open, or closes it if a bound is reached.
func (t *tree) descriptor(f sys.File) (sys.File, sys.Errno) {
	cost := int64(descriptorCost)
	if d, ok := f.(*folder); ok {
		for _, e := range d.entries {
			cost += entryCost + int64(len(e.Name))
		}
	}
	t.tmp.mu.Lock()
	ok := t.descriptors < maxDescriptors && t.tmp.take(cost) == 0
	if ok {
		t.descriptors++
	}
	t.tmp.mu.Unlock()
	if !ok {
		_ = f.Close()
		return nil, sys.EAGAIN
	}
	return &descriptor{File: f, tree: t, cost: cost}, 0
}

// Close closes the file and releases its part of the bound.
func (d *descriptor) Close() sys.Errno {
	t := d.tree
	t.tmp.mu.Lock()
	if d.cost > 0 {
		t.descriptors--
		t.tmp.left += d.cost
		d.cost = 0
	}
	t.tmp.mu.Unlock()
	return d.File.Close()
}
