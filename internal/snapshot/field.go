package snapshot

import (
	"reflect"
	"unsafe"
)

// Field reads the field called name, of the type T, from the struct that
// holder points to, exported or not. It is false where there is no such field
// or it has another type.
//
// One place needs it: a library that drives guests keeps the instance to
// itself, and the fuel and the memory of a guest can only be read there.
func Field[T any](holder any, name string) (T, bool) {
	var zero T
	v := reflect.ValueOf(holder)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return zero, false
	}
	f := v.Elem().FieldByName(name)
	if !f.IsValid() || f.Type() != reflect.TypeFor[T]() {
		return zero, false
	}
	return *(*T)(unsafe.Pointer(f.UnsafeAddr())), true
}
