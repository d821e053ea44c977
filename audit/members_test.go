package audit

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
)

// fill sets a field to something that is not its zero value.
func fill(t *testing.T, f reflect.Value) {
	t.Helper()
	switch f.Interface().(type) {
	case string:
		f.SetString("a \"word\" <of> \u2028 \x01 ö")
	case bool:
		f.SetBool(true)
	case uint64:
		f.SetUint(1<<63 - 1)
	case int, int64:
		f.SetInt(-42)
	case Blob:
		f.Set(reflect.ValueOf(Blob("text\n\x00")))
	case []string:
		f.Set(reflect.ValueOf([]string{"one", "two"}))
	case *Approval:
		f.Set(reflect.ValueOf(&Approval{ID: "7", By: "ann", Answer: "yes", MS: 3}))
	default:
		t.Fatalf("a field of type %s has no example here", f.Type())
	}
}

// same holds what was appended against what encoding/json writes.
func same(t *testing.T, got []byte, want any) {
	t.Helper()
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var a, b map[string]any
	if err := json.Unmarshal(got, &a); err != nil {
		t.Fatalf("%s: %v", got, err)
	}
	if err := json.Unmarshal(text, &b); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(a, b) {
		t.Errorf("%s\nand not %s", got, text)
	}
}

func TestRecordsOfCallsHaveTheMembersThatTheirTypesName(t *testing.T) {
	check := func(part any) {
		switch p := part.(type) {
		case *Decision:
			got, err := appendDecision([]byte("before"), p)
			if err != nil {
				t.Fatal(err)
			}
			same(t, got[len("before"):], p)
		case *Call:
			same(t, appendCall([]byte("before"), p)[len("before"):], p)
		}
	}
	for _, part := range []any{&Decision{}, &Call{}} {
		check(part)
		v := reflect.ValueOf(part).Elem()
		for i := range v.NumField() {
			one := reflect.New(v.Type())
			fill(t, one.Elem().Field(i))
			check(one.Interface())
			fill(t, v.Field(i))
		}
		check(part)
	}
	check(&Decision{Effect: "a\xffb", Args: Blob("\xff\x00")})
	check(&Call{Tool: "a\xffb", Answer: Blob("\xff\x00")})
}

// TestPlainTextIsToldByEveryByte puts each byte at each place of a text, beside
// bytes from which the arithmetic might borrow.
func TestPlainTextIsToldByEveryByte(t *testing.T) {
	for c := range 256 {
		for _, beside := range []byte{' ', '!', '#', '[', ']', '~', 'a'} {
			for at := range 17 {
				text := bytes.Repeat([]byte{beside}, 17)
				text[at] = byte(c)
				want := c >= ' ' && c < 0x7f && c != '"' && c != '\\'
				if got := plain(string(text)); got != want {
					t.Fatalf("byte %#x at %d of %q: %v", c, at, beside, got)
				}
				if got := string(appendText(nil, string(text))); c < 0x80 && got != string(appendString(nil, string(text))) {
					t.Fatalf("byte %#x at %d of %q is written as %s", c, at, beside, got)
				}
			}
		}
	}
}
