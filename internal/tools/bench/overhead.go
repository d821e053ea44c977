package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// overhead compares metered guests with the modules that their recipes build.
// Those modules are not in the repository; -raw names their folder.
func overhead(b *bench) ([]figure, error) {
	if b.raw == "" {
		return nil, errors.New("set -raw to a folder with quickjs.wasm, cpython.wasm and python-lib.zip, as their recipes build them")
	}
	baker := filepath.Join(b.work, "bake")
	if out, err := exec.CommandContext(b.ctx, "go", "build", "-o", baker, "./wasm-modules/bake").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the baker: %w\n%s", err, out)
	}
	var all []figure
	for _, g := range []struct {
		guest, name string
		args        []string
	}{
		{"quickjs", "fuel overhead, javascript", []string{"-raw", filepath.Join(b.raw, "quickjs.wasm"), "-overhead", "15"}},
		{"cpython", "fuel overhead, python", []string{"-raw", filepath.Join(b.raw, "cpython.wasm"),
			"-library", filepath.Join(b.raw, "python-lib.zip"), "-overhead", "15"}},
	} {
		cmd := exec.CommandContext(b.ctx, baker, append([]string{"-guest", g.guest}, g.args...)...)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return all, fmt.Errorf("%s: %w", g.guest, err)
		}
		var got struct {
			Mean float64 `json:"mean"`
		}
		if err := json.Unmarshal(out, &got); err != nil || got.Mean == 0 {
			return all, fmt.Errorf("%s: unexpected output of bake: %.200s", g.guest, out)
		}
		all = append(all, figure{Name: g.name, Unit: "x", Measured: got.Mean,
			Note: "mean over the best rounds of seven workloads"})
	}
	return all, nil
}
