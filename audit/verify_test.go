package audit

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/wexec/wexec/fault"
)

func testKey(seed byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
}

func lines(data []byte) []string {
	return strings.SplitAfter(strings.TrimSuffix(string(data), "\n"), "\n")
}

// forge changes a line and updates its hash, as an attacker who knows the format would.
func forge(t testing.TB, line string, change func(string) string) string {
	t.Helper()
	at := strings.LastIndex(line, hashKey)
	head := change(line[:at])
	return head + hashKey + Digest([]byte(head)) + lineEnd
}

func TestVerifySaysWhichLineAndWhatWasDone(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, Options{})
	for i := range 9 {
		record(t, l, decision("r", uint64(i+1)))
	}
	l.Close()
	name := segmentName(1)
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	all := lines(data)
	if !strings.HasSuffix(all[8], "\n") {
		all[8] += "\n"
	}
	for _, c := range []struct {
		what   string
		change Change
		line   int
		edit   func(l []string) []string
	}{
		{"a letter of line 4", Changed, 4, func(l []string) []string {
			l[3] = strings.Replace(l[3], "allow", "alloy", 1)
			return l
		}},
		{"line 5 gone", Removed, 5, func(l []string) []string { return slices.Delete(l, 4, 5) }},
		{"lines 1 and 2 gone", Removed, 1, func(l []string) []string { return slices.Delete(l, 0, 2) }},
		{"lines 3 and 4 swapped", Reordered, 3, func(l []string) []string { l[2], l[3] = l[3], l[2]; return l }},
		{"line 6 twice", Repeated, 7, func(l []string) []string { return slices.Insert(l, 6, l[5]) }},
		{"line 7 forged", Replaced, 8, func(l []string) []string {
			l[6] = forge(t, l[6], func(s string) string { return strings.Replace(s, "allow", "deny", 1) })
			return l
		}},
		{"last line forged", Replaced, 9, func(l []string) []string {
			l[8] = forge(t, l[8], func(s string) string { return strings.Replace(s, "allow", "deny", 1) })
			return l
		}},
		{"last line gone", Cut, 9, func(l []string) []string { return l[:8] }},
		{"all gone", Cut, 1, func(l []string) []string { return nil }},
		{"line 2 is nonsense", Changed, 2, func(l []string) []string { l[1] = "nonsense\n"; return l }},
		{"line 2 is empty", Changed, 2, func(l []string) []string { l[1] = "\n"; return l }},
		{"whole tail forged", Replaced, 9, func(l []string) []string {
			prev := ""
			for i := range l {
				l[i] = forge(t, l[i], func(s string) string {
					s = strings.Replace(s, "policy.yaml:3", "policy.yaml:4", 1)
					return s[:strings.LastIndex(s, `"prev":"`)] + `"prev":"` + prev + `"`
				})
				prev = l[i][len(l[i])-len(lineEnd)-64 : len(l[i])-len(lineEnd)]
			}
			return l
		}},
	} {
		copied := copyDir(t, dir)
		text := strings.Join(c.edit(slices.Clone(all)), "")
		if err := os.WriteFile(filepath.Join(copied, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		rep, err := Verify(copied)
		if err != nil {
			t.Fatal(err)
		}
		if len(rep.Problems) == 0 || rep.Problems[0].Line != c.line || rep.Problems[0].Change != c.change || rep.Problems[0].Segment != name {
			t.Errorf("%s: %+v", c.what, rep.Problems)
		}
	}
}

func TestHeadsAreSignedWhereAKeyIsGiven(t *testing.T) {
	dir := t.TempDir()
	key := testKey(1)
	l := open(t, dir, Options{Key: key})
	record(t, l, Event{Run: "r", End: &End{Status: "ok"}})
	l.Close()
	pub := key.Public().(ed25519.PublicKey)
	if rep := whole(t, dir, pub); rep.Segments[0].Key != hex.EncodeToString(pub) || rep.Segments[0].Signed != 1 {
		t.Errorf("%+v", rep.Segments)
	}
	other := testKey(2).Public().(ed25519.PublicKey)
	if rep, _ := Verify(dir, other); rep.OK() || rep.Problems[0].Change != Unsigned {
		t.Errorf("another key's signature passes: %+v", rep)
	}
	// Somebody without the key forges the record and the head.
	name := filepath.Join(dir, segmentName(1))
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	forged := forge(t, string(data), func(s string) string { return strings.Replace(s, `"ok"`, `"no"`, 1) })
	if err := os.WriteFile(name, []byte(forged), 0o600); err != nil {
		t.Fatal(err)
	}
	headFile := filepath.Join(dir, headName(segmentName(1)))
	heads, err := os.ReadFile(headFile)
	if err != nil {
		t.Fatal(err)
	}
	hash := strings.TrimSuffix(forged[strings.LastIndex(forged, hashKey)+len(hashKey):], lineEnd)
	h, _, _ := readHead(bytes.NewReader(heads))
	for what, text := range map[string]string{
		"the hash in the signed head": strings.ReplaceAll(string(heads), h.Hash, hash),
		"a head without signature":    string(encodeHead(head{Segment: h.Segment, Seq: 1, Hash: hash, Size: h.Size}, nil)),
		"a head signed by another":    string(encodeHead(head{Segment: h.Segment, Seq: 1, Hash: hash, Size: h.Size}, testKey(2))),
	} {
		if err := os.WriteFile(headFile, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if rep, err := Verify(dir, pub); err != nil || rep.OK() {
			t.Errorf("%s passes: %v %v", what, rep, err)
		}
	}
}

func TestAnEmptyDirectoryIsNotSigned(t *testing.T) {
	public, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if rep, err := Verify(dir); err != nil || !rep.OK() {
		t.Errorf("without a key: %+v, %v", rep, err)
	}
	if rep, err := Verify(dir, public); err != nil || rep.OK() {
		t.Errorf("with a key: %+v, %v", rep, err)
	}
}

func TestKeysAreReadFromPEMHexAndBase64(t *testing.T) {
	key := testKey(3)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	pubDER, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range [][]byte{
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}),
		[]byte(hex.EncodeToString(key.Seed()) + "\n"),
		[]byte(hex.EncodeToString(key)),
	} {
		if got, err := ParseKey(text); err != nil || !got.Equal(key) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range [][]byte{
		pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: pubDER}),
		[]byte(hex.EncodeToString(key.Public().(ed25519.PublicKey))),
	} {
		if got, err := ParsePublicKey(text); err != nil || !got.Equal(key.Public()) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{"", "x", "00ff", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"} {
		if _, err := ParseKey([]byte(text)); fault.CodeOf(err) != fault.UsageAudit {
			t.Errorf("%q: %v", text, err)
		}
		if _, err := ParsePublicKey([]byte(text)); fault.CodeOf(err) != fault.UsageAudit {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestAFolderThatIsNotThereIsAUsageFault(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "gone")
	if _, err := Verify(gone); fault.CodeOf(err) != fault.UsageAudit {
		t.Error(err)
	}
	for _, err := range Read(ctx, gone, Filter{}) {
		if fault.CodeOf(err) != fault.UsageAudit {
			t.Error(err)
		}
	}
}

// A process killed in the middle of a rotation leaves two segments that may be
// written: the one that was full and the one that goes on from it. Both are
// taken up, and neither counts as cut.
func TestBothSidesOfAnUnfinishedRotationAreTakenUp(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, Options{})
	record(t, l, decision("r", 1))
	next, err := l.begin(l.seg)
	if err != nil {
		t.Fatal(err)
	}
	next.release()
	l.seg.release()
	one, two := open(t, dir, Options{}), open(t, dir, Options{})
	record(t, one, decision("r", 2))
	record(t, two, decision("r", 3))
	if rep := whole(t, dir); len(rep.Segments) != 2 || rep.Records != 3 {
		t.Errorf("%+v", rep)
	}
}
