package hostfns

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
)

// Pin is the definition of a tool that a person reviewed. Calls are refused with
// denied.pinned while the server defines the tool differently.
type Pin struct {
	Tool       string          `json:"tool"` // server.tool in original names
	SHA256     string          `json:"sha256"`
	Definition json.RawMessage `json:"definition,omitempty"` // of [catalogue.Tool.Definition], to show what changed
	Origin     string          `json:"origin,omitempty"`     // the file that holds the pin
}

// NewPin pins a tool as it is defined now.
func NewPin(t catalogue.Tool) Pin {
	return Pin{Tool: t.ID(), SHA256: t.DefinitionSHA256(), Definition: t.Definition()}
}

// Pins is an immutable set of pins. A nil set pins nothing. A tool with several
// pins has to match all of them.
type Pins struct{ byTool map[string][]Pin }

// NewPins returns a set.
func NewPins(list []Pin) *Pins {
	p := &Pins{byTool: map[string][]Pin{}}
	for _, one := range list {
		p.byTool[one.Tool] = append(p.byTool[one.Tool], one)
	}
	return p
}

// List returns the pins, sorted by the names of their tools.
func (p *Pins) List() []Pin {
	if p == nil {
		return nil
	}
	var out []Pin
	for _, name := range slices.Sorted(maps.Keys(p.byTool)) {
		out = append(out, p.byTool[name]...)
	}
	return out
}

// Of returns the pins of a tool, by its original name.
func (p *Pins) Of(tool string) []Pin {
	if p == nil {
		return nil
	}
	return p.byTool[tool]
}

// Changed returns the pin that a tool no longer matches.
func (p *Pins) Changed(t catalogue.Tool) (Pin, bool) {
	return p.broken(t.ID(), t.DefinitionSHA256)
}

func (p *Pins) broken(tool string, sum func() string) (Pin, bool) {
	for _, pin := range p.Of(tool) {
		if pin.SHA256 != sum() {
			return pin, true
		}
	}
	return Pin{}, false
}

// failure returns the refusal of a tool that no longer matches a pin.
func (p Pin) failure(tool string) *Failure {
	f := &Failure{Code: fault.DeniedPinned, Tool: tool, Rule: filepath.Base(p.Origin), // without the path, which is the host's
		Message: tool + " is not allowed: its definition has changed since it was pinned",
		Hint:    "a person has to review the change: run wexec tools show " + tool}
	if strings.ContainsAny(tool, " '\"`$\\\n") {
		f.Hint = "a person has to review the change: run wexec tools list"
	}
	return f
}
