// Package engine runs programs that agents wrote, in WebAssembly sandboxes, with
// the tools that they may use. The command, the MCP server and the HTTP API are
// built on it, and a Go program can embed it:
//
//	e, err := engine.New(ctx, engine.Config{Cache: dir})
//	if err != nil { … }
//	defer e.Close()
//	res, err := e.Run(ctx, engine.Request{Language: "python", Code: "sum(range(10))"})
//	fmt.Println(string(res.Value), err) // 45 <nil>
//
// Without a table, programs can only compute. What they may reach is a
// [hostfns.Table]: a policy, a place for records, and providers of tools, such as
// Go functions ([hostfns.Func]) or MCP servers. Each [Request] can have its own
// table, one for each tenant. Files, including the scratch folder /tmp, come from
// the provider of package hostfns/files, and the network from that of
// hostfns/fetch.
//
// # Runs
//
// Each run has a fresh instance of its interpreter, restored from a memory image;
// only the runs of a session share one. A run is metered with fuel, bounded in
// memory, time, output and calls, and ends when its context ends. A program
// cannot catch a limit. [Engine.Run] always returns a [Result], so that output
// and usage survive a failure, and an error whose code errors.Is tells:
//
//	if errors.Is(err, fault.LimitTime) { … }
//
// # State
//
// The engine writes files only below the cache folder, and none without one. It
// reads no environment variables, has no globals, and logs to the slog.Logger of
// its configuration. Several engines of one process can share compiled guests
// through a [Cache].
//
// # Not promised
//
// Fuel is about one wasm instruction and the same on every machine, but another
// version of a guest can use another amount. Wall time depends on the machine. A
// reader given as [Request.Stdin] that blocks for ever keeps one goroutine after
// the end of the run.
package engine
