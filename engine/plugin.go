package engine

import "github.com/wexec/wexec/fault"

// runPlugin calls a function of a foreign plugin.
func (j *job) runPlugin(r *run) {
	j.fail(fault.New(fault.UsageFlag, "plugins cannot be called yet"))
}
