package upstream

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/internal/jsonscan"
)

// maxMessage bounds a message of a server.
const maxMessage = 256 << 20

// lineTransport speaks JSON-RPC over the pipes of a process, one message per line. It
// skips lines that are not messages, which some servers print, and keeps
// the raw bytes of tool answers away from the SDK's decoder: they are large, and their
// numbers must not be rounded.
type lineTransport struct {
	p       *process
	answers *answers
}

// Connect implements mcp.Transport.
func (t *lineTransport) Connect(context.Context) (mcp.Connection, error) {
	c := &lineConn{p: t.p, answers: t.answers, incoming: make(chan jsonrpc.Message), closed: make(chan struct{})}
	go c.read()
	return c, nil
}

// lineConn is the connection of a lineTransport.
type lineConn struct {
	p        *process
	answers  *answers
	incoming chan jsonrpc.Message
	writing  sync.Mutex
	once     sync.Once
	closed   chan struct{}
}

// read forwards messages until the output of the process ends, then reaps it.
func (c *lineConn) read() {
	defer c.p.reap()
	defer close(c.incoming)
	r := bufio.NewReaderSize(c.p.stdout, 64<<10)
	for {
		m := &arrival{of: c.answers}
		line, err := m.readLine(r)
		var arrived []jsonrpc.Message
		if err == errLong {
			arrived, err = c.answers.refuseAll(), nil
		} else if line = bytes.TrimSpace(line); len(line) > 0 {
			arrived = []jsonrpc.Message{c.message(line, m)}
		}
		m.end()
		for _, msg := range arrived {
			if msg == nil {
				continue
			}
			select {
			case c.incoming <- msg:
			case <-c.closed:
				_, _ = io.Copy(io.Discard, r)
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// message decodes a line. Other output is kept with the server's stderr.
func (c *lineConn) message(line []byte, a *arrival) jsonrpc.Message {
	if line[0] != '{' {
		c.noise(line)
		return nil
	}
	msg, err := jsonrpc.DecodeMessage(line)
	if err != nil {
		c.noise(line)
		return nil
	}
	switch m := msg.(type) {
	case *jsonrpc.Response:
		c.answers.receive(m, a)
	case *jsonrpc.Request:
		if len(m.Params) > maxOther {
			return nil
		}
	}
	return msg
}

func (c *lineConn) noise(line []byte) {
	line = c.p.stderr.secrets.Bytes(line)
	_, _ = c.p.stderr.Write(append(line[:min(len(line), 512):min(len(line), 512)], '\n'))
}

// Read implements mcp.Connection.
func (c *lineConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case msg, ok := <-c.incoming:
		if !ok {
			return nil, io.EOF
		}
		return msg, nil
	case <-c.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write implements mcp.Connection.
func (c *lineConn) Write(_ context.Context, msg jsonrpc.Message) error {
	if req, ok := msg.(*jsonrpc.Request); ok {
		c.answers.expect(req)
	}
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	_, err = c.p.stdin.Write(append(data, '\n'))
	return err
}

// Close stops the process.
func (c *lineConn) Close() error {
	c.once.Do(func() {
		close(c.closed)
		c.p.stop()
	})
	return nil
}

// SessionID is empty: a process has one session.
func (c *lineConn) SessionID() string { return "" }

// answers keeps the raw results of tool calls, by the number that each
// call carries as its progress token, and refuses listings that would cost too
// much to decode.
type answers struct {
	mu      sync.Mutex
	waiting map[jsonrpc.ID]int64 // the call of a request; listing for tools/list
	arrived map[int64]json.RawMessage
	gates   map[int64]hostfns.Gate // of the calls that wait; nil for a call of a Go host
	kept    map[int64]int64        // bytes that their runs know to be arriving

	tasks         map[string]bool // the tools that run only as tasks
	refusals      map[int64]error // why a request of the server was refused, by call
	waitsForInput bool            // the library answers requests for input in answers
}

// admit notes a call before its request is sent. Forget ends it.
func (a *answers) admit(call int64, gate hostfns.Gate) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.gates == nil {
		a.gates, a.kept = map[int64]hostfns.Gate{}, map[int64]int64{}
	}
	a.gates[call] = gate
}

// refuseAll returns an error for every request that waits. It is for a server whose
// message is too long: the message does not tell what it answers.
func (a *answers) refuseAll() (all []jsonrpc.Message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for id := range a.waiting {
		all = append(all, &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: errLong.Error()}})
	}
	clear(a.waiting)
	return all
}

// listing stands for a request for a page of tools. Calls are numbered from 1.
const listing = 0

// Bounds of one page of tools. The library decodes each schema into Go values,
// which take about 100 bytes for each JSON value.
const (
	maxListing       = 12 << 20
	maxListingValues = 100_000
)

// maxOther bounds what is decoded of every other message, in bytes:
// notifications, requests and the results of other methods.
const maxOther = 1 << 20

// expect notes a request whose answer needs care.
func (a *answers) expect(req *jsonrpc.Request) {
	call := int64(listing)
	switch req.Method {
	case "tools/list":
	case "tools/call", methodListResources, methodListTemplates, methodReadResource, methodListPrompts, methodGetPrompt:
		var params struct {
			Meta struct {
				Token json.Number `json:"progressToken"`
			} `json:"_meta"`
		}
		if json.Unmarshal(req.Params, &params) != nil {
			return
		}
		var err error
		if call, err = params.Meta.Token.Int64(); err != nil || call <= listing {
			return
		}
	default:
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.waiting == nil {
		a.waiting, a.arrived = map[jsonrpc.ID]int64{}, map[int64]json.RawMessage{}
	}
	a.waiting[req.ID] = call
}

// receive keeps the result of a tool call and leaves the library an empty one,
// or refuses a listing. It reports whether it changed the response.
func (a *answers) receive(resp *jsonrpc.Response, from *arrival) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	call, expected := a.waiting[resp.ID]
	delete(a.waiting, resp.ID)
	var err error
	switch {
	case resp.Error != nil:
		return false
	case !expected:
		if len(resp.Result) > maxOther {
			err = fmt.Errorf("a result has %d bytes, and at most %d are read", len(resp.Result), maxOther)
		}
	case call == listing:
		if err = checkListing(resp.Result); err == nil {
			a.noteTasks(resp.Result)
		}
	case a.waitsForInput && needsInput(resp.Result):
		return false
	default:
		a.arrived[call] = resp.Result
		from.keep(call)
		resp.Result = json.RawMessage(`{"content":[]}`)
		return true
	}
	if err != nil {
		resp.Result, resp.Error = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
	}
	return err != nil
}

// needsInput reports whether an answer asks for input, as it does in protocol
// 2026-07-28.
func needsInput(answer json.RawMessage) bool {
	if len(answer) > maxOther || !bytes.Contains(answer, []byte(`"`+inputRequired+`"`)) {
		return false
	}
	var r struct {
		Type string `json:"resultType"`
	}
	return json.Unmarshal(answer, &r) == nil && r.Type == inputRequired
}

func checkListing(page json.RawMessage) error {
	if len(page) > maxListing {
		return fmt.Errorf("a page of tools has %d bytes, and at most %d are read", len(page), maxListing)
	}
	values := 0
	for s := jsonscan.New(page); s.Next(); {
		if values++; values > maxListingValues {
			return fmt.Errorf("a page of tools has more than %d JSON values", maxListingValues)
		}
	}
	return nil
}

// noteTasks notes which tools of a page run only as tasks. The library does not read
// this.
func (a *answers) noteTasks(page json.RawMessage) {
	if len(a.tasks) == 0 && !bytes.Contains(page, []byte(`"taskSupport"`)) {
		return
	}
	var list struct {
		Tools []struct {
			Name      string `json:"name"`
			Execution struct {
				Tasks string `json:"taskSupport"`
			} `json:"execution"`
		} `json:"tools"`
	}
	if json.Unmarshal(page, &list) != nil {
		return
	}
	if a.tasks == nil {
		a.tasks = map[string]bool{}
	}
	for _, t := range list.Tools {
		if t.Execution.Tasks == "required" && len(a.tasks) < maxTools {
			a.tasks[t.Name] = true
		} else {
			delete(a.tasks, t.Name)
		}
	}
}

// needsTask reports whether a tool runs only as a task.
func (a *answers) needsTask(tool string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.tasks[tool]
}

// collect removes and returns the raw result of a call.
func (a *answers) collect(call int64) (json.RawMessage, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	raw, ok := a.arrived[call]
	delete(a.arrived, call)
	return raw, ok
}

// forget drops a call whose answer may still arrive.
func (a *answers) forget(call int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.arrived, call)
	if n := a.kept[call]; n > 0 && a.gates[call].Lifetime().Err() == nil {
		a.gates[call].Arriving(-n)
	}
	delete(a.gates, call)
	delete(a.kept, call)
	delete(a.refusals, call)
	for id, c := range a.waiting {
		if c == call {
			delete(a.waiting, id)
		}
	}
}

// callKey finds the number of the call in the context of a request that came with
// the answer of a call.
type callKey struct{}

// caller returns the gate of the call that a request of the server is for. Over
// stdio, requests do not name it, so the calls in progress must be of one run: the
// client of another must not see the request.
func (a *answers) caller(ctx context.Context) (hostfns.Gate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n, ok := ctx.Value(callKey{}).(int64); ok {
		if gate := a.gates[n]; gate != nil {
			return gate, nil
		}
		return nil, errors.New("the call has ended")
	}
	newest := int64(0)
	for n, gate := range a.gates {
		if gate == nil {
			continue
		}
		if newest != 0 && gate.Lifetime() != a.gates[newest].Lifetime() {
			return nil, errors.New("several programs are calling this server, and the request does not name one: try again")
		}
		newest = max(newest, n)
	}
	if newest == 0 {
		return nil, errors.New("no program is calling this server")
	}
	return a.gates[newest], nil
}

// refused notes why a request of the server was refused, for the error of the call.
func (a *answers) refused(ctx context.Context, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for n := range a.gates {
		if of, ok := ctx.Value(callKey{}).(int64); ok && of != n {
			continue
		}
		if a.refusals == nil {
			a.refusals = map[int64]error{}
		}
		a.refusals[n] = err
	}
}

// explain adds to the error of a call why a request of its server was refused.
func (a *answers) explain(call int64, err error) error {
	a.mu.Lock()
	why := a.refusals[call]
	a.mu.Unlock()
	var f *fault.Error
	if err == nil || why == nil || !errors.As(err, &f) {
		return err
	}
	hint := why.Error()
	if h := fault.HintOf(why); h != "" {
		hint = fmt.Sprintf("%s: %s", hint, h)
	}
	return f.WithHint("%s", hint)
}
