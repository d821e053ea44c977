//go:build unix

package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
	"slices"
	"time"
)

// film is the content of a screen over time.
type film struct {
	screen *screen
	now    time.Duration
	shots  []shot
}

// shot is the content of a row during an interval.
type shot struct {
	row      int
	line     []piece
	from, to time.Duration
}

// shoot records the current content of the screen for a duration.
func (f *film) shoot(pass time.Duration) {
	until := f.now + pass
	for y := range f.screen.rows {
		line := f.screen.line(y)
		if len(line) == 0 {
			continue
		}
		if i := slices.IndexFunc(f.shots, func(s shot) bool { return s.row == y && s.to == f.now && slices.Equal(s.line, line) }); i >= 0 {
			f.shots[i].to = until
			continue
		}
		f.shots = append(f.shots, shot{y, line, f.now, until})
	}
	f.now = until
}

// Sizes in pixels.
const (
	charWidth, lineHeight = 8.4, 19
	edge, bar             = 18, 34
)

// svg draws the film, with a label for those who cannot see it. Every shot is a text that is visible during its interval.
// Viewers without animation show the last frame.
func (f *film) svg(label string) []byte {
	used := 0
	for _, s := range f.shots {
		used = max(used, s.row+1)
	}
	width, height := int(math.Ceil(columns*charWidth))+2*edge, used*lineHeight+bar+edge
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" role="img" aria-label="%s">`+"\n", width, height, label)
	b.WriteString(`<style>
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#d5d8de;white-space:pre}
.c1{font-weight:bold}.c2{fill:#8a909c}.c31{fill:#f07178}.c32{fill:#8fcf7d}.c33{fill:#e5c07b}.c34{fill:#7aa8f0}.c36{fill:#6cc7c7}
`)
	marks := map[string]string{} // interval to class name
	class := func(s shot) string {
		from, to := 100*s.from.Seconds()/f.now.Seconds(), 100*s.to.Seconds()/f.now.Seconds()
		key := fmt.Sprintf("%.2f-%.2f", from, to)
		if name, ok := marks[key]; ok {
			return name
		}
		name := fmt.Sprintf("t%d", len(marks))
		marks[key] = name
		fmt.Fprintf(&b, "@keyframes %s{0%%{visibility:hidden}", name)
		if from == 0 {
			b.Truncate(b.Len() - len("0%{visibility:hidden}"))
		}
		fmt.Fprintf(&b, "%.2f%%{visibility:visible}", from)
		if to < 100 {
			fmt.Fprintf(&b, "%.2f%%{visibility:hidden}100%%{visibility:hidden}", to)
		}
		fmt.Fprintf(&b, "}.%s{animation:%[1]s %.2fs step-end infinite}\n", name, f.now.Seconds())
		return name
	}
	var body bytes.Buffer
	for _, s := range f.shots {
		hidden := ""
		if s.to < f.now {
			hidden = ` visibility="hidden"`
		}
		fmt.Fprintf(&body, `<text class="%s"%s x="%d" y="%d" xml:space="preserve">`, class(s), hidden, edge, bar+(s.row+1)*lineHeight-5)
		for _, p := range s.line {
			if p.style != "" {
				fmt.Fprintf(&body, `<tspan class="%s">`, p.style)
			}
			_ = xml.EscapeText(&body, []byte(p.text)) // a buffer never fails
			if p.style != "" {
				body.WriteString("</tspan>")
			}
		}
		body.WriteString("</text>\n")
	}
	b.WriteString("</style>\n")
	fmt.Fprintf(&b, `<rect width="%d" height="%d" rx="9" fill="#16181d"/>`+"\n", width, height)
	for i, color := range []string{"#f07178", "#e5c07b", "#8fcf7d"} {
		fmt.Fprintf(&b, `<circle cx="%d" cy="17" r="5.5" fill="%s"/>`, edge+6+i*19, color)
	}
	b.WriteByte('\n')
	b.Write(body.Bytes())
	b.WriteString("</svg>\n")
	return b.Bytes()
}
