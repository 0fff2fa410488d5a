;; Guests that need what the tool cannot do: always, and if the tool chooses so.
(module
  (import "coyote" "choose_bool" (func $choose (result i32)))
  (import "coyote" "unsupported" (func $unsupported (param i32 i32)))
  (memory (export "memory") 1)
  (data (i32.const 0x800) "teleportation")
  (func $ask (call $unsupported (i32.const 0x800) (i32.const 13)))
  (func (export "coyote.test.always") (drop (call $choose)) (call $ask))
  (func (export "coyote.test.sometimes") (if (call $choose) (then (call $ask)))))
