package policy

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/wexec/wexec/privacy"
)

// Files is what a policy says about files. Paths are absolute once the policy
// has been resolved.
type Files struct {
	Read, Write []Root
	Deny        []string // patterns
}

// Root is one pattern under which files may be opened, with the folder or file
// at which it begins.
type Root struct {
	Path    string // literal prefix of the pattern: a folder, or one file
	Pattern string // equal to Path if everything below it is included
}

// Network is what a policy says about the network.
type Network struct {
	Allow []NetRule
	Deny  []NetRule
}

// Feature is a feature of MCP other than tools. The client of a run has the first two,
// and a server asks for them. A server has the others, and programs and clients use
// them.
type Feature string

// The features.
const (
	Elicitation Feature = "elicitation" // forms for the person at the client
	Sampling    Feature = "sampling"    // texts of the client's model
	Resources   Feature = "resources"   // documents of the server
	Prompts     Feature = "prompts"     // texts of the server for models
)

// Features returns all features.
func Features() []Feature { return []Feature{Elicitation, Sampling, Resources, Prompts} }

// OfServer reports whether a server has the feature, and not the client.
func (f Feature) OfServer() bool { return f == Resources || f == Prompts }

// Hint returns how to allow a feature.
func (f Feature) Hint(server string) string {
	return fmt.Sprintf("allow it in the policy: servers: {%s: {%s: allow}}", server, f)
}

// Refused returns the message that a server may not use a feature, or that a feature
// of the server may not be used.
func (f Feature) Refused(server string) string {
	if f.OfServer() {
		return fmt.Sprintf("the %s of server %s may not be used", f, server)
	}
	return fmt.Sprintf("server %s may not use %s", server, f)
}

// serverRule is what a file says about the servers that match a pattern.
type serverRule struct {
	server   Glob
	features map[Feature]Effect
	where    string // file:line
}

// Secret is a value that the host adds to a call and that the sandbox never
// sees.
type Secret struct {
	Name string
	From string   // env:NAME or file:PATH
	To   []string // server:NAME, host:PATTERN or patterns for tools
	As   string   // env:NAME, arg:NAME or header:NAME: TEXT with {}
	Rule string   // file:line
}

// Approvals is how people are asked for approval.
type Approvals struct {
	Via      []string      // terminal, mcp, socket, page, api
	Timeout  time.Duration // an unanswered question is a denial
	Remember string        // never, run or session
}

// Detail is how much of a text the audit log keeps.
type Detail string

// The details. With DetailNone not even the digest is kept.
const (
	DetailHash Detail = "hash"
	DetailFull Detail = "full"
	DetailNone Detail = "none"
)

// Audit is how much of a run the audit log keeps.
type Audit struct {
	Code, Inputs, Outputs Detail
}

// PII is what a policy says about personal data.
type PII struct {
	privacy.Config
	RevealTo []Glob     // tools whose arguments get values instead of tokens
	Tools    []ToolMode // modes of the answers of some tools

	reveal [][]Glob // one list for each file that has one; all must match
}

// ToolMode is the mode of the answers of some tools.
type ToolMode struct {
	Tool Glob
	Mode privacy.Mode
}

// Reveals reports whether the arguments of a tool get values instead of tokens.
// The tool is named server.tool.
func (p PII) Reveals(tool string) bool {
	for _, list := range p.reveal {
		if !slices.ContainsFunc(list, func(g Glob) bool { return g.Match(tool) }) {
			return false
		}
	}
	return len(p.reveal) > 0
}

// ModeOf returns the mode of the answers of a tool, named server.tool: the
// strictest of those whose pattern matches, or else the mode of the run.
func (p PII) ModeOf(tool string) privacy.Mode {
	mode, found := p.Mode, false
	for _, t := range p.Tools {
		if t.Tool.Match(tool) && (!found || modeRank(t.Mode) > modeRank(mode)) {
			mode, found = t.Mode, true
		}
	}
	return mode
}

// piiRules is the pii block of one policy.
type piiRules struct {
	config   privacy.Config
	kinds    bool // the block has detect
	revealTo []Glob
	reveals  bool // the block has reveal_to
	tools    []ToolMode
}

// modeRank orders modes from the loosest to the strictest.
func modeRank(m privacy.Mode) int {
	return slices.Index([]privacy.Mode{privacy.Off, privacy.Detect, privacy.Partial, privacy.Tokenize, privacy.Redact, privacy.Block}, cmp.Or(m, privacy.Tokenize))
}

// Test is one test case of a policy.
type Test struct {
	Rule   string // file:line
	Tool   string
	Args   map[string]any
	Expect Effect
}

// Levels of a review, in ascending order.
var riskLevels = [...]string{"low", "medium", "high", "critical"}

// Reach is how much of the network a program may use.
type Reach uint8

// The reaches, from the widest to the narrowest.
const (
	ReachPolicy  Reach = iota // what the policy allows
	ReachServers              // MCP servers only
	ReachNone                 // no host and no server at a URL
)

// Risk has the settings of a policy for programs of one level.
type Risk struct {
	Effect  Effect // of running the program
	Rule    string // file:line of what decides the effect
	Digest  string // of what asks: see Decision.Digest
	Message string
	Limits  Limits
	Reach   Reach
	// ReachRule is the file:line of what decides the reach.
	ReachRule string
}

// riskRules is the risk block of one file.
type riskRules struct {
	levels   [len(riskLevels)]Risk
	unseen   Effect
	unseenAt string
	profile  string
}
