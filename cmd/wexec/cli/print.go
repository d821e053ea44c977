package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// printValue shows a program's value: text as it is, anything else as indented
// JSON, nothing for none.
func (d *door) printValue(value json.RawMessage) error {
	if len(value) == 0 || bytes.Equal(value, []byte("null")) {
		return nil
	}
	var text string
	if value[0] == '"' && json.Unmarshal(value, &text) == nil {
		_, err := fmt.Fprintln(d.inv.Stdout, text)
		return err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, value, "", "  "); err != nil {
		b.Reset()
		b.Write(value)
	}
	b.WriteByte('\n')
	_, err := d.inv.Stdout.Write(b.Bytes())
	return err
}

func (d *door) printJSON(v any) error {
	enc := json.NewEncoder(d.inv.Stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

func (d *door) printLine(v any) error {
	enc := json.NewEncoder(d.inv.Stdout)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
