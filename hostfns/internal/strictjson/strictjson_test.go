package strictjson

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func FuzzDecodeAgreesWithTheStandardLibrary(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5e3,"x\n\u00e4\ud83d\ude00",null,true,false,{}]}`, `{"a":1,"a":2}`, `"\ud800"`, `[1,]`, `01`, `-0`, `1e400`, "\"\xff\"", ` [ ] `, `{"":{}}`, `tru`, `"\u12"`, strings.Repeat("[", 150)} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, err := Decode(data)
		var want any
		theirs := json.Unmarshal(data, &want)
		if err == nil {
			if theirs != nil {
				t.Fatalf("%q passed: %v", data, theirs)
			}
			if !reflect.DeepEqual(doc.Value, want) {
				t.Fatalf("%q is %#v, not %#v", data, doc.Value, want)
			}
			return
		}
		if theirs == nil && !stricter(err) {
			t.Fatalf("%q was refused: %v", data, err)
		}
	})
}

// stricter reports whether an error is one of those that the standard library
// lets pass.
func stricter(err error) bool {
	for _, s := range []string{"duplicate name", "not valid UTF-8", "nested more than"} {
		if strings.Contains(err.Error(), s) {
			return true
		}
	}
	return false
}
