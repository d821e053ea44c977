package cli

import "testing"

func TestReportsOfTheGuestAreNotTrusted(t *testing.T) {
	for _, bad := range []string{``, `null`, `{}`, `[1]`, `[[]]`, `[["a"]]`, `[[1,2,"x",null,3]]`} {
		if got := parseReferences([]byte(bad)); len(got) != 0 {
			t.Errorf("%s gives %v", bad, got)
		}
	}
	if got := parseReferences([]byte(`[["a","b",3,4,true]]`)); len(got) != 1 || got[0] != (reference{"a", "b", 3, 4, true}) {
		t.Errorf("got %v", got)
	}
}
