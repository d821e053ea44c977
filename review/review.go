// Package review tells what a program is going to do and how risky that is, before
// it runs. It is pure: it takes syntax trees and returns an Assessment.
//
// A program is lowered to one small form for all languages (program.go, lower.go), its
// names and constants are resolved as far as that is possible without running it
// (names.go, resolve.go, fold.go), and the rules read the result.
package review

import (
	"context"
	"slices"
	"time"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/review/syntax"
)

// Level says how risky a program or a finding is.
type Level string

// Levels, in ascending order.
const (
	Low      Level = "low"
	Medium   Level = "medium"
	High     Level = "high"
	Critical Level = "critical"
)

// Reaches reports whether l is at least as high as other.
func (l Level) Reaches(other Level) bool { return l.rank() >= other.rank() }

func (l Level) rank() int { return slices.Index([]Level{Low, Medium, High, Critical}, l) }

// Cars is the profile under which weak signals count: imports, the environment and
// the size of a program.
const Cars = "cars"

// Assessment is what a review found.
type Assessment struct {
	Level        Level        `json:"level"`
	Findings     []Finding    `json:"findings"`
	Capabilities Capabilities `json:"capabilities"`
}

// Finding is a place in a program that a rule matches. Line and Column count from 1.
type Finding struct {
	Rule       string `json:"rule"`
	Level      Level  `json:"level"`
	Line       int    `json:"line"`
	Column     int    `json:"column"`
	Message    string `json:"message"`
	Mitigation string `json:"mitigation"`
}

// Capabilities are what a program names, each sorted. Unresolved has the expressions
// that may name more and could not be resolved.
type Capabilities struct {
	Tools      []string `json:"tools"` // server.tool
	Hosts      []string `json:"hosts"`
	Files      []string `json:"files"`
	Skills     []string `json:"skills"`
	Unresolved []string `json:"unresolved"`
}

// Parser parses code that a program has in strings.
type Parser interface {
	Parse(ctx context.Context, language, source string) (*syntax.Tree, error)
}

// Context is what a review knows about the run. All fields are optional.
type Context struct {
	Profile string
	Intent  string // what the caller says that the program is for
	Tools   *catalogue.Catalogue
	// Changed is when the definition of a tool was first seen, by server.tool. A tool
	// that is not in it is not new.
	Changed map[string]time.Time
	Now     time.Time
	Parser  Parser
}

// Bounds of a review. What exceeds them is a finding of the rule review-limit.
const (
	MaxSource   = 1 << 20 // bytes of a program; a longer one need not be parsed
	maxNodes    = 100_000
	maxDepth    = 1000    // of the tree
	maxSteps    = 150_000 // of resolving names and constants
	maxText     = 256 << 10
	maxTexts    = 8 << 20 // bytes of all constants that are made
	maxRatio    = 100     // of decompression, for what is large
	maxFindings = 100
	maxNamed    = 200 // entries of each list of capabilities
	maxNested   = 4   // levels of code in strings
	maxClip     = 60  // characters of the program in a message
)
