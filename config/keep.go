package config

import (
	"slices"

	"github.com/wexec/wexec/policy"
)

// PolicyFile is a policy file as it was read.
type PolicyFile struct {
	Path    string        `json:"path"`
	Text    string        `json:"text"`
	Origin  policy.Origin `json:"origin"`
	Trusted bool          `json:"trusted"` // false: only what it forbids applies
}

// PolicyFiles returns the policy files that the settings are made of.
func (s *Settings) PolicyFiles() []PolicyFile { return slices.Clone(s.policies) }

// TightenBy adds policy files as they were before, where they are no longer the same.
// What both forbid is forbidden, and only what both allow is allowed.
func (s *Settings) TightenBy(env *Environment, before []PolicyFile) error {
	now := s.PolicyFiles()
	for _, f := range before {
		if slices.Contains(now, f) {
			continue
		}
		if err := s.addPolicy(env, f.Path, func(string) ([]byte, error) { return []byte(f.Text), nil }, f.Origin, f.Trusted); err != nil {
			return err
		}
	}
	return nil
}
