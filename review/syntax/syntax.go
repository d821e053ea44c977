// Package syntax has the syntax trees of programs, as the parser guest writes them:
// nodes of Tree-sitter's grammars for JavaScript, TypeScript and Python.
package syntax

import (
	"encoding/binary"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/wexec/wexec/fault"
)

// Languages of trees.
const (
	JavaScript = "javascript"
	TypeScript = "typescript"
	Python     = "python"
)

// Tree is a program and its syntax.
type Tree struct {
	Source   string
	Language string
	Root     *Node
}

// Node is a part of a program. Kind and Field are names of the grammar; Kind is ERROR
// for text that the grammar does not know. Start and End are offsets in the source.
type Node struct {
	Kind       string
	Field      string // what it is to its parent; may be empty
	Named      bool   // not an operator, a keyword or a bracket
	Missing    bool   // the grammar needs it, and the source does not have it
	Start, End int
	Children   []*Node
}

// Text returns the source of a node.
func (t *Tree) Text(n *Node) string { return t.Source[n.Start:n.End] }

// Position returns the line and column of an offset in the source, in characters, both
// from 1.
func (t *Tree) Position(offset int) (line, column int) {
	before := t.Source[:offset]
	return 1 + strings.Count(before, "\n"), 1 + utf8.RuneCountInString(before[1+strings.LastIndexByte(before, '\n'):])
}

// Child returns the first child in a field, or nil.
func (n *Node) Child(field string) *Node {
	for _, c := range n.Children {
		if c.Field == field {
			return c
		}
	}
	return nil
}

// Decode reads the tree of a source as the guest wrote it. The form is described in
// wasm-modules/treesitter/shim/guest.c. The tree has at most as many nodes as data has
// bytes, and may be as deep.
func Decode(source, language string, data []byte) (*Tree, error) {
	r := reader{data: data, kinds: map[uint64]*kind{}, fields: map[uint64]string{}}
	root := Node{End: len(source)} // above the tree
	var stack []*Node
	for top := &root; ; {
		v := r.number()
		switch {
		case r.failed:
			return nil, invalid()
		case v != 0:
			n := r.node(v, top)
			if n == nil {
				return nil, invalid()
			}
			top.Children = append(top.Children, n)
			stack = append(stack, top)
			top = n
		case len(stack) == 0:
			return nil, invalid()
		default:
			top = stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if len(stack) > 0 {
				continue
			}
			if len(r.data) > 0 {
				return nil, invalid()
			}
			return &Tree{source, language, root.Children[0]}, nil
		}
	}
}

func invalid() error { return fault.New(fault.Internal, "the parser wrote an invalid tree") }

// reader reads what the guest wrote. When it fails, all further reads do.
type reader struct {
	data   []byte
	failed bool
	kinds  map[uint64]*kind
	fields map[uint64]string
}

type kind struct {
	name  string
	named bool
}

func (r *reader) number() uint64 {
	v, n := binary.Uvarint(r.data)
	if n <= 0 || v > math.MaxUint32 {
		r.failed = true
		return 0
	}
	r.data = r.data[n:]
	return v
}

func (r *reader) text() string {
	n := r.number()
	if n > uint64(len(r.data)) {
		r.failed = true
		return ""
	}
	s := string(r.data[:n])
	r.data = r.data[n:]
	return s
}

// node reads a node after the number of its kind. It returns nil if it is invalid or
// outside of its parent.
func (r *reader) node(v uint64, parent *Node) *Node {
	if v&1 != 0 {
		named := r.number() != 0
		r.kinds[v>>1] = &kind{r.text(), named}
	}
	k := r.kinds[v>>1]
	f := r.number()
	if f&2 != 0 {
		r.fields[f>>2] = r.text()
	}
	start, length := r.number(), r.number()
	if r.failed || k == nil || start+length > uint64(parent.End-parent.Start) {
		return nil
	}
	begin := parent.Start + int(start)                                                                                           //nolint:gosec // inside of the parent
	return &Node{Kind: k.name, Named: k.named, Field: r.fields[f>>2], Missing: f&1 != 0, Start: begin, End: begin + int(length)} //nolint:gosec // the same
}
