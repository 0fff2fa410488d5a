;; Two workers add 1 to a counter without a lock.
(module
  (import "coyote" "spawn" (func $spawn (param i32 i32 i32 i32) (result i32)))
  (import "coyote" "join" (func $join (param i32)))
  (import "coyote" "fail" (func $fail (param i32 i32)))
  (memory (export "memory") 1)
  (data (i32.const 0x900) "the counter is not 2")
  (table 1 funcref)
  (elem (i32.const 0) $add)

  (func $add (param i32)
    (i32.store (i32.const 0x800) (i32.add (i32.load (i32.const 0x800)) (i32.const 1))))

  (func (export "coyote.test.racy")
    (local $a i32) (local $b i32)
    (local.set $a (call $spawn (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))
    (local.set $b (call $spawn (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))
    (call $join (local.get $a))
    (call $join (local.get $b))
    (if (i32.ne (i32.load (i32.const 0x800)) (i32.const 2))
      (then (call $fail (i32.const 0x900) (i32.const 20))))))
