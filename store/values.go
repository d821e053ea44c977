package store

import (
	"strconv"
	"strings"
	"time"
)

// maxWords bounds the text of a run that searches see, and maxSearched the
// words of a search.
const (
	maxWords    = 32 << 10
	maxSearched = 16
)

// likeText escapes what has a meaning in LIKE.
var likeText = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// placeholder returns the name of an argument of a query.
func placeholder(n int) string { return "$" + strconv.Itoa(n) }

// clean returns text as every database can keep it: valid UTF-8 without NUL.
func clean(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

// cleaned returns arguments of a query with clean texts. Otherwise a NUL that a
// client sends would be an error of the database.
func cleaned(args []any) []any {
	for i, arg := range args {
		if text, ok := arg.(string); ok {
			args[i] = clean(text)
		}
	}
	return args
}

// words returns what searches see: the beginning of texts in lower case.
func words(texts ...string) string {
	var b strings.Builder
	for _, text := range texts {
		if text == "" || b.Len() >= maxWords {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(text[:min(len(text), maxWords-b.Len())])
	}
	return strings.ToLower(b.String())
}

// notNil returns data for a column that is never NULL.
func notNil(data []byte) []byte {
	if data == nil {
		return []byte{}
	}
	return data
}

// bit returns how a boolean is stored.
func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// timeOf returns a stored time; 0 is the zero time.
func timeOf(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}

// microsOf returns how a time is stored.
func microsOf(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}
