;; A worker with the stack [0x4000, 0x6000) moves its stack pointer to 0x5000, writes one byte below
;; that and waits for ever. The code is the same for all values, whatever the byte: it is computed.
(module
  (import "coyote" "spawn" (func $spawn (param i32 i32 i32 i32) (result i32)))
  (import "coyote" "join" (func $join (param i32)))
  (import "coyote" "futex_wait" (func $futex_wait (param i32 i32 i64) (result i32)))
  (memory (export "memory") 1)
  (global $__stack_pointer (export "__stack_pointer") (mut i32) (i32.const 0x3000))
  (table 1 funcref)
  (elem (i32.const 0) $worker)

  (func $worker (param i32)
    (global.set $__stack_pointer (i32.const 0x5000))
    (i32.store8 (i32.sub (i32.const 0x5000) (i32.const (;BELOW;))) (i32.const (;VALUE;)))
    (drop (call $futex_wait (i32.const 0x800) (i32.const 0) (i64.const -1))))

  (func (export "coyote.test.below")
    (call $join (call $spawn (i32.const 0) (i32.const 0) (i32.const 0x4000) (i32.const 0x6000)))))
