package audit

import (
	"encoding/json"
	"strconv"
)

// A call leaves two records, of its decision and of its end. They are written
// without encoding/json, which would take longer for them than their hashes.

// appendDecision appends what encoding/json would write.
func appendDecision(dst []byte, d *Decision) ([]byte, error) {
	m := members(append(dst, '{'))
	m.number("call", int64(d.Call))
	m.text("kind", d.Kind)
	m.text("tool", d.Tool)
	m.text("target", d.Target)
	m.name("effect", d.Effect)
	m.text("rule", d.Rule)
	m.text("code", d.Code)
	m.text("message", d.Message)
	m.text("args_sha256", d.ArgsSHA256)
	m.blob("args", d.Args)
	if d.Writes {
		m.bool("writes", true)
	}
	var err error
	if d.Approval != nil {
		err = m.value("approval", d.Approval)
	}
	if err == nil && len(d.Warnings) > 0 {
		err = m.value("warnings", d.Warnings)
	}
	return append(m, '}'), err
}

// appendCall appends what encoding/json would write.
func appendCall(dst []byte, c *Call) []byte {
	m := members(append(dst, '{'))
	m.count("call", int64(c.Call))
	m.name("tool", c.Tool)
	m.bool("ok", c.OK)
	m.text("code", c.Code)
	m.text("message", c.Message)
	m.count("ms", c.MS)
	m.count("bytes", c.Bytes)
	m.text("cache", c.Cache)
	m.number("tries", int64(c.Tries))
	m.blob("args", c.Args)
	m.number("answer_kind", int64(c.AnswerKind))
	m.text("answer_sha256", c.AnswerSHA256)
	m.blob("answer", c.Answer)
	return append(m, '}')
}

// members is a JSON object that is being written. text, number and blob leave
// out what is empty.
type members []byte

func (m *members) key(key string) {
	b := *m
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	b = append(b, '"')
	b = append(b, key...)
	*m = append(b, '"', ':')
}

func (m *members) name(key, s string) {
	m.key(key)
	*m = appendText(*m, s)
}

func (m *members) text(key, s string) {
	if s != "" {
		m.name(key, s)
	}
}

func (m *members) count(key string, n int64) {
	m.key(key)
	*m = strconv.AppendInt(*m, n, 10)
}

func (m *members) number(key string, n int64) {
	if n != 0 {
		m.count(key, n)
	}
}

func (m *members) bool(key string, b bool) {
	m.key(key)
	*m = strconv.AppendBool(*m, b)
}

func (m *members) blob(key string, b Blob) {
	if len(b) > 0 {
		m.key(key)
		*m = appendBlob(*m, b)
	}
}

func (m *members) value(key string, v any) error {
	text, err := json.Marshal(v)
	if err == nil {
		m.key(key)
		*m = append(*m, text...)
	}
	return err
}
