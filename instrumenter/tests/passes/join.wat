;; --points sync
;; In a program that detaches threads, the look whether a join is allowed is an operation of its own.
(module
  (memory 1)
  (func $__coyote_pthread_detach (param i32) (result i32) (i32.store8 (local.get 0) (i32.const 1)) (i32.const 0))
  (func $__coyote_join (param i32) (result i32) (i32.load8_u (local.get 0)))
  (func $__coyote_worker (param i32) (result i32) (i32.load offset=4 (local.get 0)))
  (func $calls (export "calls") (result i32)
    (drop (call $__coyote_pthread_detach (i32.const 16)))
    (drop (call $__coyote_worker (i32.const 16)))
    (call $__coyote_join (i32.const 16))))
