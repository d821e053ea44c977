// Package detect finds personal data in texts and JSON documents. A [Detector]
// knows what to look for; a [Pass] goes once over a text, reads its encodings and
// its structure, and hands each place to the detectors of the kinds that can be
// there. Callers map the findings to edits with [Pass.Put].
package detect

import (
	"slices"
	"strings"

	"github.com/wexec/wexec/privacy/internal/contact"
	"github.com/wexec/wexec/privacy/internal/match"
	"github.com/wexec/wexec/privacy/internal/token"
)

// Config says what a Detector looks for. Its parts were checked by the caller.
type Config struct {
	Kinds         []match.Kind // in addition to those of Patterns and Lists; none: all
	Least         uint8        // the confidence in percent that a finding needs
	Regions       []string     // the countries that numbers without a calling code are read in
	Patterns      map[string]string
	Lists         map[string][]string
	Never, Always []string          // globs of fields
	Ignore        []string          // globs of values
	Modes         map[string]string // globs of fields to modes
	AllKinds      []match.Kind
}

// Detector finds personal data. It is immutable and safe for concurrent use.
type Detector struct {
	Phones *contact.Phones
	Tokens token.Kinds // of the kinds that are known and those of the policy
	rules  *match.Rules
	custom []customKind
	ignore []glob
	fields fieldRules
}

// New makes a Detector.
func New(c Config) (*Detector, error) {
	custom, err := customKinds(c.Patterns, c.Lists)
	if err != nil {
		return nil, err
	}
	d := &Detector{Phones: contact.NewPhones(c.Regions), rules: &match.Rules{Least: c.Least}, custom: custom, fields: newFieldRules(c.Never, c.Always, c.Modes)}
	if len(c.Kinds) > 0 {
		d.rules.Kinds = map[match.Kind]bool{match.Personal: true}
		for _, k := range c.Kinds {
			d.rules.Kinds[k] = true
		}
	}
	names := slices.Clone(c.AllKinds)
	for _, k := range custom {
		names = append(names, k.kind)
		if d.rules.Kinds != nil {
			d.rules.Kinds[k.kind] = true
		}
	}
	d.Tokens = token.NewKinds(names)
	for _, g := range c.Ignore {
		d.ignore = append(d.ignore, newGlob(strings.ToLower(g)))
	}
	return d, nil
}

// ignored reports whether the policy ignores a value.
func (d *Detector) ignored(value string) bool {
	if len(d.ignore) == 0 {
		return false
	}
	value = strings.ToLower(value)
	return slices.ContainsFunc(d.ignore, func(g glob) bool { return g.match(value) })
}

// HasModes reports whether the policy sets modes for fields.
func (d *Detector) HasModes() bool { return len(d.fields.modes) > 0 }
