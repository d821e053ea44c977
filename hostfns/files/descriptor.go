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
	all  *descriptors
	cost int64 // 0 after Close
}

// descriptors counts the open files and folders of a run.
type descriptors struct {
	tmp  *memory
	open int // guarded by the lock of tmp
}

// add counts f as open, or closes it if a bound is reached.
func (d *descriptors) add(f sys.File) (sys.File, sys.Errno) {
	cost := int64(descriptorCost)
	if names, ok := f.(*folder); ok {
		for _, e := range names.entries {
			cost += entryCost + int64(len(e.Name))
		}
	}
	d.tmp.mu.Lock()
	ok := d.open < maxDescriptors && d.tmp.take(cost) == 0
	if ok {
		d.open++
	}
	d.tmp.mu.Unlock()
	if !ok {
		_ = f.Close()
		return nil, sys.EAGAIN
	}
	return &descriptor{File: f, all: d, cost: cost}, 0
}

// Close closes the file and releases its part of the bound.
func (d *descriptor) Close() sys.Errno {
	tmp := d.all.tmp
	tmp.mu.Lock()
	if d.cost > 0 {
		d.all.open--
		tmp.left += d.cost
		d.cost = 0
	}
	tmp.mu.Unlock()
	return d.File.Close()
}
