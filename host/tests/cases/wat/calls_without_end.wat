;; A loop that makes the same call for ever is seen to spin, also if the call is no step: a fault that cannot happen, an
;; assumption that holds, a poll that fails.
;; run: --test faults -i 1 --strategy random
;; exit: 2
;; line: bug in test faults: livelock: 1 worker spins for ever
;; run: --test assumes -i 1 --strategy random
;; exit: 2
;; line: bug in test assumes: livelock: 1 worker spins for ever
;; run: --test polls -i 1 --strategy random
;; exit: 2
;; line: bug in test polls: livelock: 1 worker spins for ever
(module
  (import "coyote" "fault" (func $fault (param i32 i32 i32) (result i32)))
  (import "coyote" "assume" (func $assume (param i32)))
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 8) "never")
  (func (export "coyote.test.faults")
    (loop $again (br_if $again (i32.eqz (call $fault (i32.const 8) (i32.const 5) (i32.const 1))))))
  (func (export "coyote.test.assumes")
    (loop $again (call $assume (i32.const 1)) (br $again)))
  (func (export "coyote.test.polls")
    (loop $again (br_if $again (call $poll (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 64))))))
