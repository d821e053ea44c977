package tests

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/wexec/wexec/internal/tools/testenv"
)

// TestStartingMakesLittleReady limits what packages allocate before main, such as
// regular expressions and tables. It is the same on every machine and most of the
// cost of initialization, since each new page is a fault.
func TestStartingMakesLittleReady(t *testing.T) {
	const (
		all  = 1_300_000 // bytes, half of them for CEL and protocol buffers
		each = 16_000    // per package of wexec
	)
	cmd := exec.Command(testenv.Program(t, "wexec"), "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	sum, packages := 0, 0
	for _, m := range regexp.MustCompile(`(?m)^init (\S+) @.* ([0-9]+) bytes`).FindAllStringSubmatch(stderr.String(), -1) {
		bytes, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		sum, packages = sum+bytes, packages+1
		if strings.HasPrefix(m[1], "github.com/wexec/wexec/") && bytes > each {
			t.Errorf("%s allocates %d bytes before main; %d are allowed", m[1], bytes, each)
		}
	}
	if packages < 50 || sum > all {
		t.Errorf("%d packages allocate %d bytes before main; %d are allowed", packages, sum, all)
	}
}
