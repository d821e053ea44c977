package wasmmodules

import (
	"strings"
	"testing"
)

func TestNamesOfGuestsArePlain(t *testing.T) {
	for name, want := range map[string]bool{
		"quickjs": true, "a": true, "a-1": true, strings.Repeat("a", 32): true,
		"": false, "1a": false, "-a": false, "A": false, "a!b": false, "a/../b": false, "ä": false, strings.Repeat("a", 33): false,
	} {
		if isPlain(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}

// What a process reads of the manifest is what the strict reader sees.
func TestContentsAreTheManifests(t *testing.T) {
	m, err := Committed()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range m.Guests {
		got, err := Open(e.Name)
		if err != nil {
			t.Fatal(err)
		}
		want, err := OpenFrom(embedded, m, e.Name)
		if err != nil {
			t.Fatal(err)
		}
		if got.Digest != want.Digest || got.Version != want.Version || got.LibraryName != want.LibraryName ||
			got.ImageSize != want.ImageSize || got.LibrarySize != want.LibrarySize {
			t.Errorf("%+v, in the manifest %+v", got, want)
		}
	}
	if _, err := Open("absent"); err == nil || !strings.Contains(err.Error(), `"absent"`) {
		t.Errorf("%v", err)
	}
}
