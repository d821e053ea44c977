// Package strictjson decodes JSON that must mean the same to every reader: the
// policy decides on the arguments of a call, and the tool reads them again.
package strictjson

import (
	"context"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/wexec/wexec/internal/jsonnum"
	"github.com/wexec/wexec/internal/jsonscan"
)

// Bounds of arguments: how deep they may be nested, and how much memory their
// values may take in the host, in bytes, in addition to their strings. The first
// freeRoom bytes are free, and so are as many bytes as the text has.
const (
	maxNesting = 100
	maxRoom    = 64 << 20
	freeRoom   = 1 << 20
)

// What one value takes in memory, about: an object is much larger than its
// text.
const (
	roomOfValue  = 32
	roomOfObject = 320
)

// Document is JSON that a guest wrote, decoded strictly. The policy must decide
// on what the tool will read, so text that two readers could understand
// differently is refused or makes the document inexact.
type Document struct {
	Value any
	// Exact reports that the original bytes mean the same as Value.
	Exact bool
}

// A Payer is charged for memory, in bytes. Its error ends what needs the memory.
type Payer interface{ Charge(bytes int64) error }

// Decode decodes one JSON value, with the numbers of package jsonnum. It refuses
// what encoding/json accepts but readers disagree on: duplicate names and strings
// that are not valid UTF-8. It ends with the context. Many small values take far more
// memory than their text: payer is charged for it before it is taken.
func Decode(ctx context.Context, data []byte, payer Payer) (Document, error) {
	d := decoder{ctx: ctx, text: string(data), scan: jsonscan.New(data), Document: Document{Exact: true},
		payer: payer, charged: int64(len(data)) + freeRoom}
	if !d.scan.Next() {
		return Document{}, d.scan.Err()
	}
	v, err := d.read(0)
	if err != nil {
		return Document{}, err
	}
	if d.scan.Next(); d.scan.Err() != nil {
		return Document{}, d.scan.Err()
	}
	d.Value = v
	return d.Document, nil
}

// decoder builds the value of a document. Strings without escapes share text.
type decoder struct {
	Document
	ctx    context.Context
	text   string
	scan   jsonscan.Scanner
	values int

	payer         Payer
	room, charged int64 // about the memory of the values, and how much of it is paid
}

func (d *decoder) fail(format string, args ...any) error {
	return fmt.Errorf("offset %d: %s", d.scan.Start, fmt.Sprintf(format, args...))
}

// next reads the next value.
func (d *decoder) next(depth int) (any, error) {
	if !d.scan.Next() {
		return nil, d.scan.Err()
	}
	return d.read(depth)
}

// read reads the value that begins at the current token.
func (d *decoder) read(depth int) (any, error) {
	if depth > maxNesting {
		return nil, d.fail("nested more than %d levels deep", maxNesting)
	}
	if d.room += roomOfValue; d.room > maxRoom {
		return nil, d.fail("the values take more than %d MiB; pass them in parts, or as text", maxRoom>>20)
	}
	if d.values++; d.values%1024 == 0 && d.ctx.Err() != nil {
		return nil, context.Cause(d.ctx)
	}
	if d.room > d.charged {
		if err := d.payer.Charge(freeRoom); err != nil {
			return nil, err
		}
		d.charged += freeRoom
	}
	switch d.scan.Kind {
	case jsonscan.Object:
		d.room += roomOfObject
		return d.object(depth)
	case jsonscan.Array:
		return d.array(depth)
	case jsonscan.String:
		return d.string()
	case jsonscan.Number:
		n, exact, err := jsonnum.Parse(d.text[d.scan.Start:d.scan.End])
		if err != nil {
			return nil, d.fail("%s", err)
		}
		d.Exact = d.Exact && exact
		return n, nil
	case jsonscan.Null:
		return nil, nil
	}
	return d.scan.Kind == jsonscan.True, nil
}

func (d *decoder) object(depth int) (any, error) {
	out := map[string]any{}
	for d.scan.Next() && d.scan.Kind == jsonscan.Name {
		name, err := d.string()
		if err != nil {
			return nil, err
		}
		if _, ok := out[name]; ok {
			return nil, d.fail("duplicate name in an object")
		}
		if out[name], err = d.next(depth + 1); err != nil {
			return nil, err
		}
	}
	return out, d.scan.Err()
}

func (d *decoder) array(depth int) (any, error) {
	out := []any{}
	for d.scan.Next() && d.scan.Kind != jsonscan.ArrayEnd {
		v, err := d.read(depth + 1)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, d.scan.Err()
}

// string decodes the current String or Name. An unpaired surrogate becomes
// U+FFFD and makes the document inexact.
func (d *decoder) string() (string, error) {
	s := d.text[d.scan.Start:d.scan.End]
	if !utf8.ValidString(s) {
		return "", d.fail("a string is not valid UTF-8")
	}
	if !d.scan.Escaped {
		return s, nil
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		if s[i] != '\\' {
			b = append(b, s[i])
			i++
			continue
		}
		r, n := jsonscan.Unescape(s[i:])
		d.Exact = d.Exact && !utf16.IsSurrogate(r)
		b, i = utf8.AppendRune(b, r), i+n
	}
	return string(b), nil
}
