//! Zig's threads, mutexes and conditions, once used wrongly and once as they should be.

const std = @import("std");

/// The one in a panic's default handler does not build for threads yet.
pub const panic = std.debug.simple_panic;

/// Its futexes are the instructions of wasm.
const io = std.Io.Threaded.global_single_threaded.io();

var memory: [512 << 10]u8 = undefined;
var fixed: std.heap.FixedBufferAllocator = .init(&memory);

/// Open once all threads have been started: `zig_spawn_join.zig` says why none may end before.
var started: std.Io.Event = .unset;

fn spawn(comptime function: fn () void) std.Thread {
    const Gated = struct {
        fn run() void {
            started.waitUncancelable(io);
            function();
        }
    };
    const config: std.Thread.SpawnConfig = .{
        .allocator = fixed.threadSafeAllocator(),
        .stack_size = 64 << 10,
    };
    return std.Thread.spawn(config, Gated.run, .{}) catch @panic("a thread cannot be started");
}

fn join(threads: []const std.Thread) void {
    started.set(io);
    for (threads) |thread| thread.join();
}

var mutex: std.Io.Mutex = .init;
var counter: u32 = 0;

fn increment() void {
    counter += 1;
}

fn incrementLocked() void {
    mutex.lockUncancelable(io);
    defer mutex.unlock(io);
    counter += 1;
}

fn count(comptime function: fn () void) void {
    join(&.{ spawn(function), spawn(function) });
    if (counter != 2) @panic("an increment is lost");
}

export fn @"coyote.test.racy_counter"() void {
    count(increment);
}

export fn @"coyote.test.locked_counter"() void {
    count(incrementLocked);
}

var condition: std.Io.Condition = .init;
var ready = false;

fn wait() void {
    mutex.lockUncancelable(io);
    defer mutex.unlock(io);
    while (!ready) condition.waitUncancelable(io, &mutex);
}

/// Without the mutex this can fall between a waiter's look at `ready` and its wait.
fn announce() void {
    ready = true;
    condition.signal(io);
}

fn announceLocked() void {
    mutex.lockUncancelable(io);
    defer mutex.unlock(io);
    announce();
}

export fn @"coyote.test.lost_wakeup"() void {
    join(&.{ spawn(wait), spawn(announce) });
}

export fn @"coyote.test.wakeup"() void {
    join(&.{ spawn(wait), spawn(announceLocked) });
}
