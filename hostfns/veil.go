package hostfns

import (
	"maps"
	"sync"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/policy"
	"github.com/wexec/wexec/privacy"
)

// veil keeps personal data from the program: what comes in is replaced by
// tokens, what goes to a tool that may know is revealed. The nil veil changes
// nothing.
type veil struct {
	vault *privacy.Vault
	pii   policy.PII

	mu     sync.Mutex
	counts map[string]int
}

// veilFor is the veil of a run: its session's where it has one. Token numbers
// that stand in what the run was given are never handed out anew.
func (t *Table) veilFor(s *Session, start audit.Start) (*veil, error) {
	pii := t.pii()
	if t.policy == nil { // nothing can come in
		return nil, nil
	}
	if pii.Mode == privacy.Off && len(pii.Tools) == 0 {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.vault == nil {
		t.detecting.Do(func() { t.detector, t.noDetector = privacy.NewDetector(pii.Config) })
		if t.noDetector != nil {
			return nil, t.noDetector
		}
		s.vault = privacy.NewVault(t.detector)
	}
	// What the agent wrote itself it may see again; what came by standard input
	// is somebody's data, with tokens that may be of another run.
	own := append([]string{string(start.Code), string(start.Args)}, start.Argv...)
	s.vault.Reserve(append(own, string(start.Input))...)
	s.vault.Own(own...)
	return &veil{vault: s.vault, pii: pii, counts: map[string]int{}}, nil
}

// reveal gives a document its values back.
func (v *veil) reveal(doc []byte) ([]byte, error) {
	if v == nil {
		return doc, nil
	}
	return v.vault.RevealJSON(doc)
}

// reveals reports whether a tool gets values for tokens.
func (v *veil) reveals(tool string) bool { return v != nil && v.pii.Reveals(tool) }

// cover replaces personal data in an answer.
func (v *veil) cover(a *Answer, tool string) (privacy.Counts, privacy.Mode, error) {
	if v == nil {
		return privacy.Counts{}, privacy.Off, nil
	}
	mode := v.pii.ModeOf(tool)
	if mode == privacy.Off {
		return privacy.Counts{}, mode, nil
	}
	var counts privacy.Counts
	var err error
	switch a.Kind {
	case JSON, Content:
		a.Data, counts, err = v.vault.JSON(a.Data, mode)
	case Text:
		var s string
		s, counts, err = v.vault.Text(string(a.Data), mode)
		a.Data = []byte(s)
	}
	v.add(counts)
	return counts, mode, err
}

// words covers what a tool says in an error. Words that are to be blocked are
// left out.
func (v *veil) words(s, tool string) string {
	if v == nil || s == "" {
		return s
	}
	mode := v.pii.ModeOf(tool)
	if mode == privacy.Off {
		return s
	}
	out, counts, err := v.vault.Text(s, mode)
	v.add(counts)
	if err != nil {
		return "[blocked: personal data]"
	}
	return out
}

// text replaces personal data in text that leaves for the agent. Text that is
// to be blocked is left out.
func (v *veil) text(s string) (string, privacy.Counts) {
	if v == nil || v.pii.Mode == privacy.Off {
		return s, privacy.Counts{}
	}
	out, counts, err := v.vault.Egress(s, v.pii.Mode)
	v.add(counts)
	if err != nil {
		return "[blocked: personal data]", counts
	}
	return out, counts
}

// plain replaces personal data in text that is shown beside the program: in
// progress, records and questions. It hands out no token, so that their numbers
// depend on what the program does and not on when somebody is told.
func (v *veil) plain(s string) string {
	if v == nil || s == "" || v.pii.Mode == privacy.Off {
		return s
	}
	out, counts, err := v.vault.Known(s, v.pii.Mode)
	v.add(counts)
	if err != nil {
		return "[blocked: personal data]"
	}
	return out
}

// redacted is text for good, without tokens: it may be asked for out of turn.
func (v *veil) redacted(s string) string {
	if v == nil || v.pii.Mode == privacy.Off {
		return s
	}
	out, counts, err := v.vault.Egress(s, privacy.Redact)
	v.add(counts)
	if err != nil {
		return "[blocked: personal data]"
	}
	return out
}

func (v *veil) add(counts privacy.Counts) {
	if len(counts.Kinds) == 0 {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for k, n := range counts.Kinds {
		v.counts[string(k)] += n
	}
}

// found is the mode and the counts so far.
func (v *veil) found() (string, map[string]int) {
	if v == nil {
		return "", nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return string(v.pii.Mode), maps.Clone(v.counts)
}
