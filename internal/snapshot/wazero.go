package snapshot

import (
	"errors"
	"reflect"
	"unsafe"
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
