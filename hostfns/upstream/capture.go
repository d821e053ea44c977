package upstream

import (
	"bufio"
	"bytes"
	"io"
	"mime"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// maxErrorBody bounds the body of an error response.
const maxErrorBody = 1 << 20

// capture is the HTTP form of lineTransport: it bounds each message, which the
// SDK reads whole, and keeps the raw results of tool calls away from the SDK's
// decoder.
type capture struct {
	answers *answers
	next    http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (c *capture) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodPost && req.GetBody != nil {
		if err := c.sent(req); err != nil {
			return nil, err
		}
	}
	resp, err := c.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		resp.Body = &bodyReader{body: resp.Body, next: io.LimitReader(resp.Body, maxErrorBody)}
	case kind == "text/event-stream":
		resp.Body = &bodyReader{body: resp.Body, next: &eventReader{answers: c.answers, in: bufio.NewReaderSize(resp.Body, 64<<10)}}
	default:
		resp.Body = &bodyReader{body: resp.Body, next: &messageReader{answers: c.answers, in: resp.Body}}
	}
	resp.ContentLength = -1
	return resp, nil
}

// sent records a tool call, whose answer is kept raw.
func (c *capture) sent(req *http.Request) error {
	body, err := req.GetBody()
	if err != nil {
		return err
	}
	defer body.Close()
	data, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	if msg, err := jsonrpc.DecodeMessage(data); err == nil {
		if r, ok := msg.(*jsonrpc.Request); ok {
			c.answers.expect(r)
		}
	}
	return nil
}

// bodyReader reads a body through another reader.
type bodyReader struct {
	body io.Closer
	next io.Reader
}

func (b *bodyReader) Read(p []byte) (int, error) { return b.next.Read(p) }
func (b *bodyReader) Close() error               { return b.body.Close() }

// filter returns the message for the SDK, or nil.
func (a *answers) filter(data []byte, from *arrival) []byte {
	msg, err := jsonrpc.DecodeMessage(data)
	if err != nil {
		return data[:min(len(data), maxOther)] // the SDK reports it
	}
	switch m := msg.(type) {
	case *jsonrpc.Request:
		if len(m.Params) > maxOther {
			return nil
		}
	case *jsonrpc.Response:
		if a.receive(m, from) {
			if data, err = jsonrpc.EncodeMessage(m); err != nil {
				return nil
			}
		}
	}
	return data
}

// messageReader reads a body that is one message.
type messageReader struct {
	answers *answers
	in      io.Reader
	out     *bytes.Reader
}

func (r *messageReader) Read(p []byte) (int, error) {
	if r.out == nil {
		m := &arrival{of: r.answers}
		defer m.end()
		data, err := m.readAll(r.in)
		if err != nil {
			return 0, err
		}
		r.out = bytes.NewReader(r.answers.filter(data, m))
	}
	return r.out.Read(p)
}

// eventReader reads a stream of events whose data are messages.
type eventReader struct {
	answers *answers
	in      *bufio.Reader
	out     []byte
	err     error
}

func (r *eventReader) Read(p []byte) (int, error) {
	for len(r.out) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		r.out, r.err = r.event()
	}
	n := copy(p, r.out)
	r.out = r.out[n:]
	return n, nil
}

// event reads one event with the blank line that ends it, which the last event may
// lack.
func (r *eventReader) event() ([]byte, error) {
	m := &arrival{of: r.answers}
	defer m.end()
	var event, data []byte // event: all lines but data
	for {
		line, err := m.readLine(r.in)
		if err != nil && err != io.EOF {
			return nil, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if value, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			value = bytes.TrimPrefix(value, []byte(" "))
			if data != nil {
				value = append(append(data, '\n'), value...)
			}
			data = value
		} else if len(line) > 0 {
			event = append(append(event, line...), '\n')
		}
		if len(line) > 0 && err == nil {
			continue
		}
		if data != nil {
			if message := r.answers.filter(data, m); message != nil {
				event = append(append(append(event, "data: "...), message...), '\n')
			}
		}
		return append(event, '\n'), err
	}
}
