;; Two workers add 1 to a counter twice, one of them 0 or 1 as it chooses; nobody minds.
(module
  (import "coyote" "spawn" (func $spawn (param i32 i32 i32 i32) (result i32)))
  (import "coyote" "join" (func $join (param i32)))
  (import "coyote" "choose_bool" (func $choose_bool (result i32)))
  (import "coyote" "fail" (func $fail (param i32 i32)))
  (memory (export "memory") 1)
  (data (i32.const 0x900) "the counter is 2")
  (table 2 funcref)
  (elem (i32.const 0) $add $choose)

  (func $add (param i32)
    (drop (i32.atomic.rmw.add (i32.const 0x800) (i32.const 1)))
    (drop (i32.atomic.rmw.add (i32.const 0x800) (i32.const 1))))

  (func $choose (param i32)
    (drop (i32.atomic.rmw.add (i32.const 0x800) (call $choose_bool)))
    (drop (i32.atomic.rmw.add (i32.const 0x800) (i32.const 1))))

  (func $both (result i32)
    (local $a i32) (local $b i32)
    (local.set $a (call $spawn (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))
    (local.set $b (call $spawn (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 0)))
    (call $join (local.get $a))
    (call $join (local.get $b))
    (i32.load (i32.const 0x800)))

  (func (export "coyote.test.correct") (drop (call $both)))

  (func (export "coyote.test.wrong")
    (if (i32.eq (call $both) (i32.const 3)) (then (call $fail (i32.const 0x900) (i32.const 16))))))
