package meter_test

import (
	"context"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/wexec/wexec/internal/meter"
)

// kernels are small programs as a C compiler would leave them: what metering
// costs shows in them most.
func kernels() []program {
	// Counts the primes below n with a sieve in memory.
	sieve := simple("sieve", []int32{60_000}, []byte{i32, i32, i32}, // i, j, count
		num(2), set(1),
		0x03, 0x40, // every i
		get(1), 0x2d, 0, 0, 0x45, 0x04, 0x40, // where byte i is 0
		get(3), num(1), 0x6a, set(3), get(1), get(1), 0x6a, set(2),
		0x02, 0x40, get(2), get(0), 0x4f, 0x0d, 0,
		0x03, 0x40, get(2), num(1), 0x3a, 0, 0, get(2), get(1), 0x6a, tee(2), get(0), 0x49, 0x0d, 0, 0x0b, 0x0b,
		0x0b,
		get(1), num(1), 0x6a, tee(1), get(0), 0x49, 0x0d, 0, 0x0b, get(3))
	sieve.pages = 1

	// A checksum over 8 words at a time, eight steps unrolled.
	step := cat(get(1), get(2), 0x28, 2, 0, 0x73, num(0x01000193), 0x6c, tee(1), num(5), 0x77, set(1),
		get(2), num(4), 0x6a, set(2))
	hash := simple("hash", []int32{20_000}, []byte{i32, i32},
		countdown(0, num(0), set(2), repeat(8, step)), get(1))
	hash.pages = 1

	// A function too large to be a leaf, with a leaf, called from a loop.
	calls := simple("calls", []int32{30_000}, []byte{i32}, countdown(0, get(1), call(1), set(1)), get(1))
	calls.funcs = append(calls.funcs,
		body{typ: tRun, code: cat(get(0), call(2), repeat(60, cat(num(3), 0x6a, num(7), 0x73)))},
		body{typ: tRun, code: cat(get(0), num(13), 0x77, num(17), 0x6a)})

	fib := simple("fib", []int32{22}, nil,
		get(0), num(2), 0x48, 0x04, i32, get(0), 0x05,
		get(0), num(1), 0x6b, call(0), get(0), num(2), 0x6b, call(0), 0x6a, 0x0b)

	copies := simple("copies", []int32{300}, nil,
		countdown(0, num(0), num(32768), num(32768), 0xfc, 10, 0, 0), num(1))
	copies.pages = 1
	return []program{sieve, hash, calls, fib, copies}
}

// instance returns the kernel, ready to run.
func instance(t testing.TB, module []byte) func(arg int32) {
	t.Helper()
	b := setUp(t, engines[0].config, module)
	ctx := context.WithValue(context.Background(), tankKey{}, &meter.Tank{Budget: 1 << 60})
	m, err := b.runtime.InstantiateModule(ctx, b.code, wazero.NewModuleConfig())
	if err != nil {
		t.Fatal(err)
	}
	run := m.ExportedFunction("run")
	stack := make([]uint64, 1)
	return func(arg int32) {
		stack[0] = api.EncodeI32(arg)
		if err := run.CallWithStack(ctx, stack); err != nil {
			t.Fatal(err)
		}
	}
}

// BenchmarkKernels shows what metering adds: each kernel plain and metered, in
// turns, and how many times longer the metered one takes at its best.
func BenchmarkKernels(b *testing.B) {
	for _, p := range kernels() {
		b.Run(p.name, func(b *testing.B) {
			runs := []func(int32){instance(b, p.bytes()), instance(b, metered(b, p))}
			best := []time.Duration{time.Hour, time.Hour}
			for b.Loop() {
				for i, run := range runs {
					start := time.Now()
					run(p.args[0])
					best[i] = min(best[i], time.Since(start))
				}
			}
			b.ReportMetric(float64(best[1])/float64(best[0]), "x/plain")
		})
	}
}

// BenchmarkRewrite is the price of metering a module.
func BenchmarkRewrite(b *testing.B) {
	module := simple("", nil, []byte{i32}, repeat(20_000, countdown(0, get(1), call(0), set(1))), get(1)).bytes()
	b.SetBytes(int64(len(module)))
	for b.Loop() {
		if _, _, err := meter.Rewrite(module, meter.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func TestKernelsCountTheSame(t *testing.T) {
	for _, p := range kernels() {
		var seen []outcome
		for _, e := range engines {
			o := setUp(t, e.config, metered(t, p)).run(p.args[0]/4, &meter.Tank{Budget: plenty})
			plain := setUp(t, e.config, p.bytes()).run(p.args[0]/4, nil)
			if o.err != "" || o.value != plain.value {
				t.Errorf("%s on the %s: %+v, unmetered %+v", p.name, e.name, o, plain)
			}
			seen = append(seen, o)
		}
		if seen[0] != seen[1] {
			t.Errorf("%s: %+v, %+v", p.name, seen[0], seen[1])
		}
	}
}
