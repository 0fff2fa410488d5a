;; Two workers do what regressions.rs puts in, which is to add 1 to the number at 1024.
(module
  (import "coyote" "spawn" (func $spawn (param i32 i32 i32 i32) (result i32)))
  (import "coyote" "join" (func $join (param i32)))
  (import "coyote" "fail" (func $fail (param i32 i32)))
  (memory (export "memory") 1)
  (table 1 funcref)
  (elem (i32.const 0) $add)
  (data (i32.const 16) "an update is lost")

  (func $add (param i32) BODY)

  (func (export "coyote.test.racy") (local i32 i32)
    (local.set 0 (call $spawn (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))
    (local.set 1 (call $spawn (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))
    (call $join (local.get 0))
    (call $join (local.get 1))
    (if (i32.ne (i32.load (i32.const 1024)) (i32.const 2)) (then (call $fail (i32.const 16) (i32.const 17))))))
