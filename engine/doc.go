// Package engine runs programs that agents wrote, in WebAssembly sandboxes,
// next to the tools they may use. It is what every door of wexec stands on, and
// what a Go program embeds:
//
//	e, err := engine.New(ctx, engine.Config{Cache: dir})
//	if err != nil { … }
//	defer e.Close()
//	res, err := e.Run(ctx, engine.Request{Language: "python", Code: "sum(range(10))"})
//	fmt.Println(string(res.Value), err) // 45 <nil>
//
// An engine without a table lets programs compute and nothing else. What they
// may reach is a [hostfns.Table]: a policy, a place for records, and providers
// of tools, such as Go functions ([hostfns.Func]) or MCP servers. Each
// [Request] may bring a table of its own, one for each tenant. Files, the scratch
// folder /tmp among them, come from the provider of package hostfns/files, and
// the network from that of hostfns/fetch.
//
// # What a run is
//
// Each run has a fresh instance of its interpreter, restored from a memory
// image; an instance serves a second run only in a session. The run is metered
// with fuel, capped in memory, time, output and calls, and ends when its context
// ends. A limit cannot be caught by the program. [Engine.Run] always gives a
// [Result], so that output and usage survive a failure, and an error whose code
// errors.Is tells:
//
//	if errors.Is(err, fault.LimitTime) { … }
//
// # What it keeps
//
// Files are written below the cache folder and nowhere else, and none without
// one. The engine reads no environment, has no globals, and logs to the
// slog.Logger it is given. Several engines of one process share compiled guests
// through a [Cache].
//
// # What it does not promise
//
// Fuel is about one wasm instruction and the same on every machine, but a guest
// of another version counts otherwise. Wall time depends on the machine. A
// reader given as [Request.Stdin] that blocks for ever keeps one goroutine after
// the run has ended.
package engine
