package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/wexec/wexec/internal/meter"
	"github.com/wexec/wexec/internal/snapshot"
)

// workloads are programs that run for some milliseconds, each with
// another kind of work: long enough that compiling them does not count, and short
// enough that some rounds are not disturbed.
var workloads = map[string]map[string]string{
	"quickjs": {
		"numbers":   "let s = 0; for (let i = 0; i < 120000; i++) s = (s * 31 + i) | 0; return s",
		"calls":     "const f = n => n < 2 ? n : f(n - 1) + f(n - 2); return f(20)",
		"objects":   "const m = {}; for (let i = 0; i < 20000; i++) { const k = 'k' + i % 500; m[k] = (m[k] ?? 0) + i } return Object.keys(m).length",
		"strings":   "let n = 0; for (let i = 0; i < 5000; i++) n += ('a' + i).padStart(9, '-').toUpperCase().split('-').join('').length; return n",
		"sorting":   "const a = Array.from({length: 8000}, (_, i) => (i * 7919) % 8009); a.sort((x, y) => x - y); return a[100]",
		"documents": "const a = Array.from({length: 4000}, (_, i) => ({id: i, name: 'n' + i, tags: ['x', 'y']})); return JSON.parse(JSON.stringify(a)).length",
		"patterns":  "let n = 0; for (let i = 0; i < 3000; i++) n += /(\\d+)-([a-f]+)/.exec('item 12' + i + '-abcdef')[1].length; return n",
	},
	"cpython": {
		"numbers":   "s = 0\nfor i in range(20000): s = (s * 31 + i) & 0xffffffff\ns",
		"calls":     "def f(n): return n if n < 2 else f(n - 1) + f(n - 2)\nf(22)",
		"objects":   "m = {}\nfor i in range(8000):\n  k = 'k%d' % (i % 500)\n  m[k] = m.get(k, 0) + i\nlen(m)",
		"strings":   "n = 0\nfor i in range(5000): n += len(''.join(('a%d' % i).rjust(9, '-').upper().split('-')))\nn",
		"sorting":   "a = [(i * 7919) % 15013 for i in range(15000)]\na.sort(key=lambda x: -x)\na[100]",
		"documents": "import json\na = [{'id': i, 'name': 'n%d' % i, 'tags': ['x', 'y']} for i in range(2500)]\nlen(json.loads(json.dumps(a)))",
		"patterns":  "import re\np = re.compile('([0-9]+)-([a-f]+)')\nn = 0\nfor i in range(4000): n += len(p.search('item 12%d-abcdef' % i).group(1))\nn",
	},
}

// overheads is the cost of metering: the factor by which each
// workload is slower, and their mean.
type overheads struct {
	Guest     string             `json:"guest"`
	Workloads map[string]float64 `json:"workloads"`
	Mean      float64            `json:"mean"`
}

// busy is a compiled guest that runs workloads.
type busy struct {
	host  *host
	code  wazero.CompiledModule
	image *snapshot.Image
	best  map[string]time.Duration // of each workload
}

// take runs a workload in a new instance, with a new memory
// as in the engine.
func (u *busy) take(ctx context.Context, name string, input []byte) error {
	m, err := u.host.instance(experimental.WithMemoryAllocator(ctx, u.image.Memory(1<<30)), u.code)
	if err != nil {
		return err
	}
	defer m.Close(ctx)
	u.host.tank = meter.Tank{Budget: 1 << 60}
	runtime.GC()
	begun := time.Now()
	_, err = u.host.run(ctx, m, input)
	if took := time.Since(begun); u.best[name] == 0 || took < u.best[name] {
		u.best[name] = took
	}
	return err
}

// pair prepares the guest unmetered and metered. Both
// start from the same image, in memories that the two use in turns:
// the layout of the pages has a larger effect than the one that is measured.
func (b *baker) pair(ctx context.Context) (plain, metered *busy, err error) {
	files, _, err := b.files()
	if err != nil {
		return nil, nil, err
	}
	rewritten, _, err := meter.Rewrite(b.raw, meter.Options{})
	if err != nil {
		return nil, nil, err
	}
	first, err := newHost(ctx, files)
	if err != nil {
		return nil, nil, err
	}
	defer first.runtime.Close(ctx)
	m, err := b.started(ctx, first, rewritten)
	if err != nil {
		return nil, nil, err
	}
	var two [2]*busy
	var image *snapshot.Image
	for i, module := range [][]byte{b.raw, rewritten} {
		code, memory, err := snapshot.Split(module, m)
		if err != nil {
			return nil, nil, err
		}
		h, err := newHost(ctx, files)
		if err != nil {
			return nil, nil, err
		}
		c, err := h.runtime.CompileModule(ctx, code)
		if err != nil {
			return nil, nil, err
		}
		if image == nil {
			if image, err = snapshot.New(memory, snapshot.Auto); err != nil {
				return nil, nil, err
			}
		}
		two[i] = &busy{host: h, code: c, image: image, best: map[string]time.Duration{}}
	}
	return two[0], two[1], nil
}

// overhead compares the module as its recipe built it with the same module
// metered, in turns, each workload at its best of several rounds, and prints
// the result as JSON. The host's work is the same for
// both, except for the refills, and Go's garbage collector does not run.
func (b *baker) overhead(ctx context.Context, rounds int) error {
	debug.SetGCPercent(-1)
	plain, counted, err := b.pair(ctx)
	if err != nil {
		return err
	}
	file := "main.js"
	if b.entry.Name == "cpython" {
		file = "main.py"
	}
	for range rounds {
		for name, code := range workloads[b.entry.Name] {
			for _, u := range []*busy{plain, counted} {
				if err := u.take(ctx, name, program(code, file)); err != nil {
					return fmt.Errorf("the workload %s: %w", name, err)
				}
			}
		}
	}
	out := overheads{Guest: b.entry.Name, Workloads: map[string]float64{}}
	sum := 0.0
	for name, took := range plain.best {
		ratio := float64(counted.best[name]) / float64(took)
		out.Workloads[name] = math.Round(ratio*1000) / 1000
		sum += math.Log(ratio)
	}
	if len(out.Workloads) == 0 {
		return fmt.Errorf("there are no workloads for %s", b.entry.Name)
	}
	out.Mean = math.Round(math.Exp(sum/float64(len(out.Workloads)))*1000) / 1000
	return json.NewEncoder(os.Stdout).Encode(out)
}
