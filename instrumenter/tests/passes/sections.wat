;; A function that is atomic by its name begins with a point; within it the host is told of accesses, and
;; muted. For a part of a function the program tells it. Other names are other functions.
(module
  (import "coyote" "atomic_begin" (func $begin))
  (import "coyote" "atomic_end" (func $end))
  (memory 1)
  (func $__VERIFIER_atomic_add (param i32 i64) (result i32)
    (i32.store (i32.const 8) (i32.add (i32.load (i32.const 8)) (local.get 0)))
    (i32.load (i32.const 8)))
  (func $__VERIFIER_atomics (i32.store (i32.const 8) (i32.const 1)))
  (func $part (call $begin) (i32.store (i32.const 8) (i32.const 1)) (call $end))
  (func $calls (export "calls") (result i32)
    (call $__VERIFIER_atomics)
    (call $part)
    (call $__VERIFIER_atomic_add (i32.const 1) (i64.const 2))))
