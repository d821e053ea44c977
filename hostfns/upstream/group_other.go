//go:build !unix

package upstream

// platformEnding is for platforms without process groups.
func platformEnding() ending { return byLeader() }
