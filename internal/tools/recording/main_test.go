//go:build unix

package main

import (
	"encoding/xml"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

func TestAScreenShowsWhatATerminalWould(t *testing.T) {
	s := newScreen(10, 2)
	s.write([]byte("working\r\x1b[K\x1b[1;31merr\x1b[0m or\r\nnext line is long"))
	if got := s.line(0); len(got) != 1 || got[0].text != "next line " {
		t.Errorf("the first row is %v", got)
	}
	s = newScreen(10, 2)
	s.write([]byte("working\r\x1b[K\x1b[1;31merr\x1b[0m or"))
	if got := s.line(0); len(got) != 2 || got[0] != (piece{"c1 c31", "err"}) || got[1] != (piece{"", " or"}) {
		t.Errorf("the row is %v", got)
	}
}

func TestTheREADMEShowsTheCommandsOfTheFilms(t *testing.T) {
	readme, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range recordings {
		if !strings.Contains(string(readme), "]("+r.file+")") {
			t.Errorf("the README does not show %s", r.file)
		}
	}
	for _, command := range recordings[1].scenes {
		if !strings.Contains(string(readme), "\n"+command+"\n") {
			t.Errorf("the README does not have the command\n%s", command)
		}
	}
}

func TestAFilmIsXMLAndEndsWithWhatIsThere(t *testing.T) {
	f := &film{screen: newScreen(20, 3)}
	f.screen.write([]byte("a <b> & c"))
	f.shoot(time.Second)
	f.screen.write([]byte("\r\x1b[Kdone\r\n"))
	f.shoot(time.Second)
	svg := string(f.svg("a film"))
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(svg, `visibility="hidden" x="18" y="48" xml:space="preserve">a &lt;b&gt; &amp; c<`) || !strings.Contains(svg, `" x="18" y="48" xml:space="preserve">done<`) {
		t.Error(svg)
	}
}
