//go:build !unix

package snapshot

import "io/fs"

// ownedAlone holds where permissions are not in the mode: the folder's own
// access list decides who may write there.
func ownedAlone(fs.FileInfo) bool { return true }
