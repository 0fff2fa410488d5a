;; Guests for whose executions there is never time.
(module
  (import "coyote" "spawn" (func $spawn (param i32 i32 i32 i32) (result i32)))
  (import "coyote" "join" (func $join (param i32)))
  (memory (export "memory") 1 8192)
  (table 2 funcref)
  (elem (i32.const 0) $grow $copy)

  ;; Ever more memory, all of it written: what is compared and saved grows by a MiB with every step.
  (func $grow (param i32)
    (local $at i32)
    (loop $again
      (local.set $at (i32.shl (memory.grow (i32.const 16)) (i32.const 16)))
      (if (i32.eq (local.get $at) (i32.const 0xffff0000)) (then (return)))
      (memory.fill (local.get $at) (i32.const 1) (i32.const 0x100000))
      (drop (i32.atomic.rmw.add (i32.const 0x800) (i32.const 1)))
      (br $again)))

  ;; For ever, with fifty million bytes in each step.
  (func $copy (param i32)
    (loop $again
      (memory.fill (local.get 0) (local.get 0) (i32.const 50000000))
      (drop (i32.atomic.rmw.add (i32.const 0x800) (i32.const 1)))
      (br $again)))

  ;; Two workers with a function, and what each of them is given.
  (func $both (param $function i32) (param $first i32) (param $second i32)
    (local $a i32) (local $b i32)
    (local.set $a (call $spawn (local.get $function) (local.get $first) (i32.const 0) (i32.const 0)))
    (local.set $b (call $spawn (local.get $function) (local.get $second) (i32.const 0) (i32.const 0)))
    (call $join (local.get $a))
    (call $join (local.get $b)))

  (func (export "coyote.test.grows") (call $both (i32.const 0) (i32.const 0) (i32.const 0)))

  (func (export "coyote.test.copies")
    (drop (memory.grow (i32.const 2000)))
    (call $both (i32.const 1) (i32.const 0x10000) (i32.const 0x3000000)))

  ;; As `copies`, but both write the same bytes.
  (func (export "coyote.test.races")
    (drop (memory.grow (i32.const 2000)))
    (call $both (i32.const 1) (i32.const 0x10000) (i32.const 0x10000))))
