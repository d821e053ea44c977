package storecmd

import "github.com/wexec/wexec/store"

// FlagValues lists the values of a flag of these commands, for completion. It
// returns nil for all others.
func FlagValues(command, flag string) []string {
	switch command + " " + flag {
	case "token create type":
		return []string{store.TypeAgent, store.TypePerson}
	case "token create scopes":
		return scopes()
	case "runs list status":
		return statuses()
	case "runs list state":
		return states()
	case "usage by":
		return sums()
	}
	return nil
}
