package privacy

import (
	"slices"
	"strings"
)

// Finding is one place in a text that holds personal data.
type Finding struct {
	Kind       Kind    `json:"kind"`
	Start      int     `json:"start"` // byte offset
	End        int     `json:"end"`   // byte offset behind it
	Line       int     `json:"line"`  // from 1
	Column     int     `json:"column"`
	Field      string  `json:"field,omitempty"` // path of the field it stands in, where there is one
	Confidence float64 `json:"confidence"`      // 0 to 1
}

// Explanation is what was looked at and why it counts or does not.
type Explanation struct {
	Finding
	Why  string `json:"why"`
	Kept bool   `json:"kept"` // false: too weak for the level, or ignored
}

// Detector finds personal data. It is immutable and safe for concurrent use.
type Detector struct {
	mode    Mode
	kinds   map[Kind]bool // nil: all
	least   uint8         // confidence in percent below which nothing counts
	level   string
	regions []region
	own     []ownKind
	ignore  []glob
	never   []fieldGlob
	always  []fieldGlob
	modes   []modeGlob
	lexicon *lexicon
	marks   map[string]string // kinds of tokens, in capitals
}

type modeGlob struct {
	fieldGlob
	mode Mode
}

// NewDetector checks a configuration and makes a detector of it. Every problem
// is reported at once, with the code usage.policy.
func NewDetector(c Config) (*Detector, error) {
	if err := c.err(); err != nil {
		return nil, err
	}
	d := &Detector{mode: c.Mode, level: c.Level, least: 50, lexicon: words()}
	if d.mode == "" {
		d.mode = Tokenize
	}
	switch c.Level {
	case Strict:
		d.least = 30
	case Relaxed:
		d.least = 80
	case "":
		d.level = Balanced
	}
	regions := c.Regions
	if len(regions) == 0 {
		regions = []string{"US"}
	}
	for _, r := range regions {
		d.regions = append(d.regions, regionOf(r))
	}
	if len(c.Detect) > 0 {
		d.kinds = map[Kind]bool{Personal: true}
		for _, k := range c.Detect {
			d.kinds[k] = true
		}
	}
	var err error
	if d.own, err = ownKinds(c.Patterns, c.Lists); err != nil {
		return nil, err
	}
	d.marks = marks(d.own)
	for _, o := range d.own {
		if d.kinds != nil {
			d.kinds[o.kind] = true
		}
	}
	for _, g := range c.Ignore {
		d.ignore = append(d.ignore, newGlob(strings.ToLower(g)))
	}
	for _, g := range c.Fields.Never {
		d.never = append(d.never, newFieldGlob(g))
	}
	for _, g := range c.Fields.Always {
		d.always = append(d.always, newFieldGlob(g))
	}
	for _, g := range sortedKeys(c.Modes) {
		d.modes = append(d.modes, modeGlob{newFieldGlob(g), c.Modes[g]})
	}
	return d, nil
}

// Mode is the mode of the configuration; never empty.
func (d *Detector) Mode() Mode { return d.mode }

// Scan finds personal data in a text, in order and without overlap. A text
// that is a JSON document is read as one.
func (d *Detector) Scan(text []byte) []Finding {
	w := d.work()
	spans := w.document(text)
	return d.findings(text, spans)
}

// Explain says of everything in a text that looks like personal data why it
// counts or does not.
func (d *Detector) Explain(text string) []Explanation {
	w := d.work()
	w.explain = true
	spans := w.document([]byte(text))
	findings := d.findings([]byte(text), spans)
	all := make([]Explanation, 0, len(findings))
	i := 0
	for _, s := range spans {
		if s.kind == "" {
			continue
		}
		all = append(all, Explanation{Finding: findings[i], Why: s.why, Kept: !s.dropped})
		i++
	}
	return all
}

func (d *Detector) findings(text []byte, spans []span) []Finding {
	var all []Finding
	line, column, at := 1, 1, 0
	for _, s := range spans {
		if s.kind == "" {
			continue
		}
		for ; at < s.start; at++ {
			if text[at] == '\n' {
				line, column = line+1, 1
			} else {
				column++
			}
		}
		all = append(all, Finding{Kind: s.kind, Start: s.start, End: s.end, Line: line, Column: column,
			Field: s.field, Confidence: float64(s.sure) / 100})
	}
	return all
}

// wants reports whether a kind is looked for.
func (d *Detector) wants(k Kind) bool { return d.kinds == nil || d.kinds[k] }

// ignored reports whether a value is on the ignore list.
func (d *Detector) ignored(value string) bool {
	if len(d.ignore) == 0 {
		return false
	}
	value = strings.ToLower(value)
	return slices.ContainsFunc(d.ignore, func(g glob) bool { return g.match(value) })
}
