package hostfns

import (
	"maps"
	"sync"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/policy"
	"github.com/wexec/wexec/privacy"
)

// redactor keeps personal data from a program: it replaces what comes in with
// tokens, and reveals tokens to tools that may have the values. A nil redactor
// changes nothing.
type redactor struct {
	vault *privacy.Vault
	pii   policy.PII

	mu     sync.Mutex
	counts map[string]int
}

// blocked replaces text that the policy blocks.
const blocked = "[blocked: personal data]"

// newRedactor returns the redactor of a run, with the vault of its session.
// Tokens in what the run was given are not issued again.
func (t *Table) newRedactor(s *Session, start audit.Start) (*redactor, error) {
	pii := t.policy.PII()
	if t.policy == nil || (pii.Mode == privacy.Off && len(pii.Tools) == 0) {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.vault == nil {
		detector, err := t.detector()
		if err != nil {
			return nil, err
		}
		s.vault = privacy.NewVault(detector)
	}
	// The agent may see again what it wrote. Standard input is other people's
	// data, and its tokens may be of another run.
	written := append([]string{string(start.Code), string(start.Args)}, start.Argv...)
	s.vault.Reserve(append(written, string(start.Input))...)
	s.vault.Own(written...)
	return &redactor{vault: s.vault, pii: pii, counts: map[string]int{}}, nil
}

// off reports whether text that leaves the run is not redacted.
func (d *redactor) off() bool { return d == nil || d.pii.Mode == privacy.Off }

// reveal returns a JSON document with values in place of tokens.
func (d *redactor) reveal(doc []byte) ([]byte, error) {
	if d == nil {
		return doc, nil
	}
	return d.vault.RevealJSON(doc)
}

// reveals reports whether a tool gets values in place of tokens.
func (d *redactor) reveals(tool string) bool { return d != nil && d.pii.Reveals(tool) }

// answer redacts the answer of a tool.
func (d *redactor) answer(a *Answer, tool string) (privacy.Counts, privacy.Mode, error) {
	if d == nil {
		return privacy.Counts{}, privacy.Off, nil
	}
	mode := d.pii.ModeOf(tool)
	if mode == privacy.Off {
		return privacy.Counts{}, mode, nil
	}
	var counts privacy.Counts
	var err error
	switch a.Kind {
	case JSON, Content:
		a.Data, counts, err = d.vault.JSON(a.Data, mode)
	case Text:
		var s string
		s, counts, err = d.vault.Text(string(a.Data), mode)
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
	out, _ := d.apply(s, d.pii.Mode, d.vault.Known)
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

// Egress replaces personal data in text that leaves for the agent, and records
// it. The place is value, stdout, stderr, error or progress.
func (r *Run) Egress(place, text string) string {
	out, counts := r.redactor.egress(text)
	if len(counts.Kinds) > 0 && r.recordPrivacy(0, "", place, r.redactor.pii.Mode, counts) != nil {
		return ""
	}
	return out
}

// EgressJSON is Egress for a JSON document. It returns an error if the policy
// blocks personal data in it.
func (r *Run) EgressJSON(place string, doc []byte) ([]byte, error) {
	d := r.redactor
	if d.off() || len(doc) == 0 {
		return doc, nil
	}
	out, counts, err := d.vault.EgressJSON(doc, d.pii.Mode)
	d.add(counts)
	if len(counts.Kinds) > 0 {
		if recorded := r.recordPrivacy(0, "", place, d.pii.Mode, counts); recorded != nil {
			return nil, recorded
		}
	}
	if err != nil {
		return nil, fault.New(fault.DeniedTool, "the policy blocks personal data in the %s", place)
	}
	return out, nil
}

// Reveal returns text with values in place of tokens, for a Go host.
func (r *Run) Reveal(text string) string {
	if r.redactor == nil {
		return text
	}
	return r.redactor.vault.Reveal(text)
}

func (r *Run) recordPrivacy(call uint64, tool, place string, mode privacy.Mode, counts privacy.Counts) error {
	kinds := make(map[string]int, len(counts.Kinds))
	for k, n := range counts.Kinds {
		kinds[string(k)] = n
	}
	return r.record(audit.Event{Privacy: &audit.Privacy{Call: call, Tool: tool, Where: place, Mode: string(mode), Counts: kinds, Fields: counts.Fields}})
}
