package policy

import (
	"encoding/json"
	"net"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/privacy"
)

// Flags is what command-line flags say a program may do. The zero value says
// nothing.
type Flags struct {
	AllowTool, DenyTool []string // patterns for server.tool
	AllowNet            []string // HOST or HOST:PORT
	AllowRead           []string // absolute paths; a folder includes everything below it
	AllowWrite          []string
	NoPII               bool // personal data is left unchanged
}

// CommandLine is what a decision names as its rule if flags allow something, but
// not this. It also begins the rule of each flag, as in "command line: deny tool
// github.*".
const CommandLine = "command line"

// FromFlags makes a policy of flags, to be combined by [Layer] with the origin
// FromCLI. Flags that say nothing make the nil policy. All problems are reported
// at once, as usage.flag.
func FromFlags(f Flags) (*Policy, error) {
	if len(f.AllowTool)+len(f.DenyTool)+len(f.AllowNet)+len(f.AllowRead)+len(f.AllowWrite) == 0 && !f.NoPII {
		return nil, nil
	}
	source, _ := json.Marshal(f) // strings and a bool always have a JSON form
	l := &layer{file: CommandLine, origin: FromCLI, source: string(source)}
	var problems flagProblems
	l.rules = append(problems.toolRules(Deny, "--deny-tool", f.DenyTool), problems.toolRules(Allow, "--allow-tool", f.AllowTool)...)
	l.index = newIndex(l.rules)
	if len(f.AllowNet) > 0 {
		l.network = &netRules{allow: parseFlag(&problems, "--allow-net", f.AllowNet, parseAllowNet)}
	}
	if len(f.AllowRead)+len(f.AllowWrite) > 0 {
		l.files = &fileRules{
			read:  parseFlag(&problems, "--allow-read", f.AllowRead, parseAllowPath),
			write: parseFlag(&problems, "--allow-write", f.AllowWrite, parseAllowPath),
		}
	}
	if f.NoPII {
		l.pii = &piiRules{config: privacy.Config{Mode: privacy.Off}}
	}
	if problems != nil {
		return nil, fault.New(fault.UsageFlag, "%s", strings.Join(problems, "\n"))
	}
	return newPolicy([]*layer{l}), nil
}

// flagProblems are the problems of all flags, one a line.
type flagProblems []string

// parseFlag parses the values of a flag. where is what decisions name as the
// rule, which does not name the flag: not everybody who reads it has a command line.
func parseFlag[T any](problems *flagProblems, flag string, values []string, parse func(text, where string) (T, error)) []T {
	var out []T
	for _, text := range values {
		v, err := parse(text, CommandLine+": "+strings.ReplaceAll(flag[len("--"):], "-", " ")+" "+clip(text))
		if err != nil {
			line := flag + ": " + err.Error()
			if hint := fault.HintOf(err); hint != "" {
				line += " (" + hint + ")"
			}
			*problems = append(*problems, line)
			continue
		}
		out = append(out, v)
	}
	return out
}

func (problems *flagProblems) toolRules(effect Effect, flag string, patterns []string) []rule {
	return parseFlag(problems, flag, patterns, func(text, where string) (rule, error) {
		g, err := parseToolGlob(text)
		if effect == Deny {
			g = g.AnyServer()
		}
		return rule{effect: effect, tool: g, where: where}, err
	})
}

// parseAllowPath reads an absolute path.
func parseAllowPath(text, where string) (filePattern, error) {
	if !filepath.IsAbs(text) {
		return filePattern{}, fault.New(fault.UsageFlag, "%q is not an absolute path", clip(text))
	}
	p, err := parseFilePattern(text, "", "")
	p.where = where
	return p, err
}

// parseAllowNet reads HOST, HOST:PORT or an address with or without a port.
func parseAllowNet(text, where string) (NetRule, error) {
	host, port := text, ""
	if h, p, err := net.SplitHostPort(text); err == nil && !strings.Contains(text, "://") {
		host, port = h, p
	}
	r, err := newNetRule(host, where)
	if err != nil || port == "" {
		return r, err
	}
	n, err := strconv.Atoi(port)
	if err != nil || n < 1 || n > 65535 {
		return r, fault.New(fault.UsageFlag, "invalid port %q", clip(port))
	}
	r.Ports = []int{n}
	return r, nil
}
