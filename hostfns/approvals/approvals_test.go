package approvals

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/internal/text"
)

// asked is a prompt made of a function.
type asked func(ctx context.Context, q hostfns.Question) (hostfns.Reply, error)

func (a asked) Ask(ctx context.Context, q hostfns.Question) (hostfns.Reply, error) { return a(ctx, q) }

func yes(context.Context, hostfns.Question) (hostfns.Reply, error) {
	return hostfns.Reply{Approved: true}, nil
}

func never(ctx context.Context, _ hostfns.Question) (hostfns.Reply, error) {
	<-ctx.Done()
	return hostfns.Reply{}, ctx.Err()
}

func nobody(context.Context, hostfns.Question) (hostfns.Reply, error) {
	return hostfns.Reply{}, hostfns.ErrNobody
}

func ask(b *Broker, id string, via ...string) hostfns.Question {
	return hostfns.Question{ID: id, Tool: "mail.send", Message: "mail to bob", Via: via, Since: time.Now()}
}

func TestWithoutAWayToAskTheAnswerIsNobodyAtOnce(t *testing.T) {
	b := New()
	if _, err := b.Ask(t.Context(), ask(b, "q1", Terminal, MCP, Socket)); !errors.Is(err, hostfns.ErrNobody) {
		t.Fatal(err)
	}
	b.Offer(Terminal, asked(yes))
	if _, err := b.Ask(t.Context(), ask(b, "q1", MCP)); !errors.Is(err, hostfns.ErrNobody) {
		t.Fatal("a way that the policy does not name was asked:", err)
	}
	b.Offer(MCP, asked(nobody))
	if _, err := b.Ask(t.Context(), ask(b, "q1", MCP)); !errors.Is(err, hostfns.ErrNobody) {
		t.Fatal(err)
	}
}

func TestTheFirstAnswerHolds(t *testing.T) {
	b := New()
	b.Offer(MCP, asked(never))
	withdraw := b.Offer(Terminal, asked(yes))
	r, err := b.Ask(t.Context(), ask(b, "q1", MCP, Terminal))
	if err != nil || !r.Approved || r.By != Terminal {
		t.Fatal(r, err)
	}
	withdraw()
	if _, err := b.Ask(t.Context(), ask(b, "q2", Terminal)); !errors.Is(err, hostfns.ErrNobody) {
		t.Fatal(err)
	}
}

func TestAPromptThatFailsIsNoApproval(t *testing.T) {
	for name, prompt := range map[string]asked{
		"panics": func(context.Context, hostfns.Question) (hostfns.Reply, error) { panic("x") },
		"fails": func(context.Context, hostfns.Question) (hostfns.Reply, error) {
			return hostfns.Reply{Approved: true}, errors.New("torn")
		},
		"says nothing": func(context.Context, hostfns.Question) (hostfns.Reply, error) { return hostfns.Reply{}, nil },
	} {
		b := New()
		b.Offer(Terminal, prompt)
		if r, err := b.Ask(t.Context(), ask(b, "q", Terminal)); err == nil && r.Approved {
			t.Errorf("a prompt that %s approved", name)
		}
	}
}

func TestATerminalIsAskedOneQuestionAtATime(t *testing.T) {
	b := New()
	var mu sync.Mutex
	busy, most := 0, 0
	b.Offer(Terminal, asked(func(context.Context, hostfns.Question) (hostfns.Reply, error) {
		mu.Lock()
		busy++
		most = max(most, busy)
		mu.Unlock()
		time.Sleep(time.Millisecond)
		mu.Lock()
		busy--
		mu.Unlock()
		return hostfns.Reply{Approved: true}, nil
	}))
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			if r, err := b.Ask(t.Context(), ask(b, fmt.Sprint("q", i), Terminal)); err != nil || !r.Approved {
				t.Error(r, err)
			}
		})
	}
	wg.Wait()
	if most != 1 {
		t.Fatalf("%d questions at once", most)
	}
}

// listening is a broker with a socket, in a folder short enough for one.
func listening(t *testing.T) (*Broker, string) {
	t.Helper()
	top, err := os.MkdirTemp("", "wx")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(top) })
	dir := filepath.Join(top, "s")
	b := New()
	c, err := b.Listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return b, dir
}

// pose asks in the background and waits until the question is open.
func pose(t *testing.T, b *Broker, q hostfns.Question) <-chan hostfns.Reply {
	t.Helper()
	out := make(chan hostfns.Reply, 1)
	go func() {
		r, err := b.Ask(context.Background(), q)
		if err != nil {
			r.Reason = err.Error()
		}
		out <- r
	}()
	for range 60_000 {
		for _, open := range b.List() {
			if open.ID == q.ID {
				return out
			}
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("the question is not open")
	return nil
}

func TestAQuestionIsAnsweredFromAnotherTerminal(t *testing.T) {
	b, dir := listening(t)
	first := pose(t, b, ask(b, "q_aaa", Socket))
	second := pose(t, b, ask(b, "q_bbb", Socket))
	list, err := Pending(t.Context(), dir)
	if err != nil || len(list) != 2 || list[0].ID != "q_aaa" || list[0].Message != "mail to bob" {
		t.Fatal(list, err)
	}
	if err := Decide(t.Context(), dir, "q_", hostfns.Reply{Approved: true}); fault.CodeOf(err) != fault.UsageFlag {
		t.Fatal("an id that names two was taken:", err)
	}
	if err := Decide(t.Context(), dir, "q_a", hostfns.Reply{Approved: true, Always: true, Who: "bob\x1b[2J"}); err != nil {
		t.Fatal(err)
	}
	if err := Decide(t.Context(), dir, "q_bbb", hostfns.Reply{Reason: "not today"}); err != nil {
		t.Fatal(err)
	}
	if r := <-first; !r.Approved || !r.Always || r.By != Socket || r.Who != `bob\u{1b}[2J` {
		t.Fatalf("%+v", r)
	}
	if r := <-second; r.Approved || r.Reason != "not today" {
		t.Fatalf("%+v", r)
	}
	if err := Decide(t.Context(), dir, "q_aaa", hostfns.Reply{Approved: true}); fault.CodeOf(err) != fault.UsageFlag {
		t.Fatal(err)
	}
	for _, id := range []string{"", "none", strings.Repeat("x", 1000)} {
		if err := Decide(t.Context(), dir, id, hostfns.Reply{Approved: true}); fault.CodeOf(err) != fault.UsageFlag {
			t.Errorf("%.20q: %v", id, err)
		}
	}
}

func TestTheSocketAnswersOnlyWhereThePolicyNamesIt(t *testing.T) {
	b, dir := listening(t)
	b.Offer(Terminal, asked(never))
	_ = pose(t, b, ask(b, "q_term", Terminal))
	if err := Decide(t.Context(), dir, "q_term", hostfns.Reply{Approved: true}); fault.CodeOf(err) != fault.UsageFlag {
		t.Fatal("a question for the terminal was answered over the socket:", err)
	}
	if err := b.Answer("q_term", hostfns.Reply{By: Terminal}); err != nil {
		t.Fatal(err)
	}
	if err := b.Answer("q_term", hostfns.Reply{Approved: true, By: Terminal}); err == nil {
		t.Fatal("a second answer held")
	}
}

func TestOnlyItsOwnerCanOpenTheSocket(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs permission bits")
	}
	_, dir := listening(t)
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Fatal(info.Mode(), err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Fatal(entries, err)
	}
	if info, err = entries[0].Info(); err != nil || info.Mode().Perm() != 0o600 || info.Mode()&fs.ModeSocket == 0 {
		t.Fatal(info.Mode(), err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if _, err := New().Listen(link); err == nil {
		t.Fatal("a link to a folder was taken for the folder")
	}
}

func TestNoiseOnTheSocketDisturbsNothing(t *testing.T) {
	b, dir := listening(t)
	entries, _ := os.ReadDir(dir)
	path := filepath.Join(dir, entries[0].Name())
	for _, noise := range []string{"", "\n", "{", "null\n", `{"op":"approve"}` + "\n", `{"op":"explode","id":"x"}` + "\n", strings.Repeat("x", 200<<10)} {
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(time.Second))
		_, _ = c.Write([]byte(noise))
		_ = c.Close()
	}
	_ = os.WriteFile(filepath.Join(dir, "x"+suffix), nil, 0o600)
	answer := pose(t, b, ask(b, "q_ok", Socket))
	if err := Decide(t.Context(), dir, "q_ok", hostfns.Reply{Approved: true}); err != nil {
		t.Fatal(err)
	}
	if r := <-answer; !r.Approved {
		t.Fatalf("%+v", r)
	}
}

// TestASocketThatIsOpenedIsNotRemoved lists questions while sockets are opened: a
// socket that does not accept yet is not taken for one that was left behind.
func TestASocketThatIsOpenedIsNotRemoved(t *testing.T) {
	b, dir := listening(t)
	done := make(chan bool)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					_, _ = Pending(context.Background(), dir)
				}
			}
		})
	}
	for range 300 {
		c, err := b.Listen(dir)
		if err != nil {
			t.Error(err)
			break
		}
		_ = c.Close()
	}
	close(done)
	wg.Wait()
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%d sockets are left: %v", len(entries), err)
	}
}

func TestASocketThatNobodyListensToIsRemoved(t *testing.T) {
	_, dir := listening(t)
	dead := filepath.Join(dir, "1-dead"+suffix)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: dead})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	if list, err := Pending(t.Context(), dir); err != nil || len(list) != 0 {
		t.Fatal(list, err)
	}
	if _, err := os.Lstat(dead); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal("it is still there")
	}
	if list, err := Pending(t.Context(), filepath.Join(dir, "none")); err != nil || len(list) != 0 {
		t.Fatal(list, err)
	}
}

func TestWhatCannotBeSeenIsShown(t *testing.T) {
	for in, want := range map[string]string{
		"plain äöü 漢字":       "plain äöü 漢字",
		"a\x1b[2Jb":          `a\u{1b}[2Jb`,
		"pay\u202e100\u202c": `pay\u{202e}100\u{202c}`,
		"zero\u200bwidth":    `zero\u{200b}width`,
		"bad\xffbyte":        `bad\u{fffd}byte`,
		"c1\u009b31m":        `c1\u{9b}31m`,
		"sep\u2028line":      `sep\u{2028}line`,
		"no\u00a0break":      `no\u{a0}break`,
		"tag\U000e0041":      `tag\u{e0041}`,
		"a\r\nb":             `a\u{d}\u{a}b`,
	} {
		if got := text.Visible(in); got != want {
			t.Errorf("%q is shown as %q", in, got)
		}
	}
	if got := text.VisibleLines("a\n\tb\r"); got != "a\n\tb"+`\u{d}` {
		t.Errorf("%q", got)
	}
}
