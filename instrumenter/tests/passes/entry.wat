;; --points sync
(module
  (import "coyote" "call_entry" (func $call_entry (param i32 i32) (result i32)))
  (memory 1)
  (table 9 funcref)
  (elem (i32.const 1) $usual $takes $gives $neither $other)
  (elem (i32.const 7) funcref (ref.func $takes) (ref.null func))
  (func $usual (param i32) (result i32) (local.get 0))
  (func $takes (param i32))
  (func $gives (result i32) (i32.const 1))
  (func $neither)
  (func $other (param i64))
  (func $calls (result i32) (call $call_entry (i32.const 4) (i32.const 5))))
