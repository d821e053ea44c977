package cli

import (
	"reflect"
	"strings"
	"testing"
)

func TestReportsOfTheGuestAreNotTrusted(t *testing.T) {
	for _, bad := range []string{``, `null`, `{}`, `[1]`, `[[]]`, `[["a"]]`, `[[1,2,"x",null,3]]`, `[["a","b",1.5,1,true,{}]]`,
		`[["a","b",-1,1,true,{}]]`, `[["a","b",1,-1,true,{}]]`, `[["a","b",1e30,1,true,{}]]`, `[["","b",1,1,true,{}]]`} {
		if got := parseReferences([]byte(bad)); len(got) != 0 {
			t.Errorf("%s gives %v", bad, got)
		}
	}
	for row, want := range map[string]reference{
		`["a","b",3,4,true,{}]`:    {"a", "b", 3, 4, true, []byte("{}")},
		`["a","b",3,4,false,null]`: {"a", "b", 3, 4, false, nil},
		`["a","b",3,4,true]`:       {"a", "b", 3, 4, true, nil},
	} {
		if got := parseReferences([]byte("[" + row + "]")); len(got) != 1 || !reflect.DeepEqual(got[0], want) {
			t.Errorf("%s gives %v", row, got)
		}
	}
	many := "[" + strings.Repeat(`["a","b",3,4,true,{}],`, maxReferences) + `["c","d",3,4,true,{}]]`
	if got := parseReferences([]byte(many)); len(got) != maxReferences {
		t.Errorf("%d rows were read", len(got))
	}
}

func FuzzParseReferences(f *testing.F) {
	f.Add([]byte(`[["github","list_commits",3,4,true,{"fields":{"limit":"5"},"open":true}],["a","b",1,1,false,null]]`))
	f.Add([]byte(`[["a","b",1,1,true,[1,{}]],[1,2,"x",null,3],[]]`))
	f.Fuzz(func(t *testing.T, report []byte) {
		refs := parseReferences(report)
		if len(refs) > maxReferences {
			t.Fatalf("%d rows", len(refs))
		}
		for _, r := range refs {
			if r.server == "" || r.tool == "" || r.line < 1 || r.column < 0 {
				t.Fatalf("%+v", r)
			}
		}
	})
}
