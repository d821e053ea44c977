package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/wexec/wexec/fault"
)

type kept struct{ records [][]byte }

func (k *kept) Append(_ context.Context, record []byte) error {
	k.records = append(k.records, bytes.Clone(record))
	return nil
}

// nothing is the state of a run that shares and shows nothing.
func nothing() (json.RawMessage, [2]int64, time.Duration) { return nil, [2]int64{}, 0 }

var began = Start{Run: "run1", Guest: "g", Clock: time.Unix(1e9, 0).UTC(), Seed: []byte("seed")}

// parked returns the records of a run with calls, a question, input and a long sleep.
func parked(t testing.TB) [][]byte {
	t.Helper()
	k := &kept{}
	l, err := Open(k, began, nil)
	if err != nil {
		t.Fatal(err)
	}
	l.Observe = nothing
	l.Reading(5)
	l.Read([]byte("in"))
	l.Started(1)
	if err := l.Intend(t.Context(), Intent{Number: 1, Tool: "x.write"}); err != nil {
		t.Fatal(err)
	}
	l.End(Call{Number: 1, Name: "x.write", Answer: []byte("1"), Sent: true})
	l.Announced(1)
	l.Announced(0)
	if err := l.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.Sleep()
	l.Started(2)
	l.Ask(Question{ID: "q", Tool: "x.ask"})
	if err := l.Park(t.Context(), began.Clock.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	return k.records
}

func TestBytesAfterARecordAreDamage(t *testing.T) {
	whole := parked(t)
	if _, err := Open(&kept{}, began, whole); err != nil {
		t.Fatal(err)
	}
	for _, rest := range []string{"}", "]", "{}", "x", "\x00"} {
		if _, err := Open(&kept{}, began, [][]byte{append(bytes.Clone(whole[0]), rest...)}); fault.CodeOf(err) != fault.UsageRun {
			t.Errorf("%q after a record: %v", rest, err)
		}
	}
}

// FuzzJournal opens records that can be anything, one per line: they are refused with
// usage.run, or the run reaches the place where they end and can go on.
func FuzzJournal(f *testing.F) {
	whole := bytes.Join(parked(f), []byte("\n"))
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add(bytes.Replace(whole, []byte(`"n":1`), []byte(`"n":18446744073709551615`), 1))
	f.Add(bytes.Replace(whole, []byte(`"sleeps":1`), []byte(`"sleeps":9223372036854775807`), 1))
	f.Add(bytes.Replace(whole, []byte(`"order":[1,0]`), []byte(`"order":[7]`), 1))
	f.Add([]byte(`{"v":1,"start":null}`))
	f.Add([]byte("[[[[[[[["))
	f.Fuzz(func(t *testing.T, data []byte) {
		k := &kept{}
		l, err := Open(k, began, bytes.Split(data, []byte("\n")))
		if err != nil {
			if fault.CodeOf(err) != fault.UsageRun {
				t.Fatalf("%v has another code than usage.run", err)
			}
			return
		}
		l.Observe = nothing
		order := l.Order()
		if n := len(l.calls) + len(l.intents) + len(l.asked) + len(order) + l.past.Sleeps; n > 6*maxEntries || len(order) > len(data) {
			t.Fatalf("%d bytes became %d entries", len(data), n)
		}
		for _, n := range order {
			if answer, _ := l.Begin(n); n != 0 && (answer == nil || answer.Number != n) {
				t.Fatalf("call %d is announced and has no answer", n)
			}
			l.Announced(n)
		}
		l.Started(l.highest)
		if l.Replaying() {
			t.Fatal("the run does not reach the end of its records")
		}
		for range 3 {
			l.Reading(time.Second)
			l.Input(1)
		}
		if left := l.Left(time.Minute); left < 0 || left > time.Minute {
			t.Fatalf("a minute has %s left", left)
		}
		l.Questions()
		if err := l.Park(t.Context(), time.Time{}); err != nil || len(k.records) != 1 {
			t.Fatalf("%d records, %v", len(k.records), err)
		}
	})
}
