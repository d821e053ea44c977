package snapshot

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
)

func TestSplitIsTheSameEveryTime(t *testing.T) {
	code, image := split(t)
	for range 3 {
		c, i := split(t)
		if !bytes.Equal(c, code) || !bytes.Equal(i, image) {
			t.Fatal("they differ")
		}
	}
}

func TestSplitLeavesOutWhatStarted(t *testing.T) {
	code, image := split(t)
	all, err := sections(code)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		switch s.id {
		case sectionCustom, sectionStart, sectionData, sectionDataCount:
			t.Errorf("section %d is still there", s.id)
		}
	}
	if bytes.Contains(code, []byte("_initialize")) {
		t.Error("_initialize is still there")
	}
	if len(image) != 2*pageSize {
		t.Errorf("image of %d bytes", len(image))
	}
}

func TestSplitKeepsPassiveData(t *testing.T) {
	ctx := context.Background()
	all, _ := sections(guest())
	for i, s := range all {
		switch s.id {
		case sectionDataCount:
			all[i].body = []byte{2}
		case sectionData:
			all[i].body = append(append([]byte{2}, s.body[1:]...), append([]byte{1, 3}, "abc"...)...)
		}
	}
	module := join(all)
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer rt.Close(ctx)
	code, _, err := Split(module, started(t, rt, module))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(code, []byte("abc")) || bytes.Contains(code, []byte("hello")) {
		t.Error("passive data is gone, or active data is left")
	}
	if _, err := rt.CompileModule(ctx, code); err != nil {
		t.Error(err)
	}
}

func TestSplitNamesWhatItCannotKeep(t *testing.T) {
	ctx := context.Background()
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer rt.Close(ctx)
	with := func(id byte, body []byte) []byte {
		all, _ := sections(guest())
		for i := range all {
			if all[i].id == id {
				all[i].body = body
			}
		}
		return join(all)
	}
	good := started(t, rt, guest())
	for _, c := range []struct {
		name   string
		module []byte
		want   string
	}{
		{"not a module", []byte("hello there"), "not a WebAssembly"},
		{"cut", guest()[:200], "unexpected end"},
		{"vector global", with(sectionGlobal, vector([]byte{0x7b, 1, 0xfd, 0x0c, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x0b})), "not supported"},
		{"two memories", with(sectionMemory, []byte{2, 0, 1, 0, 1}), "2 memories"},
		{"shared memory", with(sectionMemory, []byte{1, 3, 2, 100}), "shared"},
		{"more globals than the instance", with(sectionGlobal, vector(bytes.Repeat([]byte{0x7f, 1, 0x41, 7, 0x0b}, 1), []byte{0x7f, 1, 0x41, 7, 0x0b}, []byte{0x7f, 1, 0x41, 7, 0x0b}, []byte{0x7f, 1, 0x41, 7, 0x0b}, []byte{0x7f, 1, 0x41, 7, 0x0b})), "instance of another module"},
		{"strange constant", with(sectionGlobal, vector([]byte{0x7f, 1, 0x10, 0, 0x0b})), "unknown instruction"},
	} {
		if _, _, err := Split(c.module, good); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	kernel := with(sectionMemory, []byte{1, 1, 16, 100})
	if _, _, err := Split(kernel, started(t, rt, kernel)); err == nil || !strings.Contains(err.Error(), "kernel") {
		t.Errorf("an image like the kernel's: %v", err)
	}
}

func TestStubHasTheShapeAndNoCode(t *testing.T) {
	ctx := context.Background()
	rt := wazero.NewRuntime(ctx)
	defer rt.Close(ctx)
	code, _ := split(t)
	stub, err := Stub(code)
	if err != nil {
		t.Fatal(err)
	}
	if len(stub) >= len(code) {
		t.Errorf("%d bytes of %d", len(stub), len(code))
	}
	m, err := rt.Instantiate(ctx, stub)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"load", "store", "grow", "next", "state"} {
		f := m.ExportedFunction(name)
		if f == nil {
			t.Errorf("%s is gone", name)
			continue
		}
		if _, err := f.Call(ctx, make([]uint64, len(f.Definition().ParamTypes()))...); err == nil || !strings.Contains(err.Error(), "unreachable") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzModules(f *testing.F) {
	f.Add(guest())
	f.Add(join([]section{{sectionGlobal, []byte{0xff, 0xff, 0xff, 0xff, 0x0f}}}))
	f.Add(join([]section{{sectionCode, []byte{0xff, 0xff, 0xff, 0xff, 0x0f}}}))
	f.Add(join([]section{{sectionExport, []byte{2, 0xff, 0xff, 0xff, 0xff, 0x0f}}}))
	f.Add(join([]section{{sectionImport, []byte{1, 0, 0, 1, 0x70, 1, 1}}}))
	ctx := context.Background()
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	f.Cleanup(func() { rt.Close(ctx) })
	inst := started(f, rt, guest())
	f.Fuzz(func(t *testing.T, module []byte) {
		if out, err := Stub(module); err == nil && len(out) > 2*len(module)+64 {
			t.Errorf("the stub of %d bytes has %d", len(module), len(out))
		}
		if code, _, err := Split(module, inst); err == nil {
			if _, err := sections(code); err != nil {
				t.Errorf("what comes out does not parse: %v", err)
			}
		}
	})
}
