package policyfile

import (
	"strings"

	"github.com/wexec/wexec/fault"
)

// Profile is how strict a new policy is.
type Profile struct{ name, risk, timeout string }

// profiles are all profiles with their risk block and the time for an approval, from
// the most permissive.
var profiles = []Profile{
	{"open", "", "10m"},
	{"careful", `
# Each program is reviewed before it runs. A person approves those that look dangerous.
risk:
  high: {ask: true}
  unseen: ask
`, "10m"},
	{"locked", `
# Each program is reviewed before it runs. Those that look dangerous do not run, and
# programs call only the tools that they name.
risk:
  medium: {network: servers}
  high: {deny: true}
  unseen: deny
`, "10m"},
	{"cars", `
# Each program is reviewed before it runs. The settings of a level apply to higher levels too.
risk:
  profile: cars
  low: {limits: {memory: 512MiB, cpu: 50%, time: 5m}}
  medium: {limits: {memory: 256MiB, cpu: 25%, time: 2m}, network: servers}
  high: {ask: true, limits: {memory: 128MiB, cpu: 10%, time: 1m}, network: none}
  unseen: ask
`, "30s"},
}

// Profiles returns the names of the profiles, from the most permissive.
func Profiles() []string {
	var out []string
	for _, p := range profiles {
		out = append(out, p.name)
	}
	return out
}

// ProfileOf returns a profile by its name.
func ProfileOf(name string) (Profile, error) {
	for _, p := range profiles {
		if p.name == name {
			return p, nil
		}
	}
	return Profile{}, fault.New(fault.UsageFlag, "unknown profile %q", name).WithHint("the profiles are %s", strings.Join(Profiles(), ", "))
}
