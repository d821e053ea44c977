package policy

import (
	"slices"

	"github.com/wexec/wexec/catalogue"
)

// destroying are words for taking something away for good.
var destroying = []string{
	"archive", "ban", "cancel", "clear", "close", "delete", "deactivate", "destroy", "disable", "discard", "drop", "erase",
	"expire", "kick", "kill", "overwrite", "prune", "purge", "remove", "reset", "revoke", "rm", "terminate", "truncate", "uninstall", "unpublish", "wipe",
}

// writing are words for changing something.
var writing = []string{
	"add", "append", "apply", "approve", "assign", "book", "buy", "charge", "commit", "copy", "create", "deploy", "edit", "execute",
	"fork", "grant", "import", "insert", "install", "invite", "merge", "modify", "move", "patch", "pay", "post", "publish", "push",
	"put", "refund", "rename", "replace", "reply", "restart", "run", "save", "schedule", "send", "set", "share", "start", "stop",
	"submit", "sync", "transfer", "trigger", "update", "upload", "upsert", "write",
}

// destroys reports whether the name of a tool sounds as if it takes something
// away.
func destroys(name string) bool { return hasWord(name, destroying) }

// changes reports whether the name of a tool sounds as if it changes anything.
func changes(name string) bool {
	return destroys(name) || hasWord(name, writing) && !getsOnly(name)
}

// getsOnly reports whether a name says that something is got and nothing more:
// the commit of get_commit is no verb, the create of get_or_create_user is one.
func getsOnly(name string) bool {
	words := catalogue.Words(name)
	return len(words) > 1 && slices.Contains([]string{"get", "list", "show", "describe", "count", "view"}, words[0]) &&
		!slices.Contains(words, "and") && !slices.Contains(words, "or") && slices.IndexFunc(words, isWriting) == len(words)-1
}

func isWriting(word string) bool { return slices.Contains(writing, word) }

func hasWord(name string, words []string) bool {
	return slices.ContainsFunc(catalogue.Words(name), func(w string) bool { return slices.Contains(words, w) })
}
