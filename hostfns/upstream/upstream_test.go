package upstream

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
)

// The test binary is also the servers it tests against: SERVER names which.
func TestMain(m *testing.M) {
	if kind := os.Getenv("SERVER"); kind == "rude" {
		serveRudely(os.Stdin, os.Stdout)
		return
	} else if kind != "" {
		serve(kind)
		return
	}
	os.Exit(m.Run())
}

func serve(kind string) {
	s := mcp.NewServer(&mcp.Implementation{Name: kind, Version: "7"}, nil)
	raw := func(name string, f func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error)) {
		s.AddTool(&mcp.Tool{Name: name, Description: "A <b>bold</b>\x1b[31m tool<!-- hidden -->" + os.Getenv("API_KEY"), InputSchema: json.RawMessage(`{"type":"object"}`)}, f)
	}
	text := func(t string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: t}}}
	}
	raw("echo", func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return text(string(r.Params.Arguments)), nil
	})
	raw("say", func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var in struct{ Text string }
		_ = json.Unmarshal(r.Params.Arguments, &in)
		return text(in.Text), nil
	})
	raw("structured", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{StructuredContent: json.RawMessage(`{"big":9007199254740993,"e":1e400}`)}, nil
	})
	raw("image", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{Data: []byte{1, 2, 3}, MIMEType: "image/png"}}}, nil
	})
	raw("fail", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "no such branch"}}}, nil
	})
	raw("hang", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		fmt.Fprintln(os.Stderr, "call hangs")
		<-ctx.Done()
		fmt.Fprintln(os.Stderr, "call was cancelled")
		return nil, ctx.Err()
	})
	raw("die", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		fmt.Fprintln(os.Stderr, "out of tea")
		os.Exit(3)
		return nil, nil
	})
	raw("grow", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		raw("late", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return text("late"), nil })
		return text("grown"), nil
	})
	raw("leak", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var in struct{ How, Text string }
		_ = json.Unmarshal(r.Params.Arguments, &in)
		key := os.Getenv("API_KEY")
		switch in.How {
		case "log":
			_ = r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "warning", Data: in.Text + " with " + key})
		case "long death": // the text is where the kept end of stderr begins
			fmt.Fprint(os.Stderr, in.Text, strings.Repeat("x", tailSize-len(in.Text)/2))
			os.Exit(4)
		case "structured":
			return &mcp.CallToolResult{StructuredContent: map[string]any{"key": key, "list": []string{"x" + key + "y"}}}, nil
		case "error":
			return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "bad key " + key}}}, nil
		case "fault":
			return nil, fmt.Errorf("bad key %s", key)
		case "progress":
			_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1, Message: "using " + key})
			untilHeard(r.Params.Arguments)
		case "death":
			fmt.Fprintln(os.Stderr, "dying with", key)
			os.Exit(4)
		case "base64":
			return text(base64.StdEncoding.EncodeToString([]byte(key))), nil
		}
		return text("key " + key), nil
	})
	raw("log", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		_ = r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "warning", Data: "low on tea\x1b[31m"})
		return text("logged"), nil
	})
	raw("steps", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1, Total: 2, Message: "half"})
		untilHeard(r.Params.Arguments)
		return text("done"), nil
	})
	switch kind {
	case "noisy":
		fmt.Println("Server listening, and other chatter")
		fmt.Println(`{"not": "a message"`)
	case "mute":
		time.Sleep(time.Hour)
	case "broken":
		fmt.Fprintln(os.Stderr, "cannot find my database")
		os.Exit(1)
	case "many":
		for i := range maxTools + 10 {
			raw("t"+strconv.Itoa(i), func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return text(""), nil })
		}
	case "wrapped": // as by npx: the server is a child that has the same input
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), "SERVER=polite")
		child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
		_ = child.Run()
		return
	case "polite":
		_ = os.WriteFile(os.Getenv("PIDS"), fmt.Appendf(nil, "%d %d", os.Getpid(), os.Getppid()), 0o600)
	case "stubborn":
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
		child := exec.Command("sleep", "600")
		if err := child.Start(); err != nil {
			os.Exit(9)
		}
		_ = os.WriteFile(os.Getenv("PIDS"), fmt.Appendf(nil, "%d %d", os.Getpid(), child.Process.Pid), 0o600)
		defer time.Sleep(time.Hour)
	}
	_ = s.Run(context.Background(), &mcp.StdioTransport{})
}

// untilHeard holds an answer back until the test says that it heard of the
// progress, with a file: notifications have no order against answers.
func untilHeard(args json.RawMessage) {
	var in struct{ Heard string }
	_ = json.Unmarshal(args, &in)
	for range 3000 {
		if _, err := os.Stat(in.Heard); in.Heard == "" || err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// connectTo makes a provider of one server of a kind.
func connectTo(t *testing.T, kind string, env map[string]string) *Provider {
	t.Helper()
	return connectEnding(t, kind, env, nil)
}

// connectEnding is connectTo with another way to end processes.
func connectEnding(t *testing.T, kind string, env map[string]string, e *ending) *Provider {
	t.Helper()
	all := map[string]string{"SERVER": kind}
	for k, v := range env {
		all[k] = v
	}
	timeout := time.Minute // a busy machine takes its time to start a process
	if kind == "mute" {
		timeout = time.Second
	}
	p, err := New([]Server{{Name: kind, Command: os.Args[0], Env: all, Timeout: timeout, Origin: "mcp.json:4"}}, Options{Environ: os.Environ(), ending: e})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

func call(p *Provider, server, tool, args string) (hostfns.Answer, error) {
	return p.Call(context.Background(), hostfns.Call{Server: server, Tool: tool, Args: json.RawMessage(args), Progress: func(float64, float64, string) {}})
}

func TestAnswersAreUnwrappedOneWay(t *testing.T) {
	p := connectTo(t, "plain", nil)
	for _, c := range []struct {
		tool, args string
		kind       hostfns.Kind
		data       string
	}{
		{"echo", `{"a":[1,2]}`, hostfns.JSON, `{"a":[1,2]}`},
		{"say", `{"Text":"42"}`, hostfns.Text, `42`},
		{"say", `{"Text":"[1, 2"}`, hostfns.Text, `[1, 2`},
		{"structured", `{}`, hostfns.JSON, `{"big":9007199254740993,"e":1e400}`},
		{"image", `{}`, hostfns.Content, `[{"data":{"$bytes":"AQID"},"mimeType":"image/png","type":"image"}]`},
	} {
		got, err := call(p, "plain", c.tool, c.args)
		if err != nil || got.Kind != c.kind || string(got.Data) != c.data {
			t.Errorf("%s(%s) = %d %s, %v; want %d %s", c.tool, c.args, got.Kind, got.Data, err, c.kind, c.data)
		}
	}
	if _, err := call(p, "plain", "fail", `{}`); !errors.Is(err, fault.ToolFailed) || err.Error() != "no such branch" {
		t.Errorf("a failing tool gives %v", err)
	}
}

func TestWordsOfAServerAreCleaned(t *testing.T) {
	p := connectTo(t, "plain", nil)
	tools, err := p.Tools(context.Background(), "plain")
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools {
		if tool.Description != "A bold[31m tool" || tool.Version != "7" {
			t.Fatalf("%q of version %q", tool.Description, tool.Version)
		}
	}
}

func TestChatterOnStandardOutputIsPassedOver(t *testing.T) {
	p := connectTo(t, "noisy", nil)
	if got, err := call(p, "noisy", "say", `{"Text":"hi"}`); err != nil || string(got.Data) != "hi" {
		t.Fatalf("%s, %v", got.Data, err)
	}
}

func TestAServerThatDoesNotStartSaysWhy(t *testing.T) {
	t.Parallel()
	p := connectTo(t, "broken", nil)
	_, err := call(p, "broken", "echo", `{}`)
	if !errors.Is(err, fault.UpstreamUnavailable) || !strings.Contains(fault.HintOf(err), "cannot find my database") {
		t.Errorf("error %v, hint %q", err, fault.HintOf(err))
	}
	missing, err := New([]Server{{Name: "x", Command: "no-such-program-anywhere", Origin: "mcp.json:9"}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := call(missing, "x", "echo", `{}`); !errors.Is(err, fault.UpstreamUnavailable) || !strings.Contains(fault.HintOf(err), "mcp.json:9") {
		t.Errorf("error %v, hint %q", err, fault.HintOf(err))
	}
}

func TestAMuteServerIsGivenUpInTime(t *testing.T) {
	t.Parallel()
	p := connectTo(t, "mute", nil)
	start := time.Now()
	if _, err := p.Tools(context.Background(), "mute"); !errors.Is(err, fault.UpstreamUnavailable) {
		t.Fatalf("a mute server gives %v", err)
	}
	if took := time.Since(start); took > time.Minute {
		t.Errorf("it took %v", took)
	}
}

func TestAServerThatDiesIsStartedAgain(t *testing.T) {
	p := connectTo(t, "plain", nil)
	_, err := call(p, "plain", "die", `{}`)
	if !errors.Is(err, fault.UpstreamUnavailable) {
		t.Fatalf("a dying server gives %v", err)
	}
	deadline := time.Now().Add(time.Minute)
	for {
		if got, err := call(p, "plain", "say", `{"Text":"again"}`); err == nil && string(got.Data) == "again" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("it did not come back")
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func TestACancelledCallIsCancelledAtTheServer(t *testing.T) {
	p := connectTo(t, "plain", nil)
	if _, err := p.Tools(t.Context(), "plain"); err != nil { // it is started
		t.Fatal(err)
	}
	c := p.connections["plain"]
	says := func(words string) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); !strings.Contains(c.live.stderr(), words); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Errorf("the server does not say %q", words)
				return
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		says("call hangs")
		cancel()
	}()
	if _, err := p.Call(ctx, hostfns.Call{Server: "plain", Tool: "hang", Args: json.RawMessage(`{}`)}); !errors.Is(err, context.Canceled) {
		t.Fatalf("a cancelled call gives %v", err)
	}
	says("call was cancelled")
}

func TestChangedToolsAreHeard(t *testing.T) {
	p := connectTo(t, "plain", nil)
	heard := make(chan string, 10)
	stop := p.Watch(func(s string) { heard <- s })
	defer stop()
	before, err := p.Tools(context.Background(), "plain")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := call(p, "plain", "grow", `{}`); err != nil {
		t.Fatal(err)
	}
	select {
	case s := <-heard:
		if s != "plain" {
			t.Errorf("heard %q", s)
		}
	case <-time.After(time.Minute):
		t.Fatal("nothing was heard")
	}
	after, err := p.Tools(context.Background(), "plain")
	if err != nil || len(after) != len(before)+1 {
		t.Errorf("%d tools before, %d after, %v", len(before), len(after), err)
	}
}

func TestProgressReachesTheCall(t *testing.T) {
	p := connectTo(t, "plain", nil)
	heard := filepath.Join(t.TempDir(), "heard")
	var mu sync.Mutex
	var said []string
	_, err := p.Call(context.Background(), hostfns.Call{Server: "plain", Tool: "steps", Args: fmt.Appendf(nil, `{"Heard":%q}`, heard),
		Progress: func(done, total float64, text string) {
			mu.Lock()
			defer mu.Unlock()
			said = append(said, fmt.Sprint(done, total, text))
			_ = os.WriteFile(heard, nil, 0o600)
		}})
	if err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(said) != 1 || said[0] != "1 2half" && said[0] != "1 2 half" {
		t.Errorf("heard %q", said)
	}
}

func TestTooManyToolsCostOnlyTheRest(t *testing.T) {
	t.Parallel()
	p := connectTo(t, "many", nil)
	tools, err := p.Tools(context.Background(), "many")
	if err != nil || len(tools) != maxTools {
		t.Fatalf("%d tools, %v", len(tools), err)
	}
	if len(p.Refused("many")) == 0 {
		t.Error("the tools that are left out are not reported")
	}
}

func TestCloseEndsTheWholeGroupOfAStubbornServer(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("needs process groups and /proc")
	}
	pids := filepath.Join(t.TempDir(), "pids")
	p := connectTo(t, "stubborn", map[string]string{"PIDS": pids})
	if _, err := p.Tools(context.Background(), "stubborn"); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	mustBeGone(t, pids)
}

// The behavior of platforms without process groups, tested where it can be
// observed: a wrapped server ends with its input, a stubborn leader is killed.
func TestWithoutGroupsServersEndWithTheirInputOrTheirLeaderIsKilled(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	alone := byLeader()
	for _, kind := range []string{"wrapped", "stubborn"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			pids := filepath.Join(t.TempDir(), "pids")
			p := connectEnding(t, kind, map[string]string{"PIDS": pids}, &alone)
			if _, err := p.Tools(context.Background(), kind); err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(pids)
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
			if kind == "wrapped" {
				mustBeGone(t, pids)
				return
			}
			leader, child, _ := strings.Cut(string(data), " ")
			if alive(leader) {
				t.Error("the leader lives on")
			}
			if pid, err := strconv.Atoi(child); err == nil { // which reads no input
				signalLeader(pid, true)
			}
		})
	}
}

// TestServersDoNotOutliveAKilledHost starts a host that starts a server, and
// kills the host the hard way: a stubborn server ends by the watcher, one whose
// platform has none by its input.
func TestServersDoNotOutliveAKilledHost(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs the watcher, which is for Linux")
	}
	if kind := os.Getenv("HOST"); kind != "" {
		var e *ending
		if kind == "wrapped" {
			alone := byLeader()
			e = &alone
		}
		p := connectEnding(t, kind, map[string]string{"PIDS": os.Getenv("PIDS")}, e)
		if _, err := p.Tools(context.Background(), kind); err != nil {
			t.Fatal(err)
		}
		fmt.Println("started")
		time.Sleep(time.Minute)
		return
	}
	for _, kind := range []string{"stubborn", "wrapped"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			pids := filepath.Join(t.TempDir(), "pids")
			host := exec.Command(os.Args[0], "-test.run", "^TestServersDoNotOutliveAKilledHost$", "-test.v")
			host.Env = append(os.Environ(), "HOST="+kind, "PIDS="+pids)
			out, err := host.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := host.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(out)
			for lines.Scan() && lines.Text() != "started" {
			}
			if err := host.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = host.Wait()
			mustBeGone(t, pids)
		})
	}
}

func mustBeGone(t *testing.T, pids string) {
	t.Helper()
	data, err := os.ReadFile(pids)
	if err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(time.Minute)
	for _, pid := range strings.Fields(string(data)) {
		for alive(pid) {
			if time.Now().After(deadline) {
				t.Fatalf("process %s lives on", pid)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// alive reports whether a process runs; a zombie does not.
func alive(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return false
	}
	_, rest, ok := strings.Cut(string(stat), ") ")
	return ok && !strings.HasPrefix(rest, "Z")
}

func TestOnlyNamedVariablesReachAServer(t *testing.T) {
	got := childEnv(map[string]string{"TOKEN": "mine", "LANG": "de"}, []string{"PATH=/bin", "AWS_SECRET_ACCESS_KEY=x", "LANG=C", "HOME=/h"})
	want := "HOME=/h,LANG=de,PATH=/bin,TOKEN=mine"
	if strings.Join(got, ",") != want {
		t.Errorf("%q, want %q", got, want)
	}
}
