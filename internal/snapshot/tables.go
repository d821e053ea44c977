package snapshot

import (
	"reflect"
	"strings"
	"sync"
	"unsafe"
)

// Tables is the content of the function tables of a new instance of one
// module. wazero computes it for each instance, with an expression and two or
// three allocations for each entry: 15,000 for a large interpreter. Learned
// from one instance, it is a copy of some words for later ones, which
// differ in the word that refers to the instance.
//
// wazero does not document this. [LearnTables] therefore checks every
// name, type and value that it relies on, and does nothing if one
// differs; wazero then fills the tables itself.
type Tables struct {
	functions []uint64 // function instances, one after another
	// tables has the entries of each table: 0 for none, n for the function
	// instance n-1, -n for the place n-1 in the instance's context, where imports are.
	tables [][]int
	pool   sync.Pool
}

// The words of a function instance of wazero's compiler.
const (
	functionWords = 3
	ownerWord     = 1 // refers to the instance
)

// LearnTables learns from a new instance in which nothing ran yet, and stops
// wazero from filling the tables of later instances of the same compiled
// module: each of them must be passed to [Tables.Fill] before it runs. No
// instance may be made concurrently. It returns nil if it learned and
// changed nothing.
func LearnTables(instance any) *Tables {
	in, ok := internals(instance)
	if !ok {
		return nil
	}
	t := &Tables{}
	index := make(map[uintptr]int, len(in.locals))
	for n, l := range in.locals {
		index[uintptr(l)] = n + 1
		words := unsafe.Slice((*uint64)(l), functionWords)
		if words[ownerWord] != uint64(in.opaque) {
			return nil
		}
		t.functions = append(t.functions, words...)
	}
	for _, table := range in.tables {
		entries := make([]int, len(*table))
		for n, ref := range *table {
			switch at, known := index[ref], ref >= in.opaque && ref < in.opaque+in.size; {
			case ref == 0:
			case at > 0:
				entries[n] = at
			case known:
				entries[n] = -int(ref-in.opaque) - 1
			default:
				return nil
			}
		}
		t.tables = append(t.tables, entries)
	}
	for n := range in.segments.Len() {
		if in.segments.Index(n).FieldByName("Mode").Uint() != 0 { // not an active segment
			return nil
		}
	}
	for n := range in.segments.Len() {
		in.segments.Index(n).FieldByName("Init").SetZero()
	}
	return t
}

// Fill fills the tables of a new instance. The caller must keep held as
// long as the instance is used, and may then pass it to [Tables.Release]. It
// returns false if the instance is of another module.
func (t *Tables) Fill(instance any) (held *[]uint64, ok bool) {
	in, ok := internals(instance)
	if !ok || len(in.tables) != len(t.tables) {
		return nil, false
	}
	for n, table := range in.tables {
		if len(*table) != len(t.tables[n]) {
			return nil, false
		}
	}
	held, _ = t.pool.Get().(*[]uint64)
	if held == nil {
		words := make([]uint64, max(len(t.functions), 1))
		held = &words
	}
	words := *held
	copy(words, t.functions)
	for n := ownerWord; n < len(t.functions); n += functionWords {
		words[n] = uint64(in.opaque)
	}
	first := uintptr(unsafe.Pointer(&words[0]))
	for n, table := range in.tables {
		refs := *table
		for k, e := range t.tables[n] {
			switch {
			case e > 0:
				refs[k] = first + uintptr(e-1)*functionWords*unsafe.Sizeof(words[0])
			case e < 0:
				refs[k] = in.opaque + uintptr(-e-1)
			}
		}
	}
	return held, true
}

// Release returns the result of Fill for reuse, after the instance is closed.
func (t *Tables) Release(held *[]uint64) { t.pool.Put(held) }

// inner is the part of an instance of wazero's compiler that Tables uses.
type inner struct {
	opaque   uintptr // its context, which lives as long as the instance
	size     uintptr
	locals   []unsafe.Pointer // its function instances
	tables   []*[]uintptr
	segments reflect.Value // the element segments of its module
}

// internals reads an instance. It returns false if anything differs from
// wazero 1.12.
func internals(instance any) (in inner, ok bool) {
	v := reflect.ValueOf(instance)
	if !isStructPointer(v) {
		return in, false
	}
	engine, tables, source := v.Elem().FieldByName("Engine"), v.Elem().FieldByName("Tables"), v.Elem().FieldByName("Source")
	if !engine.IsValid() || engine.Kind() != reflect.Interface || !isStructPointer(engine.Elem()) || !isStructPointer(source) ||
		!tables.IsValid() || tables.Kind() != reflect.Slice {
		return in, false
	}
	e := engine.Elem()
	if !strings.HasSuffix(e.Type().Elem().PkgPath(), "wazero/internal/engine/wazevo") {
		return in, false
	}
	opaque, start, locals := e.Elem().FieldByName("opaque"), e.Elem().FieldByName("opaquePtr"), e.Elem().FieldByName("localFunctionInstances")
	if !opaque.IsValid() || opaque.Type().Kind() != reflect.Slice || opaque.Type().Elem().Kind() != reflect.Uint8 || opaque.Len() == 0 ||
		!start.IsValid() || start.Kind() != reflect.Pointer || !locals.IsValid() || !functionsAsKnown(locals.Type()) ||
		start.Pointer() != opaque.Pointer() {
		return in, false
	}
	in.opaque, in.size = opaque.Pointer(), uintptr(opaque.Len())
	for n := range locals.Len() {
		in.locals = append(in.locals, locals.Index(n).UnsafePointer())
	}
	for n := range tables.Len() {
		if !isStructPointer(tables.Index(n)) {
			return in, false
		}
		refs := tables.Index(n).Elem().FieldByName("References")
		if !refs.IsValid() || refs.Type() != reflect.TypeFor[[]uintptr]() {
			return in, false
		}
		in.tables = append(in.tables, refs.Addr().Interface().(*[]uintptr))
	}
	in.segments = source.Elem().FieldByName("ElementSection")
	return in, segmentsAsKnown(in.segments)
}

// functionsAsKnown reports whether the type of a list of function instances is the
// one that Fill copies.
func functionsAsKnown(t reflect.Type) bool {
	if t.Kind() != reflect.Slice || t.Elem().Kind() != reflect.Pointer {
		return false
	}
	s := t.Elem().Elem()
	const word = unsafe.Sizeof(uint64(0))
	if s.Kind() != reflect.Struct || s.NumField() != 4 || s.Size() != functionWords*word || unsafe.Sizeof(uintptr(0)) != word {
		return false
	}
	for n, want := range []struct {
		name   string
		kind   reflect.Kind
		offset uintptr
	}{
		{"executable", reflect.Pointer, 0}, {"moduleContextOpaquePtr", reflect.Pointer, ownerWord * word},
		{"typeID", reflect.Uint32, 2 * word}, {"indexInModule", reflect.Uint32, 2*word + 4},
	} {
		if f := s.Field(n); f.Name != want.name || f.Type.Kind() != want.kind || f.Offset != want.offset {
			return false
		}
	}
	return true
}

// segmentsAsKnown reports whether a module's element segments can be emptied.
func segmentsAsKnown(v reflect.Value) bool {
	if !v.IsValid() || v.Kind() != reflect.Slice || v.Type().Elem().Kind() != reflect.Struct {
		return false
	}
	mode, has := v.Type().Elem().FieldByName("Mode")
	if !has || mode.Type.Kind() != reflect.Uint8 {
		return false
	}
	list, has := v.Type().Elem().FieldByName("Init")
	return has && list.Type.Kind() == reflect.Slice && v.CanAddr()
}
