;; --atomic-fn update*
;; --no-points-in quiet
(module
  (memory 1)
  (func $malloc (export "malloc") (param $n i32) (result i32)
    (i32.store (i32.const 0) (local.get $n))
    (call $find_block (call $dlmalloc (local.get $n))))
  ;; Only called in brackets, so it has none.
  (func $dlmalloc (param $n i32) (result i32)
    (call $find_block (local.get $n)))
  (func $find_block (param i32) (result i32)
    (call $shared)
    (i32.load (local.get 0)))
  (func $shared (drop (i32.load (i32.const 4))))
  (func $update_all (export "update") (call $shared))
  (func $quiet (export "quiet") (call $shared) (drop (i32.load (i32.const 8))))
  (func $loud (export "loud") (call $shared) (drop (i32.load (i32.const 12)))))
