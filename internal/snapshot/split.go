package snapshot

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// initializers are the exports that a split module must not have: Extism
// calls the first one if it exists.
var initializers = []string{"_initialize", "_start", "guest_init"}

// Split makes, of a module and an initialized, idle instance of it, a
// code-only module and the matching memory image.
//
// The code-only module has no active data, no start function, no initializers
// among its exports and no custom sections; its memory is at least as large as
// the image, and its mutable globals start with the values that they have in
// the instance. Tables are filled as for a new instance.
//
// Split fails for modules with imported memories or with mutable globals of
// vector or reference types.
func Split(module []byte, inst api.Module) (code []byte, image []byte, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("split module: %w", err)
		}
	}()
	mem := inst.Memory()
	if mem == nil {
		return nil, nil, errors.New("no memory")
	}
	view, ok := mem.Read(0, mem.Size())
	if !ok || len(view) == 0 || len(view)%pageSize != 0 {
		return nil, nil, errors.New("memory cannot be read")
	}
	if len(view) == KernelSize {
		return nil, nil, fmt.Errorf("memory of %d bytes is as large as that of Extism's kernel; add a page", KernelSize)
	}
	all, err := sections(module)
	if err != nil {
		return nil, nil, err
	}
	imported, err := importedGlobals(all)
	if err != nil {
		return nil, nil, err
	}
	passive, err := passiveData(all)
	if err != nil {
		return nil, nil, err
	}
	var kept []section
	for _, s := range all {
		switch s.id {
		case sectionCustom, sectionStart:
			continue
		case sectionMemory:
			s.body, err = memoryOf(s.body, uint64(len(view)/pageSize))
		case sectionGlobal:
			s.body, err = globalsOf(s.body, inst, imported)
		case sectionExport:
			s.body, err = exportsWithout(s.body, initializers)
		case sectionData, sectionDataCount:
			if passive == nil {
				continue
			}
			if s.id == sectionData {
				s.body = passive
			}
		}
		if err != nil {
			return nil, nil, err
		}
		kept = append(kept, s)
	}
	return join(kept), slices.Clone(view), nil
}

// importedGlobals counts the imported globals, which have the first indices. An imported
// memory is an error.
func importedGlobals(all []section) (int, error) {
	n := 0
	for _, s := range all {
		if s.id != sectionImport {
			continue
		}
		r := reader{b: s.body}
		for count := r.u32(); count > 0 && r.err == nil; count-- {
			r.take(r.u32())
			r.take(r.u32())
			switch kind := r.byte(); kind {
			case 0: // function
				r.u32()
			case 1: // table
				r.skipType()
				r.limits()
			case 2:
				return 0, errors.New("memory is imported")
			case 3: // global
				r.skipType()
				r.byte()
				n++
			default:
				r.fail(fmt.Errorf("unknown kind of import %d", kind))
			}
		}
		if r.err != nil {
			return 0, r.err
		}
	}
	return n, nil
}

// memoryOf returns a memory section with another minimum.
func memoryOf(body []byte, pages uint64) ([]byte, error) {
	r := reader{b: body}
	if n := r.u32(); n != 1 {
		return nil, fmt.Errorf("%d memories", n)
	}
	flags, high := r.limits()
	if r.err != nil {
		return nil, r.err
	}
	if flags&^1 != 0 {
		return nil, fmt.Errorf("memory is shared or of an unknown kind (flags %#x)", flags)
	}
	out := binary.AppendUvarint([]byte{1, flags}, pages)
	if flags&1 != 0 {
		out = binary.AppendUvarint(out, max(high, pages))
	}
	return out, nil
}

// globalsOf returns a global section in which mutable globals start with the values
// they have in inst.
func globalsOf(body []byte, inst api.Module, imported int) ([]byte, error) {
	r := reader{b: body}
	count := r.u32()
	out := binary.AppendUvarint(nil, uint64(count))
	inside, ok := inst.(experimental.InternalModule)
	if !ok {
		return nil, errors.New("globals cannot be read")
	}
	for i := range int(count) {
		start := r.b
		kind := r.skipType()
		mutable := r.byte() == 1
		head := start[:len(start)-len(r.b)]
		value := r.constant()
		if r.err != nil {
			return nil, r.err
		}
		out = append(out, head...)
		if !mutable {
			out = append(out, value...)
			continue
		}
		if imported+i >= inside.NumGlobal() {
			return nil, errors.New("instance of another module")
		}
		now := inside.Global(imported + i).Get()
		switch kind {
		case api.ValueTypeI32:
			out = appendSigned(append(out, 0x41), int64(int32(uint32(now))))
		case api.ValueTypeI64:
			out = appendSigned(append(out, 0x42), int64(now))
		case api.ValueTypeF32:
			out = binary.LittleEndian.AppendUint32(append(out, 0x43), uint32(now))
		case api.ValueTypeF64:
			out = binary.LittleEndian.AppendUint64(append(out, 0x44), now)
		default:
			return nil, fmt.Errorf("mutable global %d has type %#x, which is not supported", imported+i, kind)
		}
		out = append(out, 0x0b)
	}
	return out, nil
}

// exportsWithout returns an export section without some names.
func exportsWithout(body []byte, names []string) ([]byte, error) {
	r := reader{b: body}
	var items []byte
	kept := uint64(0)
	for count := r.u32(); count > 0 && r.err == nil; count-- {
		start := r.b
		name := string(r.take(r.u32()))
		r.byte()
		r.u32()
		if r.err == nil && !slices.Contains(names, name) {
			items = append(items, start[:len(start)-len(r.b)]...)
			kept++
		}
	}
	if r.err != nil {
		return nil, r.err
	}
	return append(binary.AppendUvarint(nil, kept), items...), nil
}

// passiveData returns a data section with the passive segments only; the active
// ones become empty to keep the indices. It is nil if there are no
// passive segments.
func passiveData(all []section) ([]byte, error) {
	for _, s := range all {
		if s.id != sectionData {
			continue
		}
		r := reader{b: s.body}
		count := r.u32()
		out := binary.AppendUvarint(nil, uint64(count))
		found := false
		for range count {
			switch mode := r.u32(); mode {
			case 1:
				data := r.take(r.u32())
				found = found || len(data) > 0
				out = append(binary.AppendUvarint(append(out, 1), uint64(len(data))), data...)
			case 0, 2:
				if mode == 2 && r.u32() != 0 {
					r.fail(errors.New("data for a second memory"))
				}
				r.constant()
				r.take(r.u32())
				out = append(out, 1, 0)
			default:
				r.fail(fmt.Errorf("unknown data mode %d", mode))
			}
			if r.err != nil {
				return nil, r.err
			}
		}
		if found {
			return out, nil
		}
	}
	return nil, nil
}

// Stub returns a module with the same sections, except
// custom ones, in which every function body is a single
// unreachable. Its size is a fraction of the module's, and so is the time to
// decode and validate it.
func Stub(module []byte) ([]byte, error) {
	all, err := sections(module)
	if err != nil {
		return nil, fmt.Errorf("make a stub: %w", err)
	}
	var kept []section
	for _, s := range all {
		switch s.id {
		case sectionCustom:
			continue
		case sectionCode:
			r := reader{b: s.body}
			count := r.u32()
			if r.err != nil || uint64(count) > uint64(len(r.b)) {
				return nil, fmt.Errorf("make a stub: %w", errShort)
			}
			s.body = binary.AppendUvarint(make([]byte, 0, 5+4*int(count)), uint64(count))
			for range count {
				s.body = append(s.body, 3, 0, 0, 0x0b) // length, no locals, unreachable, end
			}
		}
		kept = append(kept, s)
	}
	return join(kept), nil
}
