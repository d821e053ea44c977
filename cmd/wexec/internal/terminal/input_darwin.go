package terminal

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// discardInput discards what was typed at a terminal and not read. It was no
// answer to a question that was not yet asked.
func discardInput(in io.Reader) {
	const read = 1 // FREAD of sys/fcntl.h
	if f, ok := in.(*os.File); ok {
		_ = unix.IoctlSetPointerInt(int(f.Fd()), unix.TIOCFLUSH, read)
	}
}
