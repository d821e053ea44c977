//go:build unix && !linux

package upstream

import "io"

// watchGroup watches nothing: when wexec is gone, a server's input ends,
// and the server should end as MCP specifies.
func watchGroup(int) io.Closer { return nil }
