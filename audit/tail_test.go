package audit

import (
	"bytes"
	"crypto/ed25519"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Records that no head vouches for yet are found cut all the same.
func TestACutAfterTheNewestHeadIsFound(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, Options{Sync: SyncNever})
	for i := range 7 {
		record(t, l, decision("r", uint64(i+1)))
	}
	defer l.Close()
	name := segmentName(1)
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	all := lines(data)
	if h, last, ok := headOf(dir, name); !ok || h.Seq != 0 || last.seq != 7 {
		t.Fatalf("head of %d, tail of %d: the test is about nothing", h.Seq, last.seq)
	}
	whole(t, copyDir(t, dir))
	for _, c := range []struct {
		kept   int
		line   int
		change Change
		words  string
	}{{6, 7, Cut, "record 7 is missing at the end"}, {3, 4, Cut, "records 4 to 7 are missing at the end"}, {0, 1, Cut, "records 1 to 7 are missing at the end"}} {
		copied := copyDir(t, dir)
		if err := os.WriteFile(filepath.Join(copied, name), []byte(strings.Join(all[:c.kept], "")), 0o600); err != nil {
			t.Fatal(err)
		}
		rep, err := Verify(copied)
		if err != nil || len(rep.Problems) != 1 || rep.Problems[0].Line != c.line || rep.Problems[0].Change != c.change || rep.Problems[0].Message != c.words {
			t.Errorf("%d kept: %+v, %v", c.kept, rep.Problems, err)
		}
		// Nobody writes over the evidence.
		next := open(t, copied, Options{Sync: SyncNever})
		record(t, next, decision("r", 1))
		next.Close()
		if left, err := os.ReadFile(filepath.Join(copied, name)); err != nil || string(left) != strings.Join(all[:c.kept], "") {
			t.Errorf("%d kept: the cut segment was written on", c.kept)
		}
		if rep, err := Verify(copied); err != nil || len(rep.Problems) != 1 || rep.Problems[0].Change != Cut {
			t.Errorf("%d kept, and gone on: %+v, %v", c.kept, rep.Problems, err)
		}
	}
	copied := copyDir(t, dir)
	all[6] = forge(t, all[6], func(s string) string { return strings.Replace(s, "allow", "deny", 1) })
	if err := os.WriteFile(filepath.Join(copied, name), []byte(strings.Join(all, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	if rep, err := Verify(copied); err != nil || len(rep.Problems) != 1 || rep.Problems[0].Line != 7 || rep.Problems[0].Change != Replaced {
		t.Errorf("the last line forged: %+v, %v", rep.Problems, err)
	}
}

func TestATailIsReadAsItWasWritten(t *testing.T) {
	for _, want := range []tail{{}, {1, strings.Repeat("a", 64)}, {1<<64 - 1, strings.Repeat("f", 64)}} {
		file := append(make([]byte, 2*headSlot), encodeTail(nil, want)...)
		if got, ok := readTail(bytes.NewReader(file)); !ok || got != want {
			t.Errorf("%+v, %v; want %+v", got, ok, want)
		}
	}
	for _, bad := range []string{"", "x", strings.Repeat("9", tailSize), strings.Repeat(" ", tailSize)} {
		if got, ok := readTail(strings.NewReader(strings.Repeat(" ", 2*headSlot) + bad)); ok {
			t.Errorf("%q is the tail %+v", bad, got)
		}
	}
}

// A tail is not signed: who cuts records can write one to match. The head of a
// run that has ended is, before anything else happens.
func TestTheSignedHeadCoversEveryRunThatHasEnded(t *testing.T) {
	public, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	l := open(t, dir, Options{Sync: SyncNever, Key: key})
	defer l.Close()
	record(t, l, Event{Run: "r", Start: &Start{Language: "python"}})
	record(t, l, decision("r", 1))
	record(t, l, Event{Run: "r", End: &End{Status: "ok"}})

	name := segmentName(1)
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	all := lines(data)
	whole(t, copyDir(t, dir), public)
	for kept := range all {
		copied := copyDir(t, dir)
		if err := os.WriteFile(filepath.Join(copied, name), []byte(strings.Join(all[:kept], "")), 0o600); err != nil {
			t.Fatal(err)
		}
		last := tail{}
		if kept > 0 {
			link, err := parseLine([]byte(strings.TrimSuffix(all[kept-1], "\n")))
			if err != nil {
				t.Fatal(err)
			}
			last = tail{link.seq, link.hash}
		}
		head, err := os.OpenFile(filepath.Join(copied, headName(name)), os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = head.WriteAt(encodeTail(nil, last), 2*headSlot)
		head.Close()
		if err != nil {
			t.Fatal(err)
		}
		if rep, err := Verify(copied, public); err != nil || len(rep.Problems) != 1 || rep.Problems[0].Change != Cut {
			t.Errorf("%d records kept, with a tail to match: %+v, %v", kept, rep.Problems, err)
		}
	}
}
