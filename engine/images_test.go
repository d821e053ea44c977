package engine

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/policy"
)

// A write is something that a program leaves in its session. Its check gives the number
// want, plus step for each time that it was checked before.
type write struct {
	code, check string
	want, step  int
}

// writesOf has the kinds of writes of a language. Names end with the number n.
func writesOf(language string, n, k int) []write {
	name := fmt.Sprint("v", n)
	if language == Python {
		return []write{
			{fmt.Sprintf("%s = {'a': [%d]}", name, k), name + "['a'][0]", k, 0},
			{fmt.Sprintf("def %s(x): return x * 2 + %d", name, k), name + "(3)", 6 + k, 0},
			{fmt.Sprintf("def make():\n    c = %d\n    def count():\n        nonlocal c\n        c += 1\n        return c\n    return count\n%s = make()", k, name), name + "()", k + 1, 1},
			{fmt.Sprintf("%s = (i for i in range(%d, 10**9))", name, k), "next(" + name + ")", k, 1},
			{fmt.Sprintf("def walk(i):\n    while True:\n        i += yield i\n%s = walk(%d); next(%s)", name, k, name), name + ".send(2)", k + 2, 2},
			{fmt.Sprintf("class %s:\n    sum = %d\n    def take(self):\n        self.sum -= 1\n        return self.sum\n%s = %s()", strings.ToUpper(name), k, name, strings.ToUpper(name)), name + ".take()", k - 1, -1},
			{fmt.Sprintf("db.execute('insert into t values (?, ?)', (%d, %d))", n, k), fmt.Sprintf("db.execute('select x from t where n = %d').fetchone()[0]", n), k, 0},
			{fmt.Sprintf("%s = list(range(%d))", name, 1000*k), fmt.Sprintf("len(%s) + sum(%s[-1:])", name, name), 2000*k - 1, 0},
			{fmt.Sprintf("import decimal; %s = decimal.Decimal(%d)", name, k), "int(" + name + ")", k, 0},
		}
	}
	name = "globalThis." + name
	return []write{
		{fmt.Sprintf("%s = {a: [%d]}", name, k), name + ".a[0]", k, 0},
		{fmt.Sprintf("%s = x => x * 2 + %d", name, k), name + "(3)", 6 + k, 0},
		{fmt.Sprintf("%s = (() => { let c = %d; return () => ++c })()", name, k), name + "()", k + 1, 1},
		{fmt.Sprintf("%s = (function* () { for (let i = %d;; i++) yield i })()", name, k), name + ".next().value", k, 1},
		{fmt.Sprintf("%s = new (class { #sum = %d; take() { return --this.#sum } })()", name, k), name + ".take()", k - 1, -1},
		{fmt.Sprintf("m.set(%d, %d)", n, k), fmt.Sprintf("m.get(%d)", n), k, 0},
		{fmt.Sprintf("%s = Promise.resolve(%d)", name, k), "(await " + name + ")", k, 0},
		{fmt.Sprintf("%s = Array.from({length: %d}, (_, i) => i)", name, 1000*k), fmt.Sprintf("%s.length + %s.at(-1)", name, name), 2000*k - 1, 0},
		{fmt.Sprintf("%s = new Uint8Array(%d).fill(1)", name, 100*k), name + ".reduce((a, b) => a + b)", 100 * k, 0},
	}
}

// TestASessionKeepsAllThatRandomProgramsWrote writes random things between sleeps, and
// checks all of them after each.
func TestASessionKeepsAllThatRandomProgramsWrote(t *testing.T) {
	images := &inMemory{}
	e := newReal(t, Config{Images: images})
	rounds := 50
	if onInterpreter() || testing.Short() {
		rounds = 8
	}
	for language, begin := range map[string]string{JavaScript: "globalThis.m = new Map(); 0", Python: "import sqlite3\ndb = sqlite3.connect(':memory:')\ndb.execute('create table t (n, x)')\n0"} {
		r := rand.New(rand.NewPCG(50, 19))
		var all []write
		runIn(t, e, language, language, begin, "0")
		for round := range rounds {
			var code strings.Builder
			for range 1 + r.IntN(4) {
				kinds := writesOf(language, len(all), 1+r.IntN(40))
				one := kinds[r.IntN(len(kinds))]
				all = append(all, one)
				code.WriteString(one.code + "\n")
			}
			runIn(t, e, language, language, code.String()+"0", "0")
			putToSleep(t, e, language)
			if got := images.asleep(); !slices.Contains(got, language) {
				t.Fatalf("asleep: %v", got)
			}
			var checks []string
			var want []int
			for i := range all {
				checks = append(checks, all[i].check)
				want = append(want, all[i].want)
				all[i].want += all[i].step
			}
			res, err := e.Run(t.Context(), of(language, language, "["+strings.Join(checks, ", ")+"]"))
			if err != nil {
				t.Fatalf("%s, sleep %d: %v", language, round, err)
			}
			var got []int
			if err := json.Unmarshal(res.Value, &got); err != nil || !slices.Equal(got, want) {
				t.Fatalf("%s, after sleep %d: %s, want %v", language, round, res.Value, want)
			}
		}
	}
}

// A fork lets the interpreter collect garbage, which runs code of the program. It ends in
// a bounded time, has no tools, and the session goes on.
func TestAForkIsNotHeldUpByFinalizers(t *testing.T) {
	if testing.Short() {
		t.Skip("short: waits for a limit of time")
	}
	var s effects
	p, _ := policy.FromFlags(policy.Flags{AllowTool: []string{"*"}, NoPII: true})
	e := newReal(t, Config{})
	for name, body := range map[string]string{
		"endless": "while True: pass", "grows": "x = []\n        while True: x.append('x' * 10**6)", "calls": "tools.x.write(n=1)", "raises": "raise SystemExit(3)", "prints": "while True: print('x' * 1000)",
	} {
		req := of(name, Python, "class Trap:\n    def __del__(self):\n        "+body+"\na = Trap(); a.me = a; del a\nkept = 7\n0")
		req.Table = s.table(t, p)
		if _, err := e.Run(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		err := e.Fork(t.Context(), adas(name), name+" child")
		if took := time.Since(begun); took > time.Minute {
			t.Errorf("%s: the fork took %s", name, took)
		}
		if (err == nil) != (name == "raises") || s.total() > 0 {
			t.Errorf("%s: %v, %d calls", name, err, s.total())
		}
		req.Code = "kept"
		res, err := e.Run(t.Context(), req)
		wantValue(t, res, err, "7")
	}
}

// FuzzImage wakes a session from images that are made up: they are refused, or have what
// a program left.
func FuzzImage(f *testing.F) {
	images := &inMemory{}
	e := newTiny(f, Config{Images: images})
	id := adas("s")
	if _, err := e.Run(f.Context(), of("s", JavaScript, "a 1")); err != nil {
		f.Fatal(err)
	}
	putToSleep(f, e, "s")
	whole := images.rows[id].data
	plain, err := unpacked(whole)
	if err != nil {
		f.Fatal(err)
	}
	n, at := binary.Uvarint(plain)
	head, memory := plain[at:at+int(n)], plain[at+int(n):]
	with := func(head []byte, length uint64, memory []byte) []byte {
		return slices.Concat(binary.AppendUvarint(nil, length), head, memory)
	}
	f.Add(plain)
	f.Add(plain[:len(plain)/2])
	f.Add(with(head, 1<<40, memory))
	f.Add(with(head, n-1, memory))
	f.Add(with(bytes.Replace(head, []byte(`"memory":`), []byte(`"memory":9`), 1), n+1, memory))
	f.Add(with(bytes.Replace(head, []byte(`"Tenant":"t"`), []byte(`"Tenant":"u"`), 1), n, memory))
	f.Add(with(bytes.Replace(head, []byte(`"generation":1`), []byte(`"generation":7`), 1), n, memory))
	f.Add(with(head, n, append([]byte{255, 255, 255, 255, 15}, memory...)))
	f.Fuzz(func(t *testing.T, plain []byte) {
		images.mu.Lock()
		images.rows[id] = &row{JavaScript, 1, true, packed(t, plain)}
		images.mu.Unlock()
		if err := e.Wake(t.Context(), id); err != nil {
			if !errors.Is(err, fault.UsageSession) && !errors.Is(err, fault.LimitBusy) && !errors.Is(err, fault.LimitMemory) {
				t.Fatal(err)
			}
			return
		}
		if err := e.EndSessions(t.Context(), func(LiveSession) bool { return true }); err != nil {
			t.Fatal(err)
		}
	})
}

// unpacked returns what is compressed in an image.
func unpacked(image []byte) ([]byte, error) {
	z, err := zstd.NewReader(nil)
	if err != nil {
		return nil, err
	}
	defer z.Close()
	return z.DecodeAll(image[len(imageMagic):], nil)
}

// packed returns an image of a content.
func packed(t testing.TB, plain []byte) []byte {
	z, err := zstd.NewWriter(nil, zstd.WithWindowSize(1<<20))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	return z.EncodeAll(plain, []byte(imageMagic))
}
