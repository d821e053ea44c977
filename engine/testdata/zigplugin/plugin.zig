//! A foreign plugin in Zig, on Extism's own protocol, with the standard
//! library's parser of JSON.
const std = @import("std");

extern "extism:host/env" fn input_length() u64;
extern "extism:host/env" fn input_load_u8(at: u64) u32;
extern "extism:host/env" fn alloc(n: u64) u64;
extern "extism:host/env" fn store_u8(at: u64, byte: u32) void;
extern "extism:host/env" fn output_set(at: u64, n: u64) void;
extern "extism:host/env" fn error_set(at: u64) void;

const memory = std.heap.wasm_allocator;

fn give(text: []const u8) u64 {
    const at = alloc(text.len);
    for (text, 0..) |byte, i| store_u8(at + i, byte);
    return at;
}

const Order = struct { item: []const u8, price: i64 };

fn answer() ![]const u8 {
    const input = try memory.alloc(u8, @intCast(input_length()));
    for (input, 0..) |*byte, i| byte.* = @intCast(input_load_u8(i));
    const orders = try std.json.parseFromSlice([]Order, memory, input, .{});
    var sum: i64 = 0;
    for (orders.value) |order| sum += order.price;
    return std.fmt.allocPrint(memory, "{{\"orders\":{d},\"total\":{d}}}", .{ orders.value.len, sum });
}

export fn total() i32 {
    const out = answer() catch |err| {
        error_set(give(@errorName(err)));
        return 1;
    };
    output_set(give(out), out.len);
    return 0;
}

export fn fail() i32 {
    error_set(give("the plugin says no"));
    return 1;
}

var spun: u32 = 0;

export fn spin() i32 {
    const n: *volatile u32 = &spun;
    while (true) n.* +%= 1;
}

export fn hoard() i32 {
    while (true) {
        if (@wasmMemoryGrow(0, 16) < 0) return 7;
    }
}

export fn trap() i32 {
    @trap();
}
