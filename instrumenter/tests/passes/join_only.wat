;; --points sync
;; In a program that detaches no thread, a join is one operation.
(module
  (memory 1)
  (func $__coyote_join (param i32) (result i32) (i32.load8_u (local.get 0)))
  (func $calls (export "calls") (result i32) (call $__coyote_join (i32.const 16))))
