package syntax_test

import (
	"encoding/hex"
	"testing"

	"github.com/wexec/wexec/review/syntax"
)

// written is the tree of "f(x)" in Python.
func written(t testing.TB) []byte {
	data, err := hex.DecodeString("db0101066d6f64756c65000004f7010114" + hex.EncodeToString([]byte("expression_statement")) + "0000049f03010463616c6c000004" +
		"05010a" + hex.EncodeToString([]byte("identifier")) + "3a08" + hex.EncodeToString([]byte("function")) + "000100" +
		"bd02010d" + hex.EncodeToString([]byte("argument_list")) + "1209" + hex.EncodeToString([]byte("arguments")) + "0103" + "0400010100" + "00000000")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestDecodeRefusesWhatIsNoTree(t *testing.T) {
	const source = "f(x)"
	whole := written(t)
	tree, err := syntax.Decode(source, syntax.Python, whole)
	if err != nil {
		t.Fatal(err)
	}
	call := tree.Root.Children[0].Children[0]
	if f := call.Child("function"); f == nil || tree.Text(f) != "f" || tree.Text(call.Child("arguments")) != "(x)" {
		t.Errorf("%+v", call)
	}
	for n := range whole {
		if _, err := syntax.Decode(source, syntax.Python, whole[:n]); err == nil {
			t.Errorf("a tree of %d bytes is read as %d", len(whole), n)
		}
	}
	if _, err := syntax.Decode(source, syntax.Python, append(whole, 0)); err == nil {
		t.Error("a tree with a rest is read")
	}
	if _, err := syntax.Decode("f(x", syntax.Python, whole); err == nil {
		t.Error("a tree is read that is longer than its source")
	}
}

func TestPosition(t *testing.T) {
	tree := &syntax.Tree{Source: "é = 1\nüb = 2"}
	for offset, want := range map[int][2]int{0: {1, 1}, 2: {1, 2}, 7: {2, 1}, 9: {2, 2}, 14: {2, 7}} {
		if line, column := tree.Position(offset); [2]int{line, column} != want {
			t.Errorf("%d is at %d:%d", offset, line, column)
		}
	}
}

// What the guest writes cannot crash the reader or leave the source.
func FuzzDecode(f *testing.F) {
	f.Add("f(x)", written(f))
	f.Fuzz(func(t *testing.T, source string, data []byte) {
		tree, err := syntax.Decode(source, syntax.Python, data)
		if err != nil {
			return
		}
		nodes := 0
		var walk func(n *syntax.Node, depth int)
		walk = func(n *syntax.Node, depth int) {
			nodes++
			_ = tree.Text(n)
			for _, c := range n.Children {
				if c.Start < n.Start || c.End > n.End {
					t.Fatal("a child is outside of its parent")
				}
				if depth < 10_000 {
					walk(c, depth+1)
				}
			}
		}
		walk(tree.Root, 0)
		if nodes > len(data) {
			t.Fatalf("%d nodes of %d bytes", nodes, len(data))
		}
	})
}
