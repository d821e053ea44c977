//go:build linux && (amd64 || arm64)

package snapshot

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// mappingsEach is how many mappings an instance takes: the image, the rest of
// its reservation, and the memory of Extism's kernel.
const mappingsEach = 3

// Room says how many instances, each with limit bytes of address space reserved
// for it, the machine lets this process have beside what it holds already, and
// what the bound is.
func Room(limit uint64) (instances int, bound string) {
	instances, bound = int(min(1<<46/max(limit, 1), math.MaxInt32)), "the address space of the processor"
	if data, err := os.ReadFile("/proc/sys/vm/max_map_count"); err == nil {
		if allowed, err := strconv.Atoi(string(bytes.TrimSpace(data))); err == nil {
			used := 0
			if maps, err := os.ReadFile("/proc/self/maps"); err == nil {
				used = bytes.Count(maps, []byte{'\n'})
			}
			// A tenth stays for Go and everybody else.
			if n := max(0, (allowed-allowed/10-used)/mappingsEach); n < instances {
				instances, bound = n, fmt.Sprintf("vm.max_map_count is %d", allowed)
			}
		}
	}
	var space unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_AS, &space) == nil && space.Cur != unix.RLIM_INFINITY {
		used := uint64(0)
		if data, err := os.ReadFile("/proc/self/statm"); err == nil {
			first, _, _ := bytes.Cut(data, []byte{' '})
			pages, _ := strconv.ParseUint(string(first), 10, 64)
			used = pages * uint64(os.Getpagesize())
		}
		free := uint64(0)
		if space.Cur > used {
			free = space.Cur - used
		}
		// Extism's kernel reserves as much as the guest.
		if n := int(min(free/max(2*limit, 1), math.MaxInt32)); n < instances {
			instances, bound = n, fmt.Sprintf("the process may have %d bytes of address space (ulimit -v)", space.Cur)
		}
	}
	return instances, bound
}
