package privacy

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/wexec/wexec/fault"
)

// A vault that slept gives every value the token that it had, knows the values that
// the agent wrote, and issues no number twice.
func TestAVaultGoesOnAfterItSlept(t *testing.T) {
	d, err := NewDetector(Config{})
	if err != nil {
		t.Fatal(err)
	}
	awake := NewVault(d)
	awake.Exempt("write to agent@example.com")
	awake.Reserve("[EMAIL_3]")
	first := "ada@example.com and grace@example.com, card 4111 1111 1111 1111"
	before, _, err := awake.Text(first, Tokenize)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := json.Marshal(awake.State())
	if err != nil {
		t.Fatal(err)
	}
	var state VaultState
	if err := json.Unmarshal(encoded, &state); err != nil {
		t.Fatal(err)
	}
	woken, err := RestoreVault(d, &state)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{first, "new@example.com", "agent@example.com", "last@example.com"} {
		a, _, _ := awake.Text(text, Tokenize)
		b, _, _ := woken.Text(text, Tokenize)
		if a != b {
			t.Errorf("%q becomes %q, and %q after sleep", text, a, b)
		}
		a, _, _ = awake.Egress(text, Tokenize)
		if b, _, _ = woken.Egress(text, Tokenize); a != b {
			t.Errorf("%q leaves as %q, and as %q after sleep", text, a, b)
		}
	}
	if got, err := woken.Reveal(before, func(int) error { return nil }); err != nil || got != first {
		t.Errorf("revealed: %q %v", got, err)
	}
	if awake.Size() != woken.Size() || awake.Count() != woken.Count() {
		t.Errorf("%d values of %d bytes, and %d of %d after sleep", awake.Count(), awake.Size(), woken.Count(), woken.Size())
	}
}

func TestAStateOfAVaultThatLiesIsRefused(t *testing.T) {
	d, err := NewDetector(Config{})
	if err != nil {
		t.Fatal(err)
	}
	one := VaultValue{VaultToken{"EMAIL", 1}, Email, "a@example.com", "a@example.com", false}
	huge, other := one, one
	huge.Number = 1 << 40
	other.Kind = "PHONE"
	for name, s := range map[string]*VaultState{
		"twice":             {Values: []VaultValue{one, one}},
		"a huge number":     {Values: []VaultValue{huge}},
		"of another kind":   {Values: []VaultValue{other}},
		"without a kind":    {Values: []VaultValue{{}}},
		"too many":          {Values: make([]VaultValue, maxVault)},
		"too many reserved": {Reserved: make([]VaultToken, maxReserved+1)},
	} {
		if _, err := RestoreVault(d, s); !errors.Is(err, fault.UsageSession) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
