// Package yamldoc decodes YAML files into Go structs strictly and reports every
// problem of a file at once, each with its line and column.
//
// A struct describes the format of a file by the tags of its fields, and
// [Schema] makes the JSON Schema of the format from the same tags:
//
//	yaml    the key
//	doc     its description
//	enum    the values that it may have, separated by |
//	min     the smallest number that it may be
//	maxlen  the longest string that it may be, in the schema only
//	need    set for a key that is required
//	short   set for the field that a scalar sets if it is given instead of the mapping
//	single  set for a list that may be written as one scalar
//
// Fields are strings, booleans, types of package units and others that
// implement [encoding.TextUnmarshaler], structs, pointers to structs (a block
// that may be missing), slices, [Map], [Object] and [Code], each of them in a
// [Value] if its position matters. A struct with a field Pos of the type
// [Position] gets its own position there. A type that implements [Keyed] lists
// its keys at run time.
//
// Anchors, aliases, merge keys and tags are errors. Files may come from
// untrusted people: their size, depth and number of keys are bounded.
package yamldoc

// Position is a place in a file. Line and column count from 1; the zero
// position means the file as a whole.
type Position struct{ Line, Column int }

// Value is a value with its position.
type Value[T any] struct {
	V   T
	Pos Position
}

// IsSet reports whether the file has the value.
func (v Value[T]) IsSet() bool { return v.Pos.Line > 0 }

func (Value[T]) isValue() {}

// Values returns the values of a list without their positions. It returns nil
// only if the file does not have the list.
func Values[T any](list []Value[T]) []T {
	if list == nil {
		return nil
	}
	out := make([]T, len(list))
	for i, v := range list {
		out[i] = v.V
	}
	return out
}

// Map is a mapping with arbitrary keys, in the order of the file.
type Map[T any] []Pair[T]

func (Map[T]) isMap() {}

// Pair is one key of a [Map] with its value.
type Pair[T any] struct {
	Key    string
	KeyPos Position
	V      T
	Pos    Position
}

// Object is a mapping of anything, as encoding/json decodes it into an any, with
// the numbers of package jsonnum.
type Object map[string]any

// Code is a scalar in another language. It maps places in its text to
// places in the file.
type Code struct {
	Text  string
	lines []Position // of each line of the text
}

// Place returns the position of a line, from 1, and a column, from 0, of the
// text.
func (c Code) Place(line, column int) Position {
	if len(c.lines) == 0 {
		return Position{1, 1}
	}
	at := c.lines[min(max(line-1, 0), len(c.lines)-1)]
	return Position{at.Line, at.Column + max(column, 0)}
}

// Keyed is a mapping of numbers whose keys are known only at run time.
type Keyed interface {
	// YAMLKeys lists the keys.
	YAMLKeys() []Key
	// SetYAML stores the value of a key. It is called on a pointer.
	SetYAML(key string, value int64)
}

// Key is one key of a [Keyed].
type Key struct {
	Name, Doc string
	Min       int64
	Value     any // of the type that reads the value: units.Count, units.Size, units.Duration or units.Share
}
