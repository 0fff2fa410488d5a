;; --points atomic
(module
  (memory 1)
  (func $f (param $a i32)
    (i32.store (local.get $a) (i32.load (local.get $a)))
    (memory.copy (local.get $a) (i32.const 0) (i32.const 4))
    (i32.atomic.store (local.get $a) (i32.const 1))))
