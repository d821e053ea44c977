package catalogue

import "slices"

// destroyingVerbs are the words by which the name of a tool says that it
// deletes or disables something.
var destroyingVerbs = []string{
	"archive", "ban", "cancel", "clear", "close", "delete", "deactivate", "destroy", "disable", "discard", "drop", "erase",
	"expire", "kick", "kill", "overwrite", "prune", "purge", "remove", "reset", "revoke", "rm", "terminate", "truncate", "uninstall", "unpublish", "wipe",
}

// writingVerbs are the words by which the name of a tool says that it changes
// something.
var writingVerbs = []string{
	"add", "append", "apply", "approve", "assign", "book", "buy", "charge", "commit", "copy", "create", "deploy", "edit", "execute",
	"fork", "grant", "import", "insert", "install", "invite", "merge", "modify", "move", "patch", "pay", "post", "publish", "push",
	"put", "refund", "rename", "replace", "reply", "restart", "run", "save", "schedule", "send", "set", "share", "start", "stop",
	"submit", "sync", "transfer", "trigger", "update", "upload", "upsert", "write",
}

// NameDestroys reports whether the name of a tool says that it deletes or
// disables something.
func NameDestroys(name string) bool { return hasWord(Words(name), destroyingVerbs) }

// NameWrites reports whether the name of a tool says that it changes something.
func NameWrites(name string) bool {
	words := Words(name)
	return hasWord(words, destroyingVerbs) || hasWord(words, writingVerbs) && !onlyReads(words)
}

// onlyReads reports whether the one writing verb of a name is a noun: it is in
// get_commit, and it is not in get_or_create_user.
func onlyReads(words []string) bool {
	return len(words) > 1 && hasWord(words[:1], []string{"get", "list", "show", "describe", "count", "view"}) &&
		!hasWord(words, []string{"and", "or"}) &&
		slices.IndexFunc(words, func(w string) bool { return slices.Contains(writingVerbs, w) }) == len(words)-1
}

func hasWord(words, list []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(list, w) })
}
