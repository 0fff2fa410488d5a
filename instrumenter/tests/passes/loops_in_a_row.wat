;; Each counts down, also the one that follows another one.
(module
  (func $in_a_row (param $n i32)
    (loop $first
      (br_if $first (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    (loop $second
      (br $second))))
