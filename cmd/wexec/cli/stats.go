package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/wexec/wexec/engine"
)

// stats says in a small table what a run used.
func (d *door) stats(res *engine.Result) {
	u := res.Usage
	rows := [][2]string{
		{"status", string(res.Status)},
		{"time", fmt.Sprintf("%d ms, %d in the guest", u.WallMS, u.GuestMS)},
		{"fuel", grouped(u.Fuel)},
		{"memory", bytesText(u.MemoryPeak)},
	}
	if u.ToolCalls > 0 {
		rows = append(rows, [2]string{"tools", fmt.Sprintf("%s, %s", counted(u.ToolCalls, "call"), bytesText(u.ToolBytes))})
	}
	rows = append(rows, [2]string{"result", bytesText(u.ResultSize)})
	if u.ContextSavings != nil {
		rows = append(rows, [2]string{"tokens", fmt.Sprintf("%s in tools, %s out: %.2f %% saved",
			grouped(u.TokensInTools), grouped(u.TokensOut), 100**u.ContextSavings)})
	}
	if p := res.Privacy; p != nil && len(p.Counts) > 0 {
		rows = append(rows, [2]string{"privacy", p.Mode + ": " + countsText(p.Counts)})
	}
	if res.Cache != "" && res.Cache != "off" {
		rows = append(rows, [2]string{"cache", res.Cache})
	}
	for _, r := range rows {
		d.voice.say("%s %s", d.voice.paint("2", fmt.Sprintf("%8s", r[0])), r[1])
	}
}

// grouped writes a number with thin groups of three.
func grouped(n int64) string {
	s := fmt.Sprint(n)
	var parts []string
	for len(s) > 3 {
		parts = append([]string{s[len(s)-3:]}, parts...)
		s = s[:len(s)-3]
	}
	return strings.Join(append([]string{s}, parts...), ",")
}

// counted is a number of things.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

func bytesText(n int64) string {
	switch {
	case n >= 10<<30:
		return fmt.Sprintf("%d GiB", n>>30)
	case n >= 10<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 10<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

func countsText(counts map[string]int) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, grouped(int64(counts[k]))+" "+k)
	}
	return strings.Join(parts, ", ")
}
