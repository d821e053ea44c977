package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/hostfns/files"
	"github.com/wexec/wexec/policy"
)

// inMemory keeps images in memory, as engines of several processes share them.
type inMemory struct {
	mu   sync.Mutex
	rows map[SessionID]*row
	fail error // of the next Put
}

type row struct {
	language   string
	generation int64
	asleep     bool
	data       []byte
}

func (m *inMemory) Get(_ context.Context, id SessionID) (*SessionImage, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch r := m.rows[id]; {
	case r == nil:
		return nil, nil
	case !r.asleep:
		return nil, fault.New(fault.UsageSession, "the session %q is awake elsewhere", id.Name)
	default:
		return &SessionImage{r.language, r.generation, bytes.Clone(r.data)}, nil
	}
}

func (m *inMemory) Claim(_ context.Context, id SessionID, language string, generation int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.rows[id]
	if generation == 0 && r == nil {
		if m.rows == nil {
			m.rows = map[SessionID]*row{}
		}
		m.rows[id] = &row{language: language}
		return nil
	}
	if r == nil || !r.asleep || r.generation != generation {
		return fault.New(fault.UsageSession, "another process was first to wake the session %q", id.Name)
	}
	r.asleep, r.data = false, nil
	return nil
}

func (m *inMemory) Put(_ context.Context, id SessionID, image SessionImage) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fail; err != nil {
		m.fail = nil
		return err
	}
	r := m.rows[id]
	if r == nil || r.asleep || r.generation != image.Generation-1 {
		return fault.New(fault.UsageSession, "the session %q is not claimed", id.Name)
	}
	m.rows[id] = &row{image.Language, image.Generation, true, image.Data}
	return nil
}

func (m *inMemory) Delete(_ context.Context, id SessionID) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.rows, id)
	return nil
}

func (m *inMemory) List(_ context.Context, tenant, actor string) (all []SessionInfo, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, r := range m.rows {
		if id.Tenant == tenant && (actor == "" || actor == id.Actor) {
			state := SessionAwake
			if r.asleep {
				state = SessionAsleep
			}
			all = append(all, SessionInfo{Name: id.Name, Actor: id.Actor, Language: r.language, State: state, Bytes: int64(len(r.data))})
		}
	}
	return all, nil
}

func (m *inMemory) asleep() (names []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, r := range m.rows {
		if r.asleep {
			names = append(names, id.Name)
		}
	}
	slices.Sort(names)
	return names
}

func adas(name string) SessionID { return SessionID{"t", "ada", name} }

// of is a request in a session of ada.
func of(name, language, code string) Request {
	return Request{Tenant: "t", Actor: Actor{ID: "ada"}, Session: name, Language: language, Code: code}
}

func runIn(t testing.TB, e *Engine, name, language, code, want string) {
	t.Helper()
	res, err := e.Run(t.Context(), of(name, language, code))
	if err != nil {
		t.Fatalf("%s\n%v: %s", code, err, res.Error.Stack)
	}
	wantValue(t, res, nil, want)
}

func putToSleep(t testing.TB, e *Engine, name string) {
	t.Helper()
	if err := e.Sleep(t.Context(), adas(name)); err != nil {
		t.Fatal(err)
	}
}

// everything is what a program defines, and what it is asked afterwards. Each answer
// changes the state.
var everything = map[string]struct{ define, ask string }{
	JavaScript: {`
		let n = 0;
		function add(k) { n += k; return n }
		class Account { #sum = 10; take(k) { this.#sum -= k; return this.#sum } }
		const account = new Account();
		const counter = (() => { let c = 0; return () => ++c })();
		const numbers = (function* () { let i = 0; for (;;) yield i++ })();
		const found = new Map([["a", [1, 2, 3]], ["b", new Set([4])]]);
		const match = /(\d+)/g, seen = new WeakMap();
		const path = await import("node:path");
		const later = Promise.resolve(5);
		0`,
		`found.get("a").push(n); seen.set(account, n);
		 [add(2), account.take(1), counter(), numbers.next().value, found.get("a").length, path.join("a", "b"), await later, seen.has(account)]`},
	Python: {`
import collections, json, math, re, sqlite3
n = 0
def add(k):
    global n
    n += k
    return n
class Account:
    def __init__(self): self.sum = 10
    def take(self, k):
        self.sum -= k
        return self.sum
account = Account()
def make():
    c = 0
    def count():
        nonlocal c
        c += 1
        return c
    return count
counter = make()
numbers = (i for i in range(10**9))
names = collections.defaultdict(list)
db = sqlite3.connect(":memory:")
db.execute("create table t (x)")
0`,
		`names["a"].append(n)
db.execute("insert into t values (?)", (n,))
[add(2), account.take(1), counter(), next(numbers), len(names["a"]), db.execute("select count(*) from t").fetchone()[0], math.floor(2.5), re.sub("a", "b", "a")]`},
}

func answerOf(language string, round int) string {
	if language == Python {
		return fmt.Sprintf(`[%d, %d, %d, %d, %d, %d, 2, "b"]`, 2*round, 10-round, round, round-1, round, round)
	}
	return fmt.Sprintf(`[%d, %d, %d, %d, %d, "a/b", 5, true]`, 2*round, 10-round, round, round-1, 3+round)
}

func TestASessionLosesNoWriteInFiftySleeps(t *testing.T) {
	e := newReal(t, Config{Images: &inMemory{}})
	rounds := 50
	if onInterpreter() || testing.Short() {
		rounds = 5
	}
	for language, p := range everything {
		runIn(t, e, language, language, p.define, "0")
		for round := 1; round <= rounds; round++ {
			putToSleep(t, e, language)
			if got := e.Sessions(nil, "ada"); slices.Contains(got, language) {
				t.Fatalf("awake: %v", got)
			}
			runIn(t, e, language, language, p.ask, answerOf(language, round))
		}
	}
}

// The state is the memory of the interpreter and not native code: an engine that
// compiles can put to sleep what one that interprets wakes.
func TestASessionWakesInAnotherEngine(t *testing.T) {
	images := &inMemory{}
	for language, p := range everything {
		for round := range 3 {
			e := newReal(t, Config{Images: images, Interpreter: round == 1})
			if round == 0 {
				runIn(t, e, language, language, p.define, "0")
			} else {
				runIn(t, e, language, language, p.ask, answerOf(language, round))
			}
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			if got := images.asleep(); !slices.Contains(got, language) {
				t.Fatalf("asleep after the engine was closed: %v", got)
			}
		}
	}
}

func TestASessionSleepsWhenItIsIdleAndWhenThereAreTooMany(t *testing.T) {
	images := &inMemory{}
	e := newTiny(t, Config{Images: images, SessionIdle: 20 * time.Millisecond})
	runIn(t, e, "idle", JavaScript, "a 1", "1")
	for until := time.Now().Add(time.Minute); len(images.asleep()) == 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("an idle session does not fall asleep")
		}
	}
	runIn(t, e, "idle", JavaScript, "a 1", "2")

	images = &inMemory{}
	e = newTiny(t, Config{Images: images, Sessions: 2})
	for _, name := range []string{"a", "b", "c", "d"} {
		runIn(t, e, name, JavaScript, "a 1", "1")
	}
	if got := images.asleep(); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("asleep: %v", got)
	}
	for _, name := range []string{"a", "b", "c", "d"} {
		runIn(t, e, name, JavaScript, "a 1", "2")
	}
	// A session that cannot be kept stays awake, and nothing is lost.
	images.fail = errors.New("the disk is full")
	_, err := e.Run(t.Context(), of("e", JavaScript, "a 1"))
	if err == nil {
		t.Error("a session gave way that could not be kept")
	}
	for _, name := range []string{"a", "b", "c", "d"} {
		runIn(t, e, name, JavaScript, "a 1", "3")
	}
}

// Runs that want sessions at once, while these fall asleep and wake, find the state of
// the run before, or hear that the session is busy.
func TestSessionsSleepAndWakeUnderLoad(t *testing.T) {
	images := &inMemory{}
	e := newTiny(t, Config{Images: images, Sessions: 3, SessionIdle: time.Millisecond})
	var wg sync.WaitGroup
	var mu sync.Mutex
	done := map[string]int{}
	for worker := range 8 {
		wg.Go(func() {
			for n := range 30 {
				name := fmt.Sprint((worker + n) % 5)
				res, err := e.Run(context.Background(), of(name, JavaScript, "a 1"))
				switch {
				case err == nil:
					mu.Lock()
					done[name]++
					mu.Unlock()
				case !errors.Is(err, fault.UsageSession) && !errors.Is(err, fault.LimitBusy):
					t.Errorf("%v: %s", err, res.Error.Stack)
				}
				if n%7 == 0 {
					_ = e.Sleep(context.Background(), adas(name))
				}
			}
		})
	}
	wg.Wait()
	for name, n := range done {
		runIn(t, e, name, JavaScript, "a 1", fmt.Sprint(n+1))
	}
}

// A woken program gets an error from a file that was open, and a file that is opened
// afterwards is never reached through the old one.
func TestAFileThatWasOpenIsStaleAfterwards(t *testing.T) {
	rules, err := policy.FromFlags(policy.Flags{AllowTool: []string{"*"}, NoPII: true})
	if err != nil {
		t.Fatal(err)
	}
	table, err := hostfns.NewTable(rules, audit.None(), files.New())
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	e := newReal(t, Config{Images: &inMemory{}, Table: table})
	for language, p := range map[string][2]string{
		Python: {`
first = open("/tmp/first", "w+")
other = open("/tmp/other", "w+")
first.write("one"); first.flush(); other.close()
first.fileno()`, `
import os
number = first.fileno()
new = [open(f"/tmp/new{i}", "w+") for i in range(5)]
problems = []
def attempt(f):
    try:
        f()
        problems.append("nothing happened")
    except OSError as e:
        problems.append(e.errno)
attempt(lambda: os.read(number, 3))
attempt(lambda: os.write(number, b"two"))
attempt(lambda: os.fstat(number))
attempt(lambda: (first.write("two"), first.flush()))
for f in new: f.flush()
[number in [f.fileno() for f in new], [open(f"/tmp/new{i}").read() for i in range(5)], sorted(set(problems)), os.path.exists("/tmp/first")]`},
		JavaScript: {`
const fs = await import("node:fs");
globalThis.first = fs.openSync("/tmp/first", "w+");
fs.writeSync(first, "one");
first`, `
const fs = await import("node:fs");
const fresh = [1, 2, 3].map(i => fs.openSync("/tmp/new" + i, "w+"));
const attempt = f => { try { f(); return "nothing happened" } catch (e) { return e.code } };
[fresh.includes(first), [1, 2, 3].map(i => fs.readFileSync("/tmp/new" + i, "utf8")), [...new Set([
  attempt(() => fs.readSync(first, new Uint8Array(3))), attempt(() => fs.fstatSync(first))])], fs.existsSync("/tmp/first")]`}, // a number is a path
	} {
		res, err := e.Run(t.Context(), of(language, language, p[0]))
		if err != nil {
			t.Errorf("%s: %v", language, err)
			continue
		}
		putToSleep(t, e, language)
		putAgain := func(want string) {
			t.Helper()
			res, err = e.Run(t.Context(), of(language, language, p[1]))
			if err != nil {
				t.Fatalf("%s: %v %s", language, err, res.Error.Stack)
			}
			wantValue(t, res, nil, want)
		}
		if language == Python {
			putAgain(`[false, ["", "", "", "", ""], [9], false]`)
		} else {
			putAgain(`[false, ["", "", ""], ["ENOENT"], false]`)
		}
	}
}

// The monotonic clock of a session never goes back, awake or asleep.
func TestTheClockOfASessionGoesOn(t *testing.T) {
	e := newReal(t, Config{Images: &inMemory{}})
	for _, deterministic := range []bool{false, true} {
		name := fmt.Sprint("clock", deterministic)
		last := 0.0
		for round := range 6 {
			r := of(name, Python, "import time\ntime.sleep(0.01)\ntime.monotonic()")
			r.Deterministic = deterministic
			res, err := e.Run(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			var now float64
			if err := json.Unmarshal(res.Value, &now); err != nil || now < last+0.005 {
				t.Errorf("round %d: %v after %v (%v)", round, now, last, err)
			}
			if last = now; round%2 == 1 {
				putToSleep(t, e, name)
			}
		}
	}
}

func TestAChildGoesOnWhereItsParentWas(t *testing.T) {
	for _, images := range []Images{nil, &inMemory{}} {
		c := Config{}
		if images != nil {
			c.Images = images
		}
		e := newReal(t, c)
		for language, p := range everything {
			runIn(t, e, language, language, p.define, "0")
			runIn(t, e, language, language, p.ask, answerOf(language, 1))
			for _, child := range []string{"one ", "two "} {
				if err := e.Fork(t.Context(), adas(language), child+language); err != nil {
					t.Fatal(err)
				}
			}
			runIn(t, e, language, language, p.ask, answerOf(language, 2))
			for _, child := range []string{"one ", "two "} {
				runIn(t, e, child+language, language, p.ask, answerOf(language, 2))
				if images != nil {
					putToSleep(t, e, child+language)
				}
				runIn(t, e, child+language, language, p.ask, answerOf(language, 3))
			}
			wantCode(t, e.Fork(t.Context(), adas(language), "one "+language), fault.UsageSession)
			wantCode(t, e.Fork(t.Context(), adas("unknown"), "x"), fault.UsageSession)
		}
	}
}

// An image that is not the one that the session was put to sleep with is refused, and
// the session is not lost by that.
func TestAForeignOrOlderImageIsRefused(t *testing.T) {
	images := &inMemory{}
	e := newTiny(t, Config{Images: images})
	sleepers := func(name string) *row {
		runIn(t, e, name, JavaScript, "a 1", "1")
		putToSleep(t, e, name)
		return images.rows[adas(name)]
	}
	mine, other := sleepers("mine"), sleepers("other")
	intact := bytes.Clone(mine.data)
	stranger := adas("mine")
	stranger.Tenant = "u"
	head := len(imageMagic) + 4
	for name, change := range map[string]func(){
		"of another session":     func() { mine.data = bytes.Clone(other.data) },
		"of another generation":  func() { mine.generation++ },
		"of another language":    func() { mine.language = Python },
		"that is cut":            func() { mine.data = mine.data[:len(mine.data)-9] },
		"that is empty":          func() { mine.data = nil },
		"with other compression": func() { mine.data[head]++ },
		"that continues":         func() { mine.data = append(mine.data, mine.data[len(imageMagic):]...) },
	} {
		change()
		if _, err := e.Run(t.Context(), of("mine", JavaScript, "a 1")); !errors.Is(err, fault.UsageSession) {
			t.Errorf("an image %s: %v", name, err)
		}
		mine.data, mine.generation, mine.language = bytes.Clone(intact), 1, JavaScript
	}
	images.rows[stranger] = &row{JavaScript, 1, true, bytes.Clone(intact)}
	wantCode(t, e.Wake(t.Context(), stranger), fault.UsageSession)
	for at := range intact {
		mine.data[at] ^= 0x10
		if err := e.Wake(t.Context(), adas("mine")); err == nil {
			if err := e.Sleep(t.Context(), adas("mine")); err != nil { // the change meant nothing
				t.Fatal(err)
			}
			mine = images.rows[adas("mine")]
			intact, _ = bytes.Clone(mine.data), 0
			break
		}
		mine.data[at] ^= 0x10
	}
	runIn(t, e, "mine", JavaScript, "a 1", "2")

	// It was consumed: what is put back is older.
	images.rows[adas("mine")] = &row{JavaScript, 1, true, bytes.Clone(intact)}
	runIn(t, e, "mine", JavaScript, "a 1", "3")
	wantCode(t, e.Sleep(t.Context(), adas("mine")), fault.UsageSession)
}

// What people approved for good, and how often rules allowed calls, is remembered by a
// session that slept; after a change of the policy people are asked again.
func TestApprovalsAndCountersSleepWithTheSession(t *testing.T) {
	asked := 0
	asker := askerFunc(func(context.Context, hostfns.Question) (hostfns.Reply, error) {
		asked++
		return hostfns.Reply{Approved: true, Always: true}, nil
	})
	table := func(text string) *hostfns.Table {
		p, err := policy.Parse("policy.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		table, err := hostfns.NewTable(p, audit.None(), add())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { table.Close() })
		return table
	}
	rules := "version: 1\ntools: {ask: [{tool: math.add, limits: {calls: 4}}]}\napprovals: {remember: session}\n"
	first, changed := table(rules), table(rules+"# changed\nlimits: {time: 59s}\n")
	e := newReal(t, Config{Images: &inMemory{}, SessionIdle: time.Hour})
	call := func(table *hostfns.Table) error {
		r := of("s", JavaScript, "await tools.math.add({a: 1, b: 2})")
		r.Table, r.Asker = table, asker
		_, err := e.Run(t.Context(), r)
		return err
	}
	for round, in := range []*hostfns.Table{first, first, changed, changed} {
		if err := call(in); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		putToSleep(t, e, "s")
	}
	if asked != 2 {
		t.Errorf("people were asked %d times", asked)
	}
	if err := call(changed); err == nil || !strings.Contains(err.Error(), "4 calls") {
		t.Errorf("the fifth call: %v", err)
	}
}

type askerFunc func(context.Context, hostfns.Question) (hostfns.Reply, error)

func (f askerFunc) Ask(ctx context.Context, q hostfns.Question) (hostfns.Reply, error) {
	return f(ctx, q)
}

func TestSessionsAreListedAndEnded(t *testing.T) {
	images := &inMemory{}
	e := newTiny(t, Config{Images: images})
	if err := e.CreateSession(t.Context(), adas("new"), "js"); err != nil {
		t.Fatal(err)
	}
	wantCode(t, e.CreateSession(t.Context(), adas("new"), "js"), fault.UsageSession)
	wantCode(t, e.CreateSession(t.Context(), adas("x"), "cobol"), fault.UsageLanguage)
	wantCode(t, e.Wake(t.Context(), adas("x")), fault.UsageSession)
	wantCode(t, e.Sleep(t.Context(), adas("x")), fault.UsageSession)
	wantCode(t, e.End(t.Context(), adas("x")), fault.UsageSession)
	runIn(t, e, "old", JavaScript, "a 1", "1")
	putToSleep(t, e, "old")
	putToSleep(t, e, "old")
	putToSleep(t, e, "new") // nothing ran in it yet
	runIn(t, e, "new", JavaScript, "a 1", "1")
	states := map[string]SessionState{}
	all, err := e.ListSessions(t.Context(), "t", "ada")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		states[s.Name] = s.State
	}
	if !maps.Equal(states, map[string]SessionState{"old": SessionAsleep, "new": SessionAwake}) {
		t.Errorf("states: %v", states)
	}
	for _, who := range [][2]string{{"t", "bob"}, {"u", "ada"}} {
		if all, err := e.ListSessions(t.Context(), who[0], who[1]); err != nil || len(all) > 0 {
			t.Errorf("of another: %v %v", all, err)
		}
	}
	for _, name := range []string{"old", "new"} {
		if err := e.End(t.Context(), adas(name)); err != nil {
			t.Error(err)
		}
		runIn(t, e, name, JavaScript, "a 1", "1")
	}
}

func TestASessionOfAnotherBuildOfTheGuestIsRefusedAndKept(t *testing.T) {
	images := &inMemory{}
	e := newTiny(t, Config{Images: images})
	runIn(t, e, "s", JavaScript, "a 1", "1")
	putToSleep(t, e, "s")
	g, err := e.guests.Get(t.Context(), JavaScript, nil)
	if err != nil {
		t.Fatal(err)
	}
	build := g.Digest
	g.Digest = "another"
	_, err = e.Run(t.Context(), of("s", JavaScript, "a 1"))
	if !errors.Is(err, fault.UsageSession) || !strings.Contains(err.Error(), "another build of the interpreter") || fault.HintOf(err) == "" {
		t.Errorf("error %v, hint %q", err, fault.HintOf(err))
	}
	if got := images.asleep(); !slices.Equal(got, []string{"s"}) {
		t.Errorf("asleep: %v", got)
	}
	g.Digest = build
	runIn(t, e, "s", JavaScript, "a 1", "2")
}
