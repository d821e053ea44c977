package approvals

import (
	"crypto/rand"
	"errors"
	"syscall"
)

// randomName tells the sockets of one process apart.
func randomName() string { return rand.Text()[:8] }

// refused reports whether nobody listens to a socket any more.
func refused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
