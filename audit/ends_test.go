package audit

import (
	"reflect"
	"testing"
	"time"
)

// fillEnd is fill for the fields of a start and an end.
func fillEnd(t *testing.T, f reflect.Value) {
	t.Helper()
	switch f.Interface().(type) {
	case time.Time:
		f.Set(reflect.ValueOf(time.Date(2026, 2, 3, 4, 5, 6, 70, time.FixedZone("", 3600))))
	case []uint64:
		f.Set(reflect.ValueOf([]uint64{3, 0, 1 << 50}))
	case map[string]int:
		f.Set(reflect.ValueOf(map[string]int{"email": 2}))
	case *World:
		f.Set(reflect.ValueOf(&World{}))
	case Actor, Limits, Keep, Usage:
		for i := range f.NumField() {
			fill(t, f.Field(i))
		}
	default:
		fill(t, f)
	}
}

func TestRecordsOfRunsHaveTheMembersThatTheirTypesName(t *testing.T) {
	check := func(part any) {
		t.Helper()
		var got []byte
		var err error
		switch p := part.(type) {
		case *Start:
			got, err = appendStart([]byte("before"), p)
		case *End:
			got, err = appendEnd([]byte("before"), p)
		}
		if err != nil {
			t.Fatal(err)
		}
		same(t, got[len("before"):], part)
	}
	for _, part := range []any{&Start{}, &End{}} {
		check(part)
		v := reflect.ValueOf(part).Elem()
		for i := range v.NumField() {
			one := reflect.New(v.Type())
			fillEnd(t, one.Elem().Field(i))
			check(one.Interface())
			if f := one.Elem().Field(i); f.Kind() == reflect.Struct && f.Type() != reflect.TypeFor[time.Time]() {
				for j := range f.NumField() { // each member of it alone
					alone := reflect.New(v.Type())
					fill(t, alone.Elem().Field(i).Field(j))
					check(alone.Interface())
				}
			}
			fillEnd(t, v.Field(i))
		}
		check(part)
	}
	check(&Start{Argv: []string{"a\xffb"}, Code: Blob("\xff\x00")})
	if _, err := appendStart(nil, &Start{Clock: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}); err == nil {
		t.Error("a clock without an RFC 3339 form is written")
	}
}
