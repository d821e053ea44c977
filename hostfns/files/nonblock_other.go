//go:build !unix

package files

// nonblock is not needed: the file system has no pipes.
const nonblock = 0
