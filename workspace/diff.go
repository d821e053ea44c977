package workspace

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

// Diff writes the changes as git does, so that git apply understands them.
func (w *Workspace) Diff(to io.Writer) error {
	return w.Each(context.Background(), func(e Entry) error { return e.Diff(to, nil) })
}

// Show replaces parts of a text that its reader must not see.
type Show func(text string) (string, error)

// Diff writes the change as git does. A Show that is not nil gets each path and the lines
// of each place that changed.
func (e Entry) Diff(to io.Writer, show Show) error {
	w, c := e.w, e.Change
	if c.Folder {
		return nil // git has files only
	}
	var before, after []byte
	var err error
	old, now := gitMode(kindOf(c.below), c.OldMode), gitMode(c.n.kind, c.Mode)
	large := c.below != nil && kindOf(c.below) == file && c.below.Size() > MaxFile // and deleted: nothing else can be done to it
	if c.Kind != Added && !large {
		if before, err = w.below(c); err != nil {
			return err
		}
	}
	switch {
	case c.Kind == Deleted:
	case c.n.kind == link:
		after = []byte(c.n.target)
	default:
		if after, err = readAll(w.read(c.n)); err != nil {
			return err
		}
	}
	name, err := show.text(c.Path)
	if err != nil {
		return err
	}
	a, b := quoted("a/"+name), quoted("b/"+name)
	var head strings.Builder
	fmt.Fprintf(&head, "diff --git %s %s\n", a, b)
	switch {
	case c.Kind == Added:
		fmt.Fprintf(&head, "new file mode %s\n", now)
		a = "/dev/null"
	case c.Kind == Deleted:
		fmt.Fprintf(&head, "deleted file mode %s\n", old)
		b = "/dev/null"
	case old != now:
		fmt.Fprintf(&head, "old mode %s\nnew mode %s\n", old, now)
	}
	if _, err := io.WriteString(to, head.String()); err != nil {
		return err
	}
	switch {
	case bytes.Equal(before, after) && !large:
		return nil
	case large || !isText(before) || !isText(after):
		_, err = fmt.Fprintf(to, "Binary files %s and %s differ\n", a, b)
		return err
	}
	if _, err := fmt.Fprintf(to, "--- %s\n+++ %s\n", a, b); err != nil {
		return err
	}
	return writeHunks(to, before, after, show)
}

func (s Show) text(text string) (string, error) {
	if s == nil {
		return text, nil
	}
	return s(text)
}

// maxShow is how many bytes of lines a [Show] gets at once.
const maxShow = 64 << 10

// lines returns lines without line ends as they are shown, as many as there are.
func (s Show) lines(lines []string) ([]string, error) {
	if s == nil {
		return lines, nil
	}
	var out []string
	for len(lines) > 0 {
		n, size := 1, len(lines[0])
		for n < len(lines) && size+len(lines[n]) < maxShow {
			size += len(lines[n]) + 1
			n++
		}
		text, err := s(strings.Join(lines[:n], "\n"))
		if err != nil {
			return nil, err
		}
		shown := strings.Split(text, "\n")
		if len(shown) != n { // what was replaced is in more than one line
			shown = nil
			for _, l := range lines[:n] {
				if text, err = s(l); err != nil {
					return nil, err
				}
				shown = append(shown, strings.ReplaceAll(text, "\n", " "))
			}
		}
		out, lines = append(out, shown...), lines[n:]
	}
	return out, nil
}

// gitMode returns the mode of a file or link as git has it.
func gitMode(k kind, mode fs.FileMode) string {
	switch {
	case k == link:
		return "120000"
	case mode&0o100 != 0:
		return "100755"
	}
	return "100644"
}

// below returns what the base has at the path of a change.
func (w *Workspace) below(c Change) ([]byte, error) {
	if kindOf(c.below) == link {
		target, err := w.readLink(c.Path)
		return []byte(target), err
	}
	return readAll(w.openBase(c.Path))
}

// quoted writes a path as git does, which knows other escapes than Go.
func quoted(name string) string {
	if !strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r == 0x7f }) {
		return name
	}
	var b strings.Builder
	for _, c := range []byte(name) {
		switch {
		case c == '"' || c == '\\':
			b.Write([]byte{'\\', c})
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	return `"` + b.String() + `"`
}
