package policy

import (
	"math"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// place is where a node begins. A mapping begins at its first key.
func place(n ast.Node) position {
	switch m := n.(type) {
	case *ast.MappingNode:
		if len(m.Values) > 0 && !m.IsFlowStyle {
			return place(m.Values[0])
		}
	case *ast.MappingValueNode:
		if m.Key != nil {
			return place(m.Key)
		}
	case *ast.SequenceNode:
		if !m.IsFlowStyle && m.Start != nil && m.Start.Position != nil {
			return position{m.Start.Position.Line, m.Start.Position.Column}
		}
	}
	if n == nil {
		return position{1, 1}
	}
	if t := n.GetToken(); t != nil && t.Position != nil {
		return position{max(t.Position.Line, 1), max(t.Position.Column, 1)}
	}
	return position{1, 1}
}

func isNull(n ast.Node) bool {
	if n == nil {
		return true
	}
	_, ok := n.(*ast.NullNode)
	return ok
}

func isComment(n ast.Node) bool {
	switch n.(type) {
	case *ast.CommentNode, *ast.CommentGroupNode:
		return true
	}
	return false
}

func isScalar(n ast.Node) bool {
	switch n.(type) {
	case *ast.StringNode, *ast.LiteralNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return true
	}
	return false
}

// textOf is a scalar as it was written, quotes undone.
func textOf(n ast.Node) string {
	switch s := n.(type) {
	case *ast.StringNode:
		return s.Value
	case *ast.LiteralNode:
		if s.Value == nil {
			return ""
		}
		return s.Value.Value
	}
	if t := n.GetToken(); t != nil {
		return t.Value
	}
	return ""
}

// kindOf names what a node is, for messages.
func kindOf(n ast.Node) string {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return "a number"
	case *ast.BoolNode:
		return "true or false"
	case *ast.NullNode:
		return "empty"
	}
	return "a text"
}

// mappingOf lists the pairs of a mapping.
func mappingOf(n ast.Node) ([]*ast.MappingValueNode, bool) {
	switch m := n.(type) {
	case *ast.MappingNode:
		return m.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{m}, true
	}
	return nil, false
}

// key reads the key of a pair.
func (d *decoder) key(pair *ast.MappingValueNode) (string, position, bool) {
	var n ast.Node = pair.Key
	pos := place(n)
	if k, ok := n.(*ast.MappingKeyNode); ok {
		n = k.Value
	}
	if n == nil || !isScalar(n) {
		if d.plain(n) {
			d.add(pos, "", "a key has to be a text")
		}
		return "", pos, false
	}
	return textOf(n), pos, true
}

// linesOf says where each line of a text stands in the file, so that a place
// within an expression becomes a place in the file.
func (d *decoder) linesOf(n ast.Node, text string) []position {
	at := place(n)
	count := strings.Count(text, "\n") + 1
	if lit, ok := n.(*ast.LiteralNode); ok && lit.Start != nil && lit.Start.Position != nil {
		return d.blockLines(lit.Start.Position.Line, text)
	}
	if s, ok := n.(*ast.StringNode); ok {
		if tk := s.GetToken(); tk != nil && len(tk.Origin) > 0 && strings.ContainsAny(strings.TrimSpace(tk.Origin)[:min(1, len(strings.TrimSpace(tk.Origin)))], `"'`) {
			at.column++
		}
	}
	out := make([]position, count)
	for i := range out {
		out[i] = position{at.line + i, 1}
	}
	out[0] = at
	return out
}

// blockLines finds the lines of a text in a block ("|" or ">") below a line.
func (d *decoder) blockLines(header int, text string) []position {
	text = strings.TrimRight(text, "\n")
	indent := math.MaxInt
	var out []position
	for i := header; i < len(d.lines) && len(out) <= strings.Count(text, "\n"); i++ {
		line := d.lines[i]
		if spaces := len(line) - len(strings.TrimLeft(line, " ")); strings.TrimSpace(line) != "" {
			indent = min(indent, spaces)
		}
		out = append(out, position{line: i + 1})
	}
	if indent == math.MaxInt {
		indent = 0
	}
	for i := range out {
		out[i].column = indent + 1
	}
	if len(out) == 0 {
		out = []position{{header, 1}}
	}
	return out
}

// place is the place of a line (from 1) and column (from 0) of an expression.
func (e expr) place(line, column int) position {
	if len(e.lines) == 0 {
		return position{1, 1}
	}
	i := min(max(line-1, 0), len(e.lines)-1)
	return position{e.lines[i].line, e.lines[i].column + max(column, 0)}
}

func contains(list []string, word string) bool { return slices.Contains(list, word) }

// lower makes a sentence of another's into a message of ours.
func lower(s string) string {
	s = strings.TrimSuffix(strings.TrimSpace(s), ".")
	if len(s) > 1 && s[0] >= 'A' && s[0] <= 'Z' && (s[1] < 'A' || s[1] > 'Z') {
		return string(s[0]+'a'-'A') + s[1:]
	}
	return s
}
