package privacy

import (
	"testing"
)

// found lists what a detector finds in a text, kind and value.
func found(t *testing.T, c Config, text string) []string {
	t.Helper()
	d, err := NewDetector(c)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, f := range d.Scan([]byte(text)) {
		all = append(all, string(f.Kind)+" "+text[f.Start:f.End])
	}
	return all
}

func TestFindingsHaveTheirPlace(t *testing.T) {
	d, err := NewDetector(Config{})
	if err != nil {
		t.Fatal(err)
	}
	text := "line one\nmail bob@example.org now"
	got := d.Scan([]byte(text))
	if len(got) != 1 || got[0].Line != 2 || got[0].Column != 6 || text[got[0].Start:got[0].End] != "bob@example.org" {
		t.Fatalf("found %+v", got)
	}
}
