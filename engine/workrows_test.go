//go:build linux

package engine

import (
	"bytes"
	"maps"
	"slices"

	"github.com/tetratelabs/wazero/api"
)

// The memory of a hostile module.
const (
	atResult        = 0
	atVectors       = 1 << 10 // 1,024 vectors that all show the buffer
	atPath          = 12 << 10
	atOther         = 13 << 10
	atFolder        = 14 << 10
	atLongPath      = 16 << 10 // 4,096 bytes
	atSubscriptions = 64 << 10
	atEvents        = 128 << 10
	atName          = 192 << 10
	atBuffer        = 1 << 20

	vectors = 1024
	small   = 32  // pages
	large   = 800 //
	buffer  = large<<16 - atBuffer
	forever = 1 << 62
	file    = 4 // the first descriptor that is free
)

// layout returns the contents of the memory. Each vector shows n bytes.
func layout(n uint32) map[uint32][]byte {
	var iovs, sub []byte
	for range vectors {
		iovs = append(iovs, words32(atBuffer, n)...)
		one := make([]byte, 48)
		one[8] = 1 // to read descriptor 0
		sub = append(sub, one...)
	}
	return map[uint32][]byte{
		atVectors: iovs, atPath: []byte("tmp/x"), atOther: []byte("tmp/y"), atFolder: []byte("tmp"),
		atLongPath: bytes.Repeat([]byte("tmp/../"), 4096/7), atSubscriptions: sub,
	}
}

func wasiCall(name string, args ...any) hostCall { return hostCall{wasi, name, args} }

// opens makes tmp/x the descriptor file, to read and write.
func opened() hostCall {
	const create, all = 1, 1<<30 - 1
	return wasiCall("path_open", 3, 0, atPath, 5, create, all, all, 0, atResult)
}

// wasiWork has the worst that can be asked of each function of WASI.
func wasiWork() map[string]hostile {
	const long = 4096 / 7 * 7
	with := func(calls ...hostCall) hostile {
		return hostile{begin: []hostCall{opened()}, loop: calls, pages: small, data: layout(1 << 10)}
	}
	wide := func(n uint32, begin []hostCall, calls ...hostCall) hostile {
		return hostile{begin: append([]hostCall{opened()}, begin...), loop: calls, pages: large, data: layout(n)}
	}
	full := []hostCall{wasiCall("fd_allocate", file, 0, 20<<20)}
	work := map[string]hostile{
		"args_get":                with(wasiCall("args_get", atResult, atBuffer)),
		"args_sizes_get":          with(wasiCall("args_sizes_get", atResult, atBuffer)),
		"environ_get":             with(wasiCall("environ_get", atResult, atBuffer)),
		"environ_sizes_get":       with(wasiCall("environ_sizes_get", atResult, atBuffer)),
		"clock_res_get":           with(wasiCall("clock_res_get", 0, atResult)),
		"clock_time_get":          with(wasiCall("clock_time_get", 0, 0, atResult)),
		"fd_advise":               with(wasiCall("fd_advise", file, 0, forever, 3)),
		"fd_allocate":             with(wasiCall("fd_allocate", file, 0, 30<<20), wasiCall("fd_filestat_set_size", file, 0)),
		"fd_close":                with(opened(), wasiCall("fd_close", file), opened()),
		"fd_datasync":             with(wasiCall("fd_datasync", file)),
		"fd_fdstat_get":           with(wasiCall("fd_fdstat_get", file, atResult)),
		"fd_fdstat_set_flags":     with(wasiCall("fd_fdstat_set_flags", file, 1)),
		"fd_fdstat_set_rights":    with(wasiCall("fd_fdstat_set_rights", file, 0, 0)),
		"fd_filestat_get":         with(wasiCall("fd_filestat_get", file, atResult)),
		"fd_filestat_set_size":    with(wasiCall("fd_filestat_set_size", file, 30<<20), wasiCall("fd_filestat_set_size", file, 1)),
		"fd_filestat_set_times":   with(wasiCall("fd_filestat_set_times", file, 0, 0, 5)),
		"fd_pread":                wide(20<<20, full, wasiCall("fd_pread", file, atVectors, vectors, 0, atResult)),
		"fd_prestat_get":          with(wasiCall("fd_prestat_get", 3, atResult)),
		"fd_prestat_dir_name":     with(wasiCall("fd_prestat_dir_name", 3, atBuffer, 1)),
		"fd_pwrite":               wide(20<<20, nil, wasiCall("fd_pwrite", file, atVectors, vectors, 0, atResult)),
		"fd_read":                 wide(20<<20, full, wasiCall("fd_read", file, atVectors, vectors, atResult), wasiCall("fd_seek", file, 0, 0, atResult)),
		"fd_readdir":              with(wasiCall("path_open", 3, 0, atFolder, 3, 2, 0, 0, 0, atResult), wasiCall("fd_readdir", file+1, atBuffer, 1<<20, 0, atResult)),
		"fd_renumber":             with(opened(), wasiCall("fd_renumber", file+1, 60_000), wasiCall("fd_renumber", file, 1<<16)),
		"fd_seek":                 with(wasiCall("fd_seek", file, forever, 0, atResult), wasiCall("fd_write", file, atVectors, 1, atResult)),
		"fd_sync":                 with(wasiCall("fd_sync", file)),
		"fd_tell":                 with(wasiCall("fd_tell", file, atResult)),
		"fd_write":                wide(48<<20, nil, wasiCall("fd_write", 1, atVectors, vectors, atResult)),
		"path_create_directory":   with(wasiCall("path_create_directory", 3, atLongPath, long), wasiCall("path_create_directory", 3, atOther, 5)),
		"path_filestat_get":       with(wasiCall("path_filestat_get", 3, 1, atLongPath, long, atResult)),
		"path_filestat_set_times": with(wasiCall("path_filestat_set_times", 3, 1, atPath, 5, 0, 0, 5)),
		"path_link":               with(wasiCall("path_link", 3, 0, atPath, 5, 3, atLongPath, long)),
		"path_open":               with(opened(), wasiCall("path_open", 3, 0, atLongPath, long, 0, 0, 0, 0, atResult)),
		"path_readlink":           with(wasiCall("path_readlink", 3, atLongPath, long, atBuffer, 1<<20, atResult)),
		"path_remove_directory":   with(wasiCall("path_remove_directory", 3, atLongPath, long)),
		"path_rename":             with(wasiCall("path_rename", 3, atPath, 5, 3, atOther, 5), wasiCall("path_rename", 3, atOther, 5, 3, atPath, 5)),
		"path_symlink":            with(wasiCall("path_symlink", atLongPath, long, 3, atOther, 5)),
		"path_unlink_file":        with(wasiCall("path_unlink_file", 3, atOther, 5), wasiCall("path_open", 3, 0, atOther, 5, 1, 0, 0, 0, atResult)),
		"poll_oneoff":             with(wasiCall("poll_oneoff", atSubscriptions, atEvents, vectors, atResult)),
		"proc_exit":               with(wasiCall("clock_res_get", 0, atResult), wasiCall("proc_exit", 7)),
		"proc_raise":              with(wasiCall("proc_raise", 9)),
		"random_get":              wide(1, nil, wasiCall("random_get", atBuffer, 16<<20)),
		"sched_yield":             with(wasiCall("sched_yield")),
		"sock_accept":             with(wasiCall("sock_accept", file, 0, atResult)),
		"sock_recv":               with(wasiCall("sock_recv", file, atVectors, vectors, 0, atResult, atResult+8)),
		"sock_send":               with(wasiCall("sock_send", file, atVectors, vectors, 0, atResult)),
		"sock_shutdown":           with(wasiCall("sock_shutdown", file, 2)),
	}
	return work
}

// tooMuchOfWASI asks for more than is accepted.
func tooMuchOfWASI() map[string]hostile {
	with := func(calls ...hostCall) hostile {
		return hostile{begin: []hostCall{opened()}, loop: calls, pages: large, data: layout(0)}
	}
	const many = buffer / 8
	return map[string]hostile{
		"fd_renumber":   with(wasiCall("fd_renumber", file, 0x7fffffff)),
		"random_get":    with(wasiCall("random_get", atBuffer, buffer)),
		"fd_write":      with(wasiCall("fd_write", file, atBuffer, many, atResult)),
		"fd_pwrite":     with(wasiCall("fd_pwrite", file, atBuffer, many, 0, atResult)),
		"fd_read":       with(wasiCall("fd_read", file, atBuffer, many, atResult)),
		"fd_pread":      with(wasiCall("fd_pread", file, atBuffer, many, 0, atResult)),
		"poll_oneoff":   with(wasiCall("poll_oneoff", 0, 0, buffer/48, atResult)),
		"path_open":     with(wasiCall("path_open", 3, 1, atBuffer, buffer, 1, 0, 0, 0, atResult)),
		"path_symlink":  with(wasiCall("path_symlink", atBuffer, buffer, 3, atOther, 5)),
		"path_readlink": with(wasiCall("path_readlink", 3, atBuffer, buffer, atBuffer, buffer, atResult)),
	}
}

// kernelWork has the worst that a plugin can ask of each function of Extism.
func kernelWork(known signatures) map[string]hostile {
	call := func(name string, args ...any) hostCall { return hostCall{kernel, name, args} }
	work := map[string]hostile{}
	for key, def := range known {
		if key[0] != kernel {
			continue
		}
		// Most functions take offsets: of a block of a megabyte.
		c := hostCall{module: kernel, name: key[1]}
		for _, p := range def.ParamTypes() {
			switch {
			case p == api.ValueTypeI32:
				c.args = append(c.args, 0)
			default:
				c.args = append(c.args, id{})
			}
		}
		work[key[1]] = hostile{begin: []hostCall{call("alloc", 1<<20)}, loop: []hostCall{c}}
	}
	for _, frees := range []string{"log_trace", "log_debug", "log_info", "log_warn", "log_error", "config_get", "var_get"} {
		work[frees] = hostile{loop: []hostCall{call("alloc", 1<<20), call(frees, id{})}}
	}
	work["alloc"] = hostile{loop: []hostCall{call("alloc", 1<<28)}}
	work["free"] = hostile{loop: []hostCall{call("alloc", 60<<20), call("free", id{})}}
	work["reset"] = hostile{loop: []hostCall{call("alloc", 30<<20), call("reset")}}
	work["memory_bytes"] = hostile{loop: []hostCall{call("memory_bytes")}}
	work["error_set"] = hostile{begin: []hostCall{call("alloc", 40<<20), call("error_set", id{})}, loop: []hostCall{call("memory_bytes")}}
	work["output_set"] = hostile{begin: []hostCall{call("alloc", 40<<20), call("output_set", id{}, 40<<20)}, loop: []hostCall{call("memory_bytes")}}
	return work
}

// calling makes a call of the prelude or of a tool again and again, and reads the
// answers.
func calling(name string, args []byte, begin ...hostCall) hostile {
	answer := atBuffer + len(args)
	return hostile{
		begin: begin, pages: uint64(answer>>16) + 17, data: map[uint32][]byte{atName: []byte(name), atBuffer: args},
		loop: []hostCall{
			{ours, "call_start", []any{atName, len(name), atBuffer, len(args)}},
			{ours, "call_wait", []any{0, -1}},
			{ours, "answer_size", []any{id{}}},
			{ours, "answer_read", []any{id{}, answer, 1 << 20}},
		},
	}
}

// guestWork has the worst that a guest can ask of each function of wexec.
func guestWork() map[string]hostile {
	call := func(name string, args ...any) hostCall { return hostCall{ours, name, args} }
	name := []byte("x.unknown")
	start := call("call_start", atName, len(name), atBuffer, buffer/2)
	with := func(calls ...hostCall) hostile {
		return hostile{loop: calls, pages: large, data: map[uint32][]byte{atName: name, atPath: []byte("wexec:progress")},
			fill: []memoryFill{{atBuffer, buffer, '['}}}
	}
	little := call("call_start", atPath, len("wexec:progress"), atBuffer, 0)
	return map[string]hostile{
		"refill":      with(call("input_size")), // only the meter may import refill: each loop calls it
		"input_size":  with(call("input_size")),
		"input_read":  with(call("input_read", atBuffer, 0xffffffff)),
		"call_start":  with(start),
		"call_wait":   with(call("call_wait", 0, forever)),
		"answer_size": with(call("answer_size", id{})),
		"answer_read": with(little, call("call_wait", 0, -1), call("answer_read", id{}, atBuffer, 0xffffffff)),
		"call_cancel": with(little, call("call_cancel", id{})),
		"finish":      with(call("finish", 0, atBuffer, 1<<10)),
	}
}

// workRows lists the worst that can be asked of each function.
func workRows(known signatures) (rows []work) {
	quick := []string{"fd_filestat_set_size", "fd_renumber", "fd_write", "random_get", "call_start"}
	add := func(of, how string, modules map[string]hostile, run func(*workplace, hostile) Request) {
		for _, name := range slices.Sorted(maps.Keys(modules)) {
			rows = append(rows, work{of + name, how, func(p *workplace) Request { return run(p, modules[name]) }, slices.Contains(quick, name)})
		}
	}
	add(wasi+".", "a guest, what is accepted", wasiWork(), (*workplace).guest)
	add("plugin "+wasi+".", "what is accepted", wasiWork(), (*workplace).plugin)
	add(wasi+".", "a guest, too much", tooMuchOfWASI(), (*workplace).guest)
	add("plugin "+wasi+".", "too much", tooMuchOfWASI(), (*workplace).plugin)
	add(kernel+".", "large blocks", kernelWork(known), (*workplace).plugin)
	add(ours+".", "large arguments", guestWork(), (*workplace).guest)
	return append(rows, outsideRows()...)
}
