package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/units"
	"github.com/wexec/wexec/policy"
)

// file is a wexec.yaml.
type file struct {
	Servers    map[string]json.RawMessage `json:"servers"`
	MCP        paths                      `json:"mcp"`
	Policy     paths                      `json:"policy"`
	Limits     policy.Limits              `json:"limits"`
	Cache      string                     `json:"cache"`
	Audit      *fileAudit                 `json:"audit"`
	Embeddings *Embeddings                `json:"embeddings"`
	LearnTypes *bool                      `json:"learn_types"`
	Log        string                     `json:"log"`

	text []byte // as it was read
}

type fileAudit struct {
	Dir    string     `json:"dir"`
	Rotate units.Size `json:"rotate"`
	Sync   string     `json:"sync"`
	Key    string     `json:"key"`
}

// paths is one path or a list of them.
type paths []string

// UnmarshalYAML reads both forms.
func (p *paths) UnmarshalYAML(data []byte) error {
	var one string
	if err := yaml.Unmarshal(data, &one); err == nil {
		*p = paths{one}
		return nil
	}
	var many []string
	if err := yaml.Unmarshal(data, &many); err != nil {
		return err
	}
	*p = many
	return nil
}

// readFile reads a wexec.yaml with a way to read files; a missing one is no
// error.
func readFile(path string, read reading) (*file, bool, error) {
	data, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	f, err := parseFile(path, data)
	return f, err == nil, err
}

// parseFile reads the text of a wexec.yaml, strictly. It may be a stranger's.
func parseFile(name string, data []byte) (_ *file, err error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if line, what := policy.Burden(data); what != "" {
		return nil, fault.New(fault.UsageConfig, "%s:%d: %s", name, max(line, 1), what)
	}
	defer func() {
		if recover() != nil {
			err = fault.New(fault.UsageConfig, "%s cannot be read as YAML", name)
		}
	}()
	for _, t := range lexer.Tokenize(string(data)) {
		if t.Type == token.AnchorType || t.Type == token.AliasType {
			return nil, fault.New(fault.UsageConfig, "%s:%d:%d: anchors and aliases are not read", name, t.Position.Line, t.Position.Column).
				WithHint("a text that begins with * or & has to be quoted")
		}
	}
	var f file
	err = yaml.UnmarshalWithOptions(data, &f, yaml.Strict(), yaml.UseJSONUnmarshaler())
	if err != nil {
		return nil, yamlFault(name, data, err)
	}
	f.text = data
	return &f, nil
}

// yamlFault is file:line:column and what is wrong there. What is wrong with a
// value that was read knows no place: it is looked for.
func yamlFault(name string, data []byte, err error) error {
	var e yaml.Error
	if !errors.As(err, &e) || e.GetToken() == nil {
		if _, quoted, ok := strings.Cut(err.Error(), `"`); ok {
			value, _, _ := strings.Cut(quoted, `"`)
			if before, _, ok := strings.Cut(string(data), value); ok && value != "" {
				name = fmt.Sprintf("%s:%d", name, 1+strings.Count(before, "\n"))
			}
		}
		return fault.New(fault.UsageConfig, "%s: %v", name, err).WithHint("%s", fault.HintOf(err))
	}
	at := e.GetToken().Position
	wrong := fault.New(fault.UsageConfig, "%s:%d:%d: %s", name, at.Line, at.Column, e.GetMessage())
	var unknown *yaml.UnknownFieldError
	if !errors.As(err, &unknown) {
		return wrong
	}
	keys := keysBeside(reflect.TypeFor[file](), e.GetToken())
	if near := catalogue.NearestOf(strings.Trim(e.GetToken().Value, `"'`), keys); near != "" {
		return wrong.WithHint("did you mean %s?", near)
	}
	return wrong.WithHint("the keys here are %s", strings.Join(keys, ", "))
}

// keysBeside are the keys that may stand where an unknown one does: those of
// the block it is in, which is one of the file's own or the file itself.
func keysBeside(t reflect.Type, unknown *token.Token) []string {
	block := ""
	if unknown.Position.Column > 1 {
		for at := unknown.Prev; at != nil; at = at.Prev {
			if at.Position.Column == 1 && at.Type == token.StringType {
				block = at.Value
				break
			}
		}
	}
	var keys []string
	for i := range t.NumField() {
		name := t.Field(i).Tag.Get("json")
		if name == "" {
			continue
		}
		of := t.Field(i).Type
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		if name == block && of.Kind() == reflect.Struct {
			return keysBeside(of, &token.Token{Position: &token.Position{Column: 1}})
		}
		keys = append(keys, name)
	}
	return keys
}

// servers are the servers a wexec.yaml names itself.
func (f *file) servers(name string, x expander) (Servers, error) {
	if len(f.Servers) == 0 {
		return Servers{}, nil
	}
	doc, err := json.Marshal(map[string]any{"mcpServers": f.Servers})
	if err != nil {
		return Servers{}, fault.New(fault.UsageConfig, "%s: servers: %v", name, err)
	}
	return parseServersIn(name, doc, f.text, x)
}

// limitValues lists the limits that are set.
func limitValues(l policy.Limits, origin string) []Value {
	var out []Value
	for _, f := range policy.LimitFields() {
		v := f.Get(l)
		if v == 0 {
			continue
		}
		text := fmt.Sprint(v)
		if f.Kind == policy.LimitDuration {
			text = f.Format(v)
		}
		out = append(out, Value{"limits." + f.Key, text, origin})
	}
	return out
}

// limitsFromEnvironment reads WEXEC_FUEL and the like.
func limitsFromEnvironment(env *Environment) (policy.Limits, error) {
	var l policy.Limits
	var wrong []error
	for _, f := range policy.LimitFields() {
		name := "WEXEC_" + strings.ToUpper(strings.ReplaceAll(f.Flag, "-", "_"))
		text, ok := env.Lookup(name)
		if !ok || text == "" {
			continue
		}
		v, err := f.Parse(text)
		if err != nil {
			wrong = append(wrong, fault.New(fault.UsageConfig, "%s: %w", name, err).WithHint("%s", fault.HintOf(err)))
		}
		f.Set(&l, v)
	}
	return l, errors.Join(wrong...)
}
