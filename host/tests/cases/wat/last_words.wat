;; Another worker can run between the last operation of the first worker and its end, which ends all (`--at-exit kill`),
;; and between an operation and `fault_stop`.
;; run: --strategy dfs --at-exit kill --test ends
;; exit: 2
;; line: bug in test ends: trap
;; run: --strategy dpor --at-exit kill --test ends
;; exit: 2
;; line: bug in test ends: trap
;; run: --strategy stateful --at-exit kill --test ends
;; exit: 2
;; line: bug in test ends: trap
;; run: --at-exit kill -i 200 --test ends
;; exit: 2
;; line: bug in test ends: trap
;; run: --strategy dfs --at-exit kill --test spared
;; exit: 0
;; line: ... All 6 executions explored, no bug
;; run: --strategy dpor --at-exit kill --test spared
;; exit: 0
;; line: explored, no bug
;; run: --strategy dfs --faults point=1 --test stops
;; exit: 2
;; line: bug in test stops: trap
;; run: --strategy dpor --faults point=1 --test stops
;; exit: 2
;; line: bug in test stops: trap
;; run: --strategy stateful --faults point=1 --test stops
;; exit: 2
;; line: bug in test stops: trap
;; run: --faults point=1 -i 200 --test stops
;; exit: 2
;; line: bug in test stops: trap
;; run: --strategy dfs --faults point=1 --test has_stopped
;; exit: 0
;; line: explored, no bug
;; run: --strategy dpor --faults point=1 --test has_stopped
;; exit: 0
;; line: explored, no bug
;; run: --strategy dfs --faults io=1 --test stops
;; exit: 0
;; line: explored, no bug
;; run: --strategy dfs --test stops
;; exit: 0
;; line: explored, no bug
(module
  (import "coyote" "spawn" (func $spawn (param i32 i32 i32 i32) (result i32)))
  (import "coyote" "join" (func $join (param i32)))
  (import "coyote" "semaphore_wait" (func $wait (param i32 i64) (result i32)))
  (import "coyote" "semaphore_try_wait" (func $try_wait (param i32) (result i32)))
  (import "coyote" "semaphore_post" (func $post (param i32) (result i32)))
  (import "coyote" "fault" (func $fault (param i32 i32 i32) (result i32)))
  (import "coyote" "fault_stop" (func $fault_stop))
  (memory (export "memory") 1)
  (data (i32.const 64) "late")
  (table 2 funcref)
  (elem (i32.const 0) $takes $fails)
  (func $begin (param $entry i32) (result i32)
    (call $spawn (local.get $entry) (i32.const 8) (i32.const 0) (i32.const 0)))
  ;; Is wrong if it gets a permit.
  (func $takes (param $semaphore i32)
    (if (i32.eqz (call $try_wait (local.get $semaphore))) (then (unreachable))))
  (func (export "coyote.test.ends")
    (drop (call $begin (i32.const 0)))
    (drop (call $post (i32.const 8))))
  ;; The permit is for another semaphore.
  (func (export "coyote.test.spared")
    (drop (call $begin (i32.const 0)))
    (drop (call $post (i32.const 16))))
  ;; Is wrong if something goes wrong after it was told.
  (func $fails (param $semaphore i32)
    (drop (call $wait (local.get $semaphore) (i64.const -1)))
    (if (call $fault (i32.const 64) (i32.const 4) (i32.const 1)) (then (unreachable))))
  (func (export "coyote.test.stops")
    (local $other i32)
    (local.set $other (call $begin (i32.const 1)))
    (drop (call $post (i32.const 8)))
    (call $fault_stop)
    (call $join (local.get $other)))
  (func (export "coyote.test.has_stopped")
    (local $other i32)
    (local.set $other (call $begin (i32.const 1)))
    (call $fault_stop)
    (drop (call $post (i32.const 8)))
    (call $join (local.get $other))))
