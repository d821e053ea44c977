// Package privacy measures how well personal data is found: with a labeled corpus
// from a seeded generator, hard lines that were written by hand, and text without
// personal data.
package privacy

import (
	"fmt"
	"strings"

	"github.com/wexec/wexec/privacy"
)

// Sample is a text with the places that a detector should find.
type Sample struct {
	Name  string
	Text  string
	Truth []Span
}

// Span is a place that holds personal data.
type Span struct {
	Kind       privacy.Kind
	Start, End int
}

// builder writes a sample.
type builder struct {
	text  strings.Builder
	truth []Span
}

func (b *builder) add(format string, args ...any) *builder {
	fmt.Fprintf(&b.text, format, args...)
	return b
}

func (b *builder) mark(kind privacy.Kind, value string) *builder {
	start := b.text.Len()
	b.text.WriteString(value)
	b.truth = append(b.truth, Span{kind, start, b.text.Len()})
	return b
}

func (b *builder) sample(name string) Sample {
	return Sample{Name: name, Text: b.text.String(), Truth: b.truth}
}

// Parse reads a line in which each place to find is written {{kind|value}}. \n
// and \t are escapes.
func Parse(name, line string) (Sample, error) {
	line = strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(line)
	var b builder
	for {
		before, rest, ok := strings.Cut(line, "{{")
		b.text.WriteString(before)
		if !ok {
			return b.sample(name), nil
		}
		mark, after, ok := strings.Cut(rest, "}}")
		kind, value, ok2 := strings.Cut(mark, "|")
		if !ok || !ok2 || !privacy.Known(privacy.Kind(kind)) {
			return Sample{}, fmt.Errorf("%s: the mark %q cannot be read", name, mark)
		}
		b.mark(privacy.Kind(kind), value)
		line = after
	}
}

// Score counts for one kind.
type Score struct {
	Found, Missed, False int
	Misses, Alarms       []string
}

// Precision is the share of findings that are right, in percent.
func (s Score) Precision() float64 { return share(s.Found, s.Found+s.False) }

// Recall is the share of what was there that was found, in percent.
func (s Score) Recall() float64 { return share(s.Found, s.Found+s.Missed) }

// F1 is the harmonic mean of the two.
func (s Score) F1() float64 {
	p, r := s.Precision(), s.Recall()
	if p+r == 0 {
		return 0
	}
	return 2 * p * r / (p + r)
}

func share(part, whole int) float64 {
	if whole == 0 {
		return 100
	}
	return 100 * float64(part) / float64(whole)
}

// Measure runs a detector over samples. A place counts as found if a finding of its
// kind covers nine tenths of it, or half for names and addresses, whose ends are a
// matter of opinion. A finding that overlaps no place of its kind is a false alarm.
func Measure(d *privacy.Detector, samples []Sample) map[privacy.Kind]*Score {
	scores := make(map[privacy.Kind]*Score)
	score := func(k privacy.Kind) *Score {
		if scores[k] == nil {
			scores[k] = &Score{}
		}
		return scores[k]
	}
	for _, s := range samples {
		findings := d.Scan([]byte(s.Text))
		for _, truth := range s.Truth {
			need := 0.9
			if truth.Kind == privacy.Name || truth.Kind == privacy.Address {
				need = 0.5
			}
			covered := 0
			for _, f := range findings {
				if f.Kind == truth.Kind {
					covered += max(0, min(f.End, truth.End)-max(f.Start, truth.Start))
				}
			}
			if float64(covered) >= need*float64(truth.End-truth.Start) {
				score(truth.Kind).Found++
			} else {
				sc := score(truth.Kind)
				sc.Missed++
				sc.Misses = append(sc.Misses, fmt.Sprintf("%s: %q in %q", s.Name, s.Text[truth.Start:truth.End], excerpt(s.Text, truth.Start, truth.End)))
			}
		}
		for _, f := range findings {
			met := false
			for _, truth := range s.Truth {
				met = met || truth.Kind == f.Kind && f.Start < truth.End && truth.Start < f.End
			}
			if !met {
				sc := score(f.Kind)
				sc.False++
				sc.Alarms = append(sc.Alarms, fmt.Sprintf("%s: %q in %q", s.Name, s.Text[f.Start:f.End], excerpt(s.Text, f.Start, f.End)))
			}
		}
	}
	return scores
}

func excerpt(text string, start, end int) string {
	return text[max(0, start-40):min(len(text), end+30)]
}
