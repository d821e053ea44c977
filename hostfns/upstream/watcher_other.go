//go:build unix && !linux

package upstream

import "io"

// watchGroup has no watcher here: when wexec is gone, a server's input ends,
// and MCP asks it to end too.
func watchGroup(int) io.Closer { return nil }
