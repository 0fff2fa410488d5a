;; Drops a data segment and an element segment after using them. Dropped segments are state: a second
;; use would trap.
;;
;; Expected: passes. It traps in the second iteration if restoring the start snapshot forgets segments.
(module
  (import "coyote" "choose_bool" (func $choose_bool (result i32)))
  (memory (export "memory") 1)
  (table $t 1 funcref)
  (data $text "text")
  (elem $functions func $nothing)
  (func $nothing)

  (func (export "coyote.test.data")
    (memory.init $text (i32.const 16) (i32.const 0) (i32.const 4))
    (drop (call $choose_bool))
    (data.drop $text))

  (func (export "coyote.test.element")
    (table.init $t $functions (i32.const 0) (i32.const 0) (i32.const 1))
    (drop (call $choose_bool))
    (elem.drop $functions)))
