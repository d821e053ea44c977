//go:build !(linux && (amd64 || arm64))

package snapshot

import "os"

func mapOver([]byte, *os.File, int64) bool { return false }
