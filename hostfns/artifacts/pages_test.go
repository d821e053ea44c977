package artifacts

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestATextIsFoundByItsLines(t *testing.T) {
	var lines []string
	for i := range 30_000 {
		lines = append(lines, fmt.Sprintf("%d %s", i+1, strings.Repeat("x", i%37)))
	}
	text := strings.Join(lines, "\n")
	p := &Pager{}
	for rest := text; rest != ""; {
		n := min(1+rand.IntN(9000), len(rest))
		_, _ = p.Write([]byte(rest[:n]))
		rest = rest[n:]
	}
	index, isText := p.Close()
	pages, err := pagesOf(index)
	if err != nil || !isText || len(pages) < 5 {
		t.Fatalf("%d pages, %v, %v", len(pages), isText, err)
	}
	for _, p := range pages {
		got := strings.Split(strings.TrimSuffix(text[p.at:p.at+int64(p.size)], "\n"), "\n")
		if len(got) != p.lines || got[0] != lines[p.line-1] {
			t.Errorf("the page of line %d begins with %q and has %d lines", p.line, got[0], len(got))
		}
	}
	for content, want := range map[string]bool{"": true, "é": true, "\xff": false, strings.Repeat("é", pageSize): true, strings.Repeat("a", pageSize) + "\xff": false} {
		p := &Pager{}
		_, _ = p.Write([]byte(content))
		if _, text := p.Close(); text != want {
			t.Errorf("%.20q is a text: %v", content, text)
		}
		p = &Pager{Declared: true}
		_, _ = p.Write([]byte(content))
		if _, text := p.Close(); !text {
			t.Errorf("%.20q with the type of a text is not one", content)
		}
	}
	if _, err := pagesOf([]byte{0xff}); err == nil {
		t.Error("a damaged index is read")
	}
}

func TestAPageDoesNotEndInAToken(t *testing.T) {
	p := &Pager{}
	_, _ = p.Write([]byte(strings.Repeat("x", pageSize-5) + "[EMAIL_1]" + strings.Repeat("y", pageSize)))
	index, _ := p.Close()
	pages, err := pagesOf(index)
	if err != nil || len(pages) != 3 || pages[0].size != pageSize-5 {
		t.Errorf("%+v, %v", pages, err)
	}
}
