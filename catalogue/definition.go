package catalogue

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Definition is what a tool says of itself as canonical JSON: its names, title,
// description, schemas and annotations. Equal tools give equal bytes, however
// their server orders the keys; the server's version is no part of it.
func (t Tool) Definition() json.RawMessage {
	t.Version, t.Warning = "", ""
	t.InputSchema, t.OutputSchema = canonical(t.InputSchema), canonical(t.OutputSchema)
	b, err := json.Marshal(t)
	if err != nil {
		return json.RawMessage("null") // canonical gives JSON, and the rest is text
	}
	return b
}

// DefinitionSHA256 is the digest of [Tool.Definition], in hex.
func (t Tool) DefinitionSHA256() string {
	sum := sha256.Sum256(t.Definition())
	return hex.EncodeToString(sum[:])
}
