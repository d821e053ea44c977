package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Self is the name of wexec in the files of clients.
const Self = "wexec"

// Launch is the command with which a client starts wexec.
type Launch struct {
	Type    string   `json:"type,omitempty"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
}

// Server is a server of a client as JSON, with the keys that most clients use.
type Server struct {
	Name string
	JSON json.RawMessage
}

// SyntaxError is a file that is not what its client expects.
type SyntaxError struct {
	Line, Column int // from 1
	Message      string
}

// Error implements error.
func (e *SyntaxError) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Message) }

// File returns a file with mcpServers that wexec reads.
func File(servers []Server) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(`{"mcpServers": {`)
	for i, s := range servers {
		name, err := json.Marshal(s.Name)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%s:%s", name, s.JSON)
	}
	b.WriteString("}}")
	var out bytes.Buffer
	err := json.Indent(&out, b.Bytes(), "", "  ")
	out.WriteByte('\n')
	return out.Bytes(), err
}
