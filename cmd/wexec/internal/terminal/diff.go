package terminal

import "strings"

// Diff returns the lines that differ between two texts and two lines around
// them: "- " starts a line that was removed, "+ " one that was added, "  " one
// that both have.
func Diff(before, after string) []string {
	a, b := splitLines(before), splitLines(after)
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	const around = 2
	out := prefixed("  ", a[max(head-around, 0):head])
	out = append(out, changes(a[head:len(a)-tail], b[head:len(b)-tail])...)
	end := len(b) - tail
	return append(out, prefixed("  ", b[end:min(end+around, len(b))])...)
}

func splitLines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimRight(s, "\n"), "\n")
}

// changes aligns two lists of lines by their longest common subsequence. Lists
// too long for that are shown one after the other.
func changes(a, b []string) []string {
	if len(a)*len(b) > 4_000_000 {
		return append(prefixed("- ", a), prefixed("+ ", b)...)
	}
	common := make([][]int, len(a)+1) // length of the subsequence of a[i:] and b[j:]
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var out []string
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			out = append(out, "  "+a[i])
			i, j = i+1, j+1
		case common[i+1][j] >= common[i][j+1]:
			out = append(out, "- "+a[i])
			i++
		default:
			out = append(out, "+ "+b[j])
			j++
		}
	}
	return append(append(out, prefixed("- ", a[i:])...), prefixed("+ ", b[j:])...)
}

func prefixed(prefix string, lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = prefix + line
	}
	return out
}

// PaintDiff colors one line of a [Diff].
func (p *Printer) PaintDiff(line string) string {
	switch {
	case strings.HasPrefix(line, "+"):
		return p.Paint(Green, line)
	case strings.HasPrefix(line, "-"):
		return p.Paint(Red, line)
	}
	return line
}
