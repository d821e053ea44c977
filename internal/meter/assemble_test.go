package meter_test

import (
	"bytes"
	"encoding/binary"
)

// Value types.
const (
	i32 = 0x7f
	i64 = 0x7e
)

// source is a module as tests write it down.
type source struct {
	types    [][2][]byte // parameters, results
	imports  []imported
	funcs    []body // exported under their names
	tables   []int  // first size of each funcref table
	pages    int    // of memory; below zero: none
	maxPages int
	globals  []byte // encoded, each i64 mutable with this first value
	elements []byte // functions of one active segment in table 0
	passive  []byte // functions of one passive segment
	data     []byte // one passive segment
	start    int    // 1 + function
}

type imported struct {
	module, name string
	typ          byte
}

type body struct {
	name   string
	typ    byte
	locals []byte // types
	code   []byte // without the last end
}

func leb(v uint64) []byte { return binary.AppendUvarint(nil, v) }

func text(s string) []byte { return append(leb(uint64(len(s))), s...) }

// cat joins bytes, numbers below 256 and other pieces of code.
func cat(parts ...any) []byte {
	var b []byte
	for _, p := range parts {
		switch p := p.(type) {
		case int:
			b = append(b, byte(p))
		case byte:
			b = append(b, p)
		case []byte:
			b = append(b, p...)
		case string:
			b = append(b, text(p)...)
		}
	}
	return b
}

func list(items ...[]byte) []byte {
	return append(leb(uint64(len(items))), bytes.Join(items, nil)...)
}

func sectionOf(id byte, content []byte) []byte {
	return cat(id, leb(uint64(len(content))), content)
}

func (s source) bytes() []byte {
	out := []byte("\x00asm\x01\x00\x00\x00")
	add := func(id byte, items [][]byte) {
		if len(items) > 0 {
			out = append(out, sectionOf(id, list(items...))...)
		}
	}
	var items [][]byte
	for _, t := range s.types {
		items = append(items, cat(0x60, len(t[0]), t[0], len(t[1]), t[1]))
	}
	add(1, items)
	items = nil
	for _, i := range s.imports {
		items = append(items, cat(i.module, i.name, 0, i.typ))
	}
	add(2, items)
	items = nil
	for _, f := range s.funcs {
		items = append(items, []byte{f.typ})
	}
	add(3, items)
	items = nil
	for _, n := range s.tables {
		items = append(items, cat(0x70, 0, leb(uint64(n))))
	}
	add(4, items)
	if s.pages >= 0 {
		memory := cat(0, leb(uint64(s.pages)))
		if s.maxPages > 0 {
			memory = cat(1, leb(uint64(s.pages)), leb(uint64(s.maxPages)))
		}
		add(5, [][]byte{memory})
	}
	items = nil
	for _, g := range s.globals {
		items = append(items, cat(i64, 1, 0x42, g, 0x0b))
	}
	add(6, items)
	items = nil
	if s.pages >= 0 {
		items = append(items, cat("memory", 2, 0))
	}
	for i, f := range s.funcs {
		if f.name != "" {
			items = append(items, cat(f.name, 0, leb(uint64(len(s.imports)+i))))
		}
	}
	add(7, items)
	if s.start > 0 {
		out = append(out, sectionOf(8, []byte{byte(s.start - 1)})...)
	}
	items = nil
	if len(s.elements) > 0 {
		items = append(items, cat(0, 0x41, 0, 0x0b, len(s.elements), s.elements))
	}
	if len(s.passive) > 0 {
		items = append(items, cat(1, 0, len(s.passive), s.passive))
	}
	add(9, items)
	if len(s.data) > 0 {
		out = append(out, sectionOf(12, []byte{1})...)
	}
	items = nil
	for _, f := range s.funcs {
		var groups [][]byte
		for _, l := range f.locals {
			groups = append(groups, cat(1, l))
		}
		code := cat(list(groups...), f.code, 0x0b)
		items = append(items, cat(leb(uint64(len(code))), code))
	}
	add(10, items)
	if len(s.data) > 0 {
		add(11, [][]byte{cat(1, leb(uint64(len(s.data))), s.data)})
	}
	return out
}

// Short names for code.
var (
	get  = func(i int) []byte { return cat(0x20, i) }
	set  = func(i int) []byte { return cat(0x21, i) }
	tee  = func(i int) []byte { return cat(0x22, i) }
	num  = func(v int64) []byte { return cat(0x41, signed(v)) }
	call = func(i int) []byte { return cat(0x10, leb(uint64(i))) }
)

func signed(v int64) []byte {
	var b []byte
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

// countdown repeats code while local n counts down to zero; it is not run
// where n is zero.
func countdown(n int, code ...any) []byte {
	return cat(0x02, 0x40, get(n), 0x45, 0x0d, 0, // block; br_if n == 0
		0x03, 0x40, cat(code...), get(n), num(1), 0x6b, tee(n), 0x0d, 0, 0x0b, 0x0b)
}

func repeat(n int, code []byte) []byte { return bytes.Repeat(code, n) }
