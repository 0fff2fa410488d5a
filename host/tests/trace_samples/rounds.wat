;; The module of `v5-round.trace` and `v5-cycle.trace`: rounds of steps that two workers can repeat for ever.
(module
  (import "coyote" "spawn" (func $spawn (param i32 i32 i32 i32) (result i32)))
  (import "coyote" "join" (func $join (param i32)))
  (import "coyote" "mutex_try_lock" (func $try (param i32) (result i32)))
  (import "coyote" "mutex_unlock" (func $unlock (param i32) (result i32)))
  (memory (export "memory") 1)
  (table 3 funcref)
  (elem (i32.const 0) $retries $looks $swings)
  (func $two (param $one i32) (param $other i32)
    (local $a i32) (local $b i32)
    (local.set $a (call $spawn (local.get $one) (i32.const 0x10) (i32.const 0) (i32.const 0)))
    (local.set $b (call $spawn (local.get $other) (i32.const 0x20) (i32.const 0) (i32.const 0)))
    (call $join (local.get $a))
    (call $join (local.get $b)))
  ;; Tries to lock both mutexes, until it has.
  (func $retries (param $first i32)
    (local $second i32)
    (local.set $second (i32.sub (i32.const 0x30) (local.get $first)))
    (loop $again
      (br_if $again (call $try (local.get $first)))
      (if (call $try (local.get $second))
        (then (drop (call $unlock (local.get $first))) (br $again))))
    (drop (call $unlock (local.get $second)))
    (drop (call $unlock (local.get $first))))
  ;; Waits for a flag that the other one sets for a moment, again and again, until it is noticed.
  (func $looks (param i32)
    (loop $again (br_if $again (i32.eqz (i32.atomic.load (i32.const 0x60)))))
    (i32.atomic.store (i32.const 0xa0) (i32.const 1)))
  (func $swings (param i32)
    (loop $again
      (i32.atomic.store (i32.const 0x60) (i32.const 1))
      (i32.atomic.store (i32.const 0x60) (i32.const 0))
      (br_if $again (i32.eqz (i32.atomic.load (i32.const 0xa0))))))
  ;; Taking turns leads to its round.
  (func (export "coyote.test.turns") (call $two (i32.const 0) (i32.const 0)))
  ;; Taking turns does not.
  (func (export "coyote.test.moments") (call $two (i32.const 1) (i32.const 2))))
