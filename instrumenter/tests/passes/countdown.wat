(module
  (table 2 funcref)
  (type $unary (func (param i32) (result i32)))
  (elem (i32.const 0) $even)
  (func $loop (param $n i32)
    (loop $again
      (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
  (func $loop_with_parameters (param $n i32) (result i32)
    (local.get $n)
    (loop $again (param i32) (result i32)
      (i32.sub (i32.const 1))
      (local.tee $n)
      (br_if $again (i32.gt_s (local.get $n) (i32.const 0)))))
  (func $recursive (call $recursive))
  ;; Through the table.
  (func $even (type $unary) (call $odd (local.get 0)))
  (func $odd (type $unary) (call_indirect (type $unary) (local.get 0) (i32.const 0)))
  (func $leaf (param i32)))
