;; A value of 2^31 possible ones that nobody looks at: searches go through them until the time is up, and then stop.
;; run: --test wide --strategy stateful --timeout 0.3
;; exit: 0
;; line: ... Not everything was explored: the time is up.
;; run: --test wide --strategy dfs -i 20
;; exit: 0
;; run: --test wide --strategy dpor -i 20
;; exit: 0
(module
  (import "coyote" "choose_int" (func $choose (param i32) (result i32)))
  (import "coyote" "spawn" (func $spawn (param i32 i32 i32 i32) (result i32)))
  (import "coyote" "join" (func $join (param i32)))
  (memory (export "memory") 1)
  (table 1 funcref)
  (elem (i32.const 0) $adds)
  (func $adds (param i32)
    (i32.atomic.store (i32.const 0x800) (i32.const 1)))
  (func (export "coyote.test.wide")
    (drop (call $choose (i32.const 0x7fffffff)))
    (call $join (call $spawn (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))))
