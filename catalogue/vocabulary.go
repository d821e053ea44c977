package catalogue

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// stop holds words that say nothing about a tool.
var stop = map[string]bool{
	"a": true, "an": true, "and": true, "are": true, "as": true, "at": true, "be": true, "by": true, "can": true,
	"do": true, "does": true, "for": true, "from": true, "given": true, "how": true, "i": true, "if": true,
	"in": true, "into": true, "is": true, "it": true, "its": true, "me": true, "my": true, "of": true, "on": true,
	"or": true, "our": true, "please": true, "so": true, "some": true, "that": true, "the": true, "their": true,
	"them": true, "then": true, "there": true, "these": true, "this": true, "to": true, "tool": true, "us": true,
	"use": true, "using": true, "want": true, "was": true, "we": true, "were": true, "which": true, "will": true,
	"with": true, "you": true, "your": true, "need": true, "would": true, "like": true, "all": true, "any": true,
	"what": true, "who": true,
}

// alike holds groups of words, stemmed, that people use for one another when
// they speak of tools. A pair of words stands for an abbreviation.
var alike = [][]string{
	{"creat", "add", "new", "make", "insert", "open", "register", "generat"},
	{"list", "fetch", "get", "show", "enumerat", "retriev", "read", "view", "display", "load", "brows"},
	{"search", "find", "query", "lookup", "locat", "grep", "match", "filter"},
	{"delet", "remov", "drop", "destroy", "eras", "purg", "trash"},
	{"updat", "edit", "modify", "chang", "patch", "set", "alter", "revis", "renam"},
	{"send", "post", "deliver", "publish", "submit", "dispatch", "notify", "messag"},
	{"write", "sav", "stor", "put", "upload"},
	{"download", "export", "pull", "fetch"},
	{"upload", "import", "push", "attach"},
	{"run", "execut", "start", "launch", "invok", "trigger", "call"},
	{"stop", "cancel", "abort", "kill", "terminat", "halt", "shutdown"},
	{"clos", "resolv", "finish", "complet", "done"},
	{"pr", "pull request", "merge request", "mr"},
	{"repo", "repository", "project"},
	{"directory", "folder", "dir"},
	{"file", "document", "doc"},
	{"mail", "email", "e mail", "message"},
	{"chat", "messag", "slack", "dm", "conversation"},
	{"channel", "room"},
	{"issu", "ticket", "bug", "task", "story"},
	{"user", "person", "people", "member", "account", "contact", "customer"},
	{"customer", "client", "contact", "crm", "lead"},
	{"db", "databas", "sql", "tabl"},
	{"row", "record", "entry"},
	{"calendar", "meet", "event", "appointment", "schedul"},
	{"time", "clock", "hour", "date"},
	{"memory", "knowledg", "remember", "recall", "graph"},
	{"picture", "imag", "photo", "screenshot", "thumbnail"},
	{"url", "link", "web", "page", "site", "website", "http"},
	{"invoic", "bill", "receipt"},
	{"pay", "charg", "payment", "refund"},
	{"commit", "chang", "revision", "history", "log"},
	{"author", "contributor", "committer"},
	{"deploy", "release", "rollout", "ship"},
	{"log", "trac", "event"},
	{"metric", "stat", "statistic", "measur", "usag"},
	{"mov", "renam", "transfer", "relocat"},
	{"copy", "duplicat", "clon"},
	{"comment", "reply", "respond", "answer", "note"},
	{"assign", "owner", "respons"},
	{"label", "tag", "category"},
	{"translat", "language", "locale"},
	{"summar", "summary", "digest", "abstract"},
	{"subscrib", "watch", "follow"},
	{"weather", "forecast", "temperatur"},
	{"map", "rout", "direction", "geocod", "locat", "place", "addres"},
	{"number", "count", "amount", "total", "sum"},
	{"branch", "ref"},
	{"environment", "env", "variabl"},
	{"secret", "password", "credential", "key"},
	{"pod", "container", "kubernet", "cluster"},
	{"think", "reason", "thought", "plan"},
	{"echo", "repeat", "ping"},
}

// synonyms lists the words that may stand for a stemmed word or pair of words.
func synonyms(w string) []string {
	var out []string
	for _, group := range alike {
		if !slices.Contains(group, w) {
			continue
		}
		for _, other := range group {
			if other != w && !strings.Contains(other, " ") {
				out = append(out, other)
			}
		}
	}
	return out
}

// suffixes that English puts on a word, longest first, with what is left.
var suffixes = []struct{ from, to string }{
	{"ations", "at"}, {"ation", "at"}, {"ements", "e"}, {"ement", "e"}, {"ingly", ""}, {"edly", ""},
	{"iness", "y"}, {"ions", ""}, {"ies", "y"}, {"ied", "y"}, {"ing", ""}, {"ion", ""}, {"ers", ""},
	{"est", ""}, {"es", ""}, {"ed", ""}, {"er", ""}, {"ly", ""}, {"s", ""}, {"e", ""},
}

// stem cuts a word to what its forms have in common. It is cruder than Porter's
// and only has to agree with itself.
func stem(w string) string {
	if len(w) < 4 {
		return w
	}
	if strings.HasSuffix(w, "ss") || strings.HasSuffix(w, "us") {
		return w
	}
	for _, s := range suffixes {
		base, ok := strings.CutSuffix(w, s.from)
		if !ok || len(base) < 3 {
			continue
		}
		w = base + s.to
		break
	}
	if n := len(w); n > 3 && w[n-1] == w[n-2] && !strings.ContainsRune("aeiouls", rune(w[n-1])) {
		w = w[:n-1] // stopp, shipp
	}
	return strings.TrimSuffix(w, "e")
}

// argumentWords collects the names of a schema's properties and the words of
// their enums, three levels deep.
func argumentWords(schema json.RawMessage) []string {
	var root any
	if len(schema) == 0 || json.Unmarshal(schema, &root) != nil {
		return nil
	}
	var out []string
	var walk func(v any, depth int)
	walk = func(v any, depth int) {
		m, ok := v.(map[string]any)
		if !ok || depth > 3 || len(out) > 400 {
			return
		}
		if props, ok := m["properties"].(map[string]any); ok {
			names := make([]string, 0, len(props))
			for name := range props {
				names = append(names, name)
			}
			slices.Sort(names)
			for _, name := range names {
				out = append(out, Words(name)...)
				walk(props[name], depth+1)
			}
		}
		if enum, ok := m["enum"].([]any); ok {
			for _, e := range enum[:min(len(enum), 20)] {
				if s, ok := e.(string); ok {
					out = append(out, Words(s)...)
				}
			}
		}
		walk(m["items"], depth+1)
	}
	walk(root, 0)
	return out
}

// Summary cuts a text to its first sentences, at most n bytes, and marks a
// sentence it had to cut with an ellipsis.
func Summary(text string, n int) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= n {
		return text
	}
	cut := text[:n]
	for !utf8.ValidString(cut) {
		cut = cut[:len(cut)-1]
	}
	for _, end := range []string{". ", "! ", "? ", "; "} {
		if i := strings.LastIndex(cut, end); i >= n/3 {
			return strings.TrimRight(cut[:i+1], ";")
		}
	}
	if i := strings.LastIndexByte(cut, ' '); i > n/2 {
		cut = cut[:i]
	}
	return strings.TrimRight(cut, " ,:") + "…"
}
