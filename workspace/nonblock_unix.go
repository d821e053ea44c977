//go:build unix

package workspace

import "syscall"

const nonblock = syscall.O_NONBLOCK
