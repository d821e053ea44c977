package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// overhead measures what fuel adds to a guest, against the module as its recipe
// built it. Those modules are no part of the tree: the recipes build them, and
// -raw names the folder where they lie.
func overhead(b *bench) ([]figure, error) {
	if b.raw == "" {
		return nil, errors.New("the guests as their recipes built them are needed: -raw FOLDER with quickjs.wasm, cpython.wasm and python-lib.zip")
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
			return all, fmt.Errorf("%s: the baker said %.200s", g.guest, out)
		}
		all = append(all, figure{Name: g.name, Unit: "x", Measured: got.Mean,
			Note: "mean of seven workloads, each at its best, metered and not in turns"})
	}
	return all, nil
}
