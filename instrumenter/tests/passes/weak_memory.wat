;; --faults weak
;; --no-points-in inside
(module
  (import "env" "memory" (memory 1 4 shared))
  (import "coyote" "order" (func $order (param i32)))
  (func $accesses (export "accesses") (param $a i32) (result i32)
    (i32.store (local.get $a) (i32.const 1))
    (i32.atomic.store8 (local.get $a) (i32.const 1))
    (drop (i64.atomic.rmw32.add_u offset=4 (local.get $a) (i64.const 1)))
    (drop (i32.atomic.rmw.cmpxchg (local.get $a) (i32.const 1) (i32.const 2)))
    (drop (i64.atomic.rmw.cmpxchg (local.get $a) (i64.const 1) (i64.const 2)))
    atomic.fence
    (call $order (i32.const 0x70))
    (i32.atomic.load (local.get $a)))
  (func $inside (export "inside") (param $a i32) (result i32)
    (i32.store (local.get $a) (i32.const 1))
    atomic.fence
    (i32.atomic.load (local.get $a))))
