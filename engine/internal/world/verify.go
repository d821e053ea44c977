package world

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/text"
)

// Verify compares the end of the replay with the recorded one.
func (r *Recorded) Verify(end *audit.End, failure *fault.Error, missing func() (audit.Call, bool)) (*audit.End, *fault.Error) {
	if f := r.difference(end, failure, missing); f != nil {
		return nil, f
	}
	return &r.rec.End, nil
}

// difference returns the first difference between a replay and its record.
func (r *Recorded) difference(end *audit.End, failure *fault.Error, missing func() (audit.Call, bool)) *fault.Error {
	if failure != nil && (failure.Code == fault.UsageAudit || failure.Code.Class() == fault.ClassCancelled) {
		return failure
	}
	if call, ok := missing(); ok {
		return fault.New(fault.UsageAudit, "the replay did not make call %d of %s, which is in the record", call.Call, call.Tool)
	}
	if r.next < len(r.files) {
		op := &r.files[r.next]
		return fault.New(fault.UsageAudit, "the replay did not repeat file operation %d of the record, %s of /%s", r.next+1, op.Op, op.Path)
	}
	rec := &r.rec.End
	same := func(now, then string) bool { return now == then }
	if r.Environment().Has(OfferPII) {
		same = func(now, then string) bool { return now == then || matchesTokens(now, then) }
	}
	switch {
	case end.Status != rec.Status:
		return differs("status", end.Status+" "+end.Code, rec.Status+" "+rec.Code)
	case end.Code != rec.Code || end.Exit != rec.Exit:
		return differs("error", end.Code, rec.Code)
	case !same(end.Message, rec.Message):
		return differs("message", text.Clip(end.Message, 200), text.Clip(rec.Message, 200))
	}
	for _, t := range []struct{ what, now, then string }{
		{"value", string(end.Value), string(rec.Value)}, {"output", string(end.Stdout), string(rec.Stdout)},
		{"error output", string(end.Stderr), string(rec.Stderr)},
	} {
		if !same(t.now, t.then) {
			at := firstDifference(t.now, t.then)
			return differs(t.what, excerpt(t.now, at), excerpt(t.then, at))
		}
	}
	switch {
	case !slices.Equal(end.Order, rec.Order):
		return differs("order of answers", numbers(end.Order), numbers(rec.Order))
	case end.Usage.Fuel != rec.Usage.Fuel:
		f := differs("use of fuel", fmt.Sprint(end.Usage.Fuel), fmt.Sprint(rec.Usage.Fuel))
		if r.guest != r.rec.Start.GuestSHA256 {
			return f.WithHint("the interpreter is another build than the recorded one, and costs differ between builds")
		}
		return f
	}
	return nil
}

func differs(what, now, then string) *fault.Error {
	return fault.New(fault.UsageAudit, "the replay has another %s: %s, but the record has %s", what, now, then)
}

// token matches what stands for personal data, such as [EMAIL_1].
var token = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[[A-Z0-9_]{2,}\]`) })

// matchesTokens reports whether a text is what tokens stand for in another one:
// it has the same text in the same order around them, and something in the
// place of each.
func matchesTokens(s, tokens string) bool {
	parts := token().Split(tokens, -1)
	rest, ok := strings.CutPrefix(s, parts[0])
	if !ok || len(parts) == 1 {
		return ok && rest == ""
	}
	for _, part := range parts[1 : len(parts)-1] {
		if rest == "" {
			return false
		}
		at := strings.Index(rest[1:], part)
		if at < 0 {
			return false
		}
		rest = rest[1+at+len(part):]
	}
	last := parts[len(parts)-1]
	return len(rest) > len(last) && strings.HasSuffix(rest, last)
}

// firstDifference returns the first byte at which two texts differ.
func firstDifference(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// excerpt returns the part of a text around a place.
func excerpt(s string, at int) string {
	if s == "" {
		return "none"
	}
	from := max(0, at-30)
	out := text.Clip(s[from:], 100)
	if from > 0 {
		out = text.Ellipsis + out
	}
	return out
}

func numbers(list []uint64) string { return text.Clip(strings.Trim(fmt.Sprint(list), "[]"), 100) }
