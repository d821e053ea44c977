//go:build !unix

package files

// nonblock has no meaning where pipes do not stand among files.
const nonblock = 0
