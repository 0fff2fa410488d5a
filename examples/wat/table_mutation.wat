;; Changes a table and asks at the start whether the change of the iteration before is still there.
;;
;; Expected: passes. It fails in the second iteration if restoring the start snapshot forgets tables.
(module
  (import "coyote" "fail" (func $fail (param i32 i32)))
  (import "coyote" "choose_bool" (func $choose_bool (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "the table is not as at the start")
  (type $number (func (result i32)))
  (table $t 2 4 funcref)
  (elem (i32.const 0) $one $two)
  (func $one (result i32) (i32.const 1))
  (func $two (result i32) (i32.const 2))

  (func $expect (param $holds i32)
    (if (i32.eqz (local.get $holds))
      (then (call $fail (i32.const 0) (i32.const 32)))))

  (func (export "coyote.test.set")
    (call $expect (i32.eq (call_indirect (type $number) (i32.const 0)) (i32.const 1)))
    (drop (call $choose_bool))
    (table.set $t (i32.const 0) (table.get $t (i32.const 1)))
    (call $expect (i32.eq (call_indirect (type $number) (i32.const 0)) (i32.const 2))))

  (func (export "coyote.test.grow")
    (call $expect (i32.eq (table.size $t) (i32.const 2)))
    (drop (call $choose_bool))
    (call $expect (i32.eq (table.grow $t (ref.null func) (i32.const 1)) (i32.const 2)))
    (call $expect (i32.eq (table.size $t) (i32.const 3)))))
