package snapshot

import (
	"errors"
	"reflect"
)

// grown is the part of wazero's engine that is told of a memory that moved.
type grown interface{ MemoryGrown() }

// linearOf finds the memory of an instance, and who is to be told when it
// moves. It is false where anything is not as in wazero 1.12.
func linearOf(instance any) (*[]byte, grown, bool) {
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
	moved, ok := engine.Interface().(grown)
	return buffer.Addr().Interface().(*[]byte), moved, ok
}

// CanBind reports whether the memory of an instance can be given to it after
// it was made, see [Allocator.Late].
func CanBind(instance any) bool {
	_, _, ok := linearOf(instance)
	return ok
}

// rebase puts another memory of the same size under an instance.
func rebase(instance any, b []byte) error {
	buffer, moved, ok := linearOf(instance)
	if !ok || len(*buffer) != len(b) {
		return errors.New("the instance keeps its memory elsewhere than in wazero 1.12")
	}
	*buffer = b
	moved.MemoryGrown()
	return nil
}
