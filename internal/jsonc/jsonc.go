// Package jsonc reads JSON with comments and trailing commas, as editors and MCP
// clients accept it in their configuration files.
package jsonc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Strip removes a byte order mark and replaces // and /* */ comments and trailing
// commas by spaces, so that encoding/json reads the rest. Everything else keeps
// its line and column.
func Strip(data []byte) ([]byte, error) {
	out := slices.Clone(bytes.TrimPrefix(data, []byte("\ufeff")))
	blank := func(from, to int) {
		for i := from; i < to; i++ {
			if out[i] != '\n' {
				out[i] = ' '
			}
		}
	}
	comma := -1 // the last comma, if only white space and comments follow it
	for i := 0; i < len(out); {
		rest := out[i:]
		switch {
		case rest[0] == '"':
			i, comma = i+stringEnd(rest), -1
			continue
		case bytes.HasPrefix(rest, []byte("//")):
			n := bytes.IndexByte(rest, '\n')
			if n < 0 {
				n = len(rest)
			}
			blank(i, i+n)
			i += n
			continue
		case bytes.HasPrefix(rest, []byte("/*")):
			n := bytes.Index(rest[2:], []byte("*/"))
			if n < 0 {
				return nil, errors.New("unterminated comment")
			}
			blank(i, i+n+4)
			i += n + 4
			continue
		case rest[0] == ',':
			comma = i
		case rest[0] == '}' || rest[0] == ']':
			if comma >= 0 {
				out[comma] = ' '
			}
			comma = -1
		case !strings.ContainsRune(" \t\r\n", rune(rest[0])):
			comma = -1
		}
		i++
	}
	return out, nil
}

// stringEnd returns where the string at the start of a text ends.
func stringEnd(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// Position returns line:column of an error of encoding/json.
func Position(data []byte, err error) string {
	offset := int64(0)
	switch e := err.(type) {
	case *json.SyntaxError:
		offset = e.Offset
	case *json.UnmarshalTypeError:
		offset = e.Offset
	}
	before := string(data[:min(max(offset-1, 0), int64(len(data)))])
	return fmt.Sprintf("%d:%d", 1+strings.Count(before, "\n"), len(before)-strings.LastIndexByte(before, '\n'))
}
