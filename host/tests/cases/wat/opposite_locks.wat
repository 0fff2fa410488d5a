;; Two workers take two mutexes, in opposite orders or in the same one.
;; run: --test opposite --strategy dfs
;; exit: 2
;; line: bug in test opposite: deadlock: 
;; run: --test opposite -i 1000
;; exit: 2
;; line: bug in test opposite: deadlock: 
;; run: --test same --strategy dpor
;; exit: 0
;; line: ... All 2 executions explored, no bug
(module
  (import "coyote" "spawn" (func $spawn (param i32 i32 i32 i32) (result i32)))
  (import "coyote" "join" (func $join (param i32)))
  (import "coyote" "mutex_lock" (func $lock (param i32 i64) (result i32)))
  (import "coyote" "mutex_unlock" (func $unlock (param i32) (result i32)))
  (memory (export "memory") 1)
  (table 1 funcref)
  (elem (i32.const 0) $takes)
  ;; Takes the mutex at its argument, then the other one of 8 and 16.
  (func $takes (param $first i32)
    (local $second i32)
    (local.set $second (i32.sub (i32.const 24) (local.get $first)))
    (drop (call $lock (local.get $first) (i64.const -1)))
    (drop (call $lock (local.get $second) (i64.const -1)))
    (drop (call $unlock (local.get $second)))
    (drop (call $unlock (local.get $first))))
  (func $both (param $mine i32) (param $theirs i32)
    (local $other i32)
    (local.set $other (call $spawn (i32.const 0) (local.get $theirs) (i32.const 0) (i32.const 0)))
    (call $takes (local.get $mine))
    (call $join (local.get $other)))
  (func (export "coyote.test.opposite") (call $both (i32.const 8) (i32.const 16)))
  (func (export "coyote.test.same") (call $both (i32.const 8) (i32.const 8))))
