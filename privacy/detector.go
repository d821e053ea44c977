// Package privacy finds personal data and replaces it with tokens.
//
// A [Detector] reports where personal data is in a text or a JSON document. A
// [Vault] belongs to one run or session: it replaces what its detector finds with
// tokens such as [EMAIL_1], keeps the values, and puts them back where the caller
// decides that they may be seen.
//
// The package is pure: it reads no clock, file or environment and starts no
// goroutine. Its input is hostile: it takes time linear in the size of a text and
// never panics.
//
// It does not stop code that wants to smuggle data out, since code can encode
// data in ways that no detector knows. The policy bounds what such code can reach.
package privacy

import (
	"cmp"
	"strings"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/privacy/internal/char"
	"github.com/wexec/wexec/privacy/internal/dates"
	"github.com/wexec/wexec/privacy/internal/detect"
	"github.com/wexec/wexec/privacy/internal/match"
	"github.com/wexec/wexec/privacy/internal/token"
)

// Finding is one place in a text that holds personal data.
type Finding struct {
	Kind       Kind    `json:"kind"`
	Start      int     `json:"start"` // byte offset
	End        int     `json:"end"`   // byte offset behind it
	Line       int     `json:"line"`  // from 1
	Column     int     `json:"column"`
	Field      string  `json:"field,omitempty"` // path of its field, if it has one
	Confidence float64 `json:"confidence"`      // 0 to 1
}

// Explanation is a place that was considered, and why it counts or does not.
type Explanation struct {
	Finding
	Why  string `json:"why"`
	Kept bool   `json:"kept"` // false: too weak for the level, or ignored
}

// Detector finds personal data. It is immutable and safe for concurrent use.
type Detector struct {
	find *detect.Detector
	mode Mode
}

// NewDetector checks a configuration and makes a Detector. An error has the code
// usage.policy and reports every problem.
func NewDetector(c Config) (*Detector, error) {
	if err := c.err(); err != nil {
		return nil, err
	}
	modes := make(map[string]string, len(c.Modes))
	for glob, mode := range c.Modes {
		modes[glob] = string(mode)
	}
	regions := c.Regions
	if len(regions) == 0 {
		regions = []string{"US"}
	}
	d, err := detect.New(detect.Config{Kinds: c.Detect, AllKinds: knownKinds(), Least: confidence[c.Level], Regions: regions,
		Patterns: c.Patterns, Lists: c.Lists, Never: c.Fields.Never, Always: c.Fields.Always, Ignore: c.Ignore, Modes: modes})
	if err != nil {
		return nil, fault.New(fault.UsagePolicy, "%w", err)
	}
	return &Detector{d, cmp.Or(c.Mode, Tokenize)}, nil
}

// Mode is the mode of the configuration; it is never empty.
func (d *Detector) Mode() Mode { return d.mode }

// Scan finds personal data in a text, in order and without overlap. A text that
// is a JSON document is read as JSON.
func (d *Detector) Scan(text []byte) []Finding {
	var all []Finding
	eachFinding(text, d.find.NewPass().Document(text), func(f Finding, _ *match.Span) { all = append(all, f) })
	return all
}

// Explain returns, for everything in a text that resembles personal data, why it
// counts or does not.
func (d *Detector) Explain(text string) []Explanation {
	p := d.find.NewPass()
	p.Explain = true
	all := []Explanation{}
	eachFinding([]byte(text), p.Document([]byte(text)), func(f Finding, s *match.Span) {
		all = append(all, Explanation{Finding: f, Why: s.Why, Kept: !s.Dropped})
	})
	return all
}

func eachFinding(text []byte, spans []match.Span, yield func(Finding, *match.Span)) {
	line, column, at := 1, 1, 0
	for i := range spans {
		s := &spans[i]
		if s.Kind == "" {
			continue
		}
		for ; at < s.Start; at++ {
			if column++; text[at] == '\n' {
				line, column = line+1, 1
			}
		}
		yield(Finding{Kind: s.Kind, Start: s.Start, End: s.End, Line: line, Column: column, Field: s.Shown, Confidence: float64(s.Sure) / 100}, s)
	}
}

var separators = strings.NewReplacer(" ", "", "-", "", ".", "", "/", "")

// Canonical returns the form in which two spellings of a value of a kind are equal.
func (d *Detector) Canonical(kind Kind, value string) string { return d.canonical(kind, value) }

// canonical is the form in which two spellings of a value are equal.
func (d *Detector) canonical(kind Kind, value string) string {
	switch kind {
	case Email:
		return strings.ToLower(strings.TrimSpace(value))
	case Phone:
		c, _ := d.find.Phones.Canonical(value)
		return c
	case IBAN, Card, SSN, NationalID, VAT, Passport, Licence, Account:
		return strings.ToUpper(separators.Replace(value))
	case MAC, IP:
		return strings.ToLower(strings.ReplaceAll(value, "-", ":"))
	}
	return value
}

// part is the part of a value that mode partial shows: it is useful for work and
// identifies nobody.
func (d *Detector) part(kind Kind, value string) string {
	part := ""
	switch kind {
	case Email:
		part = domainOf(value)
	case Card:
		if digits := char.OnlyDigits(value); len(digits) >= 12 {
			part = digits[len(digits)-4:]
		}
	case Phone:
		_, part = d.find.Phones.Canonical(value)
	case IBAN, VAT:
		if len(value) > 2 && char.IsLetter(value[0]) && char.IsLetter(value[1]) {
			part = strings.ToUpper(value[:2])
		}
	case Birthdate:
		for i := 0; i+4 <= len(value); i++ {
			if y, n := char.Number([]byte(value), i); n == 4 && dates.Year(y) {
				part = value[i : i+4]
				break
			}
		}
	}
	if len(part) > token.MaxPart || strings.ContainsAny(part, "[]\"\\\n") {
		return ""
	}
	return part
}

func domainOf(value string) string {
	i := strings.LastIndexByte(value, '@')
	if i < 0 {
		return ""
	}
	return strings.ToLower(strings.TrimSpace(value[i+1:]))
}
