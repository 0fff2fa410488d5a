//! A program as one writes it: two threads, each started and joined once.
//!
//! It hangs in some schedules, and the bug is not here but in `std.Thread` of Zig 0.17 for WASI: `spawn`
//! stores the id of the new thread after it has started it. A thread that ends first has set the id
//! to 0 and has woken whoever joins it; then its id is stored, and `join` waits for a change that never
//! comes. `zig_threads.zig` keeps its threads from ending too early.

const std = @import("std");

/// The one in a panic's default handler does not build for threads yet.
pub const panic = std.debug.simple_panic;

var memory: [512 << 10]u8 = undefined;
var fixed: std.heap.FixedBufferAllocator = .init(&memory);
var sum: std.atomic.Value(u32) = .init(0);

fn add(amount: u32) void {
    _ = sum.fetchAdd(amount, .monotonic);
}

pub fn main() !void {
    const config: std.Thread.SpawnConfig = .{
        .allocator = fixed.threadSafeAllocator(),
        .stack_size = 64 << 10,
    };
    const one = try std.Thread.spawn(config, add, .{1});
    const two = try std.Thread.spawn(config, add, .{2});
    one.join();
    two.join();
    if (sum.load(.monotonic) != 3) @panic("an addition is lost");
}
