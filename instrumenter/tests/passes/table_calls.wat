(module
  (type $f (func (result i32)))
  (table $t 3 funcref)
  (table $other 1 funcref)
  (elem (table $t) (i32.const 0) func $one $two)
  (elem declare func $three)
  (func $one (result i32) (i32.const 1))
  (func $two (result i32) (i32.const 2))
  (func $three (result i32) (i32.const 3))
  (func $never (result i32) (i32.const 4))
  (func $changes
    (table.set $other (i32.const 0) (ref.func $three)))
  (func $calls (param i32) (result i32)
    (i32.add
      (call_indirect $t (type $f) (local.get 0))
      (call_indirect $other (type $f) (i32.const 0)))))
