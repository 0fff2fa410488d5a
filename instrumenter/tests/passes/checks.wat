;; Accesses of atomic functions, and of functions that only they call, are checked: those of `printf`, of what it calls, and
;; of what an allocator calls too. Not those of an allocator and of what only it calls, nor those of a function's own frame.
;; A function that the program calls itself has points.
(module
  (memory 1)
  (global $__stack_pointer (mut i32) (i32.const 1024))
  (func $malloc (export "malloc") (param i32) (result i32)
    i32.const 64 local.get 0 i32.store
    i32.const 64 call $only_of_malloc
    i32.const 64 call $of_both
    i32.const 64)
  (func $free (export "free") (param i32))
  (func $only_of_malloc (param i32) local.get 0 i32.load8_u drop)
  (func $of_both (param i32) local.get 0 i32.load16_u drop)
  (func $printf (export "printf") (param i32 i32) (result i32)
    local.get 0 i32.load8_u offset=3 drop
    local.get 1 call $only_of_printf
    local.get 1 call $of_both
    local.get 1 call $strlen)
  (func $only_of_printf (param i32) (local $frame i32)
    global.get $__stack_pointer i32.const 16 i32.sub local.tee $frame global.set $__stack_pointer
    local.get $frame i32.const 7 i32.store
    local.get 0 i64.const 1 i64.store offset=8
    local.get 0 i32.const 128 i32.const 9 memory.copy
    local.get 0 i32.const 0 i32.const 9 memory.fill
    local.get $frame i32.const 16 i32.add global.set $__stack_pointer)
  (func $strlen (param i32) (result i32) local.get 0 i32.load8_u)
  (func $main (export "main") (result i32)
    i32.const 8 call $strlen drop
    i32.const 8 i32.const 9 call $printf))
