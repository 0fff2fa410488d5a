;; One worker waits in a loop for what the other one writes: infinitely many schedules, few states.
(module
  (import "coyote" "spawn" (func $spawn (param i32 i32 i32 i32) (result i32)))
  (import "coyote" "join" (func $join (param i32)))
  (memory (export "memory") 1)
  (table 1 funcref)
  (elem (i32.const 0) $waiter)
  (func $waiter (param i32)
    (loop $again
      (br_if $again (i32.eqz (i32.load (i32.const 4096))))))
  (func (export "coyote.test.spin") (local $h i32)
    (local.set $h (call $spawn (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))
    (i32.store (i32.const 4096) (i32.const 1))
    (call $join (local.get $h))))
