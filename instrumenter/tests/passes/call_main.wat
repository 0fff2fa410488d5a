;; --points sync
;; A program's main is called by its own type: with any number of arguments up to three, and with a result
;; or without.
(module
  (import "coyote" "call_main" (func $call_main (param i32 i32 i32 i32) (result i32)))
  (memory 1)
  (table 9 funcref)
  (elem (i32.const 1) $environment $usual $none $void $void_usual $other $four)
  (func $environment (param i32 i32 i32) (result i32) (local.get 2))
  (func $usual (param i32 i32) (result i32) (local.get 0))
  (func $none (result i32) (i32.const 1))
  (func $void)
  (func $void_usual (param i32 i32))
  (func $other (param i64))
  (func $four (param i32 i32 i32 i32) (result i32) (local.get 3))
  (func $calls (result i32)
    (call $call_main (i32.const 2) (i32.const 5) (i32.const 6) (i32.const 7))))
