package jsonschema

import (
	"regexp"
	"regexp/syntax"
	"strings"
)

// Bounds of the patterns of a schema. A short pattern can stand for a large
// program: \pL has 650 ranges, and (?i) takes each character of a range.
const (
	maxPattern    = 4096    // bytes of one
	maxPatterns   = 200_000 // the cost of all
	costOfClass   = 1000    // of \p and \P
	costOfFolding = 500     // of each byte of a pattern with flags
)

// Pattern is a compiled regular expression. Cost is about the number of steps
// that a match takes for each character.
type Pattern struct {
	*regexp.Regexp
	Cost int
}

// patterns compiles the patterns of a schema, as long as their cost is bounded.
type patterns struct{ left int }

// compile compiles a pattern, or says why it cannot be used. ECMAScript has
// constructs that cannot be matched in linear time.
func (p *patterns) compile(expr string) (compiled *Pattern, problem string) {
	const tooLong, unsupported = "is too long", "is not supported"
	cost := len(expr) + costOfClass*(strings.Count(expr, `\p`)+strings.Count(expr, `\P`))
	if strings.Contains(expr, "(?") && strings.Contains(expr, "i") {
		cost += costOfFolding * len(expr)
	}
	if len(expr) > maxPattern || cost > p.left {
		return nil, tooLong
	}
	p.left -= cost
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, unsupported
	}
	steps := size(tree)
	if steps > p.left {
		return nil, tooLong
	}
	p.left -= steps
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, unsupported
	}
	return &Pattern{re, 1 + steps/16}, ""
}

// size returns about the number of instructions of a regular expression.
func size(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)/2
	if re.Op == syntax.OpLiteral {
		n = len(re.Rune)
	}
	for _, sub := range re.Sub {
		n += size(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min+1, re.Max)
	}
	return n
}
