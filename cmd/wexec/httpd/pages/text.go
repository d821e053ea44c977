package pages

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/text"
)

// Bounds of texts in pages.
const (
	maxLine = 300      // of a text in one line
	maxText = 64 << 10 // of an output
)

// functions are those of the templates.
var functions = template.FuncMap{
	"line":    func(s any) string { return line(fmt.Sprint(s)) },
	"lines":   func(s string) string { return text.VisibleLines(text.Clip(s, maxText)) },
	"ago":     func(t time.Time) string { return ago(time.Since(t)) },
	"stamp":   func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") },
	"machine": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"number":  number,
	"size":    size,
	"bytes":   func(n int) string { return size(int64(n)) },
	"span":    func(ms int64) string { return span(time.Duration(ms) * time.Millisecond) },
	"percent": func(f *float64) string { return strconv.FormatFloat(math.Floor(*f*1000)/10, 'f', -1, 64) + " %" },
	"money":   func(f float64) string { return strconv.FormatFloat(f, 'f', 4, 64) },
	"class":   class,
	"word":    func(c fault.Code) string { return string(c) },
	"cost":    func(millionths int64) float64 { return float64(millionths) / 1e6 },
	"short":   func(s string) string { return text.Visible(text.ClipRunes(s, 26)) },
	"nav":     func(path, name, at string) navItem { return navItem{path, name, at} },
	"rule":    ruleOf,
	"list":    func(name string, runs any) listed { return listed{name, runs} },
	"ask":     func(q any, admin, reveal bool) asking { return asking{q, admin, reveal} },
	"clock":   func(t time.Time) string { return t.UTC().Format("15:04:05.000") },
	"choice":  func(is string, all []string) choice { return choice{is, all} },
}

// navItem is a link of the navigation; At is the path of the page.
type navItem struct{ Path, Name, At string }

// choice is what a form offers, and what was chosen.
type choice struct {
	Is  string
	All []string
}

// listed are runs with the name of their table.
type listed struct {
	Name string
	Runs any
}

// asking is a question, and what the person may do about it.
type asking struct {
	Q             any
	Admin, Reveal bool
}

// rule is the place of a rule in a policy file, which administrators can open.
type rule struct {
	Text, File string
	Line       int
	Admin      bool
}

// ruleOf is a rule as a decision names it: file:line, or words.
func ruleOf(name string, admin bool) rule {
	r := rule{Text: name, Admin: admin}
	file, number, ok := strings.Cut(name, ":")
	if n, err := strconv.Atoi(number); ok && err == nil && n > 0 {
		r.File, r.Line = file, n
	}
	return r
}

// line is a foreign text for one line of a page: nothing in it is invisible, and it is
// not long.
func line(s string) string { return text.Visible(text.ClipRunes(s, maxLine)) }

// class is the meaning of a status or state, which gives its color.
func class(status any) string {
	switch fmt.Sprint(status) {
	case "ok", "approved", "allow", "awake":
		return "good"
	case "running", "queued", "low":
		return "busy"
	case "waiting", "parked", "ask", "asleep", "medium":
		return "wait"
	case "error", "limit", "denied", "deny", "high", "critical":
		return "bad"
	}
	return "plain"
}

// ago is how long ago something was.
func ago(d time.Duration) string {
	switch {
	case d < 0:
		return "in " + strings.TrimSuffix(ago(-d), " ago")
	case d < time.Second:
		return "now"
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s ago", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	return fmt.Sprintf("%d days ago", int(d.Hours()/24))
}

// span is a duration for people.
func span(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return strconv.FormatFloat(math.Round(d.Seconds()*10)/10, 'f', -1, 64) + " s"
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
}

// number is a count with separators, such as 12,345.
func number(n any) string {
	digits := fmt.Sprint(n)
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return sign + b.String()
}

// size is a number of bytes, such as 1.5 MB.
func size(n int64) string {
	switch f := float64(n); {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1f kB", f/1e3)
	case n < 1_000_000_000:
		return fmt.Sprintf("%.1f MB", f/1e6)
	default:
		return fmt.Sprintf("%.1f GB", f/1e9)
	}
}
