;; --atomic-fn *a*
;; An allocator stays one, whatever pattern of the user's matches it too: the host must know all of its
;; functions or none.
(module
  (memory 1)
  (func $malloc (export "malloc") (param i32) (result i32) i32.const 64)
  (func $free (export "free") (param i32))
  (func $apply (export "apply") (param i32) local.get 0 i32.load drop))
