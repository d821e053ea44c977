package yamldoc

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/text"
)

// Item is an item to add to a list: YAML on one line, and a comment that may be
// empty.
type Item struct{ Text, Comment string }

// Append returns a file with items at the start of the list at a path of keys. It
// makes the list if there is none. It changes the text of the file and nothing
// else in it, so that comments and layout stay. A file that it cannot change in
// this way is an error.
func Append(data []byte, path []string, items ...Item) ([]byte, error) {
	for i := range items {
		items[i].Comment = text.Visible(text.OneLine(items[i].Comment))
	}
	before, err := leaves(data)
	if err != nil {
		return nil, err
	}
	e := editor{newline: "\n"}
	if e.lines = strings.SplitAfter(string(data), "\n"); strings.HasSuffix(e.lines[0], "\r\n") {
		e.newline = "\r\n"
	}
	if err := e.add(before.body, path, items); err != nil {
		return nil, err
	}
	out := []byte(strings.Join(e.lines, ""))
	after, err := leaves(out)
	if err != nil || !after.has(before) || len(after.values) < len(before.values)+len(items) {
		return nil, errors.Join(errNoEdit, err)
	}
	return out, nil
}

var errNoEdit = errors.New("the file is written in a way that cannot be edited")

// document is a parsed file with its values as sorted lines of path=value. A list
// and its only item are the same.
type document struct {
	body   ast.Node
	values []string
}

func leaves(data []byte) (document, error) {
	d := decoder{Reporter: &Reporter{}}
	body, ok := d.parse(data)
	if !ok {
		return document{}, d.Err(fault.UsageFile)
	}
	out := document{body: body}
	var walk func(path string, n ast.Node)
	walk = func(path string, n ast.Node) {
		if pairs, ok := pairsOf(n); ok {
			for _, p := range pairs {
				walk(path+"."+p.Key.GetToken().Value, p.Value)
			}
		} else if list, ok := n.(*ast.SequenceNode); ok {
			for _, v := range list.Values {
				walk(path, v)
			}
		} else if !isNull(n) {
			out.values = append(out.values, path+"="+scalarText(n))
		}
	}
	walk("", body)
	slices.Sort(out.values)
	return out, nil
}

// has reports whether d has every value of another document.
func (d document) has(o document) bool {
	rest := d.values
	for _, v := range o.values {
		i, ok := slices.BinarySearch(rest, v)
		if !ok {
			return false
		}
		rest = rest[i+1:]
	}
	return true
}

// editor changes the lines of a file, which include their ends.
type editor struct {
	lines   []string
	newline string
}

// add adds items to the list at a path below a node.
func (e *editor) add(n ast.Node, path []string, items []Item) error {
	var parent *ast.MappingValueNode
	for i, key := range path {
		pairs, ok := pairsOf(n)
		if n != nil && !ok {
			return errNoEdit
		}
		at := slices.IndexFunc(pairs, func(p *ast.MappingValueNode) bool { return p.Key.GetToken().Value == key })
		if at < 0 {
			return e.addKey(n, parent, path[i:], items)
		}
		parent, n = pairs[at], pairs[at].Value
		if isNull(n) {
			return e.fill(parent, path[i+1:], items)
		}
	}
	list, ok := n.(*ast.SequenceNode)
	switch {
	case ok && !list.IsFlowStyle:
		e.insert(place(parent.Key).Line+1, writeBlock(nil, list.Start.Position.Column-1, items))
	case ok && len(list.Values) == 0 && e.rest(parent) != "" && strings.HasPrefix(e.rest(parent), "[]"):
		e.setRest(parent, strings.TrimPrefix(e.rest(parent), "[]"))
		return e.fill(parent, nil, items)
	case ok:
		return e.addFlow(list.Start, writeFlow(nil, items), len(list.Values) > 0, items)
	case isScalar(n) && place(n).Line == place(parent.Key).Line && e.rest(parent) != "":
		rest := e.rest(parent)
		e.setRest(parent, "")
		return e.fill(parent, nil, append(slices.Clone(items), Item{Text: rest}))
	default:
		return errNoEdit
	}
	return nil
}

// addKey adds the keys of a path and their list to a mapping, which is the value
// of parent or the whole file.
func (e *editor) addKey(mapping ast.Node, parent *ast.MappingValueNode, path []string, items []Item) error {
	if m, ok := mapping.(*ast.MappingNode); ok && m.IsFlowStyle {
		return e.addFlow(m.Start, writeFlow(path, items), len(m.Values) > 0, items)
	}
	if parent != nil {
		e.insert(place(parent.Key).Line+1, writeBlock(path, place(mapping).Column-1, items))
		return nil
	}
	if last := &e.lines[len(e.lines)-1]; *last != "" && !strings.HasSuffix(*last, "\n") {
		*last += e.newline
	}
	e.insert(len(e.lines)+1, append([]string{""}, writeBlock(path, 0, items)...))
	return nil
}

// fill adds a list below a key that has no value.
func (e *editor) fill(key *ast.MappingValueNode, path []string, items []Item) error {
	if rest := e.rest(key); rest != "" && rest[0] != '#' {
		return errNoEdit
	}
	at := place(key.Key)
	e.insert(at.Line+1, writeBlock(path, at.Column+1, items))
	return nil
}

// addFlow adds text after an opening bracket, and the comments of the items above
// its line.
func (e *editor) addFlow(open *token.Token, added string, more bool, items []Item) error {
	line := &e.lines[open.Position.Line-1]
	at := byteOf(*line, open.Position.Column)
	if at >= len(*line) || (*line)[at] != '[' && (*line)[at] != '{' {
		return errNoEdit
	}
	if more {
		added += ", "
	}
	*line = (*line)[:at+1] + added + (*line)[at+1:]
	indent := (*line)[:len(*line)-len(strings.TrimLeft(*line, " "))]
	var comments []string
	for _, item := range items {
		if item.Comment != "" {
			comments = append(comments, indent+"# "+item.Text+": "+item.Comment)
		}
	}
	e.insert(open.Position.Line, comments)
	return nil
}

// insert inserts lines before a line, counted from 1.
func (e *editor) insert(line int, lines []string) {
	for i := range lines {
		lines[i] += e.newline
	}
	if at := line - 2; at >= 0 && at < len(e.lines) && !strings.HasSuffix(e.lines[at], "\n") && e.lines[at] != "" {
		e.lines[at] += e.newline
	}
	e.lines = slices.Insert(e.lines, min(line-1, len(e.lines)), lines...)
}

// rest returns what follows a key and its colon on the line, if the key begins it.
func (e *editor) rest(p *ast.MappingValueNode) string {
	_, rest := e.split(p)
	return strings.TrimSpace(rest)
}

func (e *editor) setRest(p *ast.MappingValueNode, rest string) {
	key, _ := e.split(p)
	if rest != "" {
		rest = " " + strings.TrimSpace(rest)
	}
	e.lines[place(p.Key).Line-1] = strings.TrimRight(key+rest, " ") + e.newline
}

func (e *editor) split(p *ast.MappingValueNode) (key, rest string) {
	at := place(p.Key)
	line := e.lines[at.Line-1]
	begin := byteOf(line, at.Column)
	if strings.TrimLeft(line[:begin], " ") != "" {
		return line, ""
	}
	colon := strings.Index(line[begin:], ":")
	if colon < 0 {
		return line, ""
	}
	return line[:begin+colon+1], line[begin+colon+1:]
}

// byteOf returns the index of a column, counted from 1 in characters.
func byteOf(line string, column int) int {
	at := 0
	for range column - 1 {
		_, size := utf8.DecodeRuneInString(line[at:])
		at += size
	}
	return at
}

// writeBlock writes keys and a list below them.
func writeBlock(path []string, indent int, items []Item) []string {
	var lines []string
	for _, key := range path {
		lines = append(lines, strings.Repeat(" ", indent)+key+":")
		indent += 2
	}
	for _, item := range items {
		line := strings.Repeat(" ", indent) + "- " + item.Text
		if item.Comment != "" {
			line += " # " + item.Comment
		}
		lines = append(lines, line)
	}
	return lines
}

// writeFlow writes keys and a list on one line.
func writeFlow(path []string, items []Item) string {
	var texts []string
	for _, item := range items {
		texts = append(texts, item.Text)
	}
	out := strings.Join(texts, ", ")
	for i, key := range slices.Backward(path) {
		if i == len(path)-1 {
			out = "[" + out + "]"
		} else {
			out = "{" + out + "}"
		}
		out = fmt.Sprintf("%s: %s", key, out)
	}
	return out
}
