package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/yamldoc"
	"github.com/wexec/wexec/policy"
)

// Profile is a subset of the servers and tools of the settings. Each list that is not
// nil narrows it.
type Profile struct {
	Servers []string `yaml:"servers" single:"yes" doc:"only tools of these servers; default all"`
	Tools   []string `yaml:"tools" single:"yes" doc:"only tools that one of these patterns selects, such as github.list_*; default all"`
}

// String lists what the profile selects.
func (p Profile) String() string {
	var parts []string
	if p.Servers != nil {
		parts = append(parts, "servers "+strings.Join(p.Servers, ", "))
	}
	if p.Tools != nil {
		parts = append(parts, "tools "+strings.Join(p.Tools, ", "))
	}
	return strings.Join(parts, "; ")
}

// has reports whether the profile has one of the servers of a provider, or the
// provider has no servers.
func (p Profile) has(servers []string) bool {
	return p.Servers == nil || len(servers) == 0 || slices.ContainsFunc(servers, func(s string) bool { return slices.Contains(p.Servers, s) })
}

// maxName bounds the name of a profile or a folder, which clients write into URLs.
const maxName = 63

func isName(s string) bool {
	return s != "" && len(s) <= maxName && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}

// checkProfiles checks the profiles of a wexec.yaml.
func checkProfiles(name string, profiles yamldoc.Map[Profile]) error {
	for _, p := range profiles {
		at := fmt.Sprintf("%s:%d: profile %.80q", name, p.KeyPos.Line, p.Key)
		switch {
		case !isName(p.Key):
			return fault.New(fault.UsageConfig, "%s: the name of a profile has at most %d lower-case letters, digits, - and _", at, maxName)
		case len(p.V.Servers) == 0 && len(p.V.Tools) == 0, p.V.Servers != nil && len(p.V.Servers) == 0, p.V.Tools != nil && len(p.V.Tools) == 0:
			return fault.New(fault.UsageConfig, "%s selects nothing", at).WithHint("list names in servers, or patterns in tools")
		}
		if _, err := onlyTools(at, p.V.Tools); err != nil {
			return fault.New(fault.UsageConfig, "%s: %w", at, err).WithHint("%s", fault.HintOf(err))
		}
	}
	return nil
}

// onlyTools returns a policy that allows the tools that patterns select, or nil for
// nil patterns. Decisions name it by name.
func onlyTools(name string, patterns []string) (*policy.Policy, error) {
	if patterns == nil {
		return nil, nil
	}
	text, err := json.Marshal(map[string]any{"version": 1, "tools": map[string]any{"allow": patterns}})
	if err != nil {
		return nil, fault.New(fault.Internal, "encode the tools of %s: %w", name, err)
	}
	return policy.Parse(name, text)
}

// Subset is a part of the tools of a host. The zero Subset is all of them.
type Subset struct {
	Tools   []string // patterns of a token; nil: all
	Profile string   // its name; "": all
}
