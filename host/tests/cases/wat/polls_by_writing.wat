;; Workers that poll by writing while another one sleeps: no livelock. With --timers ordered, time passes after 32,768
;; steps, so that samplers come to an end; searches stop at a smaller number of steps, or at the first repeated state.
;; run: --timers ordered --test swap --strategy random -i 20
;; exit: 0
;; line: . No bug found in 1 test: 20 schedules, 
;; run: --timers ordered --test swap --strategy portfolio -i 20
;; exit: 0
;; line: . No bug found in 1 test: 20 schedules, 
;; run: --timers ordered --test swap --strategy stateful
;; exit: 6
;; line: . Inconclusive: executions did not come to an end
;; run: --timers ordered --test swap --strategy dpor
;; exit: 6
;; line: . Inconclusive: executions did not come to an end
;; run: --timers ordered --test swap --strategy dfs -i 20
;; exit: 6
;; line: . Inconclusive: executions did not come to an end
;; run: --test swap -i 50 --strategy random
;; exit: 0
;; run: --test swap --strategy stateful
;; exit: 0
;; run: --timers ordered --test polls --strategy random -i 20
;; exit: 0
;; line: . No bug found in 1 test: 20 schedules, 
;; run: --timers ordered --test polls --strategy portfolio -i 20
;; exit: 0
;; line: . No bug found in 1 test: 20 schedules, 
;; run: --timers ordered --test polls --strategy stateful
;; exit: 6
;; line: . Inconclusive: executions did not come to an end
;; run: --timers ordered --test polls --strategy dpor
;; exit: 6
;; line: . Inconclusive: executions did not come to an end
;; run: --timers ordered --test polls --strategy dfs -i 20
;; exit: 6
;; line: . Inconclusive: executions did not come to an end
;; run: --test polls -i 50 --strategy random
;; exit: 0
;; run: --test polls --strategy stateful
;; exit: 0
;; run: --timers ordered --test stdpolls --strategy random -i 20
;; exit: 0
;; line: . No bug found in 1 test: 20 schedules, 
;; run: --timers ordered --test stdpolls --strategy portfolio -i 20
;; exit: 0
;; line: . No bug found in 1 test: 20 schedules, 
;; run: --timers ordered --test stdpolls --strategy stateful
;; exit: 6
;; line: . Inconclusive: executions did not come to an end
;; run: --timers ordered --test stdpolls --strategy dpor
;; exit: 6
;; line: . Inconclusive: executions did not come to an end
;; run: --timers ordered --test stdpolls --strategy dfs -i 20
;; exit: 6
;; line: . Inconclusive: executions did not come to an end
;; run: --test stdpolls -i 50 --strategy random
;; exit: 0
;; run: --test stdpolls --strategy stateful
;; exit: 0
(module
  (import "coyote" "spawn" (func $spawn (param i32 i32 i32 i32) (result i32)))
  (import "coyote" "join" (func $join (param i32)))
  (import "coyote" "sleep" (func $sleep (param i64)))
  (import "coyote" "mutex_lock" (func $lock (param i32 i64) (result i32)))
  (import "coyote" "mutex_unlock" (func $unlock (param i32) (result i32)))
  (memory (export "memory") 1)
  (table 3 funcref)
  (elem (i32.const 0) $late $late $release)
  (func $late (param i32)
    (call $sleep (i64.const 10000000))
    (i32.atomic.store (i32.const 0x840) (i32.const 1)))
  (func $release (param i32)
    (call $sleep (i64.const 10000000))
    (i32.atomic.store (i32.const 0x850) (i32.const 0)))
  ;; spins by swap until a sleeper releases
  (func (export "coyote.test.swap")
    (i32.atomic.store (i32.const 0x850) (i32.const 1))
    (drop (call $spawn (i32.const 2) (i32.const 0) (i32.const 0) (i32.const 0)))
    (loop $again (br_if $again (i32.atomic.rmw.xchg (i32.const 0x850) (i32.const 1)))))
  ;; polls a flag under a mutex of the host
  (func (export "coyote.test.polls") (local $f i32)
    (drop (call $spawn (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))
    (loop $again
      (drop (call $lock (i32.const 0x810) (i64.const -1)))
      (local.set $f (i32.load (i32.const 0x840)))
      (drop (call $unlock (i32.const 0x810)))
      (br_if $again (i32.eqz (local.get $f)))))
  ;; polls a flag under a lock as Rust's std has it: cmpxchg 0->1, load, xchg 0
  (func (export "coyote.test.stdpolls") (local $f i32)
    (drop (call $spawn (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))
    (loop $again
      (br_if $again (i32.atomic.rmw.cmpxchg (i32.const 0x850) (i32.const 0) (i32.const 1)))
      (local.set $f (i32.load (i32.const 0x840)))
      (drop (i32.atomic.rmw.xchg (i32.const 0x850) (i32.const 0)))
      (br_if $again (i32.eqz (local.get $f))))))
