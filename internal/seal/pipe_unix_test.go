//go:build unix

package seal

import (
	"errors"
	"os"
	"syscall"
	"testing"
)

// makePipe puts a pipe in the place of a file.
func makePipe(_ *testing.T, path string) error {
	return errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600))
}
