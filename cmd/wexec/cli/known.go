package cli

import "github.com/wexec/wexec/config"

// knownNames lists tools and servers that were seen before on this machine.
func (d *door) knownNames() []string { return config.KnownTools(d.inv.Env) }
