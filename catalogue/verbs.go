package catalogue

import (
	"cmp"
	"slices"
	"sync"
)

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

// deed is what a tool does, by the verb in its name, or what a query asks for.
type deed uint8

const (
	unsaid deed = iota
	reads
	creates
	changes
	removes
)

// deeds are verbs, stemmed. Those that are nouns as often, such as post and
// record, are among the imperatives.
var deeds, imperatives = deedsOf(map[deed]string{
	reads:   "get list show read view fetch find search query count retrieve lookup describe inspect browse display see look explain check analyze download export which what how",
	creates: "create add make insert new generate upload send write append register import submit publish",
	changes: "update edit modify change set rename replace patch alter move mark assign raise lower",
	removes: "delete remove drop destroy purge erase discard unassign uninstall",
}), deedsOf(map[deed]string{
	creates: "post file record start book schedule open build set",
	changes: "close tick put resolve enable disable turn connect link tag label finish complete reopen pause",
	removes: "cancel clear clean archive",
})

func deedsOf(verbs map[deed]string) func() map[string]deed {
	return sync.OnceValue(func() map[string]deed {
		out := map[string]deed{}
		for of, list := range verbs {
			for _, verb := range stems(list) {
				out[verb] = of
			}
		}
		return out
	})
}

// deedOf returns what the first verb among words says.
func deedOf(words []string) deed {
	for _, w := range words {
		if d := deeds()[stem(w)]; d != unsaid {
			return d
		}
	}
	return unsaid
}

// askedDeed returns what a query asks for. A sentence says it with its first
// word. Without a verb there, as in "columns of a table", it asks for things to
// read. Keywords have the verb anywhere.
func askedDeed(words []string) deed {
	asked := words
	for len(asked) > 0 && slices.Contains(polite, asked[0]) {
		asked = asked[1:]
	}
	if !slices.ContainsFunc(asked, func(w string) bool { return stop[w] }) {
		return cmp.Or(deedOf(asked), reads)
	}
	first := asked[0]
	if d := deedOf(asked[:1]); d != unsaid {
		return d
	}
	if len(asked) > 1 && slices.Contains(determiners, asked[1]) {
		return imperatives()[stem(first)]
	}
	if len(asked) > 1 && isVerb(first) {
		return unsaid
	}
	return reads
}

var (
	polite      = []string{"please", "can", "could", "would", "you", "i", "we", "want", "need", "to", "like", "let", "us"}
	determiners = []string{"a", "an", "the", "my", "our", "this", "that", "these", "it", "me", "some", "all"}
)
