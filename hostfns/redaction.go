package hostfns

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"sync"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/hostfns/internal/scrub"
	"github.com/wexec/wexec/policy"
	"github.com/wexec/wexec/privacy"
)

// maxRevealed is how much longer than its text with tokens a text with values may
// be, for the conditions of a policy and for people.
const maxRevealed = 4 << 20

// errTooLong is the error of a text whose values are longer. It does not depend on them.
var errTooLong = fmt.Errorf("the values of the tokens in the arguments are more than %d MiB longer than the tokens", maxRevealed>>20)

// redactor keeps personal data from a program: it replaces what comes in with
// tokens, and reveals tokens to tools that may have the values. A nil redactor
// changes nothing.
type redactor struct {
	vault *privacy.Vault
	pii   policy.PII

	mu      sync.Mutex
	counts  map[string]int
	charged int // of the size of the vault
	before  int // values that the vault had when the run began
}

// blocked replaces text that the policy blocks.
const blocked = "[blocked: personal data]"

// newRedactor returns the redactor of a run, with the vault of its session.
// Tokens in what the run was given are not issued again.
func newRedactor(pii policy.PII, s *Session, start audit.Start, detector func() (*privacy.Detector, error)) (*redactor, error) {
	if pii.Mode == privacy.Off && len(pii.Tools) == 0 {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.vault == nil {
		d, err := detector()
		if err != nil {
			return nil, err
		}
		if s.asleep == nil {
			s.vault = privacy.NewVault(d)
		} else if s.vault, err = privacy.RestoreVault(d, s.asleep); err != nil {
			return nil, err
		}
		s.asleep = nil
	}
	// The agent may see again what it wrote. Standard input is other people's
	// data, and its tokens may be of another run.
	written := append([]string{string(start.Code), string(start.Args)}, start.Argv...)
	s.vault.Reserve(append(written, string(start.Input))...)
	s.vault.Exempt(written...)
	return &redactor{vault: s.vault, pii: pii, counts: map[string]int{}, charged: s.vault.Size(), before: s.vault.Count()}, nil
}

// growth returns by how much the vault grew since the last call.
func (d *redactor) growth() int64 {
	if d == nil {
		return 0
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	size := d.vault.Size()
	grown := size - d.charged
	d.charged = size
	return int64(grown)
}

// off reports whether text that leaves the run is not redacted.
func (d *redactor) off() bool { return d == nil || d.pii.Mode == privacy.Off }

// reveal returns a JSON document with values instead of tokens, of which there
// are many if it repeats the token of a long value. It calls grow before it makes
// n more bytes.
func (d *redactor) reveal(doc []byte, grow func(n int) error) ([]byte, error) {
	if d == nil {
		return doc, nil
	}
	return d.vault.RevealJSON(doc, grow)
}

// revealText returns text with values instead of tokens, or as it is if grow does
// not allow it.
func (d *redactor) revealText(text string, grow func(n int) error) string {
	if d == nil {
		return text
	}
	out, err := d.vault.Reveal(text, grow)
	if err != nil {
		return text
	}
	return out
}

// reveals reports whether a tool gets values instead of tokens.
func (d *redactor) reveals(tool string) bool { return d != nil && d.pii.Reveals(tool) }

// given returns a scrubber for the values of the tokens in arguments, which a tool
// got: whatever it does with them, they do not come back. It is nil if there are
// none, or if the policy lets the program see them.
func (d *redactor) given(args []byte, tool string) *scrub.Scrubber {
	if mode := d.pii.ModeOf(tool); mode == privacy.Off || mode == privacy.Detect {
		return nil
	}
	given := &scrub.Scrubber{}
	d.vault.Tokens(args, func(tok, value string) { given.Replace(value, tok) })
	return given
}

// charger is the run that host_bytes are charged to.
type charger interface{ charge(n int64) error }

// answer redacts the answer of a tool. The run is charged for what is found. The
// result is of no use once the context or the run has ended.
func (d *redactor) answer(ctx context.Context, r charger, a *Answer, tool string) (privacy.Counts, privacy.Mode, error) {
	if d == nil {
		return privacy.Counts{}, privacy.Off, nil
	}
	mode := d.pii.ModeOf(tool)
	if mode == privacy.Off {
		return privacy.Counts{}, mode, nil
	}
	spend := func(findings int) error { return cmp.Or(ctx.Err(), r.charge(findingCost*int64(findings))) }
	var counts privacy.Counts
	var err error
	switch a.Kind {
	case JSON, Content:
		a.Data, counts, err = d.vault.JSONWithin(a.Data, mode, spend)
	case Text:
		var s string
		s, counts, err = d.vault.TextWithin(string(a.Data), mode, spend)
		a.Data = []byte(s)
	}
	d.add(counts)
	return counts, mode, err
}

// message redacts an error in the words of a tool.
func (d *redactor) message(s, tool string) string {
	if d == nil || s == "" {
		return s
	}
	mode := d.pii.ModeOf(tool)
	if mode == privacy.Off {
		return s
	}
	out, _ := d.apply(s, mode, d.vault.Text)
	return out
}

// egress redacts text that leaves for the agent, and for the program and the
// record of a call.
func (d *redactor) egress(s string) (string, privacy.Counts) {
	if d.off() || s == "" {
		return s, privacy.Counts{}
	}
	return d.apply(s, d.pii.Mode, d.vault.Egress)
}

// display redacts text in progress, records and questions. It issues no tokens,
// so that their numbers do not depend on when somebody is told.
func (d *redactor) display(s string) string {
	if d.off() || s == "" {
		return s
	}
	out, _ := d.apply(s, d.pii.Mode, d.vault.EgressKnown)
	return out
}

// remove redacts text without tokens. Calls may do so out of order.
func (d *redactor) remove(s string) string {
	if d.off() {
		return s
	}
	out, _ := d.apply(s, privacy.Redact, d.vault.Egress)
	return out
}

func (d *redactor) apply(s string, mode privacy.Mode, redact func(string, privacy.Mode) (string, privacy.Counts, error)) (string, privacy.Counts) {
	out, counts, err := redact(s, mode)
	d.add(counts)
	if err != nil {
		out = blocked
	}
	return out, counts
}

func (d *redactor) add(counts privacy.Counts) {
	if len(counts.Kinds) == 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for k, n := range counts.Kinds {
		d.counts[string(k)] += n
	}
}

// found returns the mode, and the counts so far.
func (d *redactor) found() (string, map[string]int) {
	if d == nil {
		return "", nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return string(d.pii.Mode), maps.Clone(d.counts)
}

// reissue gives the tokens in the answer of a [Keeper] their values in the vault of the
// run.
func (d *redactor) reissue(ctx context.Context, r charger, detector func() (*privacy.Detector, error), a *Answer, tool string) (privacy.Counts, privacy.Mode, error) {
	if a.Kind == Bytes || d == nil && len(a.Issued) == 0 {
		return privacy.Counts{}, privacy.Off, nil
	}
	mode := privacy.Off
	var vault *privacy.Vault
	if d != nil {
		vault, mode = d.vault, d.pii.ModeOf(tool)
	} else {
		found, err := detector()
		if err != nil {
			return privacy.Counts{}, mode, err
		}
		vault = privacy.NewVault(found)
	}
	grow := func(n int) error { return cmp.Or(context.Cause(ctx), r.charge(int64(n))) }
	data, counts, err := vault.Reissue(a.Data, a.Kind != Text, a.Issued, mode, grow)
	if err == nil {
		a.Data, a.Issued = data, nil
	}
	if d != nil {
		d.add(counts)
	}
	return counts, mode, err
}
