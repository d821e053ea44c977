package snapshot

import (
	"errors"
	"io/fs"
	"math/bits"
	"reflect"
	"unsafe"

	"github.com/tetratelabs/wazero/experimental/sys"
)

// Field reads the field name, of type T, of the struct that
// holder points to, exported or not. It returns false if there is no such field
// or if it has another type.
//
// It exists for one case: Extism does not export the instance of a plugin,
// and the fuel and the memory of a guest can only be read there.
func Field[T any](holder any, name string) (T, bool) {
	var zero T
	v := reflect.ValueOf(holder)
	if !isStructPointer(v) {
		return zero, false
	}
	f := v.Elem().FieldByName(name)
	if !f.IsValid() || f.Type() != reflect.TypeFor[T]() {
		return zero, false
	}
	return *(*T)(unsafe.Pointer(f.UnsafeAddr())), true
}

func isStructPointer(v reflect.Value) bool {
	return v.IsValid() && v.Kind() == reflect.Pointer && !v.IsNil() && v.Elem().Kind() == reflect.Struct
}

// mover is the part of wazero's engine that must know when a memory moved.
type mover interface{ MemoryGrown() }

// memoryOfInstance finds the linear memory of an instance, and its engine. It
// returns false if anything differs from wazero 1.12.
func memoryOfInstance(instance any) (*[]byte, mover, bool) {
	v := reflect.ValueOf(instance)
	if !isStructPointer(v) {
		return nil, nil, false
	}
	engine, memory := v.Elem().FieldByName("Engine"), v.Elem().FieldByName("MemoryInstance")
	if !engine.IsValid() || engine.Kind() != reflect.Interface || !engine.CanInterface() || !isStructPointer(memory) {
		return nil, nil, false
	}
	buffer := memory.Elem().FieldByName("Buffer")
	if !buffer.IsValid() || buffer.Type() != reflect.TypeFor[[]byte]() || !buffer.CanSet() {
		return nil, nil, false
	}
	moved, ok := engine.Interface().(mover)
	return buffer.Addr().Interface().(*[]byte), moved, ok
}

// CanBind reports whether an instance can get its memory after
// it was made, see [Allocator.DeferBinding].
func CanBind(instance any) bool {
	_, _, ok := memoryOfInstance(instance)
	return ok
}

// rebase replaces the memory of an instance by another of the same size.
func rebase(instance any, b []byte) error {
	buffer, moved, ok := memoryOfInstance(instance)
	if !ok || len(*buffer) != len(b) {
		return errors.New("the memory of the instance is not where wazero 1.12 has it")
	}
	*buffer = b
	moved.MemoryGrown()
	return nil
}

// Descriptors are the open files of an instance, by number.
type Descriptors struct {
	table descriptors
	masks reflect.Value // a bit for each number
}

// descriptors is the part of wazero's table of open files that can be named.
type descriptors interface {
	OpenFile(fs sys.FS, path string, flag sys.Oflag, perm fs.FileMode) (int32, sys.Errno)
	CloseFile(fd int32) sys.Errno
}

// DescriptorsOf returns the open files of an instance. It returns false if anything
// differs from wazero 1.12.
func DescriptorsOf(instance any) (d Descriptors, ok bool) {
	v := reflect.ValueOf(instance)
	if !isStructPointer(v) {
		return d, false
	}
	system := v.Elem().FieldByName("Sys")
	if !system.IsValid() || !isStructPointer(system) {
		return d, false
	}
	files := system.Elem().FieldByName("fsc")
	if !files.IsValid() || files.Kind() != reflect.Struct {
		return d, false
	}
	opened := files.FieldByName("openedFiles")
	if !opened.IsValid() || opened.Kind() != reflect.Struct {
		return d, false
	}
	d.masks = opened.FieldByName("masks")
	if !d.masks.IsValid() || d.masks.Type() != reflect.TypeFor[[]uint64]() {
		return d, false
	}
	d.table, ok = reflect.NewAt(files.Type(), unsafe.Pointer(files.UnsafeAddr())).Interface().(descriptors)
	return d, ok
}

// Open returns the numbers of the files that are open, in ascending order.
func (d Descriptors) Open() (numbers []int32) {
	for n := range d.masks.Len() {
		for mask := d.masks.Index(n).Uint(); mask != 0; mask &= mask - 1 {
			numbers = append(numbers, int32(n*64+bits.TrailingZeros64(mask)))
		}
	}
	return numbers
}

// Occupy opens the root of a file system under the smallest number that is free.
func (d Descriptors) Occupy(with sys.FS) (number int32, ok bool) {
	number, errno := d.table.OpenFile(with, "/", sys.O_RDONLY, 0)
	return number, errno == 0
}

// Close closes a file.
func (d Descriptors) Close(number int32) { _ = d.table.CloseFile(number) }

// global is the part of wazero's global that can be named.
type global interface {
	Value() (lo, hi uint64)
	SetValue(lo, hi uint64)
}

// mutableGlobals returns the mutable globals of an instance, exported or not. It
// returns false if anything differs from wazero 1.12.
func mutableGlobals(instance any) (all []global, ok bool) {
	v := reflect.ValueOf(instance)
	if !isStructPointer(v) {
		return nil, false
	}
	globals := v.Elem().FieldByName("Globals")
	if !globals.IsValid() || globals.Kind() != reflect.Slice {
		return nil, false
	}
	for n := range globals.Len() {
		one := globals.Index(n)
		g, ok := one.Interface().(global)
		if !ok || !isStructPointer(one) {
			return nil, false
		}
		t := one.Elem().FieldByName("Type")
		if !t.IsValid() || t.Kind() != reflect.Struct {
			return nil, false
		}
		mutable := t.FieldByName("Mutable")
		if !mutable.IsValid() || mutable.Kind() != reflect.Bool {
			return nil, false
		}
		if mutable.Bool() {
			all = append(all, g)
		}
	}
	return all, true
}
