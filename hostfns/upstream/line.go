package upstream

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxMessage is the longest message that is taken from a server.
const maxMessage = 256 << 20

// lineTransport speaks JSON-RPC over a process's pipes, a message a line. It
// passes over lines that are no messages, which rude servers print, and keeps
// the raw bytes of tool answers out of the decoder: they are large, and their
// numbers must stay as they are.
type lineTransport struct {
	p       *process
	answers *answers
}

// Connect starts reading.
func (t *lineTransport) Connect(context.Context) (mcp.Connection, error) {
	c := &lineConn{p: t.p, answers: t.answers, incoming: make(chan jsonrpc.Message), closed: make(chan struct{})}
	go c.read()
	return c, nil
}

// lineConn is one such connection.
type lineConn struct {
	p        *process
	answers  *answers
	incoming chan jsonrpc.Message
	writing  sync.Mutex
	once     sync.Once
	closed   chan struct{}
}

// read passes messages on until the process's output ends, then reaps it.
func (c *lineConn) read() {
	defer c.p.reap()
	defer close(c.incoming)
	r := bufio.NewReaderSize(c.p.stdout, 64<<10)
	for {
		line, err := readLine(r)
		if len(line) > 0 {
			if msg := c.message(line); msg != nil {
				select {
				case c.incoming <- msg:
				case <-c.closed:
					_, _ = io.Copy(io.Discard, r)
					return
				}
			}
		}
		if err != nil {
			return
		}
	}
}

// readLine reads a line without its end. One that is too long is skipped.
func readLine(r *bufio.Reader) ([]byte, error) {
	part, err := r.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return bytes.TrimSpace(bytes.Clone(part)), err
	}
	var line []byte
	for {
		if len(line) <= maxMessage {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			break
		}
		part, err = r.ReadSlice('\n')
	}
	if len(line) > maxMessage {
		return nil, err
	}
	return bytes.TrimSpace(line), err
}

// message decodes a line. What is none goes to the server's kept stderr.
func (c *lineConn) message(line []byte) jsonrpc.Message {
	if line[0] != '{' {
		c.noise(line)
		return nil
	}
	msg, err := jsonrpc.DecodeMessage(line)
	if err != nil {
		c.noise(line)
		return nil
	}
	if resp, ok := msg.(*jsonrpc.Response); ok && resp.Error == nil {
		resp.Result = c.answers.take(resp.ID, resp.Result)
	}
	return msg
}

func (c *lineConn) noise(line []byte) {
	_, _ = c.p.stderr.Write(append(line[:min(len(line), 512):min(len(line), 512)], '\n'))
}

// Read gives the next message.
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

// Write sends one message.
func (c *lineConn) Write(_ context.Context, msg jsonrpc.Message) error {
	if req, ok := msg.(*jsonrpc.Request); ok && req.Method == "tools/call" {
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

// Close ends the process.
func (c *lineConn) Close() error {
	c.once.Do(func() {
		close(c.closed)
		c.p.stop()
	})
	return nil
}

// SessionID is empty: a process is its own session.
func (c *lineConn) SessionID() string { return "" }

// answers keeps the raw results of tool calls, found by the number that each
// call carries as its progress token.
type answers struct {
	mu      sync.Mutex
	waiting map[jsonrpc.ID]int64
	arrived map[int64]json.RawMessage
}

// expect notes which request belongs to which call.
func (a *answers) expect(req *jsonrpc.Request) {
	var params struct {
		Meta struct {
			Token json.Number `json:"progressToken"`
		} `json:"_meta"`
	}
	if json.Unmarshal(req.Params, &params) != nil {
		return
	}
	call, err := params.Meta.Token.Int64()
	if err != nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.waiting == nil {
		a.waiting, a.arrived = map[jsonrpc.ID]int64{}, map[int64]json.RawMessage{}
	}
	a.waiting[req.ID] = call
}

// take keeps a result for its call and gives the library an empty one.
func (a *answers) take(id jsonrpc.ID, result json.RawMessage) json.RawMessage {
	a.mu.Lock()
	defer a.mu.Unlock()
	call, ok := a.waiting[id]
	if !ok {
		return result
	}
	delete(a.waiting, id)
	a.arrived[call] = result
	return json.RawMessage(`{"content":[]}`)
}

// collect hands over the raw result of a call, once.
func (a *answers) collect(call int64) (json.RawMessage, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	raw, ok := a.arrived[call]
	delete(a.arrived, call)
	return raw, ok
}

// forget gives up on a call whose answer may still come.
func (a *answers) forget(call int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.arrived, call)
	for id, c := range a.waiting {
		if c == call {
			delete(a.waiting, id)
		}
	}
}
