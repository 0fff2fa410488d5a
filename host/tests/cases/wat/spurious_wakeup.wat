;; A wait on a condvar without a loop around it: right until a wake-up is spurious.
;; run: --strategy dpor
;; exit: 0
;; run: --strategy dpor --spurious-wakeups=1
;; exit: 2
;; line: bug in test waits: assertion: not yet
;; run: -i 1000 --faults spurious=1,try-lock
;; exit: 2
;; line: bug in test waits: assertion: not yet
;; run: -i 1000 --spurious-wakeups=1
;; exit: 2
;; line: bug in test waits: assertion: not yet
(module
  (import "coyote" "spawn" (func $spawn (param i32 i32 i32 i32) (result i32)))
  (import "coyote" "join" (func $join (param i32)))
  (import "coyote" "fail" (func $fail (param i32 i32)))
  (import "coyote" "mutex_lock" (func $lock (param i32 i64) (result i32)))
  (import "coyote" "mutex_unlock" (func $unlock (param i32) (result i32)))
  (import "coyote" "condvar_wait" (func $wait (param i32 i32 i64) (result i32)))
  (import "coyote" "condvar_signal" (func $signal (param i32)))
  (memory (export "memory") 1)
  (data (i32.const 64) "not yet")
  (table 1 funcref)
  (elem (i32.const 0) $tells)
  (func $tells (param i32)
    (drop (call $lock (i32.const 8) (i64.const -1)))
    (i32.store (i32.const 32) (i32.const 1))
    (call $signal (i32.const 16))
    (drop (call $unlock (i32.const 8))))
  (func (export "coyote.test.waits")
    (local $other i32)
    (local.set $other (call $spawn (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))
    (drop (call $lock (i32.const 8) (i64.const -1)))
    (if (i32.eqz (i32.load (i32.const 32)))
      (then
        (drop (call $wait (i32.const 16) (i32.const 8) (i64.const -1)))
        (if (i32.eqz (i32.load (i32.const 32))) (then (call $fail (i32.const 64) (i32.const 7))))))
    (drop (call $unlock (i32.const 8)))
    (call $join (local.get $other))))
