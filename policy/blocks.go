package policy

import (
	"net/netip"
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
// it begins at.
type Root struct {
	Path    string // literal start of the pattern: a folder, or one file
	Pattern string // as decided by; equal to Path where everything below it counts
}

// Network is what a policy says about the network.
type Network struct {
	Allow []NetRule
	Deny  []NetRule
}

// NetRule is one entry of the network block.
type NetRule struct {
	Rule    string         // file:line
	Host    string         // pattern over names, an address, or a class such as private
	Methods []string       // none: every method
	Ports   []int          // none: 80 and 443
	Prefix  []netip.Prefix // where Host is an address or a network

	pos position
}

// Secret is a value that the host puts into a call and the sandbox never sees.
type Secret struct {
	Name string
	From string   // env:NAME or file:PATH
	To   []string // server:NAME, host:PATTERN or patterns over tools
	As   string   // env:NAME, header:NAME: TEXT with {} or arg:NAME
	Rule string   // file:line
}

// PII is what a policy says about personal data.
type PII struct {
	privacy.Config
	RevealTo []Glob     // tools whose arguments get values for tokens
	Tools    []ToolMode // modes of single tools

	reveal [][]Glob // one list for each file that has one; all must agree
}

// ToolMode is the mode of the answers of some tools.
type ToolMode struct {
	Tool Glob
	Mode privacy.Mode
}

// Reveals reports whether the arguments of a tool get values for tokens. The
// tool is named as server.tool.
func (p PII) Reveals(tool string) bool {
	if len(p.reveal) == 0 {
		return false
	}
	for _, list := range p.reveal {
		if !slices.ContainsFunc(list, func(g Glob) bool { return g.Match(tool) }) {
			return false
		}
	}
	return true
}

// ModeOf is the mode for the answers of a tool, named as server.tool: the
// strictest of those that fit, else the mode of the run.
func (p PII) ModeOf(tool string) privacy.Mode {
	mode, found := privacy.Mode(""), false
	for _, t := range p.Tools {
		if t.Tool.Match(tool) && (!found || modeRank(t.Mode) > modeRank(mode)) {
			mode, found = t.Mode, true
		}
	}
	if !found {
		return p.Mode
	}
	return mode
}

// Approvals is what a policy says about asking people.
type Approvals struct {
	Via      []string      // terminal, mcp, socket
	Timeout  time.Duration // an unanswered question is a denial
	Remember string        // never, run or session
}

// Detail is how much of a text the audit keeps.
type Detail string

// The details. None leaves even the digest out.
const (
	DetailHash Detail = "hash"
	DetailFull Detail = "full"
	DetailNone Detail = "none"
)

// Audit is what a policy says about the record.
type Audit struct {
	Code, Inputs, Outputs Detail
}

// Test is one case of a policy's own tests.
type Test struct {
	Rule   string // file:line
	Tool   string
	Args   map[string]any
	Expect Effect
}
