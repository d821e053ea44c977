package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/units"
	"github.com/wexec/wexec/internal/yamldoc"
	"github.com/wexec/wexec/policy"
)

// file is a wexec.yaml.
type file struct {
	Servers    yamldoc.Map[yamldoc.Object] `yaml:"servers"`
	MCP        []string                    `yaml:"mcp" single:"yes"`
	Policy     []string                    `yaml:"policy" single:"yes"`
	Limits     fileLimits                  `yaml:"limits"`
	Cache      string                      `yaml:"cache"`
	Audit      *fileAudit                  `yaml:"audit"`
	Embeddings *Embeddings                 `yaml:"embeddings"`
	LearnTypes *bool                       `yaml:"learn_types"`
	Log        string                      `yaml:"log"`
}

type fileAudit struct {
	Dir    string      `yaml:"dir"`
	Rotate units.Size  `yaml:"rotate"`
	Sync   string      `yaml:"sync"`
	Key    string      `yaml:"key"`
	Anchor *fileAnchor `yaml:"anchor"`
}

type fileAnchor struct {
	File     string         `yaml:"file" short:"yes"`
	Command  []string       `yaml:"command" single:"yes"`
	Tool     string         `yaml:"tool"`
	Every    units.Duration `yaml:"every"`
	Records  units.Count    `yaml:"records"`
	Required bool           `yaml:"required"`
}

// anchor returns the setting. Relative paths begin at dir.
func (f *fileAnchor) anchor(dir string) Anchor {
	a := Anchor{Command: f.Command, Tool: f.Tool, Every: time.Duration(f.Every), Records: int(f.Records), Required: f.Required}
	if f.File != "" {
		a.File = absolute(dir, f.File)
	}
	return a
}

// Embeddings is an OpenAI-compatible endpoint that helps to find tools.
type Embeddings struct {
	URL   string `yaml:"url"`
	Model string `yaml:"model"`
	Key   string `yaml:"key"` // env:NAME or file:PATH; empty: none
}

// Value is one setting and its origin.
type Value struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Origin string `json:"origin"`
}

// fileLimits are limits that may be 0, for the default.
type fileLimits struct{ policy.Limits }

// YAMLKeys lists the limits.
func (l fileLimits) YAMLKeys() []yamldoc.Key {
	keys := l.Limits.YAMLKeys()
	for i := range keys {
		keys[i].Min = 0
	}
	return keys
}

// readFile reads a wexec.yaml. A missing file is not an error.
func readFile(path string, read reader) (f *file, ok bool, err error) {
	data, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err == nil {
		f, err = parseFile(path, data)
	}
	return f, err == nil, err
}

// parseFile reads the text of a wexec.yaml, which may come from an untrusted
// person.
func parseFile(name string, data []byte) (*file, error) {
	r := &yamldoc.Reporter{File: name}
	var f file
	yamldoc.Decode(r, data, &f)
	if err := r.Err(fault.UsageConfig); err != nil {
		return nil, err
	}
	if f.Audit != nil && f.Audit.Anchor != nil {
		if a := f.Audit.Anchor; a.File == "" && a.Tool == "" && (len(a.Command) == 0 || a.Command[0] == "") {
			return nil, fault.New(fault.UsageConfig, "%s: audit.anchor must have a file, a command or a tool", name).
				WithHint("write  anchor: {command: [keep-head]},  or remove anchor")
		}
	}
	return &f, nil
}

// servers returns the servers that a wexec.yaml defines itself.
func (f *file) servers(name string, x expander) (Servers, error) {
	var entries []serverEntry
	for _, s := range f.Servers {
		definition, err := json.Marshal(s.V)
		if err != nil {
			return Servers{}, fault.New(fault.UsageConfig, "%s:%d: server %q: %w", name, s.KeyPos.Line, s.Key, err)
		}
		entries = append(entries, serverEntry{file: name, name: s.Key, line: s.KeyPos.Line, definition: definition})
	}
	return readEntries(entries, x), nil
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

// limitsFromEnvironment reads WEXEC_FUEL and the variables of the other limits.
func limitsFromEnvironment(env *Environment) (policy.Limits, error) {
	var l policy.Limits
	var problems []error
	for _, f := range policy.LimitFields() {
		name := "WEXEC_" + strings.ToUpper(strings.ReplaceAll(f.Flag, "-", "_"))
		text, ok := env.Lookup(name)
		if !ok || text == "" {
			continue
		}
		v, err := f.Parse(text)
		if err != nil {
			problems = append(problems, fault.New(fault.UsageConfig, "%s: %w", name, err).WithHint("%s", fault.HintOf(err)))
		}
		f.Set(&l, v)
	}
	return l, errors.Join(problems...)
}
