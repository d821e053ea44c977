package cli

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// entry is the server that a client's file is to have, or not to have.
type entry struct {
	section string // mcpServers, servers or mcp_servers
	name    string
	value   any // nil: take it away
	command string
	args    []string
}

// edited is a client's file with the entry put in, replaced or taken away.
// Everything else, comments and order included, stays as it is.
func edited(text string, e entry, toml bool) (string, error) {
	if toml {
		return editedTOML(text, e), nil
	}
	if strings.TrimSpace(strings.TrimPrefix(text, "\ufeff")) == "" {
		if e.value == nil {
			return text, nil
		}
		text = "{}\n"
	}
	top, err := objectAt(text, 0)
	if err != nil {
		return "", err
	}
	servers, ok := top.member(e.section)
	if !ok {
		if e.value == nil {
			return text, nil
		}
		return top.insert(text, e.section, map[string]any{e.name: e.value}), nil
	}
	list, err := objectOf(text, servers)
	if err != nil {
		return "", err
	}
	own, ok := list.member(e.name)
	switch {
	case e.value == nil && !ok:
		return text, nil
	case e.value == nil:
		return list.remove(text, own), nil
	case ok:
		return text[:own.value] + indentedJSON(e.value, list.indent(text)) + text[own.end:], nil
	}
	return list.insert(text, e.name, e.value), nil
}

// object is where an object stands in a text, and where its members do.
type object struct {
	open, close int // of the braces
	members     []member
}

type member struct {
	name         string
	start, value int
	end          int // behind the value
	comma        int // behind the value, or -1
}

func (o object) member(name string) (member, bool) {
	for _, m := range o.members {
		if m.name == name {
			return m, true
		}
	}
	return member{}, false
}

// indent is what the members stand behind of.
func (o object) indent(text string) string {
	if len(o.members) > 0 {
		if line := lineStart(text, o.members[0].start); strings.TrimSpace(text[line:o.members[0].start]) == "" {
			return text[line:o.members[0].start]
		}
	}
	return leading(text, o.open) + "  "
}

func (o object) insert(text, name string, value any) string {
	indent := o.indent(text)
	quoted, err := json.Marshal(name)
	if err != nil {
		return text
	}
	line := string(quoted) + ": " + indentedJSON(value, indent)
	if len(o.members) == 0 {
		inside := strings.TrimRight(text[o.open+1:o.close], " \t\r\n")
		return text[:o.open+1] + inside + "\n" + indent + line + "\n" + leading(text, o.open) + text[o.close:]
	}
	last := o.members[len(o.members)-1]
	if last.comma >= 0 {
		at := behindComment(text, last.comma+1)
		return text[:at] + "\n" + indent + line + "," + text[at:]
	}
	if rest := text[last.end:o.close]; !strings.Contains(rest, "\n") {
		return text[:last.end] + ", " + line + text[last.end:]
	}
	at := behindComment(text, last.end)
	return text[:last.end] + "," + text[last.end:at] + "\n" + indent + line + text[at:]
}

// behindComment is the place behind a comment that ends the line of a place, or
// the place itself where none does.
func behindComment(text string, at int) int {
	end := at + strings.IndexByte(text[at:]+"\n", '\n')
	rest := strings.TrimSpace(text[at:end])
	if strings.HasPrefix(rest, "//") || strings.HasPrefix(rest, "/*") && strings.Index(rest, "*/") == len(rest)-2 {
		return at + len(strings.TrimRight(text[at:end], " \t\r"))
	}
	return at
}

func (o object) remove(text string, m member) string {
	from, to := m.start, m.end
	own := false // it begins a line
	if line := lineStart(text, from); strings.TrimSpace(text[line:from]) == "" {
		from, own = line, true
	}
	if m.comma >= 0 {
		to = m.comma + 1
	}
	if own {
		to = behindComment(text, to)
	}
	if m.comma < 0 {
		// The last one: the comma before it goes too.
		for i, other := range o.members {
			if other.start == m.start && i > 0 && o.members[i-1].comma >= 0 {
				c := o.members[i-1].comma
				text = text[:c] + text[c+1:]
				from, to = from-1, to-1
			}
		}
	}
	for to < len(text) && (text[to] == ' ' || text[to] == '\t' || text[to] == '\r') {
		to++
	}
	if to < len(text) && text[to] == '\n' && (from == 0 || text[from-1] == '\n') {
		to++
	}
	return text[:from] + text[to:]
}

func lineStart(text string, at int) int { return strings.LastIndexByte(text[:at], '\n') + 1 }

// leading is the white space at the start of the line that a place is on.
func leading(text string, at int) string {
	line := text[lineStart(text, at):at]
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

func indentedJSON(value any, indent string) string {
	b, err := json.MarshalIndent(value, indent, "  ")
	if err != nil {
		return "null"
	}
	return string(b)
}

// objectOf reads the members of the object that a member holds.
func objectOf(text string, m member) (object, error) {
	o, err := objectAt(text, m.value)
	if err == (misplaced{m.value, "there is no object"}) {
		err = misplaced{m.value, m.name + " is no object"}
	}
	return o, err
}

// objectAt reads the members of the object that starts at or behind a place.
func objectAt(text string, at int) (object, error) {
	i := blank(text, at)
	if i >= len(text) || text[i] != '{' {
		return object{}, misplaced{i, "there is no object"}
	}
	o := object{open: i}
	i = blank(text, i+1)
	for i < len(text) && text[i] != '}' {
		m := member{start: i, comma: -1}
		end, ok := value(text, i)
		if !ok || json.Unmarshal([]byte(text[i:end]), &m.name) != nil {
			return object{}, misplaced{i, "a name is expected"}
		}
		if i = blank(text, end); i >= len(text) || text[i] != ':' {
			return object{}, misplaced{i, "a colon is expected"}
		}
		m.value = blank(text, i+1)
		if m.end, ok = value(text, m.value); !ok {
			return object{}, misplaced{m.value, "a value is expected"}
		}
		if i = blank(text, m.end); i < len(text) && text[i] == ',' {
			m.comma = i
			i = blank(text, i+1)
		}
		o.members = append(o.members, m)
	}
	if i >= len(text) {
		return object{}, misplaced{o.open, "an object is not closed"}
	}
	o.close = i
	return o, nil
}

// blank passes over white space and comments.
func blank(text string, i int) int {
	for i < len(text) {
		switch {
		case strings.ContainsRune(" \t\r\n", rune(text[i])):
			i++
		case strings.HasPrefix(text[i:], "\ufeff"):
			i += len("\ufeff")
		case strings.HasPrefix(text[i:], "//"):
			n := strings.IndexByte(text[i:], '\n')
			if n < 0 {
				return len(text)
			}
			i += n
		case strings.HasPrefix(text[i:], "/*"):
			n := strings.Index(text[i+2:], "*/")
			if n < 0 {
				return len(text)
			}
			i += n + 4
		default:
			return i
		}
	}
	return i
}

// value passes over one value, and reports whether there was one.
func value(text string, i int) (end int, ok bool) {
	depth := 0
	for i < len(text) {
		switch c := text[i]; {
		case c == '"':
			i++
			for i < len(text) && text[i] != '"' {
				if text[i] == '\\' {
					i++
				}
				i++
			}
			i++
		case c == '{' || c == '[':
			depth++
			i++
		case c == '}' || c == ']':
			depth--
			i++
		case c == ',' || c == ':':
			if depth == 0 {
				return i, false
			}
			i++
		default:
			start := i
			for i < len(text) && !strings.ContainsRune(" \t\r\n,:{}[]\"/", rune(text[i])) {
				i++
			}
			if i == start {
				if i = blank(text, i); i == start {
					return i, false
				}
				continue
			}
		}
		if depth < 0 {
			return i, false
		}
		if depth == 0 {
			return i, i <= len(text)
		}
		i = blank(text, i)
	}
	return i, false
}

// editedTOML puts a table in, replaces it or takes it away.
func editedTOML(text string, e entry) string {
	header := regexp.MustCompile(`^\s*\[\s*` + regexp.QuoteMeta(e.section) + `\s*\.\s*"?` + regexp.QuoteMeta(e.name) + `"?\s*(\.[^\]]*)?\]`)
	var kept, behind []string // behind: comments that may belong to the next table
	inside := false
	at := -1
	lines := strings.SplitAfter(text, "\n")
	for _, line := range lines {
		plain := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(plain, "["):
			if inside = header.MatchString(line); inside && at < 0 {
				at = len(kept)
			}
			if !inside {
				kept = append(kept, behind...)
			}
			behind = nil
		case strings.HasPrefix(plain, "#"), plain == "" && behind != nil:
			if inside {
				behind = append(behind, line)
			}
		default:
			behind = nil
		}
		if !inside {
			kept = append(kept, line)
		}
	}
	if e.value == nil {
		after := strings.Join(kept, "")
		if at >= 0 && strings.TrimSpace(strings.Join(kept[at:], "")) == "" { // it was the last: what parted it goes too
			body := strings.TrimRight(after, "\r\n")
			end := after[len(body):]
			after = body + end[:strings.IndexByte(end, '\n')+1]
		}
		return after
	}
	var args []string
	for _, a := range e.args {
		args = append(args, quotedTOML(a))
	}
	table := fmt.Sprintf("[%s.%s]\ncommand = %s\nargs = [%s]\n", e.section, e.name, quotedTOML(e.command), strings.Join(args, ", "))
	if at < 0 {
		before := strings.Join(kept, "")
		if before != "" {
			before = strings.TrimRight(before, "\n") + "\n\n"
		}
		return before + table
	}
	if at < len(kept) {
		table += "\n"
	}
	return strings.Join(kept[:at], "") + table + strings.Join(kept[at:], "")
}

func quotedTOML(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return string(b)
}

// difference shows the lines that change, with a little around them.
func difference(before, after string) []string {
	a, b := strings.Split(strings.TrimRight(before, "\n"), "\n"), strings.Split(strings.TrimRight(after, "\n"), "\n")
	if before == "" {
		a = nil
	}
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	const around = 2
	var out []string
	for _, line := range a[max(head-around, 0):head] {
		out = append(out, "  "+line)
	}
	out = append(out, changedLines(a[head:len(a)-tail], b[head:len(b)-tail])...)
	for _, line := range b[len(b)-tail : min(len(b)-tail+around, len(b))] {
		out = append(out, "  "+line)
	}
	return out
}
