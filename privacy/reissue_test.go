package privacy

import (
	"strings"
	"testing"
)

func free(int) error { return nil }

func TestATextThatWasKeptHasTheReadersTokens(t *testing.T) {
	d, err := NewDetector(Config{})
	if err != nil {
		t.Fatal(err)
	}
	writer, reader := NewVault(d), NewVault(d)
	covered, _, err := writer.Text("Write to ada@example.org, bob@example.org and call +1 415 555 2671.", Tokenize)
	if err != nil || strings.Contains(covered, "@") {
		t.Fatal(covered, err)
	}
	kept := covered + " [EMAIL_7] [~EMAIL_1] %5BEMAIL_2%5D %5BEMAIL_9%5D eve@example.org [EMAIL_1]"
	if _, _, err := reader.Text("first zed@example.org", Tokenize); err != nil {
		t.Fatal(err)
	}
	cover := Restored(d, writer.Issued(writer.Count(), []byte(kept)))
	text, err := cover.Cover(kept, true, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := covered + " [~EMAIL_7] [~EMAIL_1] %5BEMAIL_2%5D %5B~EMAIL_9%5D [EMAIL_3] [EMAIL_1]"; text != want {
		t.Errorf("covered: %s, want %s", text, want)
	}
	values := cover.Issued(cover.Count(), []byte(text))
	got, counts, err := reader.Reissue([]byte(text), false, values, "", free)
	if err != nil || counts.Kinds[Email] != 3 {
		t.Fatal(err, counts)
	}
	revealed, err := reader.Reveal(string(got), free)
	if err != nil || !strings.HasPrefix(revealed, "Write to ada@example.org, bob@example.org and call +1 415 555 2671. [EMAIL_7] [EMAIL_1] bob%40example.org") || !strings.HasSuffix(revealed, "eve@example.org ada@example.org") {
		t.Errorf("%s reveals %s", got, revealed)
	}
	if strings.Contains(string(got), "[EMAIL_1]") {
		t.Errorf("%s has the token of another value", got)
	}
	for mode, want := range map[Mode]string{Off: "ada@example.org", Detect: "ada@example.org", Redact: "[EMAIL]", Tokenize: "[EMAIL_1]", Partial: "[EMAIL_1:example.org]"} {
		got, _, err := NewVault(d).Reissue([]byte(`{"a":"[EMAIL_1]","b":"[EMAIL_5]"}`), true, values[:1], mode, free)
		if want := `{"a":"` + want + `","b":"[~EMAIL_5]"}`; err != nil || string(got) != want {
			t.Errorf("%s: %s, %v, want %s", mode, got, err, want)
		}
	}
	if _, _, err := NewVault(d).Reissue([]byte(`{}`), true, values, Block, free); err == nil {
		t.Error("the mode block lets values through")
	}
}

// A value may have tokens of the same vault.
func TestValuesWithTokensAreReissued(t *testing.T) {
	d, err := NewDetector(Config{Lists: map[string][]string{"project": {"Apollo"}}})
	if err != nil {
		t.Fatal(err)
	}
	inner := []Issued{{Token: "[EMAIL_1]", Kind: Email, Value: "ada@example.org"}, {Token: "[NAME_4]", Kind: Name, Value: "Ada <[EMAIL_1]>"}}
	v := NewVault(d)
	got, _, err := v.Reissue([]byte(`["[NAME_4]"]`), true, inner, Tokenize, free)
	if err != nil || string(got) != `["[NAME_1]"]` {
		t.Fatal(string(got), err)
	}
	if revealed, err := v.RevealJSON(got, free); err != nil || string(revealed) != `["Ada <ada@example.org>"]` {
		t.Error(string(revealed), err)
	}
}
