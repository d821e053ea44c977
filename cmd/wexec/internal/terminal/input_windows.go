package terminal

import (
	"io"
	"os"

	"golang.org/x/sys/windows"
)

// discardInput discards what was typed at a console and not read. It was no
// answer to a question that was not yet asked.
func discardInput(in io.Reader) {
	if f, ok := in.(*os.File); ok {
		_ = windows.FlushConsoleInputBuffer(windows.Handle(f.Fd()))
	}
}
