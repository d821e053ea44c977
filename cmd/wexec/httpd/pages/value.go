package pages

import (
	"bytes"
	"encoding/json"

	"github.com/wexec/wexec/internal/text"
)

// node is a part of a JSON value, as a page shows it.
type node struct {
	Key      string
	Kind     string // object, array, string, number, true, false, null, more
	Text     string
	Count    int // of members or elements that are shown
	Cut      bool
	Children []node
}

// Bounds of the values of a page. The whole value is a download.
const (
	maxNodes  = 400
	maxNested = 12
	maxString = 2000
)

// tree returns the first parts of a value.
func tree(value []byte) *node {
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	b := &treeBuilder{decoder: d, left: maxNodes}
	n := b.next(0)
	return &n
}

type treeBuilder struct {
	decoder *json.Decoder
	left    int
	over    bool // nothing more is read
}

// next reads the next value.
func (b *treeBuilder) next(depth int) node {
	b.left--
	t, err := b.decoder.Token()
	if err != nil {
		b.over = true
		return node{Kind: "more"}
	}
	switch t := t.(type) {
	case json.Delim:
		n := node{Kind: "array"}
		if t == '{' {
			n.Kind = "object"
		}
		if depth == maxNested {
			b.over, n.Cut = true, true
			return n
		}
		for !b.over && b.decoder.More() {
			if b.left <= 0 {
				b.over = true
				break
			}
			key := ""
			if n.Kind == "object" {
				name, err := b.decoder.Token()
				if err != nil {
					b.over = true
					break
				}
				key, _ = name.(string)
			}
			child := b.next(depth + 1)
			child.Key = line(key)
			n.Children = append(n.Children, child)
			n.Count++
		}
		if n.Cut = b.over; !b.over {
			_, _ = b.decoder.Token() // the end, which More has seen
		}
		return n
	case string:
		return node{Kind: "string", Text: text.VisibleLines(text.ClipRunes(t, maxString)), Cut: len(t) > maxString*4 || len([]rune(t)) > maxString}
	case json.Number:
		return node{Kind: "number", Text: line(t.String())}
	case bool:
		if t {
			return node{Kind: "true", Text: "true"}
		}
		return node{Kind: "false", Text: "false"}
	}
	return node{Kind: "null", Text: "null"}
}

// Open reports whether a page shows the parts of a container at once.
func (n node) Open() bool { return len(n.Children) <= 12 }
