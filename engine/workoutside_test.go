//go:build linux

package engine

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/hostfns/approvals"
	"github.com/wexec/wexec/hostfns/artifacts"
	"github.com/wexec/wexec/hostfns/embeddings"
	"github.com/wexec/wexec/hostfns/fetch"
	"github.com/wexec/wexec/hostfns/files"
	"github.com/wexec/wexec/hostfns/upstream"
	"github.com/wexec/wexec/hostfns/workspaces"
	"github.com/wexec/wexec/policy"
	"github.com/wexec/wexec/privacy"
	wasmmodules "github.com/wexec/wexec/wasm-modules"
	"github.com/wexec/wexec/workspace"
)

// shelf has one artifact, and keeps what is put nowhere.
type shelf struct{ artifacts.Content }

func (shelf) Put(_ context.Context, a artifacts.New) (artifacts.Artifact, error) {
	return artifacts.Artifact{ID: "sha256:00", Name: a.Name, Type: a.Type, Bytes: int64(len(a.Content))}, nil
}

func (s shelf) Open(context.Context, string) (*artifacts.Content, error) {
	c := s.Content
	return &c, nil
}

// shelf makes a provider of artifacts with a text of 9 MB.
func (p *workplace) shelf() hostfns.Provider {
	text := []byte(strings.Repeat("ab", 2_000_000) + "\n" + strings.Repeat("\n", 5_000_000))
	pages := artifacts.Pager{Declared: true}
	if _, err := pages.Write(text); err != nil {
		p.t.Fatal(err)
	}
	index, isText := pages.Close()
	return artifacts.NewProvider(shelf{artifacts.Content{
		Artifact: artifacts.Artifact{ID: "sha256:00", Name: "large", Bytes: int64(len(text))}, ReaderAt: bytes.NewReader(text), Closer: io.NopCloser(nil),
		Text: isText, Pages: index, Values: func() ([]privacy.Issued, error) { return nil, nil },
	}})
}

// workspace makes a workspace with a large file and many small ones.
func (p *workplace) workspace() hostfns.Workspace {
	base := p.t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(base, name), []byte(text), 0o600); err != nil {
			p.t.Fatal(err)
		}
	}
	write("large", strings.Repeat("ab", 2_000_000)+"\n"+strings.Repeat("\n", 5_000_000))
	for i := range 5000 {
		write(fmt.Sprint("f", i), "")
	}
	w, err := workspace.Create(filepath.Join(p.t.TempDir(), "w"), workspace.Info{ID: "w", Base: base}, workspace.Options{})
	if err != nil {
		p.t.Fatal(err)
	}
	p.closeLater(func() error { return w.Close() })
	return workspaces.New(w)
}

// outsideRows lists the worst of the calls of the prelude, and of servers.
func outsideRows() []work {
	const allow = "tools: {allow: ['*']}\n"
	// lookup calls a function of the prelude with 3,000 tools to search.
	lookup := func(name string, args any) func(*workplace) Request {
		return func(p *workplace) Request {
			req := p.guest(calling(name, p.json(args)))
			req.Table = p.table(allow, p.server("many"))
			return req
		}
	}
	// tool calls a tool of a server that answers as its kind says.
	tool := func(kind, rules string) func(*workplace) Request {
		return func(p *workplace) Request {
			p.slow = true
			req := p.guest(calling("s.tool", p.json(map[string]any{"text": strings.Repeat("a", 1000)})))
			req.Table = p.table(rules, p.server(kind))
			return req
		}
	}
	// The input of a plugin is a block: its first request.
	input := hostCall{module: kernel, name: "input_offset"}
	request := func(path string, loop ...hostCall) func(*workplace) Request {
		return func(p *workplace) Request {
			req := p.plugin(hostile{begin: []hostCall{input, {kernel, "http_request", []any{id{}, 0}}}, loop: loop})
			req.Input, req.Table = p.json(map[string]string{"url": p.web + path}), p.reaching()
			return req
		}
	}
	get := func(path string) []byte { return []byte(`{"method":"GET","url":"` + path + `","headers":[]}`) }
	// page requests a page of the web server, and then makes calls.
	page := func(path, name string, args any) func(*workplace) Request {
		return func(p *workplace) Request {
			first := get(p.web + path)
			h := calling(name, p.json(args))
			h.data[atOther] = []byte("wexec:fetch")
			h.data[atVectors] = first
			if name == "wexec:fetch" {
				h = calling(name, first)
			} else {
				h.begin = []hostCall{
					{ours, "call_start", []any{atOther, len("wexec:fetch"), atVectors, len(first)}},
					{ours, "call_wait", []any{0, -1}},
					{ours, "answer_read", []any{id{}, atBuffer + 1<<19, 1 << 10}},
				}
			}
			req := p.guest(h)
			req.Table = p.reaching()
			return req
		}
	}
	web := func(path string) func(*workplace) Request {
		return func(p *workplace) Request {
			req := p.guest(calling("s.tool", []byte("{}")))
			req.Table = p.table(allow, p.upstream(upstream.Server{Name: "s", URL: p.web + path}))
			return req
		}
	}
	// keeping calls a tool of artifacts.
	keeping := func(name string, args any) func(*workplace) Request {
		return func(p *workplace) Request {
			req := p.guest(calling(name, p.json(args)))
			req.Table = p.table("tools: {allow: [artifacts.*]}\n", p.shelf())
			return req
		}
	}
	// searching calls a function of the workspace.
	searching := func(name string, args any) func(*workplace) Request {
		return func(p *workplace) Request {
			req := p.guest(calling(name, p.json(args)))
			req.Table, req.Workspace = p.table("tools: {}\n"), p.workspace()
			return req
		}
	}
	words := strings.Repeat("find customer invoices by country ", 1800)
	rows := []work{
		{"wexec:names", "of 3,000 tools", lookup("wexec:names", map[string]any{"Server": "s"}), false},
		{"wexec:search", "3,000 tools for 9,000 words", lookup("wexec:search", map[string]any{"Query": words, "Limit": 200, "Detail": "full"}), true},
		{"wexec:describe", "a name of 60,000 bytes", lookup("wexec:describe", map[string]any{"Name": words[:60_000]}), false},
		{"wexec:progress", "with a text of 60,000 bytes", lookup("wexec:progress", map[string]any{"Text": words[:60_000]}), false},
		{"wexec:close", "of a stream that does not exist", lookup("wexec:close", map[string]any{"Stream": 1 << 40}), false},
		{"wexec:read", "a byte at a time", page("/drip", "wexec:read", map[string]any{"Stream": 1, "Max": 8 << 20}), false},
		{"wexec:read", "all of a body without an end", page("/endless", "wexec:read", map[string]any{"Stream": 1, "Max": 8 << 20}), false},
		{"wexec:read", "all of a bomb", page("/bomb", "wexec:read", map[string]any{"Stream": 1, "Max": 8 << 20}), false},
		{"wexec:fetch", "a server without an answer", page("/hang", "wexec:fetch", nil), false},
		{"wexec:fetch", "a head of 250,000 bytes", page("/head", "wexec:fetch", nil), false},
		{"wexec:fetch", "bodies that are not read", page("/endless", "wexec:fetch", nil), false},
		{"wexec:fetch", "a request of 20 MB", func(p *workplace) Request {
			req := page("/drip", "wexec:fetch", nil)(p)
			args := []byte(`{"method":"POST","url":"` + p.web + `/drip","headers":[],"body":"` + strings.Repeat("A", 16<<20) + `"}`)
			hostileGuest(p.t, p.e, calling("wexec:fetch", args), p.known)
			return req
		}, false},
		{kernel + ".http_request", "a server without an answer", request("/hang"), false},
		{kernel + ".http_request", "a byte at a time", request("/drip"), false},
		{kernel + ".http_request", "a body without an end", request("/endless"), true},
		{kernel + ".http_request", "a bomb", request("/bomb"), false},
		{kernel + ".http_headers", "a head of 250,000 bytes", request("/head", hostCall{module: kernel, name: "http_headers"}, hostCall{kernel, "free", []any{id{}}}), false},
		{"wexec:search_files", "5,000 files with a long glob", searching("wexec:search_files", map[string]any{"glob": strings.Repeat("{*,?}", 60)}), false},
		{"wexec:search_content", "lines of a file of 9 MB with a pattern that compares much", searching("wexec:search_content", map[string]any{"pattern": "(?:[ab]?[ab]){100}c", "context": 20}), true},
		{"Provider.Call", "lines of an artifact of 9 MB with a pattern that compares much", keeping("artifacts.read", map[string]any{"id": "00", "match": "(?:[ab]?[ab]){100}c", "lines": 1_000_000}), true},
		{"Provider.Call", "all lines of an artifact of 9 MB", keeping("artifacts.read", map[string]any{"id": "00", "lines": 10_000_000}), true},
		{"Provider.Call", "an artifact of 9 MB", keeping("artifacts.put", map[string]any{"name": "a", "data": strings.Repeat("a\n", 4_500_000)}), false},
		{"Signals.Await", "a payload of 9 MB", func(p *workplace) Request {
			req := p.guest(calling("wexec:wait_for", p.json(map[string]any{"name": "a"})))
			req.Signals = flood{json.RawMessage(`"` + strings.Repeat("a", 9_000_000) + `"`)}
			return req
		}, true},
		{"wexec:submit_result", "10,000 paths", searching("wexec:submit_result", map[string]any{"changed": make([]string, 10_000)}), false},
		{"wexec:pii", "two texts of 30,000 bytes", func(p *workplace) Request {
			req := p.guest(calling("wexec:pii", p.json(map[string]any{"Op": "equal", "Values": []string{words[:30_000], words[1:30_000]}})))
			req.Table = p.table("pii: {mode: tokenize}\n")
			return req
		}, false},
		{"wexec:compile", "a module of a megabyte", func(p *workplace) Request {
			code := "let a: any = " + strings.Repeat("[", 4000) + strings.Repeat("]", 4000) + ";\n" + strings.Repeat("export type T = {a: number};\n", 34_000)
			real, err := open(Config{Ready: -1, Cache: testCache(p.t)})
			if err != nil {
				p.t.Fatal(err)
			}
			p.closeLater(real.Close)
			compiler := real.guests.Open
			req := p.guest(calling("wexec:compile", p.json(map[string]any{"File": "a.ts", "Code": code})))
			hostileOpen := p.e.guests.Open
			p.e.guests.Open = func(name string) (*wasmmodules.Module, error) {
				if name == "esbuild" {
					return compiler(name)
				}
				return hostileOpen(name)
			}
			return req
		}, false},

		{"Provider.Call", "a server without an answer", tool("hang", allow), true},
		{"Provider.Call", "an answer of 8 MB", tool("large", allow), false},
		{"Provider.Call", "an answer of four million objects", tool("objects", allow), true},
		{"Provider.Call", "an answer of 8 MB of personal data", tool("person", allow+"pii: {mode: tokenize}\n"), false},
		{"Provider.Call", "a JSON body without an end", web("/mcp-json"), false},
		{"Provider.Call", "an event without an end", web("/mcp-sse"), false},
		{"Provider.Call", "a schema with 8,000 checks of 200,000 numbers", func(p *workplace) Request {
			req := p.guest(calling("s.tool", p.json(map[string]any{"v": numbers(200_000)})))
			req.Table = p.table(allow, p.server("checks"))
			return req
		}, true},
		{"Provider.Call", "arguments with many values", func(p *workplace) Request {
			req := p.guest(calling("s.tool", append(append([]byte(`{"v":`), repeated("[]", 4_000_000)...), '}')))
			req.Table = p.table(allow, p.server("one"))
			return req
		}, false},
		{"Provider.Tools", "200 tools with 19,000 nodes", tool("schemas", allow), true},
		{"Provider.Tools", "pages without an end", tool("pages", allow), false},
		{"Provider.Tools", "a server that does not start", tool("silent", allow), false},
		{"Provider.Watch", "changes without an end", tool("changes", allow), false},
		{"Provider.Servers", "their tools again and again", lookup("wexec:names", map[string]any{}), false},
		{"Provider.Close", "a server that does not end", tool("stubborn", allow), false},
		{"Native.PreludeCalls", "an unknown one", lookup("wexec:unknown", nil), false},
		{"Native.Writes", "a request of 20 MB in a durable run", func(p *workplace) Request {
			req := page("/drip", "wexec:fetch", nil)(p)
			args := []byte(`{"method":"GET","url":"` + p.web + `/drip","headers":[],"body":"` + strings.Repeat("A", 16<<20) + `"}`)
			hostileGuest(p.t, p.e, calling("wexec:fetch", args), p.known)
			req.Journal = &memoryJournal{}
			return req
		}, false},
		{"Filer.Mount", "listings of a folder with 20,000 files", func(p *workplace) Request {
			for i := range 20_000 {
				if err := os.WriteFile(filepath.Join(p.dir, fmt.Sprint("a name of a file ", i)), nil, 0o600); err != nil {
					p.t.Fatal(err)
				}
			}
			folder := strings.TrimPrefix(p.dir, "/")
			h := hostile{pages: large, data: map[uint32][]byte{atFolder: []byte(folder)}, loop: []hostCall{
				wasiCall("path_open", 3, 0, atFolder, len(folder), 2, 0, 0, 0, atResult),
				wasiCall("fd_readdir", file, atBuffer, buffer, 0, atResult),
			}}
			req := p.guest(h)
			req.Table = p.table("files: {read: ['" + p.dir + "/**']}\n")
			return req
		}, false},
		{"Filer.Mount", "a large file that is sparse", func(p *workplace) Request {
			name := strings.TrimPrefix(filepath.Join(p.dir, "sparse"), "/")
			h := hostile{pages: small, data: layout(1 << 10), loop: []hostCall{
				wasiCall("fd_pwrite", file, atVectors, 1, 1<<40, atResult), wasiCall("fd_allocate", file, 0, 1<<40),
			}}
			h.data[atPath] = []byte(name)
			h.begin = []hostCall{wasiCall("path_open", 3, 0, atPath, len(name), 1, 1<<30-1, 1<<30-1, 0, atResult)}
			req := p.guest(h)
			req.Table = p.table("files: {write: ['" + p.dir + "/**']}\n")
			return req
		}, false},
		{"Asker.Ask", "nobody answers", func(p *workplace) Request {
			req := p.guest(calling("s.tool", p.json(map[string]any{"text": strings.Repeat("a", 10<<20)})))
			// The deadline does not count the time that a person takes.
			req.Table = p.table("tools: {ask: ['*']}\napprovals: {via: [terminal], timeout: 20ms}\n", p.server("one"))
			broker := approvals.New()
			broker.Offer(approvals.Terminal, nobody{})
			req.Table.With(hostfns.Options{Asker: broker})
			return req
		}, false},
		{"Ranker.Near", "vectors without an end", func(p *workplace) Request {
			req := lookup("wexec:search", map[string]any{"Query": "find a customer"})(p)
			index, err := embeddings.New(embeddings.Options{URL: p.web + "/endless", Model: "m"})
			if err != nil {
				p.t.Fatal(err)
			}
			req.Table.With(hostfns.Options{Ranker: index})
			return req
		}, false},
	}
	return rows
}

// nobody is an asker that never answers.
type nobody struct{}

func (nobody) Ask(ctx context.Context, _ hostfns.Question) (hostfns.Reply, error) {
	<-ctx.Done()
	return hostfns.Reply{}, ctx.Err()
}

// numbers returns the first n numbers.
func numbers(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// repeated returns an array of n equal values.
func repeated(value string, n int) []byte {
	return append([]byte("["+strings.Repeat(value+",", n-1)+value), ']')
}

// server returns the test binary as a server, see serveWorst.
func (p *workplace) server(kind string) hostfns.Provider {
	return p.upstream(upstream.Server{Name: "s", Command: os.Args[0], Env: map[string]string{workServer: kind}})
}

func (p *workplace) upstream(s upstream.Server) hostfns.Provider {
	provider, err := upstream.New([]upstream.Server{s}, upstream.Options{})
	if err != nil {
		p.t.Fatal(err)
	}
	return provider
}

// reaching returns a table whose programs may reach the web server.
func (p *workplace) reaching() *hostfns.Table {
	u, err := url.Parse(p.web)
	if err != nil {
		p.t.Fatal(err)
	}
	return p.table("network: {allow: [{host: 127.0.0.1, ports: ["+u.Port()+"]}]}\n", fetch.New(fetch.Options{}))
}

// table returns a table with files and more providers, and a policy with rules.
func (p *workplace) table(rules string, more ...hostfns.Provider) *hostfns.Table {
	p.t.Helper()
	if !strings.Contains(rules, "pii:") {
		rules += "pii: {mode: off}\n"
	}
	parsed, err := policy.Parse("policy.yaml", []byte("version: 1\n"+rules))
	if err != nil {
		p.t.Fatal(err)
	}
	table, err := hostfns.NewTable(parsed, p.usage, append(more, files.New())...)
	if err != nil {
		p.t.Fatal(err)
	}
	p.closeLater(table.Close)
	return table
}

// serveWorst is an MCP server that answers as badly as its kind says.
func serveWorst(kind string, in io.Reader, out io.Writer) {
	if kind == "stubborn" {
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGPIPE)
		defer func() { time.Sleep(time.Minute) }()
	}
	lines := bufio.NewReaderSize(in, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil || kind == "silent" {
			return
		}
		if reply := worstReply(kind, line); reply != nil {
			_, _ = out.Write(append(reply, '\n'))
		}
		for kind == "changes" && bytes.Contains(line, []byte("tools/call")) {
			if _, err := io.WriteString(out, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`+"\n"); err != nil {
				return
			}
		}
	}
}

// worstReply answers a message; nil: it is not answered.
func worstReply(kind string, message []byte) []byte {
	var m struct {
		ID     json.RawMessage
		Method string
	}
	if json.Unmarshal(message, &m) != nil || m.ID == nil {
		return nil
	}
	var result []byte
	switch m.Method {
	case "initialize":
		result = []byte(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"s","version":"1"}}`)
	case "tools/list":
		result = worstTools(kind)
	case "tools/call":
		switch kind {
		case "hang", "stubborn", "changes":
			return nil
		case "large":
			result = []byte(`{"content":[{"type":"text","text":"` + strings.Repeat("Ada Byron, 536-22-8731. ", 8<<20/24) + `"}]}`)
		case "person":
			result = []byte(`{"content":[{"type":"text","text":"` + strings.Repeat("Ada Byron, 536-22-8731. ", 8<<20/24) + `"}]}`)
		case "objects":
			result = append(append([]byte(`{"content":[],"structuredContent":{"v":`), repeated("{}", 4_000_000)...), "}}"...)
		default:
			result = []byte(`{"content":[{"type":"text","text":"ok"}]}`)
		}
	default:
		result = []byte(`{}`)
	}
	return append(append([]byte(`{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":`), result...), '}')
}

func worstTools(kind string) []byte {
	tool := func(name, schema string) string {
		return `{"name":"` + name + `","description":"Find a customer or an invoice by country and number, and show it.","inputSchema":` + schema + `}`
	}
	tools, cursor := []string{tool("tool", `{"type":"object"}`)}, ""
	switch kind {
	case "many":
		for i := range 3000 {
			tools = append(tools, tool(fmt.Sprint("find_invoices_of_country_", i), `{"type":"object","properties":{"country":{"type":"string"},"number":{"type":"integer"}}}`))
		}
	case "checks":
		tools[0] = tool("tool", `{"type":"object","properties":{"v":{"allOf":`+string(repeated(`{"uniqueItems":true}`, 8000))+`}}}`)
	case "schemas":
		node := `{"type":"object","properties":{"a":{"type":"array","items":{"anyOf":[`
		node += strings.TrimSuffix(strings.Repeat(`{"type":"string","minLength":1},`, 4000), ",") + `]}}}}`
		for i := range 200 {
			tools = append(tools, tool(fmt.Sprint("deep_", i), node))
		}
	case "pages":
		cursor = `,"nextCursor":"more"`
		for i := range 2000 {
			tools = append(tools, tool(fmt.Sprint("page_", time.Now().UnixNano(), i), `{"type":"object"}`))
		}
	}
	return []byte(`{"tools":[` + strings.Join(tools, ",") + `]` + cursor + `}`)
}

// worstWeb serves pages that do not end.
func worstWeb() http.Handler {
	mux := http.NewServeMux()
	part := bytes.Repeat([]byte("x"), 64<<10)
	endless := func(w io.Writer, r *http.Request, part []byte) {
		for r.Context().Err() == nil {
			if _, err := w.Write(part); err != nil {
				return
			}
		}
	}
	mux.HandleFunc("/hang", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("/drip", func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, "x"); err != nil {
				return
			}
			w.(http.Flusher).Flush()
			time.Sleep(time.Millisecond)
		}
	})
	mux.HandleFunc("/head", func(w http.ResponseWriter, _ *http.Request) {
		for i := range 50 {
			w.Header().Set(fmt.Sprint("X-", i), strings.Repeat("x", 5000))
		}
	})
	mux.HandleFunc("/bomb", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		endless(z, r, make([]byte, 1<<20))
	})
	mux.HandleFunc("/endless", func(w http.ResponseWriter, r *http.Request) { endless(w, r, part) })
	mux.HandleFunc("/endless/embeddings", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"data":[{"embedding":[`)
		endless(w, r, bytes.Repeat([]byte("0.5,"), 1<<14))
	})
	mcp := func(kind, start string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPost {
				http.Error(w, "no", http.StatusMethodNotAllowed)
				return
			}
			message, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
			if err != nil {
				return
			}
			if bytes.Contains(message, []byte("tools/call")) {
				w.Header().Set("Content-Type", kind)
				_, _ = io.WriteString(w, start)
				endless(w, r, part)
				return
			}
			reply := worstReply("ok", message)
			if reply == nil {
				w.WriteHeader(http.StatusAccepted)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(reply)
		}
	}
	mux.HandleFunc("/mcp-json", mcp("application/json", `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"`))
	mux.HandleFunc("/mcp-sse", mcp("text/event-stream", `data: {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"`))
	return mux
}
