package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/wexec/wexec/internal/meter"
	"github.com/wexec/wexec/internal/snapshot"
	wasmmodules "github.com/wexec/wexec/wasm-modules"
)

// cost is the cost of one run in a new instance. Fuel and pages
// do not depend on machine and load.
type cost struct {
	fuel  int64
	pages []uint64 // numbers of the 4 KiB pages of the image that were written to
	grown uint64   // bytes the memory grew by
	took  time.Duration
}

const costPage = 4096

// program returns the input document of a program, as the engine writes it.
func program(code, file string, servers ...string) []byte {
	quoted, _ := json.Marshal(code)
	names, _ := json.Marshal(append([]string{}, servers...))
	return fmt.Appendf(nil, `{"code":%s,"file":%q,"args":null,"argv":[],"env":{},"servers":%s,"session":false,`+
		`"deterministic":false,"root":"","packages":"","cwd":"/tmp","recursion":0,"fetch":false,"pii":false}`+"\n", quoted, file, names)
}

// costs runs each input several times, each in a new instance, and
// keeps the fastest run. Every host call is answered with answer, as JSON.
func (b *baker) costs(ctx context.Context, code, image []byte, files fs.FS, answer []byte, times int, inputs ...[]byte) ([]cost, error) {
	h, err := newHost(ctx, files)
	if err != nil {
		return nil, err
	}
	defer h.runtime.Close(ctx)
	h.answer = answer
	c, err := h.runtime.CompileModule(ctx, code)
	if err != nil {
		return nil, err
	}
	im, err := snapshot.New(image, snapshot.Auto)
	if err != nil {
		return nil, err
	}
	defer im.Close()
	var all []cost
	for _, input := range inputs {
		var best cost
		for i := range times {
			one, err := h.cost(ctx, c, im, input)
			if err != nil {
				return nil, err
			}
			if i == 0 || one.took < best.took {
				best = one
			}
		}
		all = append(all, best)
	}
	return all, nil
}

func (h *host) cost(ctx context.Context, c wazero.CompiledModule, im *snapshot.Image, input []byte) (cost, error) {
	m, err := h.instance(experimental.WithMemoryAllocator(ctx, im.Memory(1<<30)), c)
	if err != nil {
		return cost{}, err
	}
	defer m.Close(ctx)
	h.tank = meter.Tank{Budget: budget}
	begin := time.Now()
	if _, err := h.run(ctx, m, input); err != nil {
		return cost{}, err
	}
	one := cost{took: time.Since(begin)}
	one.fuel = h.tank.Used(int64(m.ExportedGlobal(meter.FuelExport).Get()))
	one.pages, err = written(m, im)
	one.grown = uint64(m.Memory().Size()) - im.Size()
	return one, err
}

// written returns the pages of an instance that are no longer shared with the image. A page
// that was overwritten with the same content counts too: it was copied.
func written(m api.Module, im *snapshot.Image) ([]uint64, error) {
	if !im.Mapped() || os.Getpagesize() != costPage {
		return nil, fmt.Errorf("count the pages: there are no copy-on-write mappings of %d bytes here", costPage)
	}
	memory, ok := m.Memory().Read(0, uint32(im.Size()))
	if !ok {
		return nil, fmt.Errorf("count the pages: the memory is smaller than its image")
	}
	f, err := os.Open("/proc/self/pagemap")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries := make([]byte, im.Size()/costPage*8)
	if _, err := f.ReadAt(entries, int64(reflect.ValueOf(memory).Pointer()/costPage*8)); err != nil {
		return nil, err
	}
	const present, ofFile = 1 << 63, 1 << 61
	var pages []uint64
	for i := range im.Size() / costPage {
		if e := binary.LittleEndian.Uint64(entries[i*8:]); e&present != 0 && e&ofFile == 0 {
			pages = append(pages, i)
		}
	}
	return pages, nil
}

// committed reports the costs of the committed guest.
func (b *baker) committed(ctx context.Context, source, answer string) error {
	m, err := wasmmodules.Open(b.entry.Name)
	if err != nil {
		return err
	}
	code, err := m.Code()
	if err != nil {
		return err
	}
	image, err := m.Image()
	if err != nil {
		return err
	}
	if b.library, err = m.Library(); err != nil {
		return err
	}
	return b.report(ctx, code, image, source, answer)
}

// report prints the cost of a program and the pages it writes to. Host calls
// are answered with the file answer, if any; then there is a server "bench".
func (b *baker) report(ctx context.Context, code, image []byte, source, answer string) error {
	var data []byte
	if answer != "" {
		var err error
		if data, err = os.ReadFile(answer); err != nil {
			return err
		}
	}
	files, _, err := b.files()
	if err != nil {
		return err
	}
	file := "main.js"
	if b.entry.Name == "cpython" {
		file = "main.py"
	}
	var servers []string
	if data != nil {
		servers = []string{"bench"}
	}
	all, err := b.costs(ctx, code, image, files, data, 21, program(source, file, servers...))
	if err != nil {
		return err
	}
	one := all[0]
	fmt.Printf("%s: fuel %d, pages %d, grown %d KiB, guest %d µs\n", b.entry.Name, one.fuel, len(one.pages), one.grown>>10, one.took.Microseconds())
	for run := range slices.Chunk(one.pages, 24) {
		fmt.Println(" ", run)
	}
	return nil
}
