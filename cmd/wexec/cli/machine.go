package cli

import (
	"bufio"
	"bytes"
	"os"
	"strconv"
	"strings"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/snapshot"
	"github.com/wexec/wexec/policy"
)

// fewRuns is how many programs at once a machine should have room for.
const fewRuns = 16

// memory looks for room for one program of the default size.
func (x *examination) memory() {
	data, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return // not Linux: nobody says it as simply
	}
	free, limit := freeMemory(data), policy.Limits{}.OrDefaults().Memory
	if free < limit {
		err = fault.New(fault.LimitMemory, "%s are free, and a program may take %s", bytesText(free), bytesText(limit)).
			WithHint("end something, or lower what programs may take: limits: {memory: 128MiB} in policy.yaml")
	}
	x.add("memory", err, bytesText(free)+" free; a program may take "+bytesText(limit), "")
}

// freeMemory is what /proc/meminfo says is to be had.
func freeMemory(meminfo []byte) int64 {
	for lines := bufio.NewScanner(bytes.NewReader(meminfo)); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "MemAvailable:"); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return n << 10
		}
	}
	return 0
}

// mappings looks for room for several programs at once: each takes mappings and
// addresses.
func (x *examination) mappings() {
	room, bound := snapshot.MaxInstances(uint64(policy.Limits{}.OrDefaults().Memory))
	var err error
	if room < fewRuns {
		err = fault.New(fault.LimitBusy, "there is room for %d programs at once: %s", room, bound).
			WithHint("raise it: sysctl -w vm.max_map_count=262144, ulimit -v unlimited")
	}
	x.add("mappings", err, "room for "+counted(room, "program")+" at once: "+bound, "")
}
