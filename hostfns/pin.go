package hostfns

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/policy"
)

// Pin is the definition of a tool as a person looked at it and found it good.
// Calls of the tool are refused with denied.pinned while its server defines it
// otherwise.
type Pin struct {
	Tool       string          `json:"tool"` // server.tool in original names
	SHA256     string          `json:"sha256"`
	Definition json.RawMessage `json:"definition,omitempty"` // as [catalogue.Tool.Definition] gave it, to show what changed
	Origin     string          `json:"origin,omitempty"`     // the file that holds it
}

// NewPin pins a tool as it is defined now.
func NewPin(t catalogue.Tool) Pin {
	return Pin{Tool: t.ID(), SHA256: t.DefinitionSHA256(), Definition: t.Definition()}
}

// Pins is a set of pins that does not change. A nil set pins nothing. A tool
// may be pinned in several places, and has to be what all of them say.
type Pins struct {
	byTool map[string][]Pin

	mu   sync.Mutex
	sums map[string]summed // of tools that were asked about, by name
}

// summed is the digest of a definition, and what it was made from.
type summed struct {
	tool catalogue.Tool
	sum  string
}

// sumOf is the digest of a tool's definition; for a tool that has not changed
// since it was asked about last, it is not made anew.
func (p *Pins) sumOf(t catalogue.Tool) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	id := t.ID()
	was, ok := p.sums[id]
	if ok && was.tool.Title == t.Title && was.tool.Description == t.Description && was.tool.Annotations == t.Annotations &&
		bytes.Equal(was.tool.InputSchema, t.InputSchema) && bytes.Equal(was.tool.OutputSchema, t.OutputSchema) {
		return was.sum
	}
	sum := t.DefinitionSHA256()
	p.sums[id] = summed{t, sum}
	return sum
}

// NewPins makes a set.
func NewPins(list []Pin) *Pins {
	p := &Pins{byTool: map[string][]Pin{}, sums: map[string]summed{}}
	for _, one := range list {
		p.byTool[one.Tool] = append(p.byTool[one.Tool], one)
	}
	return p
}

// List lists the pins by the names of their tools.
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

// Of lists the pins of a tool, by its name as the server gives it.
func (p *Pins) Of(tool string) []Pin {
	if p == nil {
		return nil
	}
	return p.byTool[tool]
}

// Changed gives the pin that a tool no longer fits.
func (p *Pins) Changed(t catalogue.Tool) (Pin, bool) {
	return p.broken(t.ID(), func() string { return p.sumOf(t) })
}

func (p *Pins) broken(tool string, sum func() string) (Pin, bool) {
	for _, pin := range p.Of(tool) {
		if pin.SHA256 != sum() {
			return pin, true
		}
	}
	return Pin{}, false
}

// pins are the table's pins as they are now.
func (t *Table) pins() *Pins {
	if t.options.Pins == nil {
		return nil
	}
	return t.options.Pins()
}

// definitionSum is the digest of the tool's definition, made once.
func (e *entry) definitionSum() string {
	e.defined.Do(func() { e.sum = e.tool.DefinitionSHA256() })
	return e.sum
}

// Outlook is the best that a call of a tool can come to, whatever its
// arguments: deny where the policy denies every call, or where the tool is not
// what was pinned.
func (t *Table) Outlook(tool catalogue.Tool) policy.Effect {
	if _, changed := t.pins().Changed(tool); changed {
		return policy.Deny
	}
	return t.outlook(tool)
}

// Changed gives the pin that a tool no longer fits.
func (t *Table) Changed(tool catalogue.Tool) (Pin, bool) { return t.pins().Changed(tool) }

// pinned refuses a tool whose definition is not the pinned one, on record.
func (q *request) pinned(ctx context.Context) error {
	pin, changed := q.run.table.pins().broken(q.entry.id, q.entry.definitionSum)
	if !changed {
		return nil
	}
	q.entry.warned.Do(func() {
		q.run.table.log().Warn("a pinned tool has changed, and is refused", "tool", q.name, "pin", pin.Origin)
	})
	return q.refuse("pin", changedSince(pin, q.name))
}

func changedSince(pin Pin, tool string) *Failure {
	f := &Failure{Code: fault.DeniedPinned, Tool: tool, Rule: filepath.Base(pin.Origin), // the program has no use for paths of the host
		Message: tool + " is not allowed: its server has changed its definition since it was pinned",
		Hint:    "a person has to look at what changed: wexec tools show " + tool}
	if strings.ContainsAny(tool, " '\"`$\\\n") {
		f.Hint = "a person has to look at what changed: wexec tools pin --list"
	}
	return f
}
