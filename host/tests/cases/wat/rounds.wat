;; Rounds of steps that workers can repeat for ever, and correct programs that look like them.
;; run: -i 64 --detect lassos --test try_and_retry
;; exit: 2
;; line: bug in test try_and_retry: lasso: worker 0.0 and worker 0.1 can repeat a round of 6 steps for ever, which is fair
;; line: worker 0.0: try-lock at 0x10
;; run: -i 64 --test try_and_retry
;; exit: 0
;; run: -i 64 --detect lassos --test ordered_retry
;; exit: 0
;; run: -i 64 --detect lassos --test draws_its_backoff
;; exit: 0
;; run: -i 64 --detect lassos --test sleeps_as_backoff
;; exit: 0
;; run: -i 64 --detect lassos --test counts_attempts
;; exit: 0
;; run: -i 64 --detect lassos --test gives_up_after_a_timeout
;; exit: 0
;; run: -i 64 --detect lassos --test promised
;; exit: 2
;; line: bug in test promised: liveness: the monitor `entered` (16) never becomes cold in a fair round of 6 steps that can be
;; run: -i 200 --detect lassos --detect starvation --test spin_lock
;; exit: 0
;; run: --strategy stateful --test spin_lock
;; exit: 0
;; run: -i 64 --detect good-samaritan --test spin_lock
;; exit: 2
;; line: bug in test spin_lock: good-samaritan: worker 0.
;; run: -i 200 --detect good-samaritan --test yielding_lock
;; exit: 0
;; run: -i 200 --detect lassos --detect starvation --detect good-samaritan --test lock
;; exit: 0
;; run: -i 200 --detect lassos --test polls_under_a_lock
;; exit: 0
;; run: -i 64 --detect starvation --test polls_under_a_lock
;; exit: 2
;; line: bug in test polls_under_a_lock: starvation: worker 0 can repeat a round of
;; run: -i 2 --detect lassos --points sync --test lock
;; exit: 1
;; run: --strategy stateful --detect lassos --test try_and_retry
;; exit: 2
;; line: bug in test try_and_retry: lasso: worker 0.0 and worker 0.1 can repeat a round of 6 steps for ever, which is fair
;; line: worker 0.0: try-lock at 0x10
;; run: --strategy stateful --test try_and_retry
;; exit: 0
;; run: --strategy stateful --detect lassos --test ordered_retry
;; exit: 0
;; run: --strategy stateful --detect lassos --test draws_its_backoff
;; exit: 0
;; line: no round of steps is repeated for ever in which a value is chosen or a timeout is pending
;; run: --strategy stateful --detect lassos --test sleeps_as_backoff
;; exit: 0
;; run: --strategy stateful --detect lassos --test gives_up_after_a_timeout
;; exit: 0
;; run: --strategy stateful --detect lassos --test promised
;; exit: 2
;; line: bug in test promised: liveness: the monitor `entered` (16) never becomes cold in a fair round of 6 steps that can be
;; run: --strategy stateful --test promised
;; exit: 0
;; line: no monitor is hot for ever in an execution without an end
;; run: --strategy stateful --detect lassos --detect starvation --test spin_lock
;; exit: 0
;; run: --strategy stateful --detect good-samaritan --test spin_lock
;; exit: 2
;; line: bug in test spin_lock: good-samaritan: worker 0.
;; run: --strategy stateful --detect lassos --detect starvation --detect good-samaritan --test lock
;; exit: 0
;; run: --strategy stateful --detect starvation --test polls_under_a_lock
;; exit: 2
;; line: bug in test polls_under_a_lock: starvation: worker 0 can repeat a round of 3 steps for ever, in which worker 0.0
;; run: --strategy stateful --detect lassos --test polls_under_a_lock
;; exit: 0
;; run: -i 64 --detect lassos --test looks_at_the_wrong_time
;; exit: 0
;; run: --strategy stateful --detect lassos --test looks_at_the_wrong_time
;; exit: 2
;; line: bug in test looks_at_the_wrong_time: lasso: worker 0.0 and worker 0.1 can repeat a round of 4 steps for ever
;; run: --strategy stateful -j 2 --detect lassos --test looks_at_the_wrong_time
;; exit: 2
;; run: --strategy dpor --detect lassos --test spin_lock
;; exit: 0
;; line: no round of steps is repeated for ever
;; run: -i 64 --detect lassos --test renews_its_promise
;; exit: 2
;; line: bug in test renews_its_promise: lasso: worker 0.0 and worker 0.1 can repeat a round of 6 steps for ever
;; run: --strategy stateful --detect lassos --test renews_its_promise
;; exit: 2
;; line: bug in test renews_its_promise: lasso: worker 0.0 and worker 0.1 can repeat a round of 6 steps for ever
(module
  (import "coyote" "spawn" (func $spawn (param i32 i32 i32 i32) (result i32)))
  (import "coyote" "join" (func $join (param i32)))
  (import "coyote" "yield" (func $yield))
  (import "coyote" "sleep" (func $sleep (param i64)))
  (import "coyote" "choose_bool" (func $choose (result i32)))
  (import "coyote" "mutex_lock" (func $lock (param i32 i64) (result i32)))
  (import "coyote" "mutex_try_lock" (func $try (param i32) (result i32)))
  (import "coyote" "mutex_unlock" (func $unlock (param i32) (result i32)))
  (import "coyote" "monitor" (func $monitor (param i32 i32 i32 i32)))
  (memory (export "memory") 1)
  (data (i32.const 0x100) "entered")
  (table 13 funcref)
  (elem (i32.const 0) $retries $orders $draws $backs_off $counts $waits_shortly $promises $spins $spins_and_yields $locks $renews
    $looks $swings)
  (func $begin (param $entry i32) (param $argument i32) (result i32)
    (call $spawn (local.get $entry) (local.get $argument) (i32.const 0) (i32.const 0)))
  (func $two (param $entry i32)
    (local $a i32) (local $b i32)
    (local.set $a (call $begin (local.get $entry) (i32.const 0x10)))
    (local.set $b (call $begin (local.get $entry) (i32.const 0x20)))
    (call $join (local.get $a))
    (call $join (local.get $b)))
  ;; Tries to lock both mutexes, `first` first; whether it has.
  (func $both (param $first i32) (result i32)
    (local $second i32)
    (local.set $second (i32.sub (i32.const 0x30) (local.get $first)))
    (if (call $try (local.get $first)) (then (return (i32.const 0))))
    (if (call $try (local.get $second))
      (then (drop (call $unlock (local.get $first))) (return (i32.const 0))))
    (drop (call $unlock (local.get $second)))
    (drop (call $unlock (local.get $first)))
    (i32.const 1))
  ;; The livelock of every text book.
  (func $retries (param $first i32) (loop $again (br_if $again (i32.eqz (call $both (local.get $first))))))
  ;; Who has the first lock gets the second one.
  (func $orders (param i32) (call $retries (i32.const 0x10)))
  (func $draws (param $first i32)
    (loop $again
      (if (call $choose) (then (call $yield)))
      (br_if $again (i32.eqz (call $both (local.get $first))))))
  (func $backs_off (param $first i32)
    (loop $again
      (call $sleep (i64.extend_i32_u (local.get $first)))
      (br_if $again (i32.eqz (call $both (local.get $first))))))
  (func $counts (param $first i32)
    (local $attempts i32)
    (loop $again
      (local.set $attempts (i32.add (local.get $attempts) (i32.const 1)))
      (if (i32.gt_u (local.get $attempts) (i32.const 50)) (then (return)))
      (br_if $again (i32.eqz (call $both (local.get $first))))))
  ;; Its wait for the second lock has an end in time.
  (func $waits_shortly (param $first i32)
    (loop $again
      (drop (call $lock (local.get $first) (i64.const -1)))
      (if (call $lock (i32.sub (i32.const 0x30) (local.get $first)) (i64.const 1000))
        (then (drop (call $unlock (local.get $first))) (br $again))))
    (drop (call $unlock (i32.sub (i32.const 0x30) (local.get $first))))
    (drop (call $unlock (local.get $first))))
  (func $promises (param $first i32)
    (call $monitor (i32.const 0x100) (i32.const 7) (local.get $first) (i32.const 2))
    (call $retries (local.get $first))
    (call $monitor (i32.const 0x100) (i32.const 7) (local.get $first) (i32.const 0)))
  ;; Each attempt is a promise of its own, kept before the next one begins: within a step.
  (func $renews (param $first i32)
    (loop $again
      (call $monitor (i32.const 0x100) (i32.const 7) (local.get $first) (i32.const 0))
      (call $monitor (i32.const 0x100) (i32.const 7) (local.get $first) (i32.const 2))
      (br_if $again (i32.eqz (call $both (local.get $first)))))
    (call $monitor (i32.const 0x100) (i32.const 7) (local.get $first) (i32.const 0)))
  ;; Waits for a flag that the other one sets for a moment, again and again, until it is noticed.
  (func $looks (param i32)
    (loop $again (br_if $again (i32.eqz (i32.atomic.load (i32.const 0x60)))))
    (i32.atomic.store (i32.const 0xa0) (i32.const 1)))
  (func $swings (param i32)
    (loop $again
      (i32.atomic.store (i32.const 0x60) (i32.const 1))
      (i32.atomic.store (i32.const 0x60) (i32.const 0))
      (br_if $again (i32.eqz (i32.atomic.load (i32.const 0xa0))))))
  (func $spins (param i32)
    (loop $again
      (br_if $again (i32.atomic.rmw.cmpxchg (i32.const 0x40) (i32.const 0) (i32.const 1))))
    (i32.store (i32.const 0x50) (i32.add (i32.load (i32.const 0x50)) (i32.const 1)))
    (i32.atomic.store (i32.const 0x40) (i32.const 0)))
  (func $spins_and_yields (param i32)
    (block $entered
      (loop $again
        (br_if $entered (i32.eqz (i32.atomic.rmw.cmpxchg (i32.const 0x40) (i32.const 0) (i32.const 1))))
        (call $yield)
        (br $again)))
    (i32.store (i32.const 0x50) (i32.add (i32.load (i32.const 0x50)) (i32.const 1)))
    (i32.atomic.store (i32.const 0x40) (i32.const 0)))
  (func $locks (param i32)
    (drop (call $lock (i32.const 0x10) (i64.const -1)))
    (i32.store (i32.const 0x50) (i32.add (i32.load (i32.const 0x50)) (i32.const 1)))
    (drop (call $unlock (i32.const 0x10))))

  (func (export "coyote.test.try_and_retry") (call $two (i32.const 0)))
  (func (export "coyote.test.ordered_retry") (call $two (i32.const 1)))
  (func (export "coyote.test.draws_its_backoff") (call $two (i32.const 2)))
  (func (export "coyote.test.sleeps_as_backoff") (call $two (i32.const 3)))
  (func (export "coyote.test.counts_attempts") (call $two (i32.const 4)))
  (func (export "coyote.test.gives_up_after_a_timeout") (call $two (i32.const 5)))
  (func (export "coyote.test.promised") (call $two (i32.const 6)))
  (func (export "coyote.test.spin_lock") (call $two (i32.const 7)))
  (func (export "coyote.test.yielding_lock") (call $two (i32.const 8)))
  (func (export "coyote.test.lock") (call $two (i32.const 9)))
  (func (export "coyote.test.renews_its_promise") (call $two (i32.const 10)))
  (func (export "coyote.test.looks_at_the_wrong_time")
    (local $a i32) (local $b i32)
    (local.set $a (call $begin (i32.const 11) (i32.const 0)))
    (local.set $b (call $begin (i32.const 12) (i32.const 0)))
    (call $join (local.get $a))
    (call $join (local.get $b)))
  ;; Looks whether the other one has been there, under the lock that the other one needs for that.
  (func (export "coyote.test.polls_under_a_lock")
    (local $other i32) (local $seen i32)
    (local.set $other (call $begin (i32.const 9) (i32.const 0)))
    (loop $again
      (drop (call $lock (i32.const 0x10) (i64.const -1)))
      (local.set $seen (i32.load (i32.const 0x50)))
      (drop (call $unlock (i32.const 0x10)))
      (br_if $again (i32.eqz (local.get $seen))))
    (call $join (local.get $other))))
