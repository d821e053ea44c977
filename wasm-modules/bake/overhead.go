package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"os"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/wexec/wexec/internal/meter"
)

// workloads are programs that keep a guest busy for some tens of milliseconds,
// each with something else.
var workloads = map[string]map[string]string{
	"quickjs": {
		"numbers":   "let s = 0; for (let i = 0; i < 1500000; i++) s = (s * 31 + i) | 0; return s",
		"calls":     "const f = n => n < 2 ? n : f(n - 1) + f(n - 2); return f(24)",
		"objects":   "const m = {}; for (let i = 0; i < 60000; i++) { const k = 'k' + i % 500; m[k] = (m[k] ?? 0) + i } return Object.keys(m).length",
		"strings":   "let n = 0; for (let i = 0; i < 30000; i++) n += ('a' + i).padStart(9, '-').toUpperCase().split('-').join('').length; return n",
		"sorting":   "const a = Array.from({length: 30000}, (_, i) => (i * 7919) % 30011); a.sort((x, y) => x - y); return a[100]",
		"documents": "const a = Array.from({length: 4000}, (_, i) => ({id: i, name: 'n' + i, tags: ['x', 'y']})); return JSON.parse(JSON.stringify(a)).length",
		"patterns":  "let n = 0; for (let i = 0; i < 6000; i++) n += /(\\d+)-([a-f]+)/.exec('item 12' + i + '-abcdef')[1].length; return n",
	},
	"cpython": {
		"numbers":   "s = 0\nfor i in range(500000): s = (s * 31 + i) & 0xffffffff\ns",
		"calls":     "def f(n): return n if n < 2 else f(n - 1) + f(n - 2)\nf(22)",
		"objects":   "m = {}\nfor i in range(150000):\n  k = 'k%d' % (i % 500)\n  m[k] = m.get(k, 0) + i\nlen(m)",
		"strings":   "n = 0\nfor i in range(60000): n += len(''.join(('a%d' % i).rjust(9, '-').upper().split('-')))\nn",
		"sorting":   "a = [(i * 7919) % 100003 for i in range(100000)]\na.sort(key=lambda x: -x)\na[100]",
		"documents": "import json\na = [{'id': i, 'name': 'n%d' % i, 'tags': ['x', 'y']} for i in range(10000)]\nlen(json.loads(json.dumps(a)))",
		"patterns":  "import re\np = re.compile('([0-9]+)-([a-f]+)')\nn = 0\nfor i in range(20000): n += len(p.search('item 12%d-abcdef' % i).group(1))\nn",
	},
}

// overheads is what metering adds to a guest: how many times longer each
// workload takes, and the mean of them.
type overheads struct {
	Guest     string             `json:"guest"`
	Workloads map[string]float64 `json:"workloads"`
	Mean      float64            `json:"mean"`
}

// busy is a guest that was compiled and runs workloads.
type busy struct {
	host *host
	code wazero.CompiledModule
}

func (b *baker) busy(ctx context.Context, module []byte, files fs.FS) (*busy, error) {
	h, err := newHost(ctx, files)
	if err != nil {
		return nil, err
	}
	c, err := h.runtime.CompileModule(ctx, module)
	if err != nil {
		return nil, err
	}
	return &busy{h, c}, nil
}

// take runs a workload in an instance of its own and says how long the program
// alone took.
func (u *busy) take(ctx context.Context, b *baker, input []byte) (time.Duration, error) {
	m, err := u.host.instance(ctx, u.code)
	if err != nil {
		return 0, err
	}
	defer m.Close(ctx)
	u.host.tank = meter.Tank{Budget: 1 << 60}
	if err := u.host.initialise(ctx, m); err != nil {
		return 0, err
	}
	if b.entry.First != nil {
		if _, err := u.host.run(ctx, m, b.entry.First); err != nil {
			return 0, err
		}
	}
	begun := time.Now()
	_, err = u.host.run(ctx, m, input)
	return time.Since(begun), err
}

// overhead measures the module as its recipe built it against the same module
// metered, in turns, each workload at its best of so many rounds, and prints
// the outcome as JSON.
func (b *baker) overhead(ctx context.Context, rounds int) error {
	files, _, err := b.files()
	if err != nil {
		return err
	}
	metered, _, err := meter.Rewrite(b.raw, meter.Options{})
	if err != nil {
		return err
	}
	plain, err := b.busy(ctx, b.raw, files)
	if err != nil {
		return err
	}
	defer plain.host.runtime.Close(ctx)
	counted, err := b.busy(ctx, metered, files)
	if err != nil {
		return err
	}
	defer counted.host.runtime.Close(ctx)
	file := "main.js"
	if b.entry.Name == "cpython" {
		file = "main.py"
	}
	out := overheads{Guest: b.entry.Name, Workloads: map[string]float64{}}
	sum := 0.0
	for name, code := range workloads[b.entry.Name] {
		best := [2]time.Duration{time.Hour, time.Hour}
		for range rounds {
			for i, u := range []*busy{plain, counted} {
				took, err := u.take(ctx, b, program(code, file))
				if err != nil {
					return fmt.Errorf("the workload %s: %w", name, err)
				}
				best[i] = min(best[i], took)
			}
		}
		ratio := float64(best[1]) / float64(best[0])
		out.Workloads[name] = math.Round(ratio*1000) / 1000
		sum += math.Log(ratio)
	}
	if len(out.Workloads) == 0 {
		return fmt.Errorf("there are no workloads for %s", b.entry.Name)
	}
	out.Mean = math.Round(math.Exp(sum/float64(len(out.Workloads)))*1000) / 1000
	return json.NewEncoder(os.Stdout).Encode(out)
}
