//go:build linux && (amd64 || arm64)

package snapshot

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// mappingsEach is the number of mappings of an instance: the image, the rest of
// its reservation, and the memory of Extism's kernel.
const mappingsEach = 3

// MaxInstances returns how many more instances, each with limit bytes of address
// space, the machine allows this process, and a description of what bounds
// them.
func MaxInstances(limit uint64) (instances int, bound string) {
	instances, bound = int(min(1<<46/max(limit, 1), math.MaxInt32)), "the address space of the processor"
	if data, err := os.ReadFile("/proc/sys/vm/max_map_count"); err == nil {
		if allowed, err := strconv.Atoi(string(bytes.TrimSpace(data))); err == nil {
			used := 0
			if maps, err := os.ReadFile("/proc/self/maps"); err == nil {
				used = bytes.Count(maps, []byte{'\n'})
			}
			// A tenth is reserved for Go and the rest of the process.
			if n := max(0, (allowed-allowed/10-used)/mappingsEach); n < instances {
				instances, bound = n, fmt.Sprintf("vm.max_map_count is %d", allowed)
			}
		}
	}
	if free, limited := AddressSpaceLeft(); limited {
		// Extism's kernel reserves as much as the guest.
		if n := int(min(free/max(2*limit, 1), math.MaxInt32)); n < instances {
			instances, bound = n, fmt.Sprintf("%d bytes of address space are left (ulimit -v)", free)
		}
	}
	return instances, bound
}

// AddressSpaceLeft returns how many more bytes of address space this process may
// map, and whether anything but the processor limits them.
func AddressSpaceLeft() (bytes uint64, limited bool) {
	var space unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_AS, &space) != nil || space.Cur == unix.RLIM_INFINITY {
		return math.MaxUint64, false
	}
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return space.Cur, true
	}
	first, _, _ := strings.Cut(string(data), " ")
	pages, _ := strconv.ParseUint(first, 10, 64)
	if used := pages * uint64(os.Getpagesize()); used < space.Cur {
		return space.Cur - used, true
	}
	return 0, true
}
