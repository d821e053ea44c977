//go:build unix

package files

import "syscall"

// nonblock keeps the opening of a pipe that was put in a file's place from
// waiting for its other end.
const nonblock = syscall.O_NONBLOCK
