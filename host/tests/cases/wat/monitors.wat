;; Monitors: hot at the end, hot for too long in a fair execution, and what is neither.
;; run: --strategy dpor --test forgotten
;; exit: 2
;; line: bug in test forgotten: liveness: the monitor `answered` is hot at the end; worker 0 made it hot after step
;; run: -i 100 --test forgotten
;; exit: 2
;; line: bug in test forgotten: liveness: the monitor `answered` is hot at the end
;; run: --strategy dpor --test warm_at_the_end
;; exit: 0
;; run: --strategy dpor --test one_of_two
;; exit: 2
;; line: bug in test one_of_two: liveness: the monitor `answered` (2) is hot at the end
;; run: --strategy dpor --test last_word
;; exit: 2
;; line: bug in test last_word: liveness: the monitor `answered` is hot at the end
;; run: --strategy random -i 5 --max-steps 200 --test never_told
;; exit: 2
;; line: bug in test never_told: liveness: the monitor `answered` has been hot for 1001 steps of a fair execution
;; run: --strategy random -i 5 --max-steps 200 --max-hot-steps 300 --test never_told
;; exit: 2
;; line: bug in test never_told: liveness: the monitor `answered` has been hot for 301 steps of a fair execution
;; run: --strategy random -i 2 --max-steps 200 --max-hot-steps 0 --test never_told
;; exit: 6
;; run: --strategy pos -i 20 --max-steps 200 --max-hot-steps 50 --test never_told
;; exit: 6
;; run: --strategy pct:3@150,then:random -i 20 --max-steps 400 --max-hot-steps 300 --test never_told
;; exit: 2
;; line: bug in test never_told: liveness: the monitor `answered` has been hot for 301 steps of a fair execution
;; run: --strategy random -i 200 --max-steps 200 --max-hot-steps 60 --test told
;; exit: 0
;; run: --strategy round-robin -i 2 --max-steps 200 --max-hot-steps 500 --test warms_up
;; exit: 6
;; run: --strategy round-robin -i 2 --max-steps 200 --max-hot-steps 200 --test warms_up
;; exit: 2
;; line: bug in test warms_up: liveness: the monitor `answered` has been hot for 201 steps of a fair execution
;; run: --strategy round-robin -i 2 --max-steps 2000 --max-hot-steps 100 --faults point=1 --test while_faults
;; exit: 0
;; run: --strategy round-robin -i 2 --max-steps 2000 --max-hot-steps 100 --test while_faults
;; exit: 2
;; line: bug in test while_faults: liveness: the monitor `answered` has been hot for 101 steps of a fair execution
;; run: --strategy random -i 5 --max-steps 2000 --max-hot-steps 100 --faults point=1 --test after_faults
;; exit: 2
;; line: bug in test after_faults: liveness: the monitor `answered` has been hot for 101 steps of a fair execution
;; run: -i 5 --test no_such_heat
;; exit: 2
;; line: bug in test no_such_heat: misuse: a monitor is made 3, which is neither 0, 1 nor 2
(module
  (import "coyote" "spawn" (func $spawn (param i32 i32 i32 i32) (result i32)))
  (import "coyote" "join" (func $join (param i32)))
  (import "coyote" "yield" (func $yield))
  (import "coyote" "fault" (func $fault (param i32 i32 i32) (result i32)))
  (import "coyote" "fault_stop" (func $fault_stop))
  (import "coyote" "monitor" (func $monitor (param i32 i32 i32 i32)))
  (memory (export "memory") 1)
  (data (i32.const 64) "answered\00")
  (table 2 funcref)
  (elem (i32.const 0) $tells $heats)
  (func $set (param $number i32) (param $heat i32)
    (call $monitor (i32.const 64) (i32.const 8) (local.get $number) (local.get $heat)))
  (func $begin (param $entry i32) (result i32)
    (call $spawn (local.get $entry) (i32.const 0) (i32.const 0) (i32.const 0)))
  (func $rounds (param $rounds i32)
    (loop $again
      (call $yield)
      (local.set $rounds (i32.sub (local.get $rounds) (i32.const 1)))
      (br_if $again (local.get $rounds))))

  ;; Ready to tell from its creation on, as B of Coyote's text.
  (func $tells (param i32) (i32.atomic.store (i32.const 32) (i32.const 1)))
  ;; Hot, whatever the other one says before.
  (func $heats (param i32)
    (drop (i32.atomic.load (i32.const 32)))
    (call $set (i32.const 0) (i32.const 2)))

  (func (export "coyote.test.forgotten") (call $set (i32.const 0) (i32.const 2)) (call $yield))
  ;; A text that a zero byte ends is the same monitor.
  (func (export "coyote.test.warm_at_the_end")
    (local $other i32)
    (call $set (i32.const 0) (i32.const 2))
    (call $monitor (i32.const 64) (i32.const -1) (i32.const 0) (i32.const 1))
    (local.set $other (call $begin (i32.const 0)))
    (call $yield)
    (call $join (local.get $other)))
  (func (export "coyote.test.one_of_two")
    (call $set (i32.const 1) (i32.const 2))
    (call $set (i32.const 2) (i32.const 2))
    (call $set (i32.const 1) (i32.const 0)))
  ;; Cold or hot at the end, whoever comes last.
  (func (export "coyote.test.last_word")
    (local $other i32)
    (local.set $other (call $begin (i32.const 1)))
    (i32.atomic.store (i32.const 32) (i32.const 1))
    (call $set (i32.const 0) (i32.const 0))
    (call $join (local.get $other)))

  ;; Coyote's text: A sends to itself until it hears of B.
  (func $until_told
    (call $set (i32.const 0) (i32.const 2))
    (loop $again
      (i32.atomic.store (i32.const 36) (i32.add (i32.atomic.load (i32.const 36)) (i32.const 1)))
      (br_if $again (i32.eqz (i32.atomic.load (i32.const 32)))))
    (call $set (i32.const 0) (i32.const 0)))
  (func (export "coyote.test.told")
    (local $other i32)
    (local.set $other (call $begin (i32.const 0)))
    (call $until_told)
    (call $join (local.get $other)))
  (func (export "coyote.test.never_told") (call $until_told))
  ;; 100 steps hot and 300 warm, for ever: warm steps count nothing, and forget nothing.
  (func (export "coyote.test.warms_up")
    (loop $again
      (call $set (i32.const 0) (i32.const 2))
      (call $rounds (i32.const 50))
      (call $set (i32.const 0) (i32.const 1))
      (call $rounds (i32.const 300))
      (br $again)))
  ;; Hot for 200 rounds while a fault may still happen.
  (func (export "coyote.test.while_faults")
    (drop (call $begin (i32.const 0)))
    (call $set (i32.const 0) (i32.const 2))
    (call $rounds (i32.const 200))
    (call $set (i32.const 0) (i32.const 0)))
  ;; Hot for ever once faults have stopped.
  (func (export "coyote.test.after_faults")
    (call $set (i32.const 0) (i32.const 2))
    (call $rounds (i32.const 50))
    (if (call $fault (i32.const 64) (i32.const 8) (i32.const 1)) (then (call $yield)))
    (call $fault_stop)
    (loop $again (call $rounds (i32.const 50)) (br $again)))
  (func (export "coyote.test.no_such_heat") (call $set (i32.const 0) (i32.const 3))))
