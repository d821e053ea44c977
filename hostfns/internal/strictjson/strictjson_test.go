package strictjson

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/wexec/wexec/internal/jsonnum"
)

func FuzzDecodeAgreesWithTheStandardLibrary(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5e3,"x\n\u00e4\ud83d\ude00",null,true,false,{}]}`, `{"a":1,"a":2}`, `"\ud800"`, `[1,]`, `01`, `-0`, `1e400`, "\"\xff\"", ` [ ] `, `{"":{}}`, `tru`, `"\u12"`, strings.Repeat("[", 150)} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, err := Decode(t.Context(), data, free)
		want, theirs := jsonnum.Decode(data)
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

func TestDecodeEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := errors.New("ended")
	cancel(ended)
	if _, err := Decode(ctx, []byte("["+strings.Repeat("1,", 5000)+"1]"), free); err != ended {
		t.Error(err)
	}
}

// payer is a function that is charged, and free charges nothing.
type payer func(int64) error

func (p payer) Charge(n int64) error { return p(n) }

var free = payer(func(int64) error { return nil })

func TestManyValuesAreChargedWhileTheyAreRead(t *testing.T) {
	many := []byte("[" + strings.Repeat("[],", 200_000) + "[]]")
	var charged int64
	if _, err := Decode(t.Context(), many, payer(func(n int64) error { charged += n; return nil })); err != nil || charged < 5<<20 {
		t.Errorf("charged %d bytes: %v", charged, err)
	}
	over := errors.New("over")
	charged = 0
	_, err := Decode(t.Context(), many, payer(func(n int64) error {
		if charged += n; charged > 2<<20 {
			return over
		}
		return nil
	}))
	if err != over || charged != 3<<20 {
		t.Errorf("charged %d bytes: %v", charged, err)
	}
	if _, err := Decode(t.Context(), []byte(`["`+strings.Repeat("a", 5<<20)+`"]`), payer(func(int64) error { return over })); err != nil {
		t.Error(err)
	}
}

// A number that would be another one as a float64 is not sent as it was written.
func TestADocumentThatLosesDigitsIsNotExact(t *testing.T) {
	for doc, want := range map[string]bool{
		`[9007199254740993, 12345678901234567890123, 0.1, 1e-7, 1.50]`: true,
		`100.00000000000000001`: false, `1e-400`: false,
	} {
		if d, err := Decode(t.Context(), []byte(doc), free); err != nil || d.Exact != want {
			t.Errorf("%s: %+v %v", doc, d, err)
		}
	}
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
