package pages

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

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
	left := maxNodes
	return treeOf(value, &left)
}

// treeOf returns the first parts of a value, and takes them off what is left.
func treeOf(value []byte, left *int) *node {
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	b := &treeBuilder{decoder: d, left: *left}
	n := b.next(0)
	*left = b.left
	return &n
}

// match is a place in a value that has the words of a search.
type match struct{ Path, Text string }

// Bounds of searches: the places that are shown, what their paths have, and the levels
// that are read.
const (
	maxFound = 100
	maxPath  = 32
	maxDepth = 1000
)

// find returns the first places of a value whose names or texts have words, in any case.
func find(ctx context.Context, value []byte, words string) (found []match) {
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	words = strings.ToLower(words)
	type level struct {
		list bool
		key  string
		at   int
		name bool // a name comes next
	}
	var path []level
	where := func() string {
		var b strings.Builder
		for i, l := range path {
			switch {
			case i == maxPath:
				return b.String() + "…"
			case l.list:
				fmt.Fprintf(&b, "[%d]", l.at)
			default:
				b.WriteString("." + text.Clip(l.key, maxLine))
			}
		}
		return cmp.Or(b.String(), "the value")
	}
	has := func(s string) bool { return strings.Contains(strings.ToLower(s), words) }
	for len(found) < maxFound && len(path) < maxDepth && ctx.Err() == nil {
		t, err := d.Token()
		if err != nil {
			break
		}
		var in *level
		if len(path) > 0 {
			in = &path[len(path)-1]
		}
		if in != nil && in.name {
			if key, ok := t.(string); ok {
				if in.key, in.name = key, false; has(key) {
					found = append(found, match{where(), ""})
				}
				continue
			}
		}
		switch t := t.(type) {
		case json.Delim:
			if t == '{' || t == '[' {
				path = append(path, level{list: t == '[', name: t == '{'})
				continue
			}
			path = path[:len(path)-1]
			if len(path) > 0 {
				in = &path[len(path)-1]
			}
		default:
			if s := fmt.Sprint(t); has(s) {
				found = append(found, match{where(), s})
			}
		}
		if in != nil {
			in.at, in.name = in.at+1, !in.list
		}
	}
	return found
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
