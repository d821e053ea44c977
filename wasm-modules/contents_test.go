package wasmmodules

import (
	"reflect"
	"strings"
	"testing"
)

func TestContentsAreThoseOfTheManifest(t *testing.T) {
	m, err := Committed()
	if err != nil {
		t.Fatal(err)
	}
	if want := string(m.Contents()); contentsText != want {
		t.Errorf("contents.txt is not what the baker writes:\n%s", want)
	}
	got, err := parseContents(contentsText)
	if err != nil || len(got) != len(m.Guests) {
		t.Fatalf("%d guests, %v", len(got), err)
	}
	for i, e := range m.Guests {
		want := contents{Name: e.Name, Version: e.Version, Library: e.Library, Artefacts: map[string]Artefact{}}
		for kind, a := range e.Artefacts {
			a.Packed = Digested{}
			want.Artefacts[kind] = a
		}
		if !reflect.DeepEqual(got[i], want) {
			t.Errorf("%+v is read, and %+v written", got[i], want)
		}
	}
}

func TestContentsThatAreNoneAreRefused(t *testing.T) {
	for _, text := range []string{"guest a", "guest a 1 b c", "code 1 00 a.zst", "guest a 1\ncode x 00 a", "guest a 1\ncode -1 00 a",
		"guest a 1\ncode " + strings.Repeat("9", 30) + " 00 a", "guest a 1\n\ncode 1 00 a"} {
		if got, err := parseContents(text); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}
