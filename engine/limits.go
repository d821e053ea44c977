package engine

import "github.com/wexec/wexec/policy"

// Limits bound a run. Zero means the default, never unlimited. What holds is
// the smallest that any layer of a policy says; a request may raise a default,
// and never what a policy says.
type Limits = policy.Limits
