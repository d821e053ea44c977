//go:build !unix

package upstream

// platformEnding is how servers are ended where there are no process groups.
func platformEnding() ending { return byLeader() }
