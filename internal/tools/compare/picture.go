package main

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// picture draws two bars per job on a logarithmic scale, as SVG for light and dark
// pages.
func picture(all []outcome) string {
	const (
		left, right, top = 20, 130, 58
		width, row       = 860, 62
		first            = 2 // the scale starts at 10² tokens
	)
	most := 1000
	for _, o := range all {
		most = max(most, o.plain.tokens())
	}
	last := math.Ceil(math.Log10(float64(most)))
	at := func(n float64) float64 {
		return left + (width-left-right)*max(0, math.Log10(max(n, 1))-first)/(last-first)
	}
	height := top + row*len(all) + 38
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-labelledby="t">
<title id="t">Tokens in the context: plain tool calls and one program</title>
<style>
text { font: 13px system-ui, sans-serif; fill: #1f2328; paint-order: stroke; stroke: #ffffff; stroke-width: 4px; stroke-linejoin: round }
.head { font-size: 16px; font-weight: 600 } .soft { fill: #59636e; font-size: 12px }
.line { stroke: #d1d9e0 } .plain { fill: #9aa4ae } .program { fill: #0a7d5a } .paper { fill: #ffffff }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; stroke: #0d1117 } .soft { fill: #9198a1 } .line { stroke: #3d444d } .plain { fill: #6e7781 } .program { fill: #2fb98a } .paper { fill: #0d1117 }
}
</style>
<rect class="paper" width="%d" height="%d" rx="6"/>
<text class="head" x="%d" y="28">Tokens in the context</text>
<rect class="plain" x="%d" y="38" width="10" height="10"/><text class="soft" x="%d" y="47">plain tool calls</text>
<rect class="program" x="%d" y="38" width="10" height="10"/><text class="soft" x="%d" y="47">one program</text>
<text class="soft" x="%d" y="47" text-anchor="end">logarithmic scale</text>
`, width, height, width, height, width, height, left, left, left+15, left+120, left+135, width-left)
	for e := float64(first); e <= last; e++ {
		x := at(math.Pow(10, e))
		fmt.Fprintf(&b, "<line class=\"line\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/><text class=\"soft\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
			x, x, top, height-28, x, height-12, grouped(int(math.Pow(10, e))))
	}
	for i, o := range all {
		y := top + row*i
		fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\">%s</text>\n", left+4, y+17, html.EscapeString(o.job.name))
		for k, bar := range []struct {
			class string
			n     int
			more  string
		}{{"plain", o.plain.tokens(), ""}, {"program", o.program.tokens(), fmt.Sprintf(", %.2f %% saved", 100*o.saved())}} {
			x := at(float64(bar.n))
			fmt.Fprintf(&b, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"12\"/><text class=\"soft\" x=\"%.1f\" y=\"%d\">%s%s</text>\n",
				bar.class, left, y+23+k*15, x-left, x+6, y+33+k*15, grouped(bar.n), bar.more)
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}
