;; Threads that are put in order by time. `sleeps` fails if the shorter sleep is the later one, `waits` if a
;; notification comes too late, `spins` if nobody ever raises the flag, `lost` if one is lost for want of a check.
(module
  (import "coyote" "spawn" (func $spawn (param i32 i32 i32 i32) (result i32)))
  (import "coyote" "join" (func $join (param i32)))
  (import "coyote" "sleep" (func $sleep (param i64)))
  (import "coyote" "mutex_lock" (func $lock (param i32 i64) (result i32)))
  (import "coyote" "mutex_unlock" (func $unlock (param i32) (result i32)))
  (import "coyote" "condvar_wait" (func $wait (param i32 i32 i64) (result i32)))
  (import "coyote" "condvar_signal" (func $signal (param i32)))
  (import "coyote" "fail" (func $fail (param i32 i32)))
  (memory (export "memory") 1)
  (data (i32.const 0x900) "out of time")
  (table 2 funcref)
  (elem (i32.const 0) $late $rings)

  (func $fails_unless (param $right i32)
    (if (i32.eqz (local.get $right)) (then (call $fail (i32.const 0x900) (i32.const 11)))))

  ;; Raises the flag after so many milliseconds.
  (func $late (param $ms i32)
    (call $sleep (i64.mul (i64.extend_i32_u (local.get $ms)) (i64.const 1000000)))
    (i32.atomic.store (i32.const 0x840) (i32.const 1)))

  (func (export "coyote.test.sleeps")
    (drop (call $spawn (i32.const 0) (i32.const 10) (i32.const 0) (i32.const 0)))
    (call $sleep (i64.const 100000000))
    (call $fails_unless (i32.atomic.load (i32.const 0x840))))

  (func $spin
    (drop (call $spawn (i32.const 0) (i32.const 10) (i32.const 0) (i32.const 0)))
    (loop $again
      (br_if $again (i32.eqz (i32.atomic.load (i32.const 0x840))))))
  (func (export "coyote.test.spins") (call $spin))

  ;; Signals, having slept.
  (func $rings (param $ms i32)
    (call $late (local.get $ms))
    (drop (call $lock (i32.const 0x810) (i64.const -1)))
    (call $signal (i32.const 0x820))
    (drop (call $unlock (i32.const 0x810))))

  (func $waits_with (param $ms i32)
    (drop (call $spawn (i32.const 1) (local.get $ms) (i32.const 0) (i32.const 0)))
    (drop (call $lock (i32.const 0x810) (i64.const -1)))
    (call $fails_unless
      (i32.eqz (call $wait (i32.const 0x820) (i32.const 0x810) (i64.const 50000000))))
    (drop (call $unlock (i32.const 0x810))))
  (func (export "coyote.test.waits") (call $waits_with (i32.const 10)))
  (func (export "coyote.test.lost") (call $waits_with (i32.const 0))))
