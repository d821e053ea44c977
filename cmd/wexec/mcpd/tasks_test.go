package mcpd

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/wexec/wexec/engine"
)

// rawClient speaks the protocol as the specification writes it, without the library.
type rawClient struct {
	t    *testing.T
	send func(id int, method string, message []byte) []byte
	last int
}

// rawAnswer is an answer to a raw request.
type rawAnswer struct {
	t      *testing.T
	Result map[string]any `json:"result"`
	Error  *struct {
		Code    int
		Message string
		Data    map[string]any
	} `json:"error"`
}

// What clients declare.
var (
	taking    = map[string]any{"extensions": map[string]any{"io.modelcontextprotocol/tasks": map[string]any{}}}
	answering = map[string]any{"extensions": taking["extensions"], "elicitation": map[string]any{"form": map[string]any{}}}
	plainOnly = map[string]any{}
)

// call sends a request with the capabilities of the client.
func (c *rawClient) call(capabilities map[string]any, method string, params map[string]any) rawAnswer {
	c.t.Helper()
	c.last++
	all := map[string]any{"_meta": map[string]any{
		"io.modelcontextprotocol/protocolVersion":    "2026-07-28",
		"io.modelcontextprotocol/clientInfo":         map[string]any{"name": "raw", "version": "1"},
		"io.modelcontextprotocol/clientCapabilities": capabilities,
	}}
	maps.Copy(all, params)
	message, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": c.last, "method": method, "params": all})
	if err != nil {
		c.t.Fatal(err)
	}
	answer := rawAnswer{t: c.t}
	data := c.send(c.last, method, message)
	if err := json.Unmarshal(data, &answer); err != nil || (answer.Result == nil) == (answer.Error == nil) {
		c.t.Fatalf("%s answered %s: %v", method, data, err)
	}
	return answer
}

// run calls execute_code.
func (c *rawClient) run(capabilities map[string]any, code string) rawAnswer {
	c.t.Helper()
	return c.call(capabilities, "tools/call", map[string]any{"name": "execute_code", "arguments": map[string]any{"language": "javascript", "code": code}})
}

// is fails the test unless the answer is an error with a code.
func (a rawAnswer) is(code int) {
	a.t.Helper()
	if a.Error == nil || a.Error.Code != code {
		a.t.Errorf("answer %v %+v, want the error %d", a.Result, a.Error, code)
	}
}

// task returns the id of a task, whose form it checks.
func (a rawAnswer) task(resultType, status string) string {
	a.t.Helper()
	if a.Error != nil {
		a.t.Fatalf("%+v", a.Error)
	}
	has := map[string]bool{"resultType": true, "taskId": true, "status": true, "createdAt": true, "lastUpdatedAt": true, "ttlMs": true, "pollIntervalMs": true,
		"_meta": true, "statusMessage": true, "inputRequests": status == "input_required" && resultType == "complete",
		"result": status == "completed" && resultType == "complete", "error": status == "failed"}
	for key := range a.Result {
		if !has[key] {
			a.t.Errorf("a task that is %s has %s", status, key)
		}
	}
	for _, key := range []string{"createdAt", "lastUpdatedAt"} {
		text, _ := a.Result[key].(string)
		if _, err := time.Parse(time.RFC3339, text); err != nil {
			a.t.Errorf("%s: %v", key, err)
		}
	}
	for _, key := range []string{"ttlMs", "pollIntervalMs"} {
		if n, ok := a.Result[key].(float64); !ok || n <= 0 || n != float64(int64(n)) {
			a.t.Errorf("%s: %v", key, a.Result[key])
		}
	}
	id, _ := a.Result["taskId"].(string)
	if a.Result["resultType"] != resultType || a.Result["status"] != status || id == "" {
		a.t.Fatalf("want %s %s, not %v", resultType, status, a.Result)
	}
	return id
}

// poll asks for a task until it has a status.
func (c *rawClient) poll(id, status string) rawAnswer {
	c.t.Helper()
	for range 600 {
		a := c.call(taking, "tasks/get", map[string]any{"taskId": id})
		if a.Error != nil || a.Result["status"] == status {
			a.task("complete", status)
			return a
		}
		time.Sleep(50 * time.Millisecond)
	}
	c.t.Fatalf("the task is not %s after 30 s", status)
	return rawAnswer{}
}

// overStdio is a raw client of a process.
func overStdio(t *testing.T, s *Server) *rawClient {
	t.Helper()
	in, requests := io.Pipe()
	answers, out := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Stdio(ctx, in, out) }()
	t.Cleanup(func() {
		cancel()
		_ = errors.Join(requests.Close(), out.Close())
		select {
		case <-ended:
		case <-time.After(time.Minute):
			t.Error("the server does not end")
		}
	})
	lines := bufio.NewScanner(answers)
	lines.Buffer(nil, 8<<20)
	return &rawClient{t: t, send: func(id int, _ string, message []byte) []byte {
		if _, err := requests.Write(append(message, '\n')); err != nil {
			t.Fatal(err)
		}
		return answerIn(t, lines, id, "")
	}}
}

// answerIn returns the answer to a request in lines that begin with a prefix.
func answerIn(t *testing.T, lines *bufio.Scanner, id int, prefix string) []byte {
	t.Helper()
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte(prefix))
		var head struct{ ID *int }
		if ok && json.Unmarshal(data, &head) == nil && head.ID != nil && *head.ID == id {
			return bytes.Clone(data)
		}
	}
	t.Fatalf("the stream ended without an answer: %v", lines.Err())
	return nil
}

// overHTTP is a raw client of an address with a token.
func overHTTP(t *testing.T, address, token string) *rawClient {
	t.Helper()
	return &rawClient{t: t, send: func(id int, method string, message []byte) []byte {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, bytes.NewReader(message))
		if err != nil {
			t.Fatal(err)
		}
		var body struct {
			Params struct{ Name, TaskID string }
		}
		_ = json.Unmarshal(message, &body)
		for key, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
			"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": body.Params.Name + body.Params.TaskID} {
			r.Header.Set(key, value)
		}
		res, err := bearer{token}.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
			lines := bufio.NewScanner(res.Body)
			lines.Buffer(nil, 8<<20)
			return answerIn(t, lines, id, "data: ")
		}
		data, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}}
}

// onEveryWire runs a test with a client of each transport. The calls of the server
// become tasks soon.
func onEveryWire(t *testing.T, test func(t *testing.T, s *Server, c *rawClient, x *shop)) {
	t.Helper()
	for name, connect := range map[string]func(*testing.T, *Server) *rawClient{
		"stdio": overStdio,
		"HTTP":  func(t *testing.T, s *Server) *rawClient { return overHTTP(t, serve(t, s, HTTPOptions{}), testToken) },
	} {
		t.Run(name, func(t *testing.T) {
			x := &shop{}
			s := newServer(t, openPolicy, func(o *Options) { o.TaskAfter = 50 * time.Millisecond }, x.providers()...)
			test(t, s, connect(t, s), x)
		})
	}
}

// meeting waits until the test adds a second call.
const meeting = "progress(1, 2, 'half'); await tools.shop.slow_meet({of: 2}); return 'both'"

func TestALongCallBecomesATask(t *testing.T) {
	onEveryWire(t, func(t *testing.T, _ *Server, c *rawClient, x *shop) {
		id := c.run(taking, meeting).task("task", "working")
		now := c.call(taking, "tasks/get", map[string]any{"taskId": id})
		if got := now.task("complete", "working"); got != id {
			t.Errorf("task %s is %s", id, got)
		}
		x.started.Add(1)
		for range 2 { // a task can be asked for again
			result, _ := c.poll(id, "completed").Result["result"].(map[string]any)
			text := fmt.Sprint(result["content"])
			about, _ := result["_meta"].(map[string]any)[aboutKey].(map[string]any)
			if !strings.Contains(text, "both") || result["isError"] == true || about["run_id"] != id {
				t.Errorf("%v", result)
			}
		}
	})
}

func TestOnlyClientsThatTakeTasksGetThem(t *testing.T) {
	onEveryWire(t, func(t *testing.T, s *Server, c *rawClient, x *shop) {
		time.AfterFunc(3*s.o.TaskAfter, func() { x.started.Add(10) })
		a := c.run(plainOnly, "await tools.shop.slow_meet({of: 10}); return 'plain'")
		if a.Result["resultType"] != "complete" || !strings.Contains(fmt.Sprint(a.Result["content"]), "plain") {
			t.Errorf("a client without tasks gets %v", a.Result)
		}
		for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
			refused := c.call(plainOnly, method, map[string]any{"taskId": "x"})
			refused.is(-32021)
			if refused.Error != nil && !strings.Contains(fmt.Sprint(refused.Error.Data["requiredCapabilities"]), "io.modelcontextprotocol/tasks") {
				t.Errorf("%s: %v", method, refused.Error.Data)
			}
			c.call(taking, method, map[string]any{"taskId": "x"}).is(-32602)
			c.call(taking, method, nil).is(-32602)
		}
		for _, method := range []string{"tasks/list", "tasks/result"} {
			c.call(taking, method, map[string]any{"taskId": "x"}).is(-32601)
		}
		discovered := c.call(taking, "server/discover", nil)
		capabilities, _ := discovered.Result["capabilities"].(map[string]any)
		if !strings.Contains(fmt.Sprint(capabilities["extensions"]), "io.modelcontextprotocol/tasks") || !strings.Contains(fmt.Sprint(discovered.Result["supportedVersions"]), "2026-07-28") {
			t.Errorf("%v", discovered.Result)
		}
	})
}

func TestAShortCallIsNoTask(t *testing.T) {
	s := newServer(t, openPolicy, func(o *Options) { o.TaskAfter = time.Minute }, (&shop{}).providers()...)
	if a := overStdio(t, s).run(taking, "return 6 * 7"); a.Result["resultType"] != "complete" || !strings.Contains(fmt.Sprint(a.Result["content"]), "42") {
		t.Errorf("a short call answers %v", a.Result)
	}
}

// The versions before 2026-07-28 have no tasks of this kind.
func TestOlderVersionsHaveNoTasks(t *testing.T) {
	x := &shop{}
	s := newServer(t, openPolicy, func(o *Options) { o.TaskAfter = time.Millisecond }, x.providers()...)
	c := connect(t, s, "2025-11-25", nil)
	if extensions := c.InitializeResult().Capabilities.Extensions; len(extensions) > 0 {
		t.Errorf("an older client learns of %v", extensions)
	}
	time.AfterFunc(100*time.Millisecond, func() { x.started.Add(1) })
	if res := execute(t, c, map[string]any{"code": meeting}); textOf(res) != "both" {
		t.Error(textOf(res))
	}
}

func TestAFailedProgramCompletesItsTask(t *testing.T) {
	onEveryWire(t, func(t *testing.T, _ *Server, c *rawClient, x *shop) {
		id := c.run(taking, "await tools.shop.slow_meet({of: 2}); throw new Error('no more goods')").task("task", "working")
		x.started.Add(1)
		result, _ := c.poll(id, "completed").Result["result"].(map[string]any)
		if result["isError"] != true || !strings.Contains(fmt.Sprint(result["content"]), "no more goods") {
			t.Errorf("%v", result)
		}
	})
}

func TestATaskIsCancelled(t *testing.T) {
	onEveryWire(t, func(t *testing.T, _ *Server, c *rawClient, _ *shop) {
		id := c.run(taking, meeting).task("task", "working")
		for range 2 { // also when it has ended
			if a := c.call(taking, "tasks/cancel", map[string]any{"taskId": id}); a.Error != nil || a.Result["resultType"] != "complete" {
				t.Errorf("%+v", a)
			}
			if a := c.poll(id, "cancelled"); a.Result["statusMessage"] == "" {
				t.Errorf("%v", a.Result)
			}
		}
	})
}

func TestAPersonAnswersThroughATask(t *testing.T) {
	onEveryWire(t, func(t *testing.T, _ *Server, c *rawClient, x *shop) {
		id := c.run(answering, "const a = await tools.shop.delete_item({id: 1}); const b = await tools.shop.delete_item({id: 2}); return a + ' ' + b").Result["taskId"].(string)
		update := func(key, answer string) {
			a := c.call(answering, "tasks/update", map[string]any{"taskId": id, "inputResponses": map[string]any{
				key: map[string]any{"action": "accept", "content": map[string]any{"answer": answer}}}})
			if a.Error != nil || a.Result["resultType"] != "complete" || len(a.Result) > 2 {
				t.Fatalf("%+v", a)
			}
		}
		var seen []string
		for _, answer := range []string{"yes", "no"} {
			var key string
			for range 600 {
				asked, _ := c.poll(id, "input_required").Result["inputRequests"].(map[string]any)
				for key = range asked {
				}
				form, _ := asked[key].(map[string]any)
				if len(asked) != 1 || form["method"] != "elicitation/create" || !strings.Contains(fmt.Sprint(form["params"]), "shop.delete_item") {
					t.Fatalf("the task asks %v", asked)
				}
				if !slices.Contains(seen, key) {
					break
				}
				time.Sleep(50 * time.Millisecond)
			}
			update("of another", "yes")
			if again := c.poll(id, "input_required").Result["inputRequests"].(map[string]any); again[key] == nil {
				t.Errorf("the question is %v after an answer to another", again)
			}
			update(key, answer)
			for _, old := range seen {
				update(old, "yes") // an answer that was given does not change
			}
			seen = append(seen, key)
		}
		result, _ := c.poll(id, "completed").Result["result"].(map[string]any)
		if result["isError"] != true || !strings.Contains(fmt.Sprint(result["content"]), "denied.approval") || x.deleted.Load() != 1 {
			t.Errorf("%v, %d deleted", result["content"], x.deleted.Load())
		}
	})
}

// A client that cannot show a form is told what the run waits for.
func TestATaskWaitsForAPersonElsewhere(t *testing.T) {
	x, away := &shop{}, elsewhere{make(chan bool)}
	s := newServer(t, openPolicy, func(o *Options) { o.TaskAfter, o.Asker = 50*time.Millisecond, away }, x.providers()...)
	c := overStdio(t, s)
	id := c.run(taking, "return await tools.shop.delete_item({id: 1})").task("task", "working")
	for range 600 {
		if a := c.poll(id, "working"); strings.Contains(fmt.Sprint(a.Result["statusMessage"]), "shop.delete_item") {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if a := c.poll(id, "working"); !strings.Contains(fmt.Sprint(a.Result["statusMessage"]), "shop.delete_item") {
		t.Errorf("%v", a.Result)
	}
	away.answers <- true
	c.poll(id, "completed")
}

func TestATaskBelongsToItsClient(t *testing.T) {
	x := &shop{}
	s := newServer(t, openPolicy, func(o *Options) { o.TaskAfter = 50 * time.Millisecond }, x.providers()...)
	address := serve(t, s, HTTPOptions{Verify: func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		return &auth.TokenInfo{UserID: token, Expiration: time.Now().Add(time.Hour)}, nil
	}})
	ada, bob := overHTTP(t, address, "ada"), overHTTP(t, address, "bob")
	id := ada.run(taking, meeting).task("task", "working")
	for _, c := range []*rawClient{bob, overStdio(t, s)} {
		for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
			c.call(taking, method, map[string]any{"taskId": id}).is(-32602)
		}
	}
	ada.call(taking, "tasks/get", map[string]any{"taskId": id}).task("complete", "working")
	x.started.Add(1)
	ada.poll(id, "completed")
}

func TestATaskExpires(t *testing.T) {
	s := newServer(t, openPolicy, func(o *Options) { o.TaskAfter = 50 * time.Millisecond }, (&shop{}).providers()...)
	c := overStdio(t, s)
	id := c.run(taking, meeting).task("task", "working")
	s.runs.mu.Lock()
	run := s.runs.all[id]
	s.runs.mu.Unlock()
	run.expiry.Reset(0)
	select {
	case <-run.done:
	case <-time.After(time.Minute):
		t.Fatal("a run without a client goes on")
	}
	c.call(taking, "tasks/get", map[string]any{"taskId": id}).is(-32602)
}

func TestTheHeaderNamesTheTask(t *testing.T) {
	s := newServer(t, openPolicy, func(o *Options) { o.TaskAfter = 50 * time.Millisecond }, (&shop{}).providers()...)
	c := overHTTP(t, serve(t, s, HTTPOptions{}), testToken)
	id := c.run(taking, meeting).task("task", "working")
	c.call(taking, "tasks/cancel", map[string]any{"taskId": id, "name": "another"}).is(-32020)
}

// Tasks that have ended make room; those that run do not.
func TestTasksAreBounded(t *testing.T) {
	var rs runs
	begin := func() *run {
		r := rs.start("one", "", executeParams{})
		t.Cleanup(func() { rs.remove(r) })
		return r
	}
	var ended []*run
	for range maxCut {
		r := begin()
		if !rs.detach(r) {
			t.Fatal("there is room")
		}
		r.setTask()
		r.end(&engine.Result{}, nil)
		ended = append(ended, r)
	}
	if !rs.detach(begin()) {
		t.Error("a task that has ended makes no room")
	}
	if _, kept := rs.find("one", ended[0].id); kept {
		t.Error("the oldest task is kept")
	}
	for range maxCut - 1 {
		if !rs.detach(begin()) {
			t.Error("tasks that have ended make no room")
		}
	}
	if rs.detach(begin()) {
		t.Error("there are more runs without a call than there may be")
	}
}
