package main

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
)

// bar is one peer in one panel.
type bar struct {
	name  string
	value float64
	own   bool
}

// picture draws four panels with the peers from best to worst on a logarithmic
// scale, as SVG for light and dark pages.
func (t table) picture() string {
	const (
		width, panel, head, row = 980, 480, 34, 17
		names, numbers          = 176, 62
	)
	type place struct {
		title string
		bars  []bar
	}
	var places []place
	for _, name := range []string{"commits", "start", "call", "memory"} {
		for _, language := range []string{js, py} {
			i := slices.IndexFunc(jobs, func(j job) bool { return j.name == name })
			if bars := t.bars(jobs[i], language); len(bars) > 0 {
				places = append(places, place{fmt.Sprintf("%s, %s, %s", jobs[i].title, titles[language], jobs[i].unit), bars})
			}
		}
	}
	var body strings.Builder
	y := 52
	for k := 0; k < len(places); k += 2 {
		tallest := 0
		for i, p := range places[k:min(k+2, len(places))] {
			x := 20 + i*panel
			fmt.Fprintf(&body, "<text class=\"title\" x=\"%d\" y=\"%d\">%s</text>\n", x, y+14, html.EscapeString(p.title))
			least, most := p.bars[0].value, p.bars[len(p.bars)-1].value
			for n, b := range p.bars {
				// The shortest bar has a tenth of the width.
				long := 0.1
				if most > least {
					long += 0.9 * math.Log(b.value/least) / math.Log(most/least)
				}
				class := "other"
				if b.own {
					class = "own"
				}
				room := float64(panel - 40 - names - numbers)
				at := y + head + n*row
				fmt.Fprintf(&body, "<text class=\"%s name\" x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text><rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"11\"/><text class=\"soft\" x=\"%.1f\" y=\"%d\">%s</text>\n",
					class, x+names-8, at+1, html.EscapeString(b.name), class, x+names, at-9, room*long, float64(x+names)+room*long+6, at+1, shown(b.value))
			}
			tallest = max(tallest, len(p.bars))
		}
		y += head + tallest*row + 16
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-labelledby="t">
<title id="t">wexec and its peers: the commits job, start, host call and memory</title>
<style>
text { font: 12px system-ui, sans-serif; fill: #1f2328 }
.head { font-size: 16px; font-weight: 600 } .title { font-weight: 600; font-size: 13px } .soft { fill: #59636e; font-size: 11px }
rect.other { fill: #9aa4ae } rect.own { fill: #0a7d5a } text.own { font-weight: 600 } .paper { fill: #ffffff }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .soft { fill: #9198a1 } rect.other { fill: #6e7781 } rect.own { fill: #2fb98a } .paper { fill: #0d1117 }
}
</style>
<rect class="paper" width="%d" height="%d" rx="6"/>
<text class="head" x="20" y="30">wexec and its peers</text>
<text class="soft" x="960" y="30" text-anchor="end">less is better; logarithmic scale; %s</text>
%s</svg>
`, width, y, width, y, width, y, html.EscapeString(t.day), body.String())
}

// bars returns the peers of a language in a job, best first.
func (t table) bars(j job, language string) []bar {
	var out []bar
	for _, p := range peers {
		if c := t.cells[p.key()][j.name]; p.language == language && c.known && c.value > 0 {
			out = append(out, bar{p.name, c.value, strings.HasPrefix(p.name, "wexec")})
		}
	}
	slices.SortFunc(out, func(a, b bar) int {
		if a.value < b.value {
			return -1
		}
		return 1
	})
	return out
}
