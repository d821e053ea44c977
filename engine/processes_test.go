package engine

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// Variables of a child process of a test: childFolder names its cache folder,
// childLays makes it fill the folder again and again until it is killed.
const (
	childFolder = "WEXEC_TEST_CHILD"
	childLays   = "WEXEC_TEST_CHILD_LAYS"
)

// No test leaves a goroutine behind, whatever became of its runs.
func TestMain(m *testing.M) {
	if dir := os.Getenv(childFolder); dir != "" {
		if err := child(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if kind := os.Getenv(workServer); kind != "" {
		serveWorst(kind, os.Stdin, os.Stdout)
		return
	}
	goleak.VerifyTestMain(m)
}

// child runs the tiny guest over a cache folder when it is told to, and says
// what came of it.
func child(dir string) error {
	m, err := tinyGuest()
	if err != nil {
		return err
	}
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	for {
		e, err := open(Config{Cache: dir, Ready: -1})
		if err != nil {
			return err
		}
		e.guests.Open = opens(m)
		off := false
		res, err := e.Run(context.Background(), Request{Language: JavaScript, Code: "l 1000\nv 7", Cache: &off, Deterministic: true})
		if err != nil {
			return err
		}
		g, err := e.guests.Get(context.Background(), JavaScript, nil)
		if err != nil {
			return err
		}
		fmt.Println(string(res.Value), res.Usage.Fuel, g.Stub || onInterpreter())
		if err := e.Close(); err != nil {
			return err
		}
		if os.Getenv(childLays) == "" {
			return nil
		}
		for _, sub := range []string{"code", "images"} {
			_ = os.RemoveAll(filepath.Join(dir, sub))
		}
	}
}

// children starts processes over a folder. They begin when they are told to.
func children(t *testing.T, dir string, n int, env ...string) (all []*exec.Cmd, said []*bufio.Reader, begin func()) {
	t.Helper()
	var stdin []io.Writer
	for range n {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(append(os.Environ(), childFolder+"="+dir), env...)
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		switch err := cmd.Start(); {
		case errors.Is(err, syscall.ENOEXEC):
			t.Skip("needs to start itself, which an emulator cannot")
		case err != nil:
			t.Fatal(err)
		}
		r := bufio.NewReader(out)
		if line, err := r.ReadString('\n'); line != "ready\n" {
			t.Fatalf("%q %v", line, err)
		}
		all, said, stdin = append(all, cmd), append(said, r), append(stdin, in)
	}
	return all, said, func() {
		for _, in := range stdin {
			if _, err := io.WriteString(in, "go\n"); err != nil {
				t.Error(err)
			}
		}
	}
}

// halfMade are the files and folders below a cache folder that have not got
// their names yet.
func halfMade(t *testing.T, dir string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && path != dir && strings.HasPrefix(d.Name(), ".") {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Processes that begin at one moment over one folder, which is missing, all give
// the same answer for the same fuel, and leave what the next ones start from.
func TestProcessesThatWarmOneFolderAtOnceAllWork(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "there", "yet")
	for round := range 3 {
		all, said, begin := children(t, dir, 4)
		begin()
		answers := map[string]int{}
		for i, cmd := range all {
			line, err := said[i].ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
			answer, stub, _ := strings.Cut(strings.TrimSpace(line), " ")
			fuel, stub, _ := strings.Cut(stub, " ")
			answers[answer+" for "+fuel]++
			if round > 0 && stub != "true" {
				t.Errorf("round %d: a process did not find the compiled code: %q", round, line)
			}
		}
		if len(answers) != 1 {
			t.Errorf("round %d: the processes gave %v", round, answers)
		}
		if left := halfMade(t, dir); len(left) > 0 {
			t.Errorf("round %d: left behind: %v", round, left)
		}
	}
}

// Processes that are killed while they fill a folder leave nothing that the next
// ones stumble over, and what they left goes when it is old.
func TestAProcessKilledWhileItLaysTheCacheHarmsNobody(t *testing.T) {
	rounds := 40
	if testing.Short() {
		rounds = 4
	}
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(8, 9))
	for range rounds {
		all, said, begin := children(t, dir, 2, childLays+"=1")
		begin()
		if _, err := said[0].ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(r.IntN(30_000)) * time.Microsecond)
		for _, cmd := range all {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	left := halfMade(t, dir)
	t.Logf("the killed left %d things half made", len(left))
	long := time.Now().Add(-2 * time.Hour)
	for _, path := range left {
		if err := os.Chtimes(path, long, long); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		e := newTiny(t, Config{Cache: dir})
		res, err := tiny(t, e, "l 1000\nv 7")
		wantValue(t, res, err, "7")
	}
	if !onInterpreter() && !throughStub(t, dir) {
		t.Error("the code in the folder is not used")
	}
	if left := halfMade(t, dir); len(left) > 0 {
		t.Errorf("still there: %q", left)
	}
}
