package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/wexec/wexec/engine/internal/world"
	"github.com/wexec/wexec/fault"
)

// keyVersion changes when results of the same program may differ from those of
// an earlier version of wexec.
const keyVersion = "wexec result key 2"

// cacheable reports whether the result cache concerns the request.
func (j *job) cacheable() bool {
	r := &j.req
	if !r.Deterministic && len(j.table.Servers()) == 0 {
		return false // it has no calls, so no rule allows to reuse them
	}
	return j.e.results.entries.Max() > 0 && (r.Cache == nil || *r.Cache) && r.Session == "" && r.Plugin == "" &&
		r.Packages == "" && r.Workspace == nil && !r.DryRun && !r.Check
}

// streams reports whether standard input is a stream, which the key does not
// cover: a program that reads it is not cached.
func (j *job) streams() bool { return j.req.Stdin != nil && j.req.Input == nil }

// resultKey returns everything that the value depends on. Tools are covered by
// the digests of what their servers last listed, in this process or an earlier
// one. An unknown server makes another key than a known one.
func (j *job) resultKey() (resultKey, error) {
	r := &j.req
	var failed error
	marshal := func(v any) []byte {
		data, err := json.Marshal(v)
		failed = cmp.Or(failed, err)
		return data
	}
	var seed [9]byte
	if r.Deterministic {
		seed[0] = 1
		binary.BigEndian.PutUint64(seed[1:], r.Seed)
	}
	if j.streams() {
		seed[0] |= 2
	}
	h, length := sha256.New(), make([]byte, 8)
	for _, part := range [][]byte{
		[]byte(keyVersion), []byte(r.Language), []byte(r.Code), []byte(r.File), r.Args, []byte(strings.Join(r.Argv, "\x00")),
		r.Input, marshal(j.world.Environment().Variables), marshal(j.world.Environment().Has(world.OfferGranted)), []byte(r.Root), []byte(r.Dir), []byte(j.res.Provenance.Guest),
		[]byte(j.e.guests.CompilerDigest(r.Language)), []byte(j.res.Provenance.Policy), marshal(j.listed()), marshal(j.limits), seed[:],
		[]byte(r.Actor.ID), []byte(r.Actor.Type), []byte(j.table.Packages().Digest()), []byte(strings.Join(j.table.Servers(), "\x00")),
	} {
		binary.BigEndian.PutUint64(length, uint64(len(part)))
		h.Write(length)
		h.Write(part)
	}
	return resultKey{j.table, hex.EncodeToString(h.Sum(nil))}, failed
}

// listed returns the digests of the tools of each server that is known, and of
// the pins.
func (j *job) listed() map[string]string {
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

// fromCache answers the job from the result cache if possible.
func (j *job) fromCache(ctx context.Context) bool {
	if j.log != nil || !j.cacheable() {
		return false
	}
	key, err := j.resultKey()
	if err != nil {
		return false
	}
	j.res.Cache = "miss"
	e, hit, release := j.e.results.find(ctx, key, j.req.Root, j.req.Deterministic)
	j.caching.key, j.caching.release = key, release
	if !hit {
		return false
	}
	j.res.Cache = "hit"
	j.res.Value = slices.Clone(e.Value)
	j.res.Stdout, j.res.Stderr = e.Stdout, e.Stderr
	j.writeOutput("stdout", e.Stdout, j.req.Output.Stdout)
	j.writeOutput("stderr", e.Stderr, j.req.Output.Stderr)
	return true
}

// writeOutput passes on output that came from the cache.
func (j *job) writeOutput(stream, text string, to io.Writer) {
	if text == "" {
		return
	}
	if to != nil {
		_, _ = io.WriteString(to, text)
	}
	j.event(Event{Type: EventOutput, Stream: stream, Text: text})
}

// store puts the result into the cache if the same result is certain next time.
// Reusable says how long the calls may be reused: 0 if one may not, and below 0
// without calls.
func (j *job) store(reusable time.Duration) {
	if j.res.Cache != "miss" {
		return
	}
	if j.fault != nil && transient(j.fault.Code) {
		return // the next run may succeed
	}
	files, certain := j.caching.files.digests()
	certain = certain && j.fault == nil && j.guestErr == nil && reusable != 0
	if j.streams() && (j.host == nil || j.host.ReadStdin) {
		certain = false
	}
	if !j.req.Deterministic {
		certain = certain && reusable > 0 && !j.caching.chance && len(files) == 0
	}
	if !certain {
		j.e.results.refuse(j.caching.key)
		return
	}
	entry := resultEntry{Value: j.res.Value, Stdout: j.res.Stdout, Stderr: j.res.Stderr,
		Tools: j.res.Provenance.Tools, Files: files}
	if reusable > 0 {
		entry.Expires = time.Now().Add(reusable)
	}
	key, err := j.resultKey()
	if err != nil {
		key = j.caching.key
	}
	if key != j.caching.key {
		// The run has listed servers that were unknown when it began. Runs that
		// wait for it look for the earlier key.
		j.e.results.entries.Put(j.caching.key, entry, entry.size())
	}
	j.e.results.put(key, entry)
}

// transient reports whether a fault comes from the caller or the machine, and
// not from the program.
func transient(code fault.Code) bool {
	return code == fault.LimitTime || code == fault.LimitBusy ||
		code.Class() == fault.ClassCancelled || code.Class() == fault.ClassInternal
}
