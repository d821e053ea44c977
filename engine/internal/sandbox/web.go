package sandbox

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
)

// A foreign plugin makes an HTTP request with one call, which returns the body of
// the response. Here the request is the wexec:fetch of programs, which the
// policy, the audit and the limits of the run apply to, and the body is read with
// wexec:read. As in Extism, a request that fails ends the plugin.

// kernel is the memory of Extism's kernel, in which a plugin passes blocks.
type kernel interface {
	// block returns the bytes of a block. They are valid until the next call.
	block(offset uint64) ([]byte, error)
	// make makes a block with some bytes, and returns its offset.
	make(data []byte) (uint64, error)
	free(offset uint64) error
}

// Bounds of an HTTP request of a plugin, in bytes.
const (
	maxWebRequest = 256 << 10 // without the body
	maxWebBody    = 32 << 20
	webRead       = 1 << 20 // of a response at once
)

// httpRequest makes the request that a block describes, with the body of another
// block, and returns the block with the body of the response. Without a body the
// offset is 0.
func (h *Host) httpRequest(k kernel, request, body uint64) uint64 {
	h.web = webResponse{}
	if h.calls == nil {
		h.fail(fault.New(fault.Internal, "the plugin made an HTTP request, but has no calls"))
	}
	args := h.fetchArguments(k, request, body)
	var head struct {
		Status  uint32
		Headers [][2]string
		Body    int64
	}
	if err := json.Unmarshal(h.call("wexec:fetch", args), &head); err != nil {
		h.fail(fault.New(fault.Internal, "read the head of a response: %w", err))
	}
	headers := map[string]string{}
	for _, one := range head.Headers {
		if before, ok := headers[one[0]]; ok {
			one[1] = before + "," + one[1]
		}
		headers[one[0]] = one[1]
	}
	h.web = webResponse{head.Status, h.encode(headers)}
	if head.Body == 0 {
		return 0 // a dry run
	}
	return h.receive(k, head.Body)
}

// fetchArguments returns the arguments of wexec:fetch, and frees the blocks.
func (h *Host) fetchArguments(k kernel, request, body uint64) []byte {
	var in struct {
		URL     string            `json:"url"`
		Method  string            `json:"method"`
		Headers map[string]string `json:"headers"`
	}
	if err := json.Unmarshal(h.block(k, request, maxWebRequest), &in); err != nil {
		h.fail(fault.New(fault.GuestException, "the plugin made an HTTP request that is not valid JSON"))
	}
	h.failOn(k.free(request))
	headers := [][2]string{}
	for _, name := range slices.Sorted(maps.Keys(in.Headers)) {
		headers = append(headers, [2]string{name, in.Headers[name]})
	}
	if in.Method == "" {
		in.Method = "GET"
	}
	args := h.encode(map[string]any{"method": strings.ToUpper(in.Method), "url": in.URL, "headers": headers, "redirect": "follow"})
	if body == 0 {
		return args
	}
	data := h.block(k, body, maxWebBody)
	args = slices.Grow(args, base64.StdEncoding.EncodedLen(len(data))+16)
	args = append(args[:len(args)-1], `,"body":"`...)
	args = append(base64.StdEncoding.AppendEncode(args, data), `"}`...)
	h.failOn(k.free(body))
	return args
}

// receive returns a block with the bytes of a stream.
func (h *Host) receive(k kernel, stream int64) uint64 {
	args := h.encode(map[string]int64{"stream": stream, "max": webRead})
	var body []byte
	for {
		part := h.call("wexec:read", args)
		if len(part) == 0 {
			break
		}
		body = append(body, part...) // a part may be small and have a large buffer
		if int64(len(body)) > h.Limits.Memory {
			h.fail(memoryFault(h.Limits.Memory))
		}
	}
	if len(body) == 0 {
		return 0
	}
	return h.give(k, body)
}

// httpHeaders returns a block with the headers of the last response, or 0.
func (h *Host) httpHeaders(k kernel) uint64 {
	if h.web.headers == nil {
		return 0
	}
	return h.give(k, h.web.headers)
}

// give returns a new block with some bytes.
func (h *Host) give(k kernel, data []byte) uint64 {
	offset, err := k.make(data)
	h.failOn(err)
	return offset
}

// block returns the bytes of a block of at most n bytes.
func (h *Host) block(k kernel, offset uint64, n int) []byte {
	data, err := k.block(offset)
	h.failOn(err)
	if len(data) > n {
		h.fail(fault.New(fault.GuestException, "the plugin made an HTTP request of %d bytes, at most %d are allowed", len(data), n))
	}
	return data
}

// call makes a call of the prelude. An error ends the run.
func (h *Host) call(name string, args []byte) []byte {
	answer, err := h.calls.Call(name, args)
	var f *hostfns.Failure
	if errors.As(err, &f) {
		e := fault.New(f.Code, "%s", f.Message)
		if f.Hint != "" {
			e = e.WithHint("%s", f.Hint)
		}
		h.fail(e)
	}
	h.failOn(err)
	h.checkContext()
	return answer.Data
}

// encode returns a value as JSON.
func (h *Host) encode(v any) []byte {
	data, err := json.Marshal(v)
	h.failOn(err)
	return data
}
