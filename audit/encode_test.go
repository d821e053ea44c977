package audit

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

// fill sets a value, and every field below it, to something other than zero.
func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Interface().(type) {
	case Blob:
		v.Set(reflect.ValueOf(Blob("text\n\x00")))
		return
	case time.Time:
		v.Set(reflect.ValueOf(time.Date(2026, 2, 3, 4, 5, 6, 70, time.FixedZone("", 3600))))
		return
	case map[string]int:
		v.Set(reflect.ValueOf(map[string]int{"email": 2}))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("a \"word\" <of> \u2028 \x01 ö")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint64, reflect.Uint32:
		v.SetUint(1<<31 - 1)
	case reflect.Int, reflect.Int64:
		v.SetInt(-42)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 3, 3))
		fill(t, v.Index(0))
		fill(t, v.Index(2))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i))
		}
	default:
		t.Fatalf("no example of type %s", v.Type())
	}
}

// sameAsEncodingJSON compares what is appended for a part with what
// encoding/json writes.
func sameAsEncodingJSON(t *testing.T, part any) {
	t.Helper()
	v := reflect.ValueOf(part).Elem()
	got, err := newEncoder(v.Type())([]byte("before"), v)
	if err != nil {
		t.Fatal(err)
	}
	want, err := json.Marshal(part)
	if err != nil {
		t.Fatal(err)
	}
	var a, b any
	if err := json.Unmarshal(got[len("before"):], &a); err != nil {
		t.Fatalf("%s: %v", got, err)
	}
	if err := json.Unmarshal(want, &b); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(a, b) {
		t.Errorf("got  %s\nwant %s", got[len("before"):], want)
	}
}

func TestRecordsHaveTheMembersOfTheirTypes(t *testing.T) {
	for _, part := range []any{&Start{}, &Decision{}, &Call{}, &Privacy{}, &End{}} {
		sameAsEncodingJSON(t, part)
		v := reflect.ValueOf(part).Elem()
		for i := range v.NumField() {
			one := reflect.New(v.Type())
			fill(t, one.Elem().Field(i))
			sameAsEncodingJSON(t, one.Interface())
			inner := one.Elem().Field(i)
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			if inner.Kind() == reflect.Struct && inner.Type() != reflect.TypeFor[time.Time]() {
				for j := range inner.NumField() { // each nested member by itself
					nested := reflect.New(v.Type())
					f := nested.Elem().Field(i)
					if f.Kind() == reflect.Pointer {
						f.Set(reflect.New(f.Type().Elem()))
						f = f.Elem()
					}
					fill(t, f.Field(j))
					sameAsEncodingJSON(t, nested.Interface())
				}
			}
			fill(t, v.Field(i))
		}
		sameAsEncodingJSON(t, part)
	}
	sameAsEncodingJSON(t, &Start{Argv: []string{"a\xffb"}, Code: Blob("\xff\x00")})
	sameAsEncodingJSON(t, &Decision{Effect: "a\xffb", Args: Blob("\xff\x00")})
	sameAsEncodingJSON(t, &Call{Tool: "a\xffb", Answer: Blob("\xff\x00")})
	sameAsEncodingJSON(t, &End{World: &World{}, Order: []uint64{3, 0, 1 << 50}})
	e := Event{Start: &Start{Clock: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}}
	if _, err := encodeBody(nil, &e); err == nil {
		t.Error("a clock without an RFC 3339 form is written")
	}
}

// TestPlainChecksEveryByte puts each byte at each position of a text, next to
// bytes from which the arithmetic might borrow.
func TestPlainChecksEveryByte(t *testing.T) {
	for c := range 256 {
		for _, neighbor := range []byte{' ', '!', '#', '[', ']', '~', 'a'} {
			for at := range 17 {
				text := bytes.Repeat([]byte{neighbor}, 17)
				text[at] = byte(c)
				want := c >= ' ' && c < 0x7f && c != '"' && c != '\\'
				if got := plain(string(text)); got != want {
					t.Fatalf("byte %#x at %d of %q: %v", c, at, neighbor, got)
				}
				if got := string(appendText(nil, string(text))); c < 0x80 && got != string(appendString(nil, string(text))) {
					t.Fatalf("byte %#x at %d of %q is written as %s", c, at, neighbor, got)
				}
			}
		}
	}
}

func BenchmarkEncodeCall(b *testing.B) {
	e := Event{Call: &Call{Call: 7, Tool: "github.list_commits", OK: true, MS: 3, Bytes: 100, AnswerKind: 2, AnswerSHA256: Digest(nil)}}
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf, _ = encodeBody(buf[:0], &e)
	}
}
