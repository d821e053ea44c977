package engine

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/wexec/wexec/fault"
)

// keyVersion changes when results of the same program may differ from those of
// an earlier version of wexec.
const keyVersion = "wexec result key 2"

// cacheable says whether the result cache concerns the request at all.
func (j *job) cacheable() bool {
	r := &j.req
	if !r.Deterministic && len(j.table.Servers()) == 0 {
		return false // no call that a rule could have marked
	}
	return j.e.results.most > 0 && (r.Cache == nil || *r.Cache) && r.Session == "" && r.Plugin == "" &&
		r.Packages == "" && !r.DryRun && !r.Check
}

// streams reports whether standard input is a stream, of which the key knows
// nothing: a program that reads it is not kept.
func (j *job) streams() bool { return j.req.Stdin != nil && j.req.Input == nil }

// key is what the answer depends on. Of the tools that is what their servers
// were last known to list, in this process or an earlier one; a server that is
// not known stands as such in the key, and makes it another than the one with
// which a program is kept that asked that server for anything.
func (j *job) key() (resultKey, bool) {
	known, err := json.Marshal(j.known())
	if err != nil {
		return resultKey{}, false
	}
	r := &j.req
	limits, err := json.Marshal(j.limits)
	if err != nil {
		return resultKey{}, false
	}
	var seed [9]byte
	if r.Deterministic {
		seed[0] = 1
		binary.BigEndian.PutUint64(seed[1:], r.Seed)
	}
	if j.streams() {
		seed[0] |= 2
	}
	env, err := json.Marshal(j.env())
	if err != nil {
		return resultKey{}, false
	}
	h := sha256.New()
	for _, part := range [][]byte{
		[]byte(keyVersion), []byte(r.Language), []byte(r.Code), []byte(r.File), r.Args, []byte(strings.Join(r.Argv, "\x00")),
		r.Input, env, []byte(r.Root), []byte(r.Dir), []byte(j.res.Provenance.Guest),
		[]byte(j.e.guests.compilerDigest(r.Language)), []byte(j.res.Provenance.Policy), known, limits, seed[:],
		[]byte(r.Actor.ID), []byte(r.Actor.Type), []byte(strings.Join(j.table.Servers(), "\x00")),
	} {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(part)))
		h.Write(n[:])
		h.Write(part)
	}
	return resultKey{j.table, hex.EncodeToString(h.Sum(nil))}, true
}

// known are the digests of the tools of each server as far as they are known,
// and of the pins.
func (j *job) known() map[string]string {
	listed, pins := j.table.Digests()
	if j.table == j.e.table {
		for server, digest := range j.e.cache.catalogue(j.table) {
			if _, ok := listed[server]; !ok {
				listed[server] = digest
			}
		}
	}
	if pins != "" {
		listed["\x00pins"] = pins
	}
	return listed
}

// cached answers the job from the result cache where that is possible.
func (j *job) cached(ctx context.Context) bool {
	if !j.cacheable() {
		return false
	}
	key, ok := j.key()
	if !ok {
		return false
	}
	j.res.Cache = "miss"
	e, hit, land := j.e.results.find(ctx, key, j.req.Root, j.req.Deterministic)
	j.cacheKey, j.land = key, land
	if !hit {
		return false
	}
	j.res.Cache = "hit"
	j.res.Value = slices.Clone(e.Value)
	j.res.Stdout, j.res.Stderr = e.Stdout, e.Stderr
	j.replayOutput("stdout", e.Stdout, j.req.Output.Stdout)
	j.replayOutput("stderr", e.Stderr, j.req.Output.Stderr)
	return true
}

func (j *job) replayOutput(stream, text string, to io.Writer) {
	if text == "" {
		return
	}
	if to != nil {
		_, _ = io.WriteString(to, text)
	}
	j.event(Event{Type: EventOutput, Stream: stream, Text: text})
}

// keep stores the result where the same answer is certain next time.
func (j *job) keep(cacheable time.Duration) {
	if j.res.Cache != "miss" {
		return
	}
	files, ok := j.seen.files()
	again := j.req.Deterministic
	var expires time.Time
	switch {
	case cacheable == 0, j.streams() && (j.run == nil || j.run.heard):
		ok = false
	case cacheable > 0:
		expires = time.Now().Add(cacheable)
		again = again || !j.chance()
	}
	if j.fault != nil && passing(j.fault.Code) {
		return // its twins may fare better
	}
	if j.fault != nil || j.guestErr != nil || !ok || !again {
		j.e.results.refuse(j.cacheKey)
		return
	}
	entry := resultEntry{
		Value: j.res.Value, Stdout: j.res.Stdout, Stderr: j.res.Stderr,
		Tools: j.res.Provenance.Tools, Expires: expires, Files: files,
	}
	if late, ok := j.key(); ok && late != j.cacheKey {
		// The run has listed what was not known when it began. Twins that wait
		// look under the key that they began with.
		j.e.results.keep(late, entry)
		j.e.results.remember(j.cacheKey, entry)
		return
	}
	j.e.results.keep(j.cacheKey, entry)
}

// passing reports whether a fault is the caller's or the machine's doing, and
// not the program's.
func passing(code fault.Code) bool {
	switch code {
	case fault.LimitTime, fault.LimitBusy:
		return true
	}
	switch code.Class() {
	case fault.ClassCancelled, fault.ClassInternal:
		return true
	}
	return false
}

// chancy are words without which a program cannot ask for the time or for
// chance, by language, and those with which it could reach them by other names.
func chancy(language string) []string {
	if language == Python {
		return []string{"random", "uuid", "secret", "time", "date", "clock", "hash", "id(", "shuffle", "import", "eval", "exec",
			"attr", "globals", "locals", "vars", "builtins", "__", "sys", "tempfile", "threading", "open("}
	}
	return []string{"Math", "Date", "crypto", "performance", "Temporal", "global", "this", "constructor", "Reflect", "eval",
		"Function", "import", "prototype", "proto", "self", "time", "File", "FormData", "Event", `\u`}
}

// harmless are lines that a Python program may begin with all the same.
var harmless = sync.OnceValue(func() *regexp.Regexp {
	const module = `(json|re|math|asyncio|collections|itertools|functools|statistics)`
	return regexp.MustCompile(`(?m)^(from tools(\.aio)? import [\w, ]+|import ` + module + `(, *` + module + `)*)[ \t]*$`)
})

// chance reports whether the value of a run with a real clock and real entropy
// may depend on them. A run that took more random bytes than its interpreter
// does at its start does; otherwise the text of the program decides, on the
// safe side.
func (j *job) chance() bool {
	if j.run == nil || j.run.drawn > startDraws || j.seen.paths != nil {
		return true
	}
	code := harmless().ReplaceAllString(j.req.Code, "")
	if strings.ContainsFunc(code, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return true // Python takes names in other letters for the plain ones
	}
	for _, w := range chancy(j.req.Language) {
		if strings.Contains(code, w) {
			return true
		}
	}
	return false
}

// startDraws is how many random bytes an interpreter takes at its start.
const startDraws = 4096
