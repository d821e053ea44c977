package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// maxNesting bounds how deep the parser can recurse: no more values are opened
// in a file.
const maxNesting = 200_000

const byteOrderMark = "\ufeff"

// document is a file in JSON with comments.
type document struct {
	text string // without a byte order mark
	mark string
	root hujson.Value
}

func parseJSON(text string) (*document, error) {
	d := &document{}
	d.text, d.mark = strings.TrimPrefix(text, byteOrderMark), text[:len(text)-len(strings.TrimPrefix(text, byteOrderMark))]
	if strings.Count(d.text, "{")+strings.Count(d.text, "[") > maxNesting {
		return nil, &SyntaxError{1, 1, "too many objects and arrays"}
	}
	var err error
	if d.root, err = hujson.Parse([]byte(d.text)); err != nil {
		e := &SyntaxError{Line: 1, Column: 1, Message: err.Error()}
		if _, bad := fmt.Sscanf(e.Message, "hujson: line %d, column %d:", &e.Line, &e.Column); bad == nil {
			_, e.Message, _ = strings.Cut(e.Message[len("hujson: "):], ": ")
		}
		return nil, e
	}
	return d, nil
}

// String returns the text of the document.
func (d *document) String() string { return d.mark + string(d.root.Pack()) }

// object is the object in v. The name is for errors.
func (d *document) object(v *hujson.Value, name string) (*hujson.Object, error) {
	o, ok := v.Value.(*hujson.Object)
	if !ok {
		before := d.text[:v.StartOffset]
		return nil, &SyntaxError{1 + strings.Count(before, "\n"), len(before) - strings.LastIndexByte(before, '\n'), name + " is not an object"}
	}
	return o, nil
}

// section returns the top object, and the object in its member key with its
// value; nil if there is no such member.
func (d *document) section(key string) (top, section *hujson.Object, v *hujson.Value, err error) {
	if top, err = d.object(&d.root, "the top value"); err != nil {
		return nil, nil, nil, err
	}
	if at := find(top, key); at >= 0 {
		v = &top.Members[at].Value
		section, err = d.object(v, key)
	}
	return top, section, v, err
}

func find(o *hujson.Object, name string) int {
	return slices.IndexFunc(o.Members, func(m hujson.ObjectMember) bool { return nameOf(m) == name })
}

func nameOf(m hujson.ObjectMember) string { return m.Name.Value.(hujson.Literal).String() }

func jsonServers(text, key string) ([]Server, error) {
	d, err := parseJSON(text)
	if err != nil {
		return nil, err
	}
	_, section, _, err := d.section(key)
	if err != nil || section == nil {
		return nil, err
	}
	var out []Server
	for _, m := range section.Members {
		if name := nameOf(m); name != Self {
			m.Value.Minimize()
			out = append(out, Server{name, m.Value.Pack()})
		}
	}
	return out, nil
}

// setJSON adds or replaces wexec.
func setJSON(text, key string, l Launch) (string, error) {
	if strings.TrimSpace(strings.TrimPrefix(text, byteOrderMark)) == "" {
		text = "{}\n"
	}
	d, err := parseJSON(text)
	if err != nil {
		return "", err
	}
	top, section, v, err := d.section(key)
	switch {
	case err != nil:
		return "", err
	case section == nil:
		err = d.set(&d.root, top, key, map[string]Launch{Self: l})
	default:
		err = d.set(v, section, Self, l)
	}
	return d.String(), err
}

func removeJSON(text, key, name string) (string, error) {
	if strings.TrimSpace(text) == "" {
		return text, nil
	}
	d, err := parseJSON(text)
	if err != nil {
		return "", err
	}
	_, section, _, err := d.section(key)
	if err != nil || section == nil {
		return text, err
	}
	if at := find(section, name); at >= 0 {
		remove(section, at)
	}
	return d.String(), nil
}

// set replaces the value of a member of the object o in v, or adds the member at
// the end.
func (d *document) set(v *hujson.Value, o *hujson.Object, name string, value any) error {
	outer := d.indentAt(v.StartOffset)
	indent := outer + "  "
	if len(o.Members) > 0 {
		before := string(o.Members[0].Name.BeforeExtra)
		if at := strings.LastIndexByte(before, '\n'); at >= 0 && strings.TrimSpace(before[at:]) == "" {
			indent = before[at+1:]
		}
	}
	data, err := json.MarshalIndent(value, indent, "  ")
	if err != nil {
		return err
	}
	if at := find(o, name); at >= 0 {
		o.Members[at].Value.Value = hujson.Literal(data)
		return nil
	}
	m := hujson.ObjectMember{Name: hujson.Value{Value: hujson.String(name)},
		Value: hujson.Value{BeforeExtra: hujson.Extra(" "), Value: hujson.Literal(data)}}
	// A comment on the line of the last member stays on that line.
	line, rest := firstLine(o.AfterExtra)
	before := bytes.TrimRight(line, " \t\r")
	switch {
	case len(o.Members) == 0:
		m.Name.BeforeExtra = slices.Concat(bytes.TrimRight(o.AfterExtra, " \t\r\n"), []byte("\n"+indent))
		rest = []byte("\n" + outer)
	case rest == nil:
		m.Name.BeforeExtra = append(before, ' ')
	default:
		m.Name.BeforeExtra = append(before, "\n"+indent...)
	}
	if n := len(o.Members); n > 0 && o.Members[n-1].Value.AfterExtra != nil { // there is a trailing comma
		m.Value.AfterExtra = hujson.Extra{}
	}
	o.Members, o.AfterExtra = append(o.Members, m), rest
	return nil
}

// remove takes a member out, with a comment that ends its line.
func remove(o *hujson.Object, at int) {
	last := at == len(o.Members)-1
	before, after := o.Members[at].Name.BeforeExtra, &o.AfterExtra
	if !last {
		after = &o.Members[at+1].Name.BeforeExtra
	}
	line := bytes.LastIndexByte(before, '\n') + 1
	_, rest := firstLine(*after)
	switch {
	case len(bytes.TrimSpace(before[line:])) > 0: // there is a comment right before
		*after = slices.Concat(before, *after)
	case line > 0 && rest != nil:
		*after = slices.Concat(before[:line], rest[1:])
	case line > 0 && !last:
		*after = before
	}
	if last && at > 0 { // the last comma was before the member, or after it
		previous, comma := &o.Members[at-1].Value, o.Members[at].Value.AfterExtra != nil
		if !comma {
			*after = slices.Concat(previous.AfterExtra, *after)
			previous.AfterExtra = nil
		} else if previous.AfterExtra == nil {
			previous.AfterExtra = hujson.Extra{}
		}
	}
	o.Members = slices.Delete(o.Members, at, at+1)
}

// firstLine cuts white space and comments at the first line feed that is outside
// a block comment. The rest begins with it, or is nil if there is none.
func firstLine(extra hujson.Extra) (line, rest []byte) {
	for i := 0; i < len(extra); i++ {
		switch {
		case extra[i] == '\n':
			return extra[:i:i], extra[i:]
		case bytes.HasPrefix(extra[i:], []byte("/*")):
			i += 2 + bytes.Index(extra[i+2:], []byte("*/"))
		}
	}
	return extra, nil
}

// indentAt is the white space at the start of the line of an offset.
func (d *document) indentAt(offset int) string {
	line := d.text[strings.LastIndexByte(d.text[:offset], '\n')+1 : offset]
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}
