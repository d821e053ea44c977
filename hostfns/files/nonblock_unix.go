//go:build unix

package files

import "syscall"

// nonblock prevents that opening a pipe that replaced a file
// blocks.
const nonblock = syscall.O_NONBLOCK
