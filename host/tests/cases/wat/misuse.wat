;; A library reports misuse: with an object, without one, and with a text outside of memory.
;; run: --test object
;; exit: 2
;; line: bug in test object: misuse: a queue is closed twice (at 0x1234) (worker 0)
;; run: --test no_object
;; exit: 2
;; line: bug in test no_object: misuse: a queue is closed twice (worker 0)
;; run: --test outside
;; exit: 2
;; line: bug in test outside: misuse: a text of 23 bytes at 0x1fff0 lies outside of memory
(module
  (import "coyote" "misuse" (func $misuse (param i32 i32 i32)))
  (memory (export "memory") 2)
  (data (i32.const 0x1000) "a queue is closed twice")
  (func (export "coyote.test.object") (call $misuse (i32.const 0x1234) (i32.const 0x1000) (i32.const 23)))
  (func (export "coyote.test.no_object") (call $misuse (i32.const 0) (i32.const 0x1000) (i32.const 23)))
  (func (export "coyote.test.outside") (call $misuse (i32.const 0) (i32.const 0x1fff0) (i32.const 23))))
