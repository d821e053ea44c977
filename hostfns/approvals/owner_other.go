//go:build !unix

package approvals

import "io/fs"

// hasModes is false: folders have no permission bits. The user's runtime folder is
// protected by its access list.
const hasModes = false

// ownedByMe relies on that folder.
func ownedByMe(fs.FileInfo) bool { return true }
