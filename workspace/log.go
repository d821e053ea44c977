package workspace

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/wexec/wexec/fault"
)

// change is a change of the names of a layer. The log has all of them in order.
type change struct {
	Op   string `json:"op"` // put, drop, move, was
	Path string `json:"path"`
	To   string `json:"to,omitempty"` // of move
	// What is at Path afterwards with put, and what moves with move.
	Kind    kind        `json:"kind,omitempty"`
	Lower   string      `json:"lower,omitempty"`
	Content string      `json:"content,omitempty"`
	Target  string      `json:"target,omitempty"`
	Mode    fs.FileMode `json:"mode,omitempty"`
	// Hides says that the base has a name where something moved away.
	Hides bool `json:"hides,omitempty"`
	// State is what the base has at Path with was.
	State state `json:"state,omitempty"`
}

// put returns the change that gives a path a node.
func put(name string, n *node) change {
	return change{Op: "put", Path: name, Kind: n.kind, Lower: n.lower, Content: n.content, Target: n.target, Mode: n.mode}
}

// node returns the node of a change.
func (c change) node() *node {
	return &node{kind: c.Kind, lower: c.Lower, content: c.Content, target: c.Target, mode: c.Mode}
}

// do logs a change and makes it.
func (w *Workspace) do(c change) error {
	if err := w.active(); err != nil {
		return err
	}
	if c.Op != "drop" && w.names+strings.Count(c.Path+c.To, "/")+2 > maxNames {
		return ErrTooMany
	}
	line, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if len(line) >= maxLine || w.logged+int64(len(line)) >= maxLog {
		return ErrTooMany
	}
	n, err := w.log.Write(append(line, '\n'))
	if err != nil {
		return errors.Join(err, w.cutLog(n)) // a part of a line would hide those after it
	}
	w.logged += int64(n)
	w.apply(c)
	return nil
}

// cutLog drops a line of which n bytes were written.
func (w *Workspace) cutLog(n int) error {
	err := w.log.Truncate(w.logged)
	_, seekErr := w.log.Seek(w.logged, io.SeekStart)
	if err = errors.Join(err, seekErr); err != nil && n > 0 {
		w.log = nil // nothing can be written any more
	}
	return err
}

// apply makes a change. It does not read the base, so that it does the same when
// the log is read again.
func (w *Workspace) apply(c change) {
	if c.Op == "was" {
		w.was[c.Path] = seen{c.State, c.Content}
		return
	}
	parent, name := w.parent(c.Path)
	switch c.Op {
	case "put":
		w.set(parent, name, c.node())
	case "drop":
		w.set(parent, name, nil)
	case "move":
		n := parent.children[name]
		if n == nil || n.kind == gone {
			n = c.node()
		}
		var left *node
		if c.Hides {
			left = &node{kind: gone}
		}
		w.set(parent, name, left)
		to, toName := w.parent(c.To)
		w.set(to, toName, n)
	}
}

// set gives a name of a folder a node, or none.
func (w *Workspace) set(parent *node, name string, n *node) {
	if parent.children[name] != nil {
		w.names--
	}
	if n == nil {
		delete(parent.children, name)
		return
	}
	if parent.children == nil {
		parent.children = map[string]*node{}
	}
	parent.children[name] = n
	w.names++
}

// parent returns the node of the folder of a path, and the last name. Folders
// that only the base had get nodes.
func (w *Workspace) parent(name string) (*node, string) {
	parts := strings.Split(name, "/")
	n := w.root
	for _, part := range parts[:len(parts)-1] {
		next := n.children[part]
		if next == nil {
			next = &node{kind: folder}
			if n.lower != "" {
				next.lower = path.Join(n.lower, part)
			}
			w.set(n, part, next)
		}
		n = next
	}
	return n, parts[len(parts)-1]
}

// maxLine bounds a line of the log.
const maxLine = 64 << 10

// replay reads the log and opens it for writing. A last line that a dying process
// left incomplete is cut off.
func (w *Workspace) replay() error {
	log, err := os.OpenFile(filepath.Join(w.dir, logName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fault.New(fault.UsageWorkspace, "open the workspace %s: %w", w.info.ID, err)
	}
	w.log = log
	lines := bufio.NewReaderSize(log, maxLine)
	var end int64
	for number := 1; ; number++ {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		var c change
		if err == nil {
			c, err = parse(line)
		}
		if err == nil && w.names > maxNames {
			err = ErrTooMany
		}
		if err != nil {
			return fault.New(fault.UsageWorkspace, "the workspace %s is damaged at line %d of %s: %w", w.info.ID, number, logName, err).
				WithHint("drop it with wexec workspace reject %s", w.info.ID)
		}
		w.apply(c)
		end += int64(len(line))
	}
	w.logged = end
	if err := w.cutLog(0); err != nil {
		return fault.New(fault.UsageWorkspace, "open the workspace %s: %w", w.info.ID, err)
	}
	return w.measure()
}

// parse reads a line of the log. A log that was tampered with must not lead out of
// the folders of the workspace.
func parse(line []byte) (change, error) {
	var c change
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return c, err
	}
	if _, err := strconv.ParseUint(c.Content, 10, 63); c.Content != "" && err != nil {
		return c, errors.New("a name of content is not a number")
	}
	for _, name := range []string{c.Path, c.To, c.Lower} {
		if name != "" && (!fs.ValidPath(name) || name == "." || strings.ContainsRune(name, '\\')) {
			return c, fmt.Errorf("the path %.100q is invalid", name)
		}
	}
	ok := c.Path != ""
	switch c.Op {
	case "put", "move":
		ok = ok && (c.Op == "put") == (c.To == "") && !strings.HasPrefix(c.To+"/", c.Path+"/")
		switch c.Kind {
		case file:
			ok = ok && (c.Lower != "" || c.Content != "")
		case folder, link:
			ok = ok && c.Content == ""
		case gone:
			ok = ok && c.Op == "put"
		default:
			ok = false
		}
	case "drop", "was":
	default:
		ok = false
	}
	if !ok {
		return c, errors.New("the change is invalid")
	}
	return c, nil
}

// measure adds up the content, and numbers new content after all that there is.
func (w *Workspace) measure() error {
	files, err := os.ReadDir(filepath.Join(w.dir, contentName))
	if err != nil {
		return fault.New(fault.UsageWorkspace, "open the workspace %s: %w", w.info.ID, err)
	}
	for _, f := range files {
		if info, err := f.Info(); err == nil {
			w.bytes += info.Size()
		}
		if n, err := strconv.ParseInt(f.Name(), 10, 64); err == nil {
			w.content = max(w.content, n)
		}
	}
	return nil
}
