package yamldoc

import (
	"bytes"
	"fmt"
	"math"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Bounds of a file. The time that the YAML parser takes grows with the square
// of the keys of one mapping and with nesting; with these bounds the worst file
// takes a few seconds.
const (
	MaxFile  = 256 << 10
	maxDepth = 40
	MaxKeys  = 8000
)

// parse returns the body of the one document of a file, or nil if there is none
// or after it reported a problem.
func (d *decoder) parse(data []byte) (body ast.Node, ok bool) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !d.withinBounds(data) {
		return nil, false
	}
	d.lines = strings.Split(string(data), "\n")
	file, err := parseWithoutPanic(data)
	if err != nil {
		d.syntaxError(err)
		return nil, false
	}
	for _, doc := range file.Docs {
		switch doc.Body.(type) {
		case nil, *ast.CommentNode, *ast.CommentGroupNode:
			continue
		}
		if body != nil {
			d.Add(place(doc.Body), "keep one document", "the file has more than one YAML document")
			return nil, false
		}
		body = doc.Body
	}
	return body, true
}

// withinBounds reports a file that could keep the parser busy. A small file can
// do that for hours.
func (d *decoder) withinBounds(data []byte) bool {
	switch line := tooDeep(data); {
	case len(data) > MaxFile:
		d.Add(Position{}, "", "the file is larger than %d KiB", MaxFile>>10)
	case line > 0:
		d.Add(Position{line, 1}, "", "nested more than %d levels deep", maxDepth)
	case bytes.Count(data, []byte{':'}) > MaxKeys:
		d.Add(Position{}, "", "the file has more than %d keys", MaxKeys)
	default:
		return true
	}
	return false
}

// tooDeep returns the line at which values are nested too deeply, or 0. It also
// counts brackets in strings, and each "- " at the start of a line.
func tooDeep(data []byte) int {
	depth, line, dashes, start := 0, 1, 0, true
	for _, c := range data {
		switch c {
		case '\n':
			line++
			dashes, start = 0, true
			continue
		case '[', '{':
			depth++
		case ']', '}':
			depth = max(depth-1, 0)
		case '-', '?', ':':
			dashes++
		}
		if c != '-' && c != '?' && c != ' ' && c != ':' {
			start = false
		}
		if depth > maxDepth || (start && dashes > maxDepth) {
			return line
		}
	}
	return 0
}

func parseWithoutPanic(data []byte) (f *ast.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("invalid YAML")
		}
	}()
	return parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
}

// syntaxError reports an error of the YAML parser.
func (d *decoder) syntaxError(err error) {
	var pos Position
	message, _, _ := strings.Cut(err.Error(), "\n")
	placed, ok := err.(interface {
		GetToken() *token.Token
		GetMessage() string
	})
	if ok && placed.GetToken() != nil && placed.GetToken().Position != nil {
		at := placed.GetToken().Position
		pos, message = Position{at.Line, at.Column}, placed.GetMessage()
	}
	d.Add(pos, "", "%s", LowerFirst(message))
}

// LowerFirst makes a sentence of a library into a part of a message: without a
// capital letter and a full stop.
func LowerFirst(s string) string {
	s = strings.TrimSuffix(strings.TrimSpace(s), ".")
	if len(s) > 1 && s[0] >= 'A' && s[0] <= 'Z' && (s[1] < 'A' || s[1] > 'Z') {
		return string(s[0]+'a'-'A') + s[1:]
	}
	return s
}

// place returns where a node begins. A mapping begins at its first key.
func place(n ast.Node) Position {
	switch m := n.(type) {
	case nil:
		return Position{1, 1}
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
			return Position{m.Start.Position.Line, m.Start.Position.Column}
		}
	}
	if t := n.GetToken(); t != nil && t.Position != nil {
		return Position{max(t.Position.Line, 1), max(t.Position.Column, 1)}
	}
	return Position{1, 1}
}

func isNull(n ast.Node) bool {
	if n == nil {
		return true
	}
	_, ok := n.(*ast.NullNode)
	return ok
}

func isScalar(n ast.Node) bool {
	switch n.(type) {
	case *ast.StringNode, *ast.LiteralNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return true
	}
	return false
}

// scalarText returns a scalar as it was written, without quotes.
func scalarText(n ast.Node) string {
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

// kindOf names the kind of a node for messages.
func kindOf(n ast.Node) string {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return "a number"
	case *ast.BoolNode:
		return "a boolean"
	case nil, *ast.NullNode:
		return "empty"
	}
	return "a string"
}

// pairsOf lists the pairs of a mapping.
func pairsOf(n ast.Node) ([]*ast.MappingValueNode, bool) {
	switch m := n.(type) {
	case *ast.MappingNode:
		return m.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{m}, true
	}
	return nil, false
}

// linesOf returns the position of each line of a scalar's text.
func (d *decoder) linesOf(n ast.Node, text string) []Position {
	if lit, ok := n.(*ast.LiteralNode); ok && lit.Start != nil && lit.Start.Position != nil {
		return d.blockLines(lit.Start.Position.Line, text)
	}
	at := place(n)
	if s, ok := n.(*ast.StringNode); ok {
		if t := s.GetToken(); t != nil && strings.IndexAny(strings.TrimSpace(t.Origin), `"'`) == 0 {
			at.Column++
		}
	}
	out := make([]Position, strings.Count(text, "\n")+1)
	for i := range out {
		out[i] = Position{at.Line + i, 1}
	}
	out[0] = at
	return out
}

// blockLines returns the position of each line of a block scalar ("|" or ">")
// whose header is on a line.
func (d *decoder) blockLines(header int, text string) []Position {
	text = strings.TrimRight(text, "\n")
	indent := math.MaxInt
	var out []Position
	for i := header; i < len(d.lines) && len(out) <= strings.Count(text, "\n"); i++ {
		line := d.lines[i]
		if spaces := len(line) - len(strings.TrimLeft(line, " ")); strings.TrimSpace(line) != "" {
			indent = min(indent, spaces)
		}
		out = append(out, Position{Line: i + 1})
	}
	if indent == math.MaxInt {
		indent = 0
	}
	for i := range out {
		out[i].Column = indent + 1
	}
	if len(out) == 0 {
		out = []Position{{header, 1}}
	}
	return out
}
